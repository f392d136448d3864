"""The differentiable operations on edges: what the models call. Their gradients are in :mod:`autograd`."""
# mypy: disable-error-code="no-any-return,no-untyped-call"

from __future__ import annotations

import torch
from torch import Tensor

from . import autograd
from .noise import Key
from .pattern import Pattern


def spmm(pattern: Pattern, values: Tensor, dense: Tensor) -> Tensor:
    """A H for A on ``pattern`` with ``values`` [E] and H [K, H]: [R, H]; differentiable in both."""
    return autograd.Spmm.apply(pattern, values, dense)


def sums(pattern: Pattern, values: Tensor) -> tuple[Tensor, Tensor]:
    """Sums of the rows [R] and of the columns [K]; not differentiable."""
    one = torch.ones(max(pattern.shape), 1, device=values.device, dtype=values.dtype)
    rows = autograd._spmm(pattern, values, one[: pattern.shape[1]])
    columns = autograd._spmm_t(pattern, values, one[: pattern.shape[0]])
    return rows[:, 0], columns[:, 0]


def sddmm(pattern: Pattern, left: Tensor, right: Tensor) -> Tensor:
    """left_i · right_j on every entry: [E]; differentiable in both."""
    return autograd.Sddmm.apply(pattern, left, right)


def gram(pattern: Pattern, rows: Tensor) -> Tensor:
    """row_i · row_j on every entry: [E]; like sddmm of ``rows`` with itself, with a cheaper gradient."""
    return autograd.Gram.apply(pattern, rows)


def sparse_linear(pattern: Pattern, values: Tensor, weight: Tensor, rate: float = 0.0, key: Key = Key(0)) -> Tensor:  # noqa: B008
    """dropout(X) W for constant sparse X: [R, H]; nothing dense of X's size is ever made."""
    return autograd.SparseLinear.apply(pattern, values, weight, rate, key)


def edge_softmax(pattern: Pattern, scores: Tensor, weights: Tensor) -> Tensor:
    """w_ij exp(s_ij) / Σ_k w_ik exp(s_ik) over the entries of a row: [E]; differentiable in both."""
    return autograd.EdgeSoftmax.apply(pattern, scores, weights)


def binary_concrete(logits: Tensor, pair: Tensor, free: Tensor, temperature: float, key: Key) -> Tensor:
    """A 0/1 sample per entry with P(1) = σ(logit), one noise per ``pair``; straight-through gradient.

    Entries that are not ``free`` (self-loops) are always 1.
    """
    return autograd.BinaryConcrete.apply(logits, pair, free, temperature, key)


def dropout(x: Tensor, rate: float, key: Key | None) -> Tensor:
    """Dropout whose mask is a function of the key; the identity without a key or at rate 0."""
    if key is None or rate <= 0:
        return x
    return autograd.Dropout.apply(x, rate, key)


def relu_dropout(x: Tensor, rate: float, key: Key | None) -> Tensor:
    """dropout(ReLU(x)) in one pass; without a key or at rate 0 the ReLU alone."""
    if key is None or rate <= 0:
        return torch.relu(x)
    return autograd.ReluDropout.apply(x, rate, key)


def softmax_losses(logits: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """-Σ t log p and -Σ p log p with p = softmax(logits), summed over all rows; [N, C] both, target constant."""
    return autograd.SoftmaxLosses.apply(logits, target)


def bernoulli_kl(logits: Tensor, prior: Tensor, free: Tensor) -> Tensor:
    """Σ KL(Bernoulli(σ(l)) ‖ Bernoulli(ρ)) over the entries that are ``free``; prior constant."""
    return autograd.BernoulliKL.apply(logits, prior, free)


def unit_rows(x: Tensor, scale: Tensor) -> Tensor:
    """scale ⊙ ReLU(x_i), divided by its length: [N, m]; 0 where the length is. Differentiable in both."""
    return autograd.UnitRows.apply(x, scale)
