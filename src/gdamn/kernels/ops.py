"""The differentiable operations on edges: what the models call. Gradients: :mod:`products`, :mod:`autograd`."""
# mypy: disable-error-code="no-any-return,no-untyped-call"

from __future__ import annotations

import torch
from torch import Tensor, nn

from ..graph.pattern import Pattern
from . import autograd, products, shared_products
from .checks import check_shape, check_transpose, check_types
from .noise import Key
from .paths import is_fast
from .place import WHOLE


def spmm(
    pattern: Pattern,
    values: Tensor,
    dense: Tensor,
    bias: Tensor | None = None,
    rate: float = 0.0,
    key: Key | None = None,
) -> Tensor:
    """dropout(A) H + b for A on ``pattern`` with ``values`` [E], H [K, H] and b [H]: [R, H]; differentiable in all.

    No dropout without a key.
    """
    check_shape("spmm", "values", values, pattern.num_entries)
    check_types("spmm", values, dense, bias)
    if bias is not None:
        check_shape("spmm", "bias", bias, dense.shape[1])
    if pattern.shared and is_fast(values, dense):
        check_shape("spmm", "dense", dense, pattern.shape[0], -1)
        return shared_products.Spmm.apply(pattern, values, dense, bias, rate if key is not None else 0.0, key)
    dense = _columns("spmm", "dense", pattern, dense)
    if key is None and not torch.is_grad_enabled():
        return products.spmm(pattern, values, dense, bias)
    return products.Spmm.apply(pattern, values, dense, bias, rate if key is not None else 0.0, key)


def _columns(operation: str, name: str, pattern: Pattern, dense: Tensor) -> Tensor:
    """What stands against the pattern's columns: [K, H]."""
    check_shape(operation, name, dense, -1, -1)
    columns = pattern.extended(dense)
    if columns.shape[0] != pattern.shape[1]:
        check_shape(operation, name, dense, pattern.shape[1], -1)
    return columns


def matmul(x: Tensor, weight: Tensor, plus: Tensor | None = None) -> Tensor:
    """X W + B for X [N, K], W [K, H], B [N, H] or [H]: [N, H]; differentiable in all."""
    check_shape("matmul", "x", x, -1, -1)
    check_shape("matmul", "weight", weight, x.shape[1], -1)
    check_types("matmul", x, weight, plus)
    if plus is not None:
        check_shape("matmul", "plus", plus, *(x.shape[0], weight.shape[1])[2 - max(1, plus.ndim) :])
    return products.Matmul.apply(x, weight, plus)


def sums(pattern: Pattern, values: Tensor) -> tuple[Tensor, Tensor]:
    """Sums of the rows [R] and of the columns [K]; not differentiable."""
    check_shape("sums", "values", values, pattern.num_entries)
    check_types("sums", values)
    check_transpose(pattern)
    one = torch.ones(max(pattern.shape), 1, device=values.device, dtype=values.dtype)
    rows = products.spmm(pattern, values, one[: pattern.shape[1]])
    columns = products.spmm_t(pattern, values, one[: pattern.shape[0]])
    return rows[:, 0], pattern.collected(columns)[:, 0]


def sddmm(pattern: Pattern, left: Tensor, right: Tensor) -> Tensor:
    """left_i · right_j on every entry: [E]; differentiable in both."""
    check_shape("sddmm", "left", left, pattern.shape[0], -1)
    check_types("sddmm", left, right)
    right = _columns("sddmm", "right", pattern, right)
    check_shape("sddmm", "right", right, -1, left.shape[1])
    return products.Sddmm.apply(pattern, left, right)


def gram(pattern: Pattern, rows: Tensor, scale: float = 1.0) -> Tensor:
    """scale · row_i · row_j on every entry: [E]; like sddmm of ``rows`` with itself, with a cheaper gradient."""
    check_types("gram", rows)
    if pattern.shared and is_fast(rows):
        check_shape("gram", "rows", rows, pattern.shape[0], -1)
        return shared_products.Gram.apply(pattern, rows, scale)
    columns = _columns("gram", "rows", pattern, rows)
    if len(rows) < pattern.shape[0]:  # more columns than rows are fine: the first columns are the rows
        check_shape("gram", "rows", rows, pattern.shape[0], -1)
    if columns is rows:
        return products.Gram.apply(pattern, rows, scale)
    return products.Sddmm.apply(pattern, rows * scale, columns)


def sparse_linear(pattern: Pattern, values: Tensor, weight: Tensor, rate: float = 0.0, key: Key = Key(0)) -> Tensor:  # noqa: B008
    """dropout(X) W for constant sparse X: [R, H]; nothing dense of X's size is ever made."""
    check_shape("sparse_linear", "values", values, pattern.num_entries)
    check_shape("sparse_linear", "weight", weight, pattern.shape[1], -1)
    check_types("sparse_linear", values, weight)
    if rate <= 0 and not torch.is_grad_enabled():
        return products.spmm(pattern, values, weight)
    return products.SparseLinear.apply(pattern, values, weight, rate, key)


