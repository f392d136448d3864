"""Evidence: what speaks for an edge beside the labels that its ends seem to have.

The columns, for a pair {i, j} of nodes with features u (projected, rows of length 1) and neighbours N:

=====================  ===========================================================================================
features               log(cos(x_i, x_j) + ε); cos(u_i, u_j), with the mean row taken away
shared neighbours      log(1 + |N_i ∩ N_j|), and as a share of the smaller neighbourhood
degrees                log of the smaller and of the larger
labelled               whether an end is a training node: attacks on a network aim at those
the other neighbours   cos(g_i\\j, u_j) and the other way round, their mean; cos(g_i\\j, g_j\\i), with
                       g_i\\j = Σ_{k ∈ N_i without j} w_ik u_k, each edge w_ik as much as it is trusted by now
=====================  ===========================================================================================

Columns are standardised; one that is the same everywhere is 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ...graph.structure import Structure
from ...model.adjacency import gcn_adjacency
from ...model.inputs import Block
from ...model.problem import Problem
from ..multihop.features import LARGE, WIDTH, UnitRows, isolated_nodes, projected
from .pairs import Pairs

LEAST = 0.02
"""ε, so that ends with nothing in common have a logarithm."""

BLOCK = 100_000
"""Pairs whose rows are held at once."""

Floats = NDArray[np.float32]


def unit(rows: Floats) -> Floats:
    """Rows of length 1; 0 stays 0."""
    scaled: Floats = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    return scaled


def standardised(columns: list[NDArray[Any]]) -> NDArray[np.float64]:
    """[M, k] the columns [M] with mean 0 and deviation 1."""
    z = np.stack(columns, 1).astype(np.float64)
    z -= z.mean(0)
    deviation = z.std(0)
    return np.asarray(z / np.where(deviation > 1e-9, deviation, np.inf))


def looks(structure: Structure, x: Block, device: torch.device, seed: int) -> Floats:
    """u [N, d]: the features, projected, with the mean row taken away, rows of length 1 or 0."""
    width = WIDTH if structure.pattern.shape[0] <= LARGE else WIDTH // 2
    generator, alone = torch.Generator().manual_seed(seed), isolated_nodes(structure, device)
    u = projected(UnitRows(x), gcn_adjacency(structure, device), width, alone, generator)
    rows = unit(u.cpu().numpy())
    return unit(rows - rows.mean(0))


class Evidence:
    """What is known of every pair of a problem; :meth:`columns` adds what depends on how far edges are trusted."""

    def __init__(self, problem: Problem, pairs: Pairs, seed: int) -> None:
        self.pairs, self.u = pairs, looks(problem.structure, problem.x, problem.device, seed)
        self.fixed = [*self._features(problem), *self._neighbourhood(), self._labelled(problem)]

    def columns(self, trust: NDArray[Any]) -> NDArray[np.float64]:
        """[M, k] all of it, standardised; each edge is trusted as ``trust`` [M] says."""
        return standardised([*self.fixed, *self._other_neighbours(trust.astype(np.float32))])

    def _features(self, problem: Problem) -> list[Floats]:
        """The features of both ends."""
        cosines = problem.x.cosines(problem.structure.pattern).clamp_min(0).cpu().numpy()
        alike = np.zeros(len(self.pairs) + 1, np.float32)
        alike[self.pairs.of_entry] = cosines
        return [np.log(alike[:-1] + LEAST), self._in_blocks(self.u, self.u)]

    def _neighbourhood(self) -> list[NDArray[Any]]:
        """Shared neighbours and degrees."""
        pairs, degrees = self.pairs, self.pairs.degrees
        adjacency, shared = pairs.weighed(np.ones(len(pairs), np.float32)), np.empty(len(pairs))
        for at in range(0, len(pairs), BLOCK):
            part = slice(at, at + BLOCK)
            both = adjacency[pairs.left[part]].multiply(adjacency[pairs.right[part]])
            shared[part] = np.asarray(both.sum(1)).reshape(-1)
        fewer, more = (pick(degrees[pairs.left], degrees[pairs.right]) for pick in (np.minimum, np.maximum))
        return [np.log1p(shared), np.log1p(5 * shared / fewer), np.log(fewer), np.log(more)]

    def _labelled(self, problem: Problem) -> NDArray[np.bool_]:
        """Whether an end is a training node."""
        known = np.zeros(self.pairs.nodes, bool)
        known[problem.train.cpu().numpy()] = True
        touched: NDArray[np.bool_] = known[self.pairs.left] | known[self.pairs.right]
        return touched

    def _other_neighbours(self, trust: Floats) -> list[Floats]:
        """Whether each end looks like the other's other neighbours, and whether those look alike."""
        pairs, u = self.pairs, self.u
        sums = pairs.weighed(trust) @ u
        mean, both = np.empty(len(pairs), np.float32), np.empty(len(pairs), np.float32)
        for at in range(0, len(pairs), BLOCK):
            part = slice(at, at + BLOCK)
            left, right, w = pairs.left[part], pairs.right[part], trust[part, None]
            of_left, of_right = unit(sums[left] - w * u[right]), unit(sums[right] - w * u[left])
            mean[part] = ((of_left * u[right]).sum(1) + (of_right * u[left]).sum(1)) / 2
            both[part] = (of_left * of_right).sum(1)
        return [mean, both]

    def _in_blocks(self, a: Floats, b: Floats) -> Floats:
        """[M] the products of a's row on the left with b's on the right."""
        result = np.empty(len(self.pairs), np.float32)
        for at in range(0, len(self.pairs), BLOCK):
            part = slice(at, at + BLOCK)
            result[part] = (a[self.pairs.left[part]] * b[self.pairs.right[part]]).sum(1)
        return result
