"""What people should know of how a fit ended: iterations that were undone, and what had no time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def remarks(best: Mapping[str, Any]) -> list[str]:
    """A sentence each for edges that were cut, for what was undone and for what the budget left out.

    Args:
        best: the record of the chosen epoch (``best_epoch_``).
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
    return said
