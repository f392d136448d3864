"""Features for nodes that have none: their degree, and where they stand in the graph (Laplacian eigenvectors)."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

VECTORS = 16
"""Eigenvectors that are used."""

DENSE_BELOW = 400
"""Smaller graphs are solved densely, which is exact and as quick."""

Matrix = NDArray[np.float32]


def adjacency(edges: NDArray[np.int64], n: int) -> sp.csr_array:
    """[N, N] symmetric 0/1 adjacency without loops."""
    rows, cols = edges[:, edges[0] != edges[1]]
    both = (np.concatenate([rows, cols]), np.concatenate([cols, rows]))
    matrix = sp.coo_array((np.ones(2 * len(rows), np.float64), both), shape=(n, n)).tocsr()
    matrix.sum_duplicates()
    matrix.data[:] = 1
    return matrix


def log_degrees(matrix: sp.csr_array) -> NDArray[np.float64]:
    """[N] log(1 + degree)."""
    degrees: NDArray[np.float64] = np.log1p(np.diff(matrix.indptr).astype(np.float64))
    return degrees


def normalised(matrix: sp.csr_array) -> sp.csr_array:
    """D^-1/2 A D^-1/2; rows of isolated nodes are 0."""
    degree = np.diff(matrix.indptr).astype(np.float64)
    scale = np.where(degree > 0, 1 / np.sqrt(np.maximum(degree, 1)), 0)
    scaled = matrix.copy()
    scaled.data = np.repeat(scale, np.diff(matrix.indptr)) * scale[matrix.indices]
    return scaled


def eigenvectors(matrix: sp.csr_array, most: int = VECTORS) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The smoothest eigenvectors of the normalised Laplacian after the first, [N, k], and 1 - their eigenvalues, [k].

    Each has mean square 1 and is largest where it is positive, so that the same graph gives the same numbers. One
    thread computes them: sums in another order would change bits.
    """
    from threadpoolctl import threadpool_limits

    n = matrix.shape[0]
    k = min(most, n - 1)
    if k < 1:
        return np.zeros((n, 0)), np.zeros(0)
    operator = normalised(matrix)
    with threadpool_limits(1):
        if n <= DENSE_BELOW:
            values, vectors = np.linalg.eigh(operator.toarray())
        else:
            values, vectors = _largest(operator, k + 1)
    order = np.argsort(-values, kind="stable")[1 : k + 1]
    values, vectors = values[order], vectors[:, order]
    top = np.abs(vectors).argmax(axis=0)
    vectors = vectors * np.where(vectors[top, np.arange(vectors.shape[1])] < 0, -1, 1)
    return vectors * np.sqrt(n), values


def _largest(operator: sp.csr_array, k: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The k largest eigenvalues and their vectors; those that have settled after a bounded number of steps."""
    from scipy.sparse.linalg import ArpackNoConvergence, eigsh

    rng = np.random.default_rng(0x6DA)
    start = rng.standard_normal(operator.shape[0])
    restarts = {"rng": rng} if "rng" in inspect.signature(eigsh).parameters else {}  # from SciPy 1.17 on
    try:
        values, vectors = eigsh(operator, k=k, which="LA", v0=start, tol=1e-3, maxiter=60, ncv=3 * k, **restarts)
    except ArpackNoConvergence as partly:
        values, vectors = partly.eigenvalues, partly.eigenvectors
    return values, vectors


def extended(
    edges: NDArray[np.int64], n: int, known: NDArray[np.int64], vectors: Matrix, values: NDArray[np.float64]
) -> Matrix:
    """[N, k] eigenvectors of an older graph carried to a newer one.

    Nodes of the older graph keep their rows. A new one gets what the eigenvector equation asks of it,
    x_i = Σ_j Â_ij x_j / λ over its neighbours j of the older graph (Nyström's formula), and 0 where it has none.

    Args:
        edges: [2, E] of the newer graph.
        known: [N] number of each node in the older graph, -1 for new ones.
    """
    rows = np.zeros((n, vectors.shape[1]), np.float64)
    old = known >= 0
    rows[old] = vectors[known[old]]
    if old.all():
        return rows.astype(np.float32)
    neighbour_sums = normalised(adjacency(edges, n)) @ rows
    eigenvalues = np.where(np.abs(values) > 1e-3, values, np.inf)
    rows[~old] = neighbour_sums[~old] / eigenvalues
    return rows.astype(np.float32)


def standardised(values: NDArray[np.float64], mean: float, spread: float) -> NDArray[Any]:
    """Values less their mean, over their spread; all 0 where there is no spread."""
    return (values - mean) / spread if spread > 0 else np.zeros_like(values)
