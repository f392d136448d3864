"""The gradients of the operations on edges and rows, written by hand (those of products: :mod:`products`)."""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc"
# ruff: noqa: D101, D102

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.autograd import Function

from ..graph.pattern import Pattern
from . import torch_path as plain
from .checks import check_shape, check_types
from .memory import empty
from .noise import LANES, Key
from .numba import edges as fast
from .numba import elementwise, norm
from .paths import array, dropout_arguments, is_fast, run_from
from .place import Place
from .products import dropout as _dropout
from .threads import use_threads


class UnitRows(Function):
    @staticmethod
    def forward(ctx, x: Tensor, scale: Tensor) -> Tensor:
        if is_fast(x, scale):
            unit, norms = empty(*x.shape), empty(len(x))
            use_threads(3 * x.numel())
            fast.unit_rows(array(x), array(scale), unit.numpy(), norms.numpy())
        else:
            unit, norms = plain.unit_rows(x, scale)
        ctx.save_for_backward(x, scale, unit, norms)
        return unit

    @staticmethod
    def backward(ctx, grad: Tensor):
        x, scale, unit, norms = ctx.saved_tensors
        if not is_fast(x, scale, grad):
            return plain.unit_rows_backward(x, scale, unit, norms, grad)
        d_x, d_scale = empty(*x.shape), empty(-(-len(x) // fast.TILE), x.shape[1])
        use_threads(3 * x.numel())
        arrays = array(x), array(scale), array(unit), array(norms), array(grad)
        fast.unit_rows_backward(*arrays, d_x.numpy(), d_scale.numpy())
        return d_x, d_scale.sum(0)


class EdgeSoftmax(Function):
    @staticmethod
    def forward(ctx, pattern: Pattern, scores: Tensor, weights: Tensor) -> Tensor:
        ctx.pattern = pattern
        if is_fast(scores, weights):
            out, mass = empty(pattern.num_entries), empty(pattern.num_entries)
            use_threads(10 * pattern.num_entries)
            arrays = array(scores), array(weights), out.numpy(), mass.numpy()
            fast.edge_softmax(pattern.indptr, *arrays, pattern.blocks)
        else:
            out, mass = plain.edge_softmax(pattern, scores, weights)
        ctx.save_for_backward(weights, out, mass)
        return out

    @staticmethod
    def backward(ctx, grad: Tensor):
        weights, soft, mass = ctx.saved_tensors
        p: Pattern = ctx.pattern
        if not is_fast(weights, grad):
            return None, *plain.edge_softmax_backward(p, weights, soft, mass, grad)
        d_scores, d_weights = empty(p.num_entries), empty(p.num_entries)
        use_threads(5 * p.num_entries)
        arrays = array(weights), array(soft), array(mass), array(grad), d_scores.numpy(), d_weights.numpy()
        fast.edge_softmax_backward(p.indptr, *arrays, p.blocks)
        return None, d_scores, d_weights


class BinaryConcrete(Function):
    @staticmethod
    def forward(ctx, logits: Tensor, pair: Tensor, free: Tensor, temperature: float, key: Key) -> Tensor:
        if is_fast(logits):
            hard, slope = empty(len(logits)), empty(len(logits))
            noise = np.uint64(key.value), np.float32(temperature)
            use_threads(20 * len(logits))
            fast.binary_concrete(array(logits), pair.numpy(), free.numpy(), *noise, hard.numpy(), slope.numpy())
        else:
            hard, slope = plain.binary_concrete(logits, pair, free, temperature, key)
        ctx.save_for_backward(slope)
        return hard

    @staticmethod
    def backward(ctx, grad: Tensor):
        (slope,) = ctx.saved_tensors
        return _times(slope, grad), None, None, None, None


def _times(slope: Tensor, grad: Tensor) -> Tensor:
    """slope ⊙ grad in memory that was used before."""
    return torch.mul(slope, grad, out=empty(*slope.shape)) if is_fast(slope, grad) else slope * grad


class Dropout(Function):
    @staticmethod
    def forward(ctx, x: Tensor, rate: float, key: Key, first: int) -> Tensor:
        ctx.noise = rate, key, first
        return _dropout(x, rate, key, first)

    @staticmethod
    def backward(ctx, grad: Tensor):
        return _dropout(grad, *ctx.noise), None, None, None


class ReluDropout(Function):
    @staticmethod
    def forward(ctx, x: Tensor, rate: float, key: Key) -> Tensor:
        ctx.rate = rate
        if is_fast(x) and rate == 0:
            out = empty(*x.shape)
            use_threads(x.numel())
            elementwise.relu(array(x).reshape(-1), out.numpy().reshape(-1))
        elif is_fast(x):
            out = empty(*x.shape)
            use_threads(3 * x.numel())
            flat = array(x).reshape(-1), out.numpy().reshape(-1)
            run_from(key.place.start_of(x), elementwise.relu_dropout, *flat, rate, key)
        else:
            out = plain.dropout(torch.relu(x), rate, key, key.place.start_of(x)) if rate > 0 else torch.relu(x)
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx, grad: Tensor):
        (out,) = ctx.saved_tensors
        if not is_fast(out, grad):
            return torch.where(out > 0, grad / (1 - ctx.rate), torch.zeros_like(grad)), None, None
        d_x = empty(*out.shape)
        flat = array(out).reshape(-1), array(grad).reshape(-1), d_x.numpy().reshape(-1)
        use_threads(out.numel())
        elementwise.relu_dropout_backward(*flat, np.float32(1 / (1 - ctx.rate)))
        return d_x, None, None


class EluDropout(Function):
    """The noise is drawn again on the way back: an output of 0 may be dropped, or may be ELU(0)."""

    @staticmethod
    def forward(ctx, x: Tensor, rate: float, key: Key) -> Tensor:
        ctx.noise = rate, key, key.place.start_of(x)
        if is_fast(x):
            out = empty(*x.shape)
            use_threads(8 * x.numel())
            elementwise.elu(array(x).reshape(-1), out.numpy().reshape(-1))
        else:
            out = torch.nn.functional.elu(x)
        ctx.save_for_backward(out)
        return _dropout(out, *ctx.noise) if rate > 0 else out

    @staticmethod
    def backward(ctx, grad: Tensor):
        (out,) = ctx.saved_tensors
        grad = _dropout(grad, *ctx.noise) if ctx.noise[0] > 0 else grad
        if not is_fast(out, grad):
            return torch.where(out > 0, grad, grad * (out + 1)), None, None
        d_x = empty(*out.shape)
        use_threads(2 * out.numel())
        elementwise.elu_backward(array(out).reshape(-1), array(grad).reshape(-1), d_x.numpy().reshape(-1))
        return d_x, None, None


class NormReluDropout(Function):
    """out = dropout(ReLU(γ ⊙ (x - μ) / σ + β)) with μ, σ of this batch; also gives μ and the biased σ²."""

    @staticmethod
    def forward(ctx, x: Tensor, gamma: Tensor, beta: Tensor, eps: float, rate: float, key: Key):
        mean, variance = _moments(x, key.place)
        ctx.place = key.place
        inverse = torch.rsqrt(variance + eps)
        scale = (gamma.detach().double() * inverse).float()
        shift = (beta.detach().double() - mean * gamma.detach().double() * inverse).float()
        out = affine_relu(x, scale, shift, rate, key)
        ctx.factor = 1 / (1 - rate)
        ctx.save_for_backward(x, gamma, out, mean, inverse)
        ctx.mark_non_differentiable(mean, variance)
        return out, mean, variance

    @staticmethod
    def backward(ctx, grad: Tensor, *_):
        x, gamma, out, mean, inverse = ctx.saved_tensors
        d_beta, d_scaled = empty(2, -(-len(x) // norm.TILE), x.shape[1])
        arrays = array(x), array(out), array(grad), array(mean.float()), np.float32(ctx.factor)
        use_threads(4 * x.numel())
        norm.backward_sums(*arrays, d_beta.numpy(), d_scaled.numpy())
        beta_sum, gamma_sum = d_beta.double().sum(0), d_scaled.double().sum(0) * inverse
        scale, rows = gamma.double() * inverse, ctx.place.rows_of(x)
        beta_total, gamma_total = ctx.place.sum(torch.stack([beta_sum, gamma_sum]))
        offset, slope = scale * beta_total / rows, scale * inverse * gamma_total / rows
        d_x = empty(*x.shape)
        norm.backward(*arrays, (array(scale.float()), array(slope.float()), array(offset.float())), d_x.numpy())
        return d_x, gamma_sum.float(), beta_sum.float(), None, None, None


def _moments(x: Tensor, place: Place) -> tuple[Tensor, Tensor]:
    """Mean and biased variance of each column in float64, over the rows of all processes: [H] both."""
    mean, square = empty(2, -(-len(x) // norm.TILE), x.shape[1])
    use_threads(4 * x.numel())
    norm.moments(array(x), mean.numpy(), square.numpy())
    sizes = torch.full((len(mean), 1), float(norm.TILE), dtype=torch.float64)
    sizes[-1] = len(x) - norm.TILE * (len(mean) - 1)
    rows = place.rows_of(x)
    total = place.sum((mean * sizes).sum(0)) / rows
    return total, place.sum((square + sizes * (mean - total).square()).sum(0)) / rows


def affine_relu(x: Tensor, scale: Tensor, shift: Tensor, rate: float, key: Key) -> Tensor:
    """dropout(ReLU(x ⊙ scale + shift)): [N, H]; on the CPU alone, without a gradient."""
    out = empty(*x.shape)
    use_threads(4 * x.numel())
    arrays = array(x), array(scale), array(shift), out.numpy()
    if rate > 0:
        first = key.place.start_of(x)
        assert first % LANES == 0, "the rows of a process begin at a multiple of 4"
        norm.affine_relu_dropout(*arrays, *dropout_arguments(rate, key.ahead(first // LANES)))
    else:
        norm.affine_relu(*arrays)
    return out


class SoftmaxLosses(Function):
    @staticmethod
    def forward(ctx, logits: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        if is_fast(logits, target):
            p, (log_total, cross, entropy) = empty(*logits.shape), empty(3, len(logits))
            use_threads(10 * logits.numel())
            arrays = array(logits), array(target), p.numpy(), log_total.numpy(), cross.numpy(), entropy.numpy()
            fast.softmax_losses(*arrays)
        else:
            p, log_total, cross, entropy = plain.softmax_losses(logits, target)
        ctx.save_for_backward(logits, target, p, log_total, entropy)
        return cross.sum(), entropy.sum()

    @staticmethod
    def backward(ctx, d_cross: Tensor, d_entropy: Tensor):
        logits, target, p, log_total, entropy = ctx.saved_tensors
        if not is_fast(logits, target):
            return plain.softmax_losses_backward(logits, target, p, log_total, entropy, d_cross, d_entropy), None
        out = empty(*logits.shape)
        outer = np.float32(d_cross.item()), np.float32(d_entropy.item())
        use_threads(3 * logits.numel())
        arrays = array(logits), array(target), array(p), array(log_total), array(entropy)
        fast.softmax_losses_backward(*arrays, *outer, out.numpy())
        return out, None


class BernoulliKL(Function):
    @staticmethod
    def forward(ctx, logits: Tensor, prior: Tensor, free: Tensor) -> Tensor:
        if is_fast(logits, prior):
            kl, slope = empty(len(logits)), empty(len(logits))
            use_threads(40 * len(logits))
            fast.bernoulli_kl(array(logits), array(prior), free.numpy(), kl.numpy(), slope.numpy())
        else:
            kl, slope = plain.bernoulli_kl(logits, prior, free)
        ctx.save_for_backward(slope)
        return kl.sum()

    @staticmethod
    def backward(ctx, grad: Tensor):
        (slope,) = ctx.saved_tensors
        return _times(slope, grad), None, None


def adam_step(
    parameter: Tensor, grad: Tensor, mean: Tensor, square: Tensor, rate: float, decay: float, steps: int
) -> None:
    """One step of Adam in place; ``mean`` and ``square`` are its moments, ``decay`` is L2 in the gradient."""
    for name, tensor in (("grad", grad), ("mean", mean), ("square", square)):
        check_shape("adam_step", name, tensor, *parameter.shape)
    check_types("adam_step", parameter, grad, mean, square)
    if not is_fast(parameter, grad):
        plain.adam(parameter, grad, mean, square, rate, decay, steps)
        return
    flat = [t.detach().numpy().reshape(-1) for t in (parameter, grad.contiguous(), mean, square)]
    f = np.float32
    constants = f(0.9), f(0.999), f(1 - 0.9**steps), f(1 - 0.999**steps), f(1e-8)
    use_threads(5 * parameter.numel())
    elementwise.adam(*flat, f(rate), f(decay), constants)
