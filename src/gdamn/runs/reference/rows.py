"""The rows of labelled nodes in smoothed features, for regressions on few labels.

A regression with an L2 penalty on L rows only sees their inner products, so rows of many columns can be turned until
they have no more than L. Nothing is lost by it, unlike by a projection.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

if TYPE_CHECKING:
    from ...graph.graph import Graph

Floats = NDArray[np.float64]

BLOCK = 128
"""Labelled nodes whose neighbourhoods are laid out at a time."""

HOPS = (2, 4)
"""How far features are smoothed."""


def labelled_rows(graph: Graph) -> Iterator[tuple[int, Floats]]:
    """Number of hops k and rows [L, d] of the training nodes in Â^k X, scaled to length 1; 0 hops are X alone.

    Smoothed rows are centred before, since all of them lean to the mean row.
    """
    x, a, train = unit_features(graph), normalised_adjacency(graph), np.flatnonzero(graph.train_mask)
    yield 0, compact(unit(x[train].toarray()))
    for hops in HOPS:
        smooth, mean = smoothed(a, x, train, hops), mean_row(a, x, hops)
        yield hops, compact(unit(smooth - mean))


def unit_features(graph: Graph) -> sp.csr_array:
    """X as methods read it, its rows scaled to length 1."""
    import torch

    from ...model.inputs import feature_block

    block = feature_block(graph.features, "auto", 0.0, torch.device("cpu"))
    if block.pattern is None or block.values is None:
        assert block.dense is not None
        return sp.csr_array(unit(block.dense.double().numpy()))
    x = sp.csr_array((block.values.double().numpy(), block.pattern.indices, block.pattern.indptr), block.pattern.shape)
    lengths = np.sqrt(np.asarray(x.multiply(x).sum(axis=1)).reshape(-1))
    return sp.csr_array(x.multiply(1 / np.maximum(lengths, 1e-12)[:, None]))


def normalised_adjacency(graph: Graph) -> sp.csr_array:
    """Â = D^{-1/2} (A + I) D^{-1/2}."""
    import torch

    from ...model.adjacency import gcn_adjacency

    adjacency = gcn_adjacency(graph.structure, torch.device("cpu"))
    pattern = adjacency.structure.pattern
    return sp.csr_array((adjacency.values.double().numpy(), pattern.indices, pattern.indptr), pattern.shape)


def smoothed(a: sp.csr_array, x: sp.csr_array, nodes: NDArray[np.int64], hops: int) -> Floats:
    """[L, F] rows of Â^k X: from the left where the nodes are fewer than the features, else from the right."""
    if len(nodes) > x.shape[1]:
        h = x.toarray()
        for _ in range(hops):
            h = a @ h
        return np.asarray(h[nodes])
    parts = []
    for begin in range(0, len(nodes), BLOCK):
        walks = a[nodes[begin : begin + BLOCK]]
        for _ in range(hops - 1):
            walks = walks @ a
        parts.append((walks @ x).toarray())
    return np.concatenate(parts)


def mean_row(a: sp.csr_array, x: sp.csr_array, hops: int) -> Floats:
    """[F] the mean row of Â^k X."""
    weights = np.full(a.shape[0], 1 / a.shape[0])
    for _ in range(hops):
        weights = weights @ a
    return np.asarray(weights @ x)


def unit(h: Floats) -> Floats:
    """Rows scaled to length 1; rows of 0 stay so."""
    return np.asarray(h / np.maximum(np.linalg.norm(h, axis=1, keepdims=True), 1e-12))


def compact(h: Floats) -> Floats:
    """[L, d] rows with the same inner products in at most L columns."""
    if h.shape[1] <= h.shape[0]:
        return h
    values, vectors = np.linalg.eigh(h @ h.T)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))
