"""Options: how a person's files are to be read, as the command line gives it and ``config.toml`` keeps it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...errors import ConfigError

USUAL, NO_WORDS = "usual", "none"
"""Which labels are unknown: the usual words, or empty ones only."""

AUTO = "auto"
"""A validation share that is 0 where labels are few, else a fifth (data/held_out.py)."""


@dataclass(frozen=True)
class Options:
    """How a person's files are read; what is left out is guessed, and a note says how.

    Attributes:
        edges: the table of the edges, beside a table of the nodes.
        id: column with the node ids. Default: ``id``, ``node`` or ``node_id``, else the first column.
        label: column with the classes, empty where unknown. Default: ``label``.
        features: columns with features; ``["none"]`` asks for structural ones. Default: every column that is left.
        text: column with a text, which becomes TF-IDF.
        weight: column of the edges with their weights. Default: ``weight`` where there is one.
        source, target: columns of the edges with their ends. Default: the columns called so, else the first two.
        split_column: column that says train, val or test. Default: none.
        val_share: share of the labelled nodes that is held out for validation where no split is given; ``auto``, which
            ``gdamn train`` records, holds out none where labels are few. A run stored before there was a choice has
            none recorded and keeps 0.2.
        test_share: share of the labelled nodes that is held out for a test where no split is given.
        directed: keep the direction of the edges.
        missing: ``usual`` reads labels such as ``NA``, ``-`` and ``?`` as unknown (graph/missing_words.py),
            ``none`` only empty ones. Default: ``usual``; a run stored before there was a choice keeps ``none``.
        sha256: hashes of the files, by ``nodes`` and ``edges``; files that have others are refused.
    """

    edges: str | None = None
    id: str | None = None
    label: str | None = None
    features: tuple[str, ...] | None = None
    text: str | None = None
    weight: str | None = None
    source: str | None = None
    target: str | None = None
    split_column: str | None = None
    val_share: float | str = 0.2
    test_share: float = 0.0
    directed: bool = False
    missing: str = USUAL
    sha256: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        shares = [share for share in (self.val_share, self.test_share) if not isinstance(share, str)]
        if not all(0 <= share < 1 for share in shares) or sum(shares) >= 1:
            raise ConfigError(
                f"--val-share and --test-share are shares of the labelled nodes, 0 or more and together less than 1; "
                f"got {' and '.join(f'{share:g}' for share in shares)}."
            )
        if self.split_column is not None and self.test_share:
            raise ConfigError("--split-column says which nodes are the test set; leave --test-share out.")

    @classmethod
    def make(cls, values: Mapping[str, Any]) -> Options:
        """From plain data, such as ``options`` in a ``config.toml``; wrong names and types are refused."""
        names = {each.name for each in dataclasses.fields(cls)}
        for key, value in values.items():
            if key not in names:
                raise ConfigError(f"Own files have no option '{key}'; they take {', '.join(sorted(names))}.")
            if not _has_its_type(key, value):
                raise ConfigError(f"The option '{key}' of own files can't be {value!r}.")
        fields = {key: value for key, value in values.items() if value is not None}
        if fields.get("sha256") and "missing" not in fields:
            fields["missing"] = NO_WORDS
        if isinstance(fields.get("features"), str):
            fields["features"] = [name.strip() for name in fields["features"].split(",")]
        if "features" in fields:
            fields["features"] = tuple(name for name in fields["features"] if name)
            if not fields["features"]:
                raise ConfigError("--features names no column; leave it out, or pass none for structural features.")
        return cls(**fields)

    def reading(self) -> dict[str, Any]:
        """What a graph remembers of how its tables were read, as plain data for :meth:`make`."""
        names = ("id", "label", "features", "text", "weight", "source", "target", "directed", "missing")
        values = {name: getattr(self, name) for name in names}
        return {name: list(value) if name == "features" else value for name, value in values.items() if value}

    def column_options(self) -> list[str]:
        """The options that name columns of tables, as on the command line."""
        names = ("id", "label", "features", "text", "weight", "source", "target", "split_column")
        return [f"--{name.replace('_', '-')}" for name in names if getattr(self, name) is not None]


def _has_its_type(key: str, value: Any) -> bool:
    """Whether a value has the type of its option."""
    if value is None:
        return key != "sha256"
    if key == "val_share" and value == AUTO:
        return True
    if key in ("val_share", "test_share"):
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if key == "missing":
        return value in (USUAL, NO_WORDS)
    if key == "directed":
        return isinstance(value, bool)
    if key == "features":
        return isinstance(value, str) or (
            isinstance(value, (list, tuple)) and all(isinstance(each, str) for each in value)
        )
    if key == "sha256":
        return isinstance(value, Mapping) and all(isinstance(each, str) for each in value.values())
    return isinstance(value, str)
