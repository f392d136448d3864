"""Propagated labels: the classes of the labelled nodes that walks over the graph reach, without any features.

    S = α Σ_{k<K} (1 - α)^k Â^k Y + (1 - α)^K Â^K Y,      P[i, c] ∝ S[i, c] + ε / C

where Y [N, C] holds the known labels, each class divided by its number of labels, and 0 elsewhere. A node that no walk
reaches has the same probability for all classes. Where features say little, this is the strongest of the simple views.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ...graph.structure import Structure
from ...model.adjacency import gcn_adjacency
from .features import HOPS, Depth, coefficient

TELEPORT = 0.05
"""α."""

FLOOR = 1e-3
"""ε as a share of what the median node is reached by."""


def propagated_labels(
    structure: Structure, train: Tensor, targets: Tensor, left_out: Tensor, alone: int
) -> tuple[Depth, Tensor]:
    """The view of all nodes from all labels, and what it says of labelled nodes without their own fold.

    Args:
        structure: A + I.
        train: [L] the labelled nodes.
        targets: [L, C] their labels, times their weights.
        left_out: [K, L] those that are left out of each fit.
        alone: how many nodes are asked for as if they had no edges; no label reaches them.

    Returns:
        The view, h = log P [N, C], and [L, C] mean log-probabilities by the folds that left a node out.
    """
    device, (labelled, classes) = train.device, targets.shape
    used = torch.cat([~left_out, torch.ones(1, labelled, dtype=torch.bool)])
    known = used[:, :, None] * targets  # [K + 1, L, C]
    known = known / known.sum(1, keepdim=True).clamp_min(1e-12)
    start = torch.zeros(structure.pattern.shape[0], len(used) * classes, device=device)
    start[train] = known.transpose(0, 1).reshape(labelled, -1).float().to(device)

    adjacency, h, total = gcn_adjacency(structure, device), start, coefficient(TELEPORT, 0) * start
    for hop in range(1, HOPS + 1):
        h = adjacency.propagate(h, None)
        total += coefficient(TELEPORT, hop) * h
    reached = total.reshape(len(total), len(used), classes)

    everywhere = log_shares(reached[:, -1], reached[:, -1])
    unseen, count = torch.zeros(labelled, classes, dtype=torch.float64), left_out.sum(0)[:, None]
    for number, mask in enumerate(left_out):
        part = reached[train[mask.to(device)], number]
        unseen[mask] += log_shares(part, reached[:, number]).double().cpu()
    uniform = torch.full_like(unseen, -float(np.log(classes)))
    lonely = torch.full((alone, classes), -float(np.log(classes)), device=device)
    return Depth("labels", everywhere, lonely), torch.where(count > 0, unseen / count.clamp_min(1), uniform)


def log_shares(reached: Tensor, everywhere: Tensor) -> Tensor:
    """log P [n, C] of rows of S [n, C]; S of all nodes gives the floor."""
    floor = FLOOR * float(everywhere.sum(1).median()) + 1e-12
    shares = reached + floor / reached.shape[1]
    return (shares / shares.sum(1, keepdim=True)).log()
