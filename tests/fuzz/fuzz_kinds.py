"""What a fuzz target is, and the property that every one of them has: an input is read, or refused in one sentence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from gdamn.errors import GdamnError
from gdamn.text import safe

LONGEST = 3_000
"""Characters of a sentence; one that quotes an endless cell is none that a person reads."""


@dataclass(frozen=True)
class Target:
    """A reader of one kind of file.

    Attributes:
        name: what it is called on the command line, and the folder of its inputs in ``found``.
        read: puts the content where the reader looks for it, below a folder that is its own, and reads it.
        seeds: good inputs, from which the others are made; each of them is read without an error.
        words: what stands in such files and is hard to guess.
    """

    name: str
    read: Callable[[Path, bytes], object]
    seeds: Callable[[], Sequence[bytes]]
    words: tuple[str, ...] = ()


def attempt(target: Target, folder: Path, content: bytes) -> str:
    """The sentence that refuses the content, or nothing; any other error falls through."""
    try:
        target.read(folder, content)
    except GdamnError as problem:
        told = safe(problem).rstrip()  # as the command line prints it
        assert told.endswith((".", "?")), f"not a sentence: {told[-80:]!r}"
        assert len(told) < LONGEST, f"a sentence of {len(told)} characters"
        return told
    return ""