def edge_softmax(pattern: Pattern, scores: Tensor, weights: Tensor) -> Tensor:
    """w_ij exp(s_ij) / Σ_k w_ik exp(s_ik) over the entries of a row: [E]; differentiable in both."""
    check_shape("edge_softmax", "scores", scores, pattern.num_entries)
    check_shape("edge_softmax", "weights", weights, pattern.num_entries)
    check_types("edge_softmax", scores, weights)
    return autograd.EdgeSoftmax.apply(pattern, scores, weights)


def binary_concrete(logits: Tensor, pair: Tensor, free: Tensor, temperature: float, key: Key) -> Tensor:
    """A 0/1 sample per entry with P(1) = σ(logit), one noise per ``pair``; straight-through gradient.

    Entries that are not ``free`` (self-loops) are always 1.
    """
    check_shape("binary_concrete", "logits", logits, -1)
    check_shape("binary_concrete", "pair", pair, len(logits))
    check_shape("binary_concrete", "free", free, len(logits))
    check_types("binary_concrete", logits)
    return autograd.BinaryConcrete.apply(logits, pair, free, temperature, key)


def dropout(x: Tensor, rate: float, key: Key | None) -> Tensor:
    """Dropout whose mask is a function of the key; the identity without a key or at rate 0."""
    if key is None or rate <= 0:
        return x
    check_types("dropout", x)
    return autograd.Dropout.apply(x, rate, key, key.place.start_of(x))


def relu_dropout(x: Tensor, rate: float, key: Key | None) -> Tensor:
    """dropout(ReLU(x)) in one pass; without a key or at rate 0 the ReLU alone."""
    check_types("relu_dropout", x)
    return autograd.ReluDropout.apply(x, rate if key is not None else 0.0, key)


def elu_dropout(x: Tensor, rate: float, key: Key | None) -> Tensor:
    """dropout(ELU(x)) in one pass, ELU(x) being x above 0 and e^x - 1 below; without a key the ELU alone."""
    check_types("elu_dropout", x)
    return autograd.EluDropout.apply(x, rate if key is not None else 0.0, key or Key(0))


def norm_relu_dropout(x: Tensor, norm: nn.BatchNorm1d, rate: float, key: Key | None) -> Tensor:
    """dropout(ReLU(norm(x))) in few passes: [N, H]; in training the norm's running moments move on.

    The way of plain torch also serves where a gradient through the running moments is asked for.
    """
    check_shape("norm_relu_dropout", "x", x, -1, norm.num_features)
    check_types("norm_relu_dropout", x, norm.weight)
    place = WHOLE if key is None else key.place
    rate = rate if key is not None else 0.0
    mean, variance, share = norm.running_mean, norm.running_var, norm.momentum
    if mean is None or variance is None or share is None or norm.num_batches_tracked is None:
        return relu_dropout(norm(x), rate, key)
    needs_grad = torch.is_grad_enabled() and (x.requires_grad or norm.weight.requires_grad)
    if not is_fast(x, norm.weight) or (needs_grad and not norm.training) or (norm.training and place.rows_of(x) < 2):
        return relu_dropout(norm(x), rate, key)
    if not norm.training:
        scale = norm.weight * torch.rsqrt(variance + norm.eps)
        return autograd.affine_relu(x, scale, norm.bias - mean * scale, rate, key or Key(0))
    out, now, spread = autograd.NormReluDropout.apply(x, norm.weight, norm.bias, norm.eps, rate, key or Key(0))
    norm.num_batches_tracked.add_(1)
    mean.lerp_(now.float(), share)
    rows = place.rows_of(x)
    variance.lerp_((spread * (rows / (rows - 1))).float(), share)
    return out


def softmax_losses(logits: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """-Σ t log p and -Σ p log p with p = softmax(logits), summed over all rows; [N, C] both, target constant."""
    check_shape("softmax_losses", "logits", logits, -1, -1)
    check_shape("softmax_losses", "target", target, *logits.shape)
    check_types("softmax_losses", logits, target)
    return autograd.SoftmaxLosses.apply(logits, target)


def bernoulli_kl(logits: Tensor, prior: Tensor, free: Tensor) -> Tensor:
    """Σ KL(Bernoulli(σ(l)) ‖ Bernoulli(ρ)) over the entries that are ``free``; prior constant."""
    check_shape("bernoulli_kl", "logits", logits, -1)
    check_shape("bernoulli_kl", "prior", prior, len(logits))
    check_shape("bernoulli_kl", "free", free, len(logits))
    check_types("bernoulli_kl", logits, prior)
    return autograd.BernoulliKL.apply(logits, prior, free)


def unit_rows(x: Tensor, scale: Tensor) -> Tensor:
    """scale ⊙ ReLU(x_i), divided by its length: [N, m]; 0 where the length is. Differentiable in both."""
    check_shape("unit_rows", "x", x, -1, -1)
    check_shape("unit_rows", "scale", scale, x.shape[1])
    check_types("unit_rows", x, scale)
    return autograd.UnitRows.apply(x, scale)
