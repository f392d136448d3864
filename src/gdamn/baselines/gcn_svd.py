"""GCN-SVD: a GCN on the nearest graph of low rank, since attacks add high ranks (Entezari et al., WSDM 2020)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from scipy.sparse.linalg import svds
from torch import Tensor, nn

from ..graph.structure import Structure
from ..kernels import Key, matmul
from ..model.adjacency import Adjacency
from ..model.inputs import Block
from ..model.problem import Problem
from ..model.propagators import GCN
from ..model.settings import setting
from .common import Forward, NetworkClassifier, NetworkSettings


@dataclass(frozen=True)
class GCNSVDSettings(NetworkSettings):
    """GCN's settings, and the rank."""

    rank: int = setting(15, "k, singular values that are kept; all of them where the graph has fewer nodes.", low=1)


@dataclass(frozen=True, eq=False, kw_only=True)
class LowRank(Adjacency):
    """D^{-1/2} (B Cᵀ + I) D^{-1/2} as thin matrices; no array of N × N entries exists.

    Attributes:
        left, right: [N, k] D^{-1/2} B and D^{-1/2} C.
        loops: [N] the diagonal of D^{-1}.
    """

    left: Tensor
    right: Tensor
    loops: Tensor

    def propagate(self, h: Tensor, key: Key | None, bias: Tensor | None = None) -> Tensor:
        """The product with h [N, H], plus a bias: [N, H]; entries can't be dropped, so the key changes nothing."""
        own = self.loops[:, None] * h
        return matmul(self.left, self.right.T @ h, own if bias is None else own + bias)

    def averaged(self, x: Block) -> Tensor:
        """The product with dense features without dropout: [N, F]."""
        return self.propagate(x.dropped(None), None)


def factors(structure: Structure, rank: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """U S and V [N, k] of the k largest singular values of A, without its loops."""
    pattern = structure.pattern
    weights = np.where(structure.loop, 0, structure.weights).astype(np.float64)
    a = sp.csr_array((weights, pattern.indices, pattern.indptr), shape=pattern.shape)
    n, edges = pattern.shape[0], np.count_nonzero(weights)
    if edges == 0:
        return np.zeros((n, 1)), np.zeros((n, 1))
    if rank < n - 1:
        u, s, vt = svds(a, k=rank, v0=np.random.default_rng(0).standard_normal(n))
    else:
        u, s, vt = np.linalg.svd(a.toarray())
    return u * s, vt.T


def low_rank(structure: Structure, rank: int, device: torch.device) -> LowRank:
    """The normalised matrix; a node whose row of A_k has a negative sum has the degree of its loop alone."""
    b, c = factors(structure, rank)
    degrees = 1 + np.maximum(b @ c.sum(0), 0)
    scale = 1 / np.sqrt(degrees)
    left, right, loops = (
        torch.as_tensor(array, dtype=torch.float32).to(device)
        for array in (b * scale[:, None], c * scale[:, None], 1 / degrees)
    )
    return LowRank(structure, structure.tensor("weights", device), left=left, right=right, loops=loops)


class GCNSVDClassifier(NetworkClassifier):
    """Z = S ReLU(S X W₁) W₂ with S = D^{-1/2} (A_k + I) D^{-1/2}, A_k = U_k S_k V_kᵀ, D the row sums of A_k + I."""

    method = "gcn-svd"
    settings_class = GCNSVDSettings
    settings: GCNSVDSettings

    def build(self, problem: Problem, generator: torch.Generator) -> tuple[nn.Module, Forward]:
        """A GCN whose products go by way of the factors."""
        s = self.settings
        network = GCN([problem.x.width], s.hidden, problem.num_classes, s.layers, s.dropout_hidden, batch_norm=False)
        network.initialise("xavier", generator)
        adjacency = low_rank(problem.structure, s.rank, problem.device)
        return network, lambda key: network(adjacency, [problem.x], key)
