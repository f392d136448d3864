"""The paper's numbers, read from ``paper.toml``; the one place where the package knows them."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ..errors import ConfigError
from ..system.reading import read_toml


@dataclass(frozen=True)
class Printed:
    """A number of the paper, in per cent.

    Attributes:
        test, val: mean and, where it is printed, standard deviation; ``val`` is empty where the table has none.
        source: where the number presumably comes from.
        comparable: whether that source has the protocol that is used here.
        note: what else should be known of it.
    """

    test: tuple[float, ...]
    val: tuple[float, ...]
    source: str
    comparable: bool
    note: str = ""


@dataclass(frozen=True)
class Row:
    """A row of a table: its name in the paper, the method's name here, and its numbers by data set."""

    name: str
    method: str
    cells: dict[str, Printed]


@dataclass(frozen=True)
class PaperTable:
    """A table of the paper."""

    name: str
    title: str
    datasets: tuple[str, ...]
    rows: tuple[Row, ...]


@cache
def tables() -> dict[str, PaperTable]:
    """Every table by its name."""
    content = _content()
    return {name: _table(name, content[name], content["sources"]) for name in content if name.startswith("table")}


def elsewhere(dataset: str) -> str:
    """What should be said of a graph that stands where the paper has another one."""
    from ..data import DATASETS

    remark: str | None = _content()["elsewhere"].get(dataset)
    return remark or f"{dataset}: {DATASETS[dataset].description}."


def statistics(dataset: str) -> dict[str, int] | None:
    """The counts that the paper prints of a data set; None of one that it doesn't use."""
    counts: dict[str, int] | None = _content()["statistics"].get(dataset)
    return counts


@cache
def _content() -> dict[str, Any]:
    return read_toml(Path(__file__).with_name("paper.toml"))


def table(name: str) -> PaperTable:
    """The table called so, or an error with the names that there are."""
    by_name = tables()
    if name not in by_name:
        close = difflib.get_close_matches(name, by_name, n=1)
        hint = f"did you mean {close[0]}?" if close else f"there are {' and '.join(by_name)}."
        raise ConfigError(f"There is no table '{name}'; {hint}")
    return by_name[name]


def printed(dataset: str, method: str) -> Printed | None:
    """What the paper prints for a method on a data set, in whichever table."""
    for one in tables().values():
        for row in one.rows:
            if row.method == method and dataset in row.cells:
                return row.cells[dataset]
    return None


def _table(name: str, entry: dict[str, Any], sources: dict[str, Any]) -> PaperTable:
    rows = tuple(
        Row(row["name"], row["method"], {d: _cell(row[d], sources) for d in entry["datasets"] if d in row})
        for row in entry["rows"]
    )
    return PaperTable(name, entry["title"], tuple(entry["datasets"]), rows)


def _cell(cell: dict[str, Any], sources: dict[str, Any]) -> Printed:
    source = sources[cell["from"]]
    val = tuple(cell.get("val", ()))
    return Printed(tuple(cell["test"]), val, source["text"], source["comparable"], cell.get("note", ""))
