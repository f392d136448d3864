"""Labels as people write them: words that mean that a label is missing, and names that are one but for a blank."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from .missing_words import MISSING

SHOWN = 5


def is_missing(label: str) -> bool:
    """Whether a label says that there is none: blanks, or one of the usual words, in any case."""
    return label.strip().lower() in MISSING


def in_order(names: Iterable[str]) -> list[str]:
    """Sort class names: by value where all are whole numbers, else alphabetically."""
    texts = list(names)
    try:
        return sorted(texts, key=lambda name: (int(name), name))
    except ValueError:
        return sorted(texts)


def missing_note(counts: Mapping[str, int], place: str) -> str:
    """The note about labels that were read as unknown.

    Args:
        counts: how often each of them stands there.
        place: where.
    """
    most = Counter(counts).most_common()
    examples = ", ".join(f"'{label[:20]}' ({count:,})" for label, count in most[:SHOWN])
    more = f" and {len(most) - SHOWN} more" if len(most) > SHOWN else ""
    return (
        f"Labels: {sum(counts.values()):,} in {place} are read as unknown: {examples}{more}; "
        "if that is a class, give it another name."
    )


def alike(classes: Iterable[str]) -> list[tuple[str, ...]]:
    """Classes that differ only by blanks or case, those of each name together."""
    groups: dict[str, list[str]] = {}
    for name in classes:
        groups.setdefault(" ".join(name.split()).casefold(), []).append(name)
    return [tuple(group) for group in groups.values() if len(group) > 1]


def alike_notes(classes: Sequence[str]) -> list[str]:
    """The notes about such classes."""
    groups = alike(classes)
    notes = [
        f"The classes {' and '.join(repr(name[:40]) for name in group[:3])} differ only by blanks or case; "
        "write them alike if they are one."
        for group in groups[:SHOWN]
    ]
    more = len(groups) - SHOWN
    return [*notes, *([f"So do the classes of {more:,} more names."] if more > 0 else [])]
