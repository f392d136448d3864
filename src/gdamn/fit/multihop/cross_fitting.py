"""Cross-fitting: every labelled node is judged by models that have not seen its label."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from .logistic import fit_logistic, log_probabilities

FOLDS = 5
"""Parts that the labelled nodes are split into; each is left out once."""

FEW = 200
"""Labelled nodes below which the split is repeated, since one split of few nodes is luck."""


def stratified_folds(classes: NDArray[np.int64], folds: int, seed: int) -> NDArray[np.int64]:
    """[L] the fold of every labelled node; the nodes of a class are spread evenly over the folds.

    A class begins at a random fold, so that classes of few nodes don't all lie in the first ones.
    """
    generator = np.random.default_rng(seed)
    fold = np.empty(len(classes), np.int64)
    for each in np.unique(classes):
        members = np.flatnonzero(classes == each)
        fold[members] = (generator.permutation(len(members)) + generator.integers(folds)) % folds
    return fold


def splits(classes: NDArray[np.int64], seed: int) -> Iterator[NDArray[np.bool_]]:
    """[L] masks of the nodes that are left out, fold by fold; two rounds where labels are few."""
    for repeat in range(2 if len(classes) < FEW else 1):
        fold = stratified_folds(classes, FOLDS, seed + repeat)
        for number in range(FOLDS):
            left_out = fold == number
            if left_out.any() and len(np.unique(classes[~left_out])) > 1:
                yield left_out


MOST_MARKS = 2_000
"""Labels up to which a fit keeps a mark for each."""


def marks(held_out: Tensor, labels: Tensor) -> dict[str, str]:
    """``right``: a 1 for every label [L] that the held-out opinion [L, C] has right, else a 0; {} for many labels."""
    right = (held_out.argmax(1) == labels.cpu()).int().tolist()
    return {"right": "".join(map(str, right))} if len(right) <= MOST_MARKS else {}


def cross_fit(
    x: Tensor, targets: Tensor, weights: Tensor, penalty: float, left_out: Tensor, start: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Regressions on all rows, and without each part of them.

    Args:
        x: [L, d] features of the labelled nodes, float64.
        targets: [L, C] their labels, one-hot.
        weights: [L].
        left_out: [K, L] the nodes that are left out of each fit.
        start: coefficients to begin with.

    Returns:
        [K + 1, d + 1, C] the coefficients, the last of all rows, and [L, C] the :func:`held_out_log_probabilities`.
    """
    rows = torch.cat([weights * ~left_out, weights[None]])
    w = fit_logistic(x, targets, rows, penalty, start)
    return w, held_out_log_probabilities(x, w, left_out)


def held_out_log_probabilities(x: Tensor, w: Tensor, left_out: Tensor) -> Tensor:
    """[L, C] mean log-probabilities of the rows x [L, d] by the models w of :func:`cross_fit` that left them out.

    All classes are alike for a node that was never left out.
    """
    total, count = torch.zeros(len(x), w.shape[2], dtype=x.dtype), left_out.sum(0)[:, None]
    for number, mask in enumerate(left_out):
        total[mask] += log_probabilities(x[mask], w[number])
    uniform = torch.full_like(total, -float(np.log(w.shape[2])))
    return torch.where(count > 0, total / count.clamp_min(1), uniform)
