"""Multinomial logistic regression on few rows, several times at once: weights per row, an L2 penalty."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

ITERATIONS = 100
"""Steps of L-BFGS, at most."""


def fit_logistic(x: Tensor, targets: Tensor, weights: Tensor, penalty: float, start: Tensor | None = None) -> Tensor:
    """[K, d + 1, C] the coefficients W_k, the last row the bias, each of which minimises

        Σ_i w_ki CE(t_i, softmax(x_i W_k)) + penalty / 2 · ‖W_k without the bias‖².

    The K problems share their rows and are solved together, which costs little more than one of them.

    Args:
        x: [n, d] float64.
        targets: [n, C] distributions.
        weights: [K, n] of the rows in each problem; rows of weight 0 don't count.
        start: coefficients to begin with.
    """
    from scipy.optimize import minimize

    rows = F.pad(x, (0, 1), value=1.0)
    shape = len(weights), rows.shape[1], targets.shape[1]

    def loss(flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        w = torch.from_numpy(flat).reshape(shape)
        logs = F.log_softmax(rows @ w, dim=2)
        gradient = rows.T @ (weights[:, :, None] * (logs.exp() - targets))
        gradient[:, :-1] += penalty * w[:, :-1]
        value = -(weights * (targets * logs).sum(2)).sum() + penalty / 2 * w[:, :-1].square().sum()
        return float(value), gradient.reshape(-1).numpy()

    first = np.zeros(shape).reshape(-1) if start is None else start.reshape(-1).numpy()
    options = {"maxiter": ITERATIONS, "ftol": 1e-9, "gtol": 1e-5}
    with libraries().limit(limits=1, user_api="blas"):
        solution = minimize(loss, first, jac=True, method="L-BFGS-B", options=options)
    return torch.from_numpy(solution.x).reshape(shape)


@cache
def libraries() -> Any:
    """BLAS as it is loaded. L-BFGS adds up short vectors, for which threads of it cost three times what they do."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def log_probabilities(x: Tensor, w: Tensor) -> Tensor:
    """log softmax(x W) of features [n, d] and coefficients [d + 1, C]: [n, C]."""
    return F.log_softmax(x @ w[:-1].to(x) + w[-1].to(x), dim=1)
