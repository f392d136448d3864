"""Names from data on a terminal: ids and classes are other people's text, and must not steer it."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any

from ..printable import safe, safe_json

__all__ = ["nearest", "safe", "safe_json"]

LISTED = 20_000
"""At most so many ids are compared when a name isn't found."""


def nearest(wanted: str, names: Sequence[Any]) -> str:
    """A hint for a name that isn't there: those that read alike, or the range of numbers."""
    texts = list(map(str, names))
    likely = [text for text in texts if text[:1] == wanted[:1]] if len(texts) > LISTED else texts
    close = difflib.get_close_matches(wanted, likely[:LISTED], n=3)
    if close:
        return f"did you mean {' or '.join(safe(each) for each in close)}?"
    return f"ids are such as {', '.join(safe(text) for text in texts[:3])}."
