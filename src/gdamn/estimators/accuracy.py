"""How sure an accuracy is: the nodes that it was measured on, and the interval that so many allow."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

LEVEL = 1.959963984540054
"""Standard deviations on either side that hold 95 % of a normal distribution."""


def interval(accuracy: float, nodes: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share that was measured on so many nodes (Wilson, 1927).

    (p + z²/2n ± z √(p (1 - p) / n + z²/4n²)) / (1 + z²/n) with z = 1.96. Unlike p ± z √(p (1 - p) / n) it stays between
    0 and 1, and has a width where every node is right: 8 of 8 give 67.6 to 100 %. It tells what the choice of these
    nodes leaves open, not what another split or another seed would change.
    """
    if nodes < 1:
        raise ValueError("an interval needs at least one node")
    z2 = LEVEL * LEVEL / nodes
    centre = (accuracy + z2 / 2) / (1 + z2)
    half = math.sqrt(z2 * accuracy * (1 - accuracy) + z2 * z2 / 4) / (1 + z2)
    return max(0.0, min(centre - half, accuracy)), min(1.0, max(centre + half, accuracy))


def measured(accuracy: float | None, nodes: int | None) -> dict[str, Any]:
    """An accuracy with its nodes and interval, as plain data for JSON; None for what isn't known."""
    ends = None if accuracy is None or not nodes else list(interval(accuracy, nodes))
    return {"accuracy": accuracy, "nodes": nodes, "interval_95": ends}


def with_nodes(spread: Mapping[str, Any], nodes: Sequence[int | None]) -> dict[str, Any]:
    """A spread over seeds with each seed's ``nodes`` and ``interval_95``; as it was where no seed tells its nodes."""
    if all(count is None for count in nodes):
        return dict(spread)
    accuracies = [measured(value, count) for value, count in zip(spread["per_seed"], nodes, strict=True)]
    return {**spread, "nodes": list(nodes), "interval_95": [each["interval_95"] for each in accuracies]}


def short(accuracy: float | None, nodes: int | None) -> str:
    """``86.4 % (66.7–95.3)`` for a table whose head tells the nodes; without brackets where they aren't known."""
    if accuracy is None or accuracy != accuracy:
        return "–"
    return with_ends(accuracy, interval(accuracy, nodes) if nodes else None)


def with_ends(value: float, ends: Sequence[float] | None) -> str:
    """``86.4 % (66.7–95.3)`` for a share and the ends of its interval; without brackets where it has none."""
    text = f"{100 * value:.1f} %"
    return text if ends is None else f"{text} ({100 * ends[0]:.1f}–{100 * ends[1]:.1f})"


def full(accuracy: float | None, nodes: int | None) -> str:
    """``86.4 % of 22 nodes (95 % interval 66.7–95.3)`` for a sentence."""
    if accuracy is None or accuracy != accuracy or not nodes:
        return short(accuracy, nodes)
    low, high = interval(accuracy, nodes)
    text = f"{100 * accuracy:.1f} % of {count_text([nodes])}"
    return f"{text} (95 % interval {100 * low:.1f}–{100 * high:.1f})"


def nodes_at(spread: Mapping[str, Any], at: int) -> int | None:
    """The nodes behind the accuracy of a seed; None in files of earlier versions."""
    nodes = spread.get("nodes")
    return None if nodes is None else nodes[at]


def count_text(nodes: Sequence[int | None]) -> str:
    """``22 nodes``, or ``20 to 22 nodes`` where seeds differ; empty where no seed tells."""
    known = sorted({count for count in nodes if count})
    if not known:
        return ""
    if known == [1]:
        return "1 node"
    return f"{known[0]:,} nodes" if len(known) == 1 else f"{known[0]:,} to {known[-1]:,} nodes"


def spread_nodes(spread: Mapping[str, Any]) -> str:
    """The nodes behind a spread, in words; empty in files of earlier versions."""
    return count_text(spread.get("nodes") or [])
