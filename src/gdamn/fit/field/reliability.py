"""Reliability: a logistic regression from evidence to the probability that an edge joins nodes of one class."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]

PENALTY = 1.0
"""L2 of the coefficients; the intercept has none."""

STEPS = 12
"""Newton steps, at most."""

BOUNDS = 0.02, 0.99
"""No edge is trusted less or more than this by its evidence alone."""


def fit_reliability(z: Doubles, target: NDArray[np.float32], start: Doubles | None = None) -> Doubles:
    """[k + 1] the coefficients, the intercept last, that minimise Σ_m CE(t_m, σ(z_m w)) + penalty / 2 · ‖w‖².

    Args:
        z: [M, k] the evidence.
        target: [M] probabilities.
        start: coefficients to begin with.
    """
    x = np.hstack([z, np.ones((len(z), 1))])
    ridge = np.append(np.full(z.shape[1], PENALTY), 1e-6)
    w = np.zeros(x.shape[1]) if start is None else start.copy()
    t = target.astype(np.float64)
    for _ in range(STEPS):
        p = sigmoid(x, w)
        gradient = np.einsum("mk,m->k", x, p - t) + ridge * w
        hessian = np.einsum("mk,m,ml->kl", x, np.maximum(p * (1 - p), 1e-6), x) + np.diag(ridge)
        step = np.linalg.solve(hessian, gradient)
        w -= step * min(1.0, 4.0 / max(float(np.abs(step).max()), 1e-12))  # a long step overshoots
        if np.abs(step).max() < 1e-6:
            break
    return w


def reliabilities(z: Doubles, w: Doubles) -> NDArray[np.float32]:
    """π [M] = σ(z w), within :data:`BOUNDS`."""
    x = np.hstack([z, np.ones((len(z), 1))])
    return np.clip(sigmoid(x, w), *BOUNDS).astype(np.float32)


def sigmoid(x: Doubles, w: Doubles) -> Doubles:
    """σ(x w) [M], added up in one order on any number of threads."""
    values: Doubles = 1 / (1 + np.exp(-np.clip(np.einsum("mk,k->m", x, w), -30, 30)))
    return values
