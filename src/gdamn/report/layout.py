"""Where the nodes of the map lie: a force layout that never looks at all pairs of nodes.

Edges attract, all nodes repel. The repulsion is that of a field: nodes are counted on a grid, the field of the counts
is a convolution (FFT), and every node takes its slope, as in particle-mesh codes. A coarse grid first, then finer ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

GRIDS = ((64, 120), (128, 90), (256, 60))
"""Cells a side, and the steps on such a grid; those of a small graph stay coarse."""

SMOOTHING = 40
"""Steps of the start: positions drawn by lot, averaged over neighbours."""

GRAVITY = 0.02
"""Pull to the middle, so that parts without a common edge stay in sight."""


def layout(nodes: int, a: NDArray[Any], b: NDArray[Any], weights: NDArray[Any], seed: int = 0) -> Floats:
    """[N, 2] positions from -1 to 1, the same for the same graph and seed.

    Args:
        a, b: [E] ends of the edges.
        weights: [E] how much each edge attracts, 0 or more.
    """
    if nodes < 2:
        return np.zeros((nodes, 2))
    strength = np.asarray(np.bincount(a, weights, nodes) + np.bincount(b, weights, nodes), np.float64)
    y = smooth_start(nodes, a, b, weights, strength, seed)
    mass = 1.0 + strength / max(float(strength.mean()), 1e-12)
    radius = np.sqrt(nodes)
    y *= radius / 2
    steps = sum(count for _, count in GRIDS)
    done = 0
    for cells, count in GRIDS:
        repel = field(min(cells, max(GRIDS[0][0], 1 << int(np.log2(4 * radius)))))
        for _ in range(count):
            move = repel(y, mass) * mass[:, None] + attraction(y, a, b, weights) - GRAVITY * mass[:, None] * y
            length = np.sqrt((move**2).sum(axis=1, keepdims=True)) + 1e-12
            most = 0.1 * radius * (1 - done / steps) ** 1.5 + 1e-3 * radius
            y = y + move / length * np.minimum(0.1 * length, most)
            done += 1
    return in_unit_square(y)


def smooth_start(
    nodes: int, a: NDArray[Any], b: NDArray[Any], weights: NDArray[Any], strength: Floats, seed: int
) -> Floats:
    """[N, 2] close to leading eigenvectors of D^-1 W: random positions, averaged over neighbours, made orthogonal."""
    from scipy.sparse import csr_array

    w = csr_array((weights, (a, b)), shape=(nodes, nodes), dtype=np.float64)
    w = w + w.T
    y = np.random.default_rng(seed).normal(size=(nodes, 2))
    for _ in range(SMOOTHING):
        y = (y + (w @ y) / np.maximum(strength, 1e-12)[:, None]) / 2
        y = y - y.mean(axis=0)
        y = np.linalg.qr(y)[0] * np.sqrt(nodes)
    return np.clip(y, -3, 3)


def attraction(y: Floats, a: NDArray[Any], b: NDArray[Any], weights: NDArray[Any]) -> Floats:
    """[N, 2] w log(1 + d) along every edge: long edges pull little more than short ones, so that clusters part."""
    d = y[b] - y[a]
    length = np.sqrt((d**2).sum(axis=1)) + 1e-9
    force = d * (weights * np.log1p(length) / length)[:, None]
    pull = [np.bincount(a, force[:, k], len(y)) - np.bincount(b, force[:, k], len(y)) for k in (0, 1)]
    return np.stack(pull, axis=1)


def field(cells: int) -> Callable[[Floats, Floats], Floats]:
    """The repulsion Σ_j m_j d / (d² + h²) of all nodes at each of them, on a grid of cells of side h."""
    at = np.minimum(np.arange(2 * cells), 2 * cells - np.arange(2 * cells))
    kernel = -0.5 * np.log(at[:, None] ** 2 + at[None, :] ** 2 + 1.0)
    spectrum = np.fft.rfft2(kernel)

    def repel(y: Floats, mass: Floats) -> Floats:
        low = y.min(axis=0)
        h = max(float((y.max(axis=0) - low).max()), 1e-9) / (cells - 3)
        place = (y - low) / h + 1.0
        cell = place.astype(np.int64)
        part = place - cell
        corners = [(i, j, np.abs(1 - i - part[:, 0]) * np.abs(1 - j - part[:, 1])) for i in (0, 1) for j in (0, 1)]
        counts = np.zeros(cells * cells)
        for i, j, share in corners:
            counts += np.bincount((cell[:, 0] + i) * cells + cell[:, 1] + j, mass * share, cells * cells)
        padded = np.fft.rfft2(counts.reshape(cells, cells), s=(2 * cells, 2 * cells))
        potential = np.fft.irfft2(padded * spectrum, s=(2 * cells, 2 * cells))[:cells, :cells]
        down, across = np.gradient(potential)
        slope = np.stack([down, across], axis=-1) / h
        force = np.zeros_like(y)
        for i, j, share in corners:
            force -= slope[cell[:, 0] + i, cell[:, 1] + j] * share[:, None]
        return force

    return repel


def in_unit_square(y: Floats) -> Floats:
    """Both coordinates from -1 to 1, on one scale; the outermost hundredth of the nodes is brought to the rim."""
    low, high = np.quantile(y, [0.005, 0.995], axis=0)
    half = max(float((high - low).max()) / 2, 1e-12)
    return np.asarray(np.clip((y - (low + high) / 2) / half, -1.0, 1.0))
