"""Runs that were trained with a person's decisions: which rows of which log, and a copy of them that goes on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import DataError, OutputError
from ..system import io
from ..system.reading import is_file, is_there

if TYPE_CHECKING:
    from ..graph.decisions import Decisions
    from ..graph.graph import Graph
    from .spec import RunSpec

LOG = "decisions.csv"
"""What a log is called in the folder of a run."""


def with_log(spec: RunSpec, path: Path) -> RunSpec:
    """The run with the decisions that a log has now; rows that are added later don't change it."""
    from ..graph.decisions import Decisions

    decisions = Decisions.read(path)
    record = {"path": str(path.resolve()), "rows": len(decisions), "sha256": decisions.sha256}
    return replace(spec, decisions=record)


def decisions_of(spec: RunSpec) -> Decisions | None:
    """The rows that the run was trained with, from its log; None without one."""
    from ..graph.decisions import Decisions

    if not spec.decisions:
        return None
    path = Path(spec.decisions["path"])
    decisions = Decisions.read(path).beginning(spec.decisions["rows"])
    if len(decisions) != spec.decisions["rows"] or decisions.sha256 != spec.decisions["sha256"]:
        raise DataError(
            f"'{path}' no longer begins with the {spec.decisions['rows']:,} decisions of the run; put them back, or "
            "name the log with --decisions."
        )
    return decisions


def at_hand(spec: RunSpec, folder: Path) -> RunSpec:
    """The run with the copy of its decisions that its folder has, where the log that it was trained with is gone."""
    if not spec.decisions or is_there(Path(spec.decisions["path"])) or not is_there(folder / LOG):
        return spec
    return replace(spec, decisions={**spec.decisions, "path": str((folder / LOG).resolve())})


def with_decisions(graph: Graph, spec: RunSpec) -> Graph:
    """The graph that a seed of the run learns from."""
    from ..graph.decided import decided

    decisions = decisions_of(spec)
    return graph if decisions is None else decided(graph, decisions)


def check_log(spec: RunSpec, out: Path) -> None:
    """Refuse a folder that holds other decisions: a person made them, and a run must not replace them."""
    from ..graph.decisions import Decisions

    decisions = decisions_of(spec)
    if decisions is None or not is_there(out / LOG):
        return
    held = Decisions.read(out / LOG)
    shared = min(len(held), len(decisions))  # one of them may have gone on
    if held.rows[:shared] != decisions.rows[:shared]:
        raise OutputError(f"'{out / LOG}' holds other decisions; train with it, or choose another --out.")


def keep_log(spec: RunSpec, out: Path) -> None:
    """Begin the folder's own log with the decisions of the run, so that a review goes on from them."""
    from ..graph.decisions import COLUMNS, Decisions, row_text

    decisions = decisions_of(spec)
    if decisions is None or (is_there(out / LOG) and len(Decisions.read(out / LOG)) >= len(decisions)):
        return
    io.write_text(out / LOG, "".join(map(row_text, (COLUMNS, *decisions.rows))))


def came_from(spec: RunSpec, out: Path) -> Path | None:
    """The folder of the run whose review made the decisions; None where it isn't known."""
    if not spec.decisions:
        return None
    folder = Path(spec.decisions["path"]).parent
    known = is_file(folder / "config.toml") and folder.resolve() != out.resolve()
    return folder if known else None


def record_of(results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What a summary tells of decisions: hash and counts for each seed; nothing where there were none."""
    records = [result.get("decisions") for result in results]
    return {"decisions": records} if any(records) else {}
