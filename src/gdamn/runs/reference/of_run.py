"""The reference of a run on own files, and the method that ``--method auto`` takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...errors import GdamnError, in_short

if TYPE_CHECKING:
    from ...graph.graph import Graph
    from ..spec import RunSpec


def start_record(best: Mapping[str, Any]) -> dict[str, Any]:
    """What the summary needs of the regressions that a fit started from; nothing where it has other starts.

    Args:
        best: the record of the chosen epoch (``best_epoch_``).
    """
    if best.get("start") != "multihop" and "cross_fitted" not in best:
        return {}
    known = best.get("cross_fitted") or {}
    corrected = (best.get("label_noise") or {}).get("corrected")  # labels that were judged by themselves
    keys = ("accuracy", "nodes") if corrected else ("accuracy", "nodes", "right")
    return {"multihop": True, **{f"cross_fitted_{key}": known[key] for key in keys if key in known}}


def known_start(result: Mapping[str, Any]) -> bool | str:
    """What a seed's result says of its start: which labels it had right, or whether it was multi-hop regressions."""
    return result.get("cross_fitted_right") or bool(result.get("multihop"))


def of_run(read_graph: Callable[[], Graph], seed: int, start: bool | str) -> dict[str, Any]:
    """The reference of a run whose models are trained; a problem with it is told in place of numbers.

    Args:
        read_graph: gives the graph of the seed.
        seed: the first of the run.
        start: whether gdamn started from multi-hop regressions, or which labels they had right.
    """
    from .table import reference

    try:
        return reference(read_graph(), start=start, seed=seed)
    except (GdamnError, MemoryError) as problem:
        return {"notes": [f"There is no reference: {in_short(problem) or 'the memory is too small'}."]}


def choose_method(spec: RunSpec, graph: Graph) -> tuple[RunSpec, dict[str, Any]]:
    """The run with a method in the place of ``auto``, and the reference that decided it.

    gdamn is taken unless a simple method is better beyond noise. Where there are validation nodes, gdamn starts from
    them and the folds don't judge it.

    Args:
        graph: that of the first seed.
    """
    from ...fit.domains.memory import choose_mode
    from ...model.problem import choose_device
    from ...model.settings import Settings
    from .table import reference
    from .verdict import taken

    device = str(spec.settings.get("device", "auto"))
    whole = choose_mode(graph, Settings.make(), choose_device(device)) == "full"
    known = reference(graph, start=whole and not graph.val_mask.any(), seed=spec.seeds[0])
    method, settings = taken(known) or ("gdamn", {})
    return replace(spec, method=method, settings={**spec.settings, **settings}), known
