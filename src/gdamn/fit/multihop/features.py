"""Multi-hop features: what a node and its neighbourhood look like at several depths, in few columns.

X, its rows scaled to length 1, is projected once on the directions that matter after two hops: V holds the leading
right singular vectors of Â² X, found by randomised subspace iteration (Halko, Martinsson, Tropp 2011). All depths are
then sums of the same products Â^k X V:

    hops-k:  Â^k X V                                             (SGC, Wu et al. 2019)
    ppr-α:   α Σ_{k<K} (1 - α)^k Â^k X V + (1 - α)^K Â^K X V      (APPNP, Klicpera et al. 2019)

Rows are scaled to length 1 again, in ``centred`` ones after the mean row was taken away. ``structure`` needs no
features: the leading eigenvectors of Â, scaled by their eigenvalues.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from ...graph.structure import Structure
from ...kernels.products import spmm, spmm_t
from ...model.adjacency import Adjacency, gcn_adjacency
from ...model.inputs import Block

WIDTH = 128
"""Columns that features are projected on; those of large graphs on half as many."""

LARGE = 100_000
"""Nodes from which a graph is large."""

HOPS = 16
"""K, the longest walk."""

TELEPORTS = (0.05, 0.1, 0.2)
"""α of the personalised PageRanks."""

EXTRA = 10
"""Random directions beyond those that are kept, so that the kept ones are accurate."""


def multihop_features(structure: Structure, x: Block, device: torch.device, seed: int) -> Iterator[tuple[str, Tensor]]:
    """Name and features [N, d] of every depth; rows have length 1, or 0.

    Args:
        structure: A + I.
        x: the features X.
        seed: of the random directions.
    """
    adjacency, generator = gcn_adjacency(structure, device), torch.Generator().manual_seed(seed)
    nodes = structure.pattern.shape[0]
    width = WIDTH if nodes <= LARGE else WIDTH // 2
    h = projected(UnitRows(x), adjacency, width, generator)
    yield "features", F.normalize(h, dim=1)
    totals = {alpha: alpha * h for alpha in TELEPORTS}
    for hop in range(1, HOPS + 1):
        h = adjacency.propagate(h, None)
        for alpha, total in totals.items():
            total += (alpha if hop < HOPS else 1.0) * (1 - alpha) ** hop * h
        if hop <= 2:
            yield f"hops-{hop} centred", centred(h)
    for alpha, total in totals.items():
        yield f"ppr-{alpha}", F.normalize(total, dim=1)
        yield f"ppr-{alpha} centred", centred(total)
    yield "structure", eigenvectors(adjacency, min(width // 2, nodes), generator)


def centred(h: Tensor) -> Tensor:
    """Rows [N, d] without their mean, scaled to length 1."""
    return F.normalize(h - h.mean(0), dim=1)


class UnitRows:
    """Features with rows of length 1, as the two products that a projection needs."""

    def __init__(self, x: Block) -> None:
        self.x, self.width = x, x.width
        if x.pattern is None or x.values is None:
            assert x.dense is not None
            self.dense = F.normalize(x.dense, dim=1)
        else:
            rows = torch.from_numpy(np.repeat(np.arange(x.pattern.shape[0]), np.diff(x.pattern.indptr)))
            squares = torch.zeros(x.pattern.shape[0], dtype=torch.float64)
            squares.index_add_(0, rows, x.values.cpu().double().square())
            self.values = x.values / squares.sqrt().clamp_min(1e-12)[rows].float().to(x.values.device)

    def times(self, right: Tensor) -> Tensor:
        """X R: [N, d]."""
        if self.x.pattern is None:
            return self.dense @ right
        return spmm(self.x.pattern, self.values, right)

    def transposed_times(self, left: Tensor) -> Tensor:
        """Xᵀ L: [F, d]."""
        if self.x.pattern is None:
            return self.dense.T @ left
        return spmm_t(self.x.pattern, self.values, left)


def projected(x: UnitRows, adjacency: Adjacency, width: int, generator: torch.Generator) -> Tensor:
    """X V [N, d] for the d leading right singular vectors V of Â² X; X itself where it isn't wider than d."""
    device = adjacency.values.device
    if x.width <= width:
        return x.times(torch.eye(x.width, device=device))

    def two_hops(h: Tensor) -> Tensor:
        return adjacency.propagate(adjacency.propagate(h, None), None)

    basis = torch.randn(x.width, width + EXTRA, generator=generator).to(device)
    for _ in range(2):
        basis = torch.linalg.qr(x.transposed_times(two_hops(two_hops(x.times(basis)))))[0]
    smooth = two_hops(x.times(basis)).double()
    directions = torch.linalg.eigh(smooth.T @ smooth)[1].flip(1)[:, :width].float()
    return x.times(basis @ directions)


def eigenvectors(adjacency: Adjacency, count: int, generator: torch.Generator) -> Tensor:
    """[N, d] the leading eigenvectors of Â times their eigenvalues, rows scaled to length 1."""
    nodes = adjacency.structure.pattern.shape[0]
    basis = torch.randn(nodes, min(count + EXTRA, nodes), generator=generator).to(adjacency.values.device)
    for _ in range(4):
        basis = torch.linalg.qr(adjacency.propagate(adjacency.propagate(basis, None), None))[0]
    moved = adjacency.propagate(basis, None)
    gram = (moved.double().T @ moved.double()).cpu()
    directions = torch.linalg.eigh(gram)[1].flip(1)[:, :count].float().to(moved.device)
    return F.normalize(moved @ directions, dim=1)
