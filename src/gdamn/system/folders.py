"""Folders that gdamn writes into: empty ones, and those that are its own.

A folder is gdamn's own when a small file in it says so (:data:`MARKER`), which is written before anything else. Every
other folder that isn't empty belongs to somebody else, and nothing in it is ever written, locked or removed.

Earlier versions wrote no such file. A folder of theirs is known by what it holds (:data:`WITNESSES`): every file with
the name of a document of ours must be one, and one at least must be there.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..errors import ConfigError, DataError, OutputError
from ..system.versions import __version__
from . import io, reading

MARKER = ".gdamn.json"
FORMAT = 1
LOCK = ".gdamn.lock"
"""The file that :mod:`gdamn.system.lock` holds while it works in a folder."""

KINDS = {
    "run": "a run",
    "comparison": "a comparison",
    "search": "a search",
    "reproduction": "a table or figure of the paper",
    "graph": "a graph",
    "parts": "a partitioned graph",
}
"""What a folder may hold, and how it is called in a sentence."""

PARTS = "parts.json"
"""The file that describes a partitioned graph, in its folder."""


def is_parts(path: str | Path) -> bool:
    """Whether a folder holds a partitioned graph (:mod:`gdamn.graph.parts`)."""
    return reading.is_file(Path(path) / PARTS)


def check(out: Path, kind: str) -> None:
    """Refuse a folder that can't be written, or that is neither empty nor ours, before anything is created."""
    check_writable(out)
    if not reading.is_there(out) or _is_empty(out):
        return
    holds = read_marker(out)
    if holds is None:
        holds = older_kinds(out)
    if not holds:
        raise OutputError(f"'{out}' holds files that gdamn did not write, so nothing is put there; {_CHOOSE}.")
    if kind not in holds:
        kinds = " and ".join(KINDS[name] for name in holds)
        raise OutputError(f"'{out}' holds {kinds}, not {KINDS[kind]}; {_CHOOSE}.")


_CHOOSE = "choose a folder that is new or empty"


def check_writable(out: Path) -> None:
    """Refuse a folder that can't be written; nothing is created yet."""
    standing = out
    try:
        while not standing.exists() and standing != standing.parent:
            standing = standing.parent
    except (OSError, ValueError) as cause:  # a name that is too long, a loop of links
        raise io.output_error(out, cause if isinstance(cause, OSError) else OSError(str(cause))) from None
    if not standing.is_dir():
        raise OutputError(f"Can't write to '{out}': '{standing}' is a file, not a folder; choose another --out.")
    if not os.access(standing, os.W_OK | os.X_OK):
        raise OutputError(f"Can't write to '{out}': no permission in '{standing}'; choose another --out.")


def mark(out: Path, kind: str) -> None:
    """Say that a folder, which has passed :func:`check`, is ours; only for who is alone in it."""
    holds = read_marker(out)
    if holds is None:
        io.remove_leftovers(out / MARKER)
        io.write_json(out / MARKER, {"format": FORMAT, "gdamn": __version__, "holds": older_kinds(out) or [kind]})


def unmark(out: Path) -> None:
    """Take the mark from a folder into which nothing was put; only for who is alone in it."""
    try:
        if {path.name for path in out.iterdir()} <= {MARKER, LOCK}:
            (out / MARKER).unlink(missing_ok=True)
    except OSError:  # it stays, and the folder is ours
        return


def read_marker(out: Path) -> list[str] | None:
    """The kinds of what a folder of ours holds; None where it has no mark."""
    if not os.path.lexists(out / MARKER):
        return None
    try:
        marker = reading.read_json(out / MARKER)
        holds = [name for name in marker["holds"] if name in KINDS]
        newer = marker["format"] > FORMAT
    except (DataError, TypeError, KeyError, AttributeError):
        raise OutputError(f"'{out / MARKER}' is damaged, so gdamn can't tell what '{out}' holds; {_CHOOSE}.") from None
    if newer or not holds:
        raise OutputError(f"'{out}' was written by a newer gdamn; update gdamn, or {_CHOOSE}.")
    return holds


def _is_empty(out: Path) -> bool:
    """Whether nothing is in a folder; the lock of who was killed before it wrote doesn't count."""
    try:
        left = [path.name for path in out.iterdir() if path.name != LOCK]
    except OSError as cause:
        raise io.output_error(out, cause) from None
    return all(re.fullmatch(r"\.+gdamn-[a-z0-9_]{8}\.json", name) for name in left)


def older_kinds(out: Path) -> list[str]:
    """The kinds of what earlier versions of gdamn wrote there."""
    return [kind for kind in KINDS if is_of_older_version(out, kind)]


