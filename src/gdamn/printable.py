"""Text from data on a terminal: ids, classes and file names are other people's, and must not steer it."""

from __future__ import annotations


def safe(value: object) -> str:
    """The text with everything that isn't printable (control and direction characters) spelled out, as \\x1b."""
    return "".join(each if each.isprintable() else _escaped(each) for each in str(value))


def safe_json(text: str) -> str:
    """JSON text whose strings hold no raw unprintable character; it means the same."""
    return "".join(each if each.isprintable() or each == "\n" else f"\\u{ord(each):04x}" for each in text)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape", "backslashreplace").decode("ascii")
