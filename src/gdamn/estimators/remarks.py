"""What people should know of how a fit ended: iterations that were undone, and what had no time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def remarks(best: Mapping[str, Any], protocol: Mapping[str, Any]) -> list[str]:
    """A sentence each for edges that were cut, what was undone, what the budget left out, and decisions without effect.

    Args:
        best: the record of the chosen epoch (``best_epoch_``).
        protocol: how the fit was made (``protocol_``).
    """
    said = []
    if best.get("edges_cut"):
        said.append(
            f"About {best['edges_by_lot']:.0%} of the edges look as if they were drawn by lot; {best['edges_cut']:,} "
            "were cut before training (judge_edges=false keeps them)."
        )
    if best.get("undone"):
        said.append(f"EM was undone to what it began with: {best['undone']}.")
    if best.get("left_out"):
        said.append(f"The budget left out: {'; '.join(best['left_out'])}.")
    decisions = protocol.get("decisions", {})
    if decisions.get("confirmed") and not decisions["constrained"]:
        said.append(
            f"The {decisions['confirmed']:,} confirmed edges are in the graph and count as any other: constraints are "
            "for the hard attention of gdamn and gdamn-plus, in one process with batch=full."
        )
    return said
