"""What an encoder in a file may be: anyone may have changed it, so each part is looked at before it is used."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

KINDS = ("columns", "structural", "given")


def wrong_encoder(values: Mapping[str, Any]) -> str:
    """What is wrong with an encoder from a file, in words; empty where nothing is."""
    if values.get("kind") not in KINDS or not _is_count(values.get("width")):
        return "its kind or width can't be"
    for name, is_right in (("numeric", _is_numeric), ("categorical", _is_categorical)):
        listed = values.get(name, [])
        if not isinstance(listed, (list, tuple)) or not all(
            isinstance(each, dict) and is_right(each) for each in listed
        ):
            return f"its {name} columns can't be"
    for name, is_whole in (("text", _is_text), ("structural", _is_structural)):
        part = values.get(name)
        if part is not None and not (isinstance(part, dict) and is_whole(part)):
            return f"its part '{name}' can't be"
    left_out = values.get("left_out", {})
    if not isinstance(left_out, dict) or not _are_texts(list(left_out.values())):
        return "what it left out can't be"
    return _wrong_whole(values)


def _wrong_whole(values: Mapping[str, Any]) -> str:
    """What is wrong between the parts: one is missing, or they make another number of features."""
    if values["kind"] == "structural" and values.get("structural") is None:
        return "it lacks its structural part"
    if values["kind"] != "columns":
        return ""
    categories = sum(len(each["categories"]) for each in values.get("categorical", []))
    words = len((values.get("text") or {"words": []})["words"])
    width = len(values.get("numeric", [])) + categories + words
    return "" if width == values["width"] > 0 else f"it says {values['width']} features, but its columns make {width}"


def _is_numeric(each: dict[str, Any]) -> bool:
    return isinstance(each.get("name"), str) and _is_number(each.get("mean")) and _is_number(each.get("spread"))


def _is_categorical(each: dict[str, Any]) -> bool:
    return isinstance(each.get("name"), str) and _are_different_texts(each.get("categories"))


def _is_text(part: dict[str, Any]) -> bool:
    words, idf = part.get("words"), part.get("idf")
    same = isinstance(idf, list) and isinstance(words, list) and len(idf) == len(words) > 0
    return (
        isinstance(part.get("name"), str) and same and _are_different_texts(words) and all(map(_is_number, idf or ()))
    )


def _is_structural(part: dict[str, Any]) -> bool:
    values = part.get("values")
    known = _is_number(part.get("mean")) and _is_number(part.get("spread"))
    return known and isinstance(values, list) and all(map(_is_number, values))


def _are_texts(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(each, str) for each in values)


def _are_different_texts(values: Any) -> bool:
    return _are_texts(values) and len(set(values)) == len(values)


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**31


def _is_number(value: Any) -> bool:
    """A finite number that fits a float32, as features are."""
    return type(value) in (int, float) and abs(value) < 3e38 and math.isfinite(value)
