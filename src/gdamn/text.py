"""Text from data on a terminal: ids, classes and file names are other people's, and must not steer it."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Sequence
from typing import Any

LISTED = 20_000
"""At most so many ids are compared when a name isn't found."""


def print_error(message: str) -> None:
    """Print an error as the command line does, without a terminal's colours: for processes that nobody watches."""
    print("error:", safe(" ".join(message.split())), file=sys.stderr)


def safe(value: object) -> str:
    """The text with everything that isn't printable (control and direction characters) spelled out, as \\x1b."""
    return "".join(each if each.isprintable() else _escaped(each) for each in str(value))


def safe_json(text: str) -> str:
    """JSON text whose strings hold no raw unprintable character; it means the same."""
    return "".join(each if each.isprintable() or each == "\n" else f"\\u{ord(each):04x}" for each in text)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape", "backslashreplace").decode("ascii")


def nearest(wanted: str, names: Sequence[Any]) -> str:
    """A hint for a name that isn't there: those that read alike, or the range of numbers."""
    texts = list(map(str, names))
    likely = [text for text in texts if text[:1] == wanted[:1]] if len(texts) > LISTED else texts
    close = difflib.get_close_matches(wanted, likely[:LISTED], n=3)
    if close:
        return f"did you mean {' or '.join(safe(each) for each in close)}?"
    return f"ids are such as {', '.join(safe(text) for text in texts[:3])}."
