"""How much memory a full batch would take, how much there is, and which mode follows."""

from __future__ import annotations

import logging
import sys

import scipy.sparse as sp
import torch

from ...graph.graph import Graph
from ...model.settings import Settings
from ...system.memory import limited_bytes, process_bytes, system_bytes

PER_ENTRY = {"full": 160, "fused": 40}
"""Bytes per entry of A + I: indices both ways, weights, pairs, and what the M-step holds with its gradients.
Measured: docs/evidence/scale.md."""
KEPT_PER_EDGE = 48
"""Bytes of the weights that a fitted model keeps, with what making them takes."""
SHARE = 0.7
"""Of the memory that is free, a full batch may take this much."""

UNTOLD = 8 << 30
"""Bytes that are taken to be free where the system doesn't tell."""

log = logging.getLogger("gdamn")


def needed_bytes(graph: Graph, s: Settings, mode: str) -> int:
    """About what a step on the whole graph takes at its peak."""
    x = graph.features
    features = 12 * x.nnz if isinstance(x, sp.csr_array) else 8 * x.size
    return needed(graph.num_nodes, len(graph.indices) + graph.num_nodes, int(features), graph.num_classes, s, mode)


def needed(nodes: int, entries: int, features: int, classes: int, s: Settings, mode: str) -> int:
    """The same, from counts: entries of A + I, and the bytes of the features."""
    per_node = 4 * (3 * s.hidden * s.layers + 3 * s.projection + 6 * classes)  # measured: two thirds of it
    return entries * PER_ENTRY[mode] + nodes * per_node + features


def free_bytes(ranks: int = 1) -> int:
    """Memory that this process may still take: its share of what the system has, or what a limit of its own leaves.

    Args:
        ranks: the processes of this run that share the machine.
    """
    limits = [left for _, left in limited_bytes()]
    return min(min(system_bytes().get("MemAvailable", UNTOLD), *limits, sys.maxsize) // ranks, process_bytes())


def edges_fit(entries: int) -> bool:
    """Whether a fitted model can keep its weights per edge; says so where it can't."""
    needed = KEPT_PER_EDGE * entries
    if needed <= free_bytes() / 4:
        return True
    log.warning("The weights of the edges are not kept: that would take %.1f GB of memory.", needed / 1e9)
    return False


def choose_mode(graph: Graph, s: Settings, device: torch.device) -> str:
    """full, fused, partition or neighbour; ``auto`` is the first of them that memory allows, and says so."""
    if s.batch != "auto":
        return s.batch
    there = SHARE * (s.memory * 1e9 if s.memory > 0 else free_bytes())
    needed = needed_bytes(graph, s, "full")
    if needed <= there:
        return "full"
    from .lean import why_not

    mode = "partition"
    if why_not(graph, s, device) is None and needed_bytes(graph, s, "fused") <= there:
        mode = "fused"
    log.warning(
        "A full batch would take about %.1f GB, more than the %.1f GB that training may take: it goes over to "
        "batch=%s (set batch, or memory, to decide otherwise).",
        *(needed / 1e9, there / 1e9, mode),
    )
    return mode