def is_of_older_version(out: Path, kind: str) -> bool:
    """Whether an earlier version of gdamn wrote such a thing there, and every file in question is its own."""
    if not all(_is_unfinished(path) for path in out.glob(".unfinished/*")):
        return False
    seen = [_is(path, true) for pattern, true in WITNESSES[kind].items() for path in sorted(out.glob(pattern))]
    return all(seen) if seen else kind == "reproduction" and _is_begun(out)


def _is(path: Path, true: Callable[[Path], bool]) -> bool:
    """Whether a file passes its check; one that can't be read doesn't."""
    try:
        return true(path)
    except (DataError, ConfigError, TypeError, KeyError, AttributeError):
        return False


def _is_unfinished(path: Path) -> bool:
    """Whether a name is one that gdamn/runs/store.py or seed_records.py gives."""
    return re.fullmatch(r"seed-\d+(\.json)?|[0-9a-f]{16}", path.name) is not None


def _made_by_gdamn(path: Path) -> bool:
    """A result or a record that tells the version that made it."""
    return isinstance(reading.read_json(path)["versions"]["gdamn"], str)


def _is_config(path: Path) -> bool:
    """A ``config.toml`` as a run writes it."""
    content = reading.read_toml(path)
    kinds = {"version": str, "dataset": str, "method": str, "seeds": list, "options": dict, "settings": dict}
    return set(content) == {*kinds, "noise"} and all(isinstance(content[key], kind) for key, kind in kinds.items())


def _is_seed_record(path: Path) -> bool:
    """The record of a finished seed of a run that isn't finished."""
    return isinstance(reading.read_json(path)["identity"]["versions"]["gdamn"], str)


def _is_checkpoint(path: Path) -> bool:
    """A checkpoint."""
    reading.check_own(path)
    with path.open("rb") as file:
        return file.read(len(CHECKPOINT)) == CHECKPOINT


def is_page(path: Path) -> bool:
    """Whether a file is a page of ours: its title ends with the name of the program."""
    if not reading.is_file(path):
        return False
    with path.open("rb") as file:
        return b"gdamn</title>" in file.read(4096)


def _is_kind(*kinds: str) -> Callable[[Path], bool]:
    """A JSON document that says what it is."""
    return lambda path: reading.read_json(path)["kind"] in kinds


def _is_graph(path: Path) -> bool:
    """The index of a graph folder, with the hashes of its arrays."""
    head: dict[str, Any] = reading.read_json(path)
    return isinstance(head["format"], int) and {"indptr", "indices", "labels"} <= set(head["arrays"])


def _is_best(path: Path) -> bool:
    """The winner of a search."""
    return reading.read_text(path, reading.MOST_TOML).startswith("# Best of ") and "settings" in reading.read_toml(path)


def _is_journal(path: Path) -> bool:
    """Optuna's journal, with a study of ours."""
    content = reading.read_bytes(path, reading.MOST_JSON)
    return b'"study_name"' in content and b'"asked"' in content


def _is_begun(out: Path) -> bool:
    """Whether a folder holds the first fits of a table or of all targets, below their names, and nothing else."""
    known = {*_TARGETS, "units", ".unfinished", ".lock"}
    records = [path for pattern in _RECORDS for path in out.glob(pattern)]
    return (
        bool(records)
        and all(_is(path, _made_by_gdamn) for path in records)
        and all(path.name in known or (path / "fits").is_dir() for path in out.iterdir())
    )


CHECKPOINT = b"gdamn checkpoint "
"""The first bytes of a checkpoint."""

_RECORDS = ("units/*/seed-*.json", "*/units/*/seed-*.json", "*/fits/*/seed-*.json", "*/*/fits/*/seed-*.json")
_CHECKPOINTS = ".unfinished/[0-9a-f]*/*.checkpoint"
_TARGETS = ("table1", "table2", "table3", "fig1a", "fig1b", "fig4", "fig5", "fig6", "time", "convergence", "ablation")

WITNESSES: dict[str, dict[str, Callable[[Path], bool]]] = {
    "run": {
        "summary.json": _made_by_gdamn,
        "config.toml": _is_config,
        "report.html": is_page,
        ".unfinished/seed-*.json": _is_seed_record,
        ".unfinished/seed-*/*.checkpoint": _is_checkpoint,
    },
    "comparison": {
        "compare.json": _is_kind("comparison"),
        "compare.html": is_page,
        "fits/*/seed-*.json": _made_by_gdamn,
        _CHECKPOINTS: _is_checkpoint,
    },
    "search": {"study.journal": _is_journal, "best.toml": _is_best},
    "reproduction": {
        **{f"{target}.json": _is_kind("table", "experiment") for target in _TARGETS},
        **{f"{target}.html": is_page for target in _TARGETS},
        "all.json": _is_kind("experiments"),
        _CHECKPOINTS: _is_checkpoint,
    },
    "graph": {"graph.json": _is_graph},
    "parts": {},
}
"""Per kind of folder, the files by which an older one is known, and what each of them must be."""
