"""How a rank lays out its parts: as its memory allows."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import torch

from ....errors import ConfigError, TrainingError
from ....graph.parts import Part, PartitionedGraph
from ....model.setting import Trainable
from ....model.settings import Settings
from ..memory import PER_ENTRY, SHARE, free_bytes, needed
from . import environment
from .group import Group

log = logging.getLogger("gdamn")


def why_not_fused(graph: PartitionedGraph, s: Settings, device: torch.device) -> str | None:
    """What stands against the least memory; None where nothing does."""
    wrong = {
        "a directed graph": graph.directed,
        "a GPU": device.type != "cpu",
        "hard=False": not s.hard,
        "soft=False": not s.soft,
        "reweight_samples": s.reweight_samples > 0,
    }
    return next((what for what, there in wrong.items() if there), None)


def choose_mode(
    graph: PartitionedGraph, s: Trainable, device: torch.device, parts: Sequence[Part], group: Group
) -> str:
    """full or fused: what is asked for, or the first of them that the memory of every rank allows; batches for batches.

    Args:
        parts: those of this rank.
    """
    wanted, given = ["full"], 0.0
    if isinstance(s, Settings):
        reason, given = why_not_fused(graph, s, device), s.memory
        if s.batch == "fused" and reason:
            raise ConfigError(f"batch=fused can't be used with {reason}; set batch=full.")
        if s.batch == "partition":
            wanted = ["full" if reason else "batches"]
        elif s.batch != "full" and not reason:
            wanted = ["fused"] if s.batch == "fused" else ["full", "fused"]
    there = SHARE * (given * 1e9 if given > 0 else free_bytes(environment.local_ranks()))
    takes = {mode: rank_bytes(graph, s, parts, mode) for mode in wanted}
    answers = group.ask_all([there, takes])
    for mode in wanted:
        if all(need[mode] <= room for room, need in answers):
            if mode != wanted[0] and group.leads:
                log.warning("A full batch would take more memory than a rank has: it goes over to batch=fused.")
            return mode
    rank, (room, need) = max(enumerate(answers), key=lambda answer: answer[1][1][wanted[-1]] / max(answer[1][0], 1))
    raise TrainingError(
        f"Rank {rank} of {group.size} would take about {need[wanted[-1]] / 1e9:.2f} GB, more than the {room / 1e9:.2f} "
        "GB that it may; start more ranks (or on machines with more memory), or set memory."
    )


def rank_bytes(graph: PartitionedGraph, s: Trainable, parts: Sequence[Part], mode: str) -> int:
    """About what a step takes on the rank of these parts at its peak."""
    nodes, entries = sum(part.num_nodes for part in parts), sum(part.num_entries for part in parts)
    halo = min(sum(part.num_halo for part in parts), graph.num_nodes - nodes)
    stored = 12 * sum(part.num_features_stored for part in parts) if graph.is_sparse else 4 * nodes * graph.num_features
    if isinstance(s, Settings):
        kind = "full" if mode == "full" else "fused"
        return needed(nodes + halo, entries + nodes, stored, graph.num_classes, s, kind)
    per_node = 4 * (3 * getattr(s, "hidden", 0) * getattr(s, "layers", 1) + 6 * graph.num_classes)
    return PER_ENTRY["fused"] * (entries + nodes) + per_node * (nodes + halo) + stored  # no attention: few values
