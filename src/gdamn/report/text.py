"""Text on a page: what users named is shown as they wrote it, but can neither hide nor act."""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from ..system import io

LONGEST = 120
"""Characters of a name that a page shows."""

_FOR_SCRIPT = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}


def visible(value: object, longest: int = LONGEST) -> str:
    """A name in full sight: characters that draw nothing or turn the direction are spelled out, long ones cut."""
    text = "".join(_spelled(sign) for sign in str(value)[: longest + 1])
    return text if len(str(value)) <= longest else text[: longest - 1] + "…"


def shortened(value: object, longest: int) -> str:
    """A name for an axis: cut in the middle, since long names often begin alike."""
    text = visible(value)
    if len(text) <= longest:
        return text
    end = longest // 3
    return f"{text[: longest - end - 1]}…{text[-end:]}"


def _spelled(sign: str) -> str:
    """Control, format (among them those that reverse text), private and lone surrogate characters as an escape."""
    if unicodedata.category(sign) not in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}:
        return sign
    code = ord(sign)
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"


def script_json(content: Any) -> Markup:
    """JSON for a ``<script type="application/json">``: nothing in it can end the element or start another."""
    text = io.to_json(content).translate(_FOR_SCRIPT)
    return Markup(text)  # nosec B704  # nothing that HTML reads is left in it


def link(target: Path, page: Path) -> str:
    """The address of a file, seen from the folder of the page; never one with a scheme."""
    relative = os.path.relpath(target.resolve(), page.resolve().parent)
    return "./" + quote(Path(relative).as_posix().encode("utf-8", "surrogateescape"))


def number(value: float | None, digits: int = 3) -> str:
    """A plain number."""
    return "–" if value is None or value != value else f"{value:.{digits}f}"


def whole(value: float) -> str:
    """A count."""
    return f"{value:,.0f}"


def thousandths(values: NDArray[Any]) -> NDArray[np.int64]:
    """Rounded, as whole numbers, which are short in JSON."""
    return as_whole(values, 1000)


def ten_thousandths(values: NDArray[Any]) -> NDArray[np.int64]:
    """The same with a digit more: soft weights of well-connected nodes are small."""
    return as_whole(values, 10_000)


def as_whole(values: NDArray[Any], unit: int) -> NDArray[np.int64]:
    """Values in so many parts of one, rounded."""
    parts: NDArray[np.int64] = np.rint(values * float(unit)).astype(np.int64)
    return parts
