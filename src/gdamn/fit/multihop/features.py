"""Multi-hop features: what a node and its neighbourhood look like at several depths, in few columns.

X, its rows scaled to length 1, is projected once on the directions that matter by themselves and after two hops: V
holds the leading right singular vectors of X stacked on Â² X, both scaled alike, found by randomised subspace iteration
(Halko, Martinsson, Tropp 2011). All depths are then sums of the same products Â^k X V:

    hops-k:  Â^k X V                                             (SGC, Wu et al. 2019)
    ppr-α:   α Σ_{k<K} (1 - α)^k Â^k X V + (1 - α)^K Â^K X V      (APPNP, Klicpera et al. 2019)

The ``similar`` PageRanks are those over the graph whose edges weigh as their ends' features agree: wrong edges count
less there. Rows are scaled to length 1 again, in ``centred`` ones after the mean row was taken away. ``structure``
needs no features: the leading eigenvectors of Â, scaled by their eigenvalues.

Directions, mean rows and eigenvectors are those of the nodes that have edges. No hop makes the row of an isolated node
shorter, and each is an eigenvector of its own, so that many of them would decide what the others are described by.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

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


@dataclass(frozen=True, eq=False)
class Depth:
    """Features of all nodes at one depth.

    Attributes:
        name: such as "ppr-0.1 centred".
        h: [N, d], rows of length 1, or 0.
        alone: [A, d] what some nodes' rows would be if they had no edges.
    """

    name: str
    h: Tensor
    alone: Tensor


def multihop_features(structure: Structure, x: Block, device: torch.device, seed: int) -> Iterator[tuple[str, Tensor]]:
    """Name and features [N, d] of every depth; rows have length 1, or 0.

    Args:
        structure: A + I.
        x: the features X.
        seed: of the random directions.
    """
    for depth in depths(structure, x, torch.empty(0, dtype=torch.int64, device=device), seed):
        yield depth.name, depth.h


def depths(
    structure: Structure, x: Block, nodes: Tensor, seed: int, similar: Structure | None = None
) -> Iterator[Depth]:
    """Every depth, with the rows that ``nodes`` [A] would have if they had no edges: Â^k X V = X V for all k.

    Args:
        similar: A + I whose edges weigh as their ends' features agree; PageRanks over it are depths, too.
    """
    device = nodes.device
    adjacency, generator = gcn_adjacency(structure, device), torch.Generator().manual_seed(seed)
    count, isolated = structure.pattern.shape[0], isolated_nodes(structure, device)
    width = WIDTH if count <= LARGE else WIDTH // 2
    h = projected(UnitRows(x), adjacency, width, isolated, generator)
    own = h[nodes]

    def plain(name: str, h: Tensor) -> Depth:
        return Depth(name, F.normalize(h, dim=1), F.normalize(own, dim=1))

    def centred(name: str, h: Tensor) -> Depth:
        middle = mean_row(h, isolated)
        return Depth(f"{name} centred", shifted(h, middle, isolated), shifted(own, middle, slice(None)))

    yield plain("features", h)
    step = h
    for hop in (1, 2):
        step = adjacency.propagate(step, None)
        yield centred(f"hops-{hop}", step)
    for kind, over in (("", adjacency), ("similar ", None if similar is None else gcn_adjacency(similar, device))):
        for alpha, total in pageranks(over, h) if over is not None else ():
            yield plain(f"{kind}ppr-{alpha}", total)
            yield centred(f"{kind}ppr-{alpha}", total)
    vectors = eigenvectors(adjacency, min(width // 2, count - len(isolated)), isolated, generator)
    yield Depth("structure", vectors, torch.zeros(len(own), vectors.shape[1], device=device))


def pageranks(adjacency: Adjacency, h: Tensor) -> Iterator[tuple[float, Tensor]]:
    """α and the personalised PageRank of features h [N, d] for each α."""
    totals = {alpha: coefficient(alpha, 0) * h for alpha in TELEPORTS}
    for hop in range(1, HOPS + 1):
        h = adjacency.propagate(h, None)
        for alpha, total in totals.items():
            total += coefficient(alpha, hop) * h
    yield from totals.items()


def coefficient(alpha: float, hop: int) -> float:
    """How much a walk of this many hops counts in a personalised PageRank; the longest stands for all longer ones."""
    return (alpha if hop < HOPS else 1.0) * (1 - alpha) ** hop


def isolated_nodes(structure: Structure, device: torch.device) -> Tensor:
    """The nodes without edges; none where no node has any, since there are no others to keep them from."""
    isolated = structure.isolated
    nodes = np.empty(0, np.int64) if isolated.all() else np.flatnonzero(isolated)
    return torch.from_numpy(nodes).to(device)


def mean_row(h: Tensor, isolated: Tensor) -> Tensor:
    """[d] the mean of the rows of h [N, d] whose nodes have edges."""
    if not len(isolated):
        return h.mean(0)
    others = torch.ones(len(h), dtype=torch.bool, device=h.device)
    others[isolated] = False
    return h[others].mean(0)


def shifted(h: Tensor, middle: Tensor, isolated: Tensor | slice) -> Tensor:
    """Rows of h [n, d] minus the middle, scaled to length 1; 0 where an isolated node has no features either."""
    unit = F.normalize(h - middle, dim=1)
    unit[isolated] *= (h[isolated] != 0).any(1, keepdim=True)
    return unit


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


def projected(x: UnitRows, adjacency: Adjacency, width: int, isolated: Tensor, generator: torch.Generator) -> Tensor:
    """X V [N, d] for the d leading directions V of X and Â² X, isolated rows left out; X itself if not wider.

    Both count the same: V spans the leading eigenvectors of XᵀX / ‖X V‖² + (Â²X)ᵀ(Â²X) / ‖Â²X V‖².
    """
    device = adjacency.values.device
    if x.width <= width:
        return x.times(torch.eye(x.width, device=device))

    def two_hops(h: Tensor) -> Tensor:
        return adjacency.propagate(adjacency.propagate(h, None), None)

    def both(basis: Tensor) -> list[Tensor]:
        """X V and Â² X V."""
        plain = x.times(basis)
        plain[isolated] = 0
        return [plain, two_hops(plain)]

    basis = torch.randn(x.width, width + EXTRA, generator=generator).to(device)
    for _ in range(3):
        plain, smooth = (part / part.square().sum().clamp_min(1e-12) for part in both(basis))
        basis = torch.linalg.qr(x.transposed_times(plain + two_hops(smooth)))[0]
    unit = [(part / part.norm().clamp_min(1e-12)).double() for part in both(basis)]
    gram = unit[0].T @ unit[0] + unit[1].T @ unit[1]
    directions = torch.linalg.eigh(gram)[1].flip(1)[:, :width].float()
    return x.times(basis @ directions)


def eigenvectors(adjacency: Adjacency, count: int, isolated: Tensor, generator: torch.Generator) -> Tensor:
    """[N, d] the leading eigenvectors of Â times their eigenvalues, rows scaled to length 1; 0 for isolated nodes."""
    nodes = adjacency.structure.pattern.shape[0]
    columns = min(count + EXTRA, nodes - len(isolated))
    basis = torch.randn(nodes, columns, generator=generator).to(adjacency.values.device)
    basis[isolated] = 0
    for _ in range(4):
        basis = torch.linalg.qr(adjacency.propagate(adjacency.propagate(basis, None), None))[0]
    moved = adjacency.propagate(basis, None)
    gram = (moved.double().T @ moved.double()).cpu()
    directions = torch.linalg.eigh(gram)[1].flip(1)[:, :count].float().to(moved.device)
    return F.normalize(moved @ directions, dim=1)
