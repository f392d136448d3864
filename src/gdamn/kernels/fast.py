"""The compiled loops: parallel over runs of rows, each row computed by one thread in a fixed order.

So the result of every loop has the same bits for any number of threads. The loops know CSR arrays and float32
blocks, nothing of models. ``blocks`` are row boundaries of about equal work (:func:`pattern.balanced_blocks`).
Compiled code is cached on disk; the first call ever compiles, later starts only load.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numba
import numpy as np
from numba import prange

from .noise import lanes, uniform
from .scalars import exp32, log32

_MATH = {"reassoc", "contract", "arcp", "nsz"}
_ZERO, _ONE = np.float32(0), np.float32(1)
_SHORT = np.float32(1e-8)
_TILE = 256
_LOW16, _SIXTEEN, _THIRTY_TWO, _FORTY_EIGHT = (np.uint64(v) for v in (0xFFFF, 16, 32, 48))
_MOST = np.float32(40)  # an entry that was cut may score far above those that stayed: exp must not overflow


def _parallel(function):
    return numba.njit(parallel=True, cache=True, fastmath=_MATH, boundscheck=False)(function)


def _elementwise(function):
    """For loops with exp32 and log32, whose accuracy needs the order of operations as it is written."""
    return numba.njit(parallel=True, cache=True, fastmath={"contract", "nsz"}, boundscheck=False)(function)


@_parallel
def spmm(indptr, indices, values, dense, out, blocks):
    """out[i] = Σ_j values[ij] · dense[j]; dense [K, H], out [R, H].

    Four entries at a time: the sum is read and written a quarter as often, and four rows are fetched at once.
    """
    width = dense.shape[1]
    for b in prange(len(blocks) - 1):
        for i in range(blocks[b], blocks[b + 1]):
            for h in range(width):
                out[i, h] = _ZERO
            first, last = indptr[i], indptr[i + 1]
            fours = first + (last - first) // 4 * 4
            for e in range(first, fours, 4):
                v0, v1, v2, v3 = values[e], values[e + 1], values[e + 2], values[e + 3]
                j0, j1, j2, j3 = indices[e], indices[e + 1], indices[e + 2], indices[e + 3]
                for h in range(width):
                    out[i, h] += v0 * dense[j0, h] + v1 * dense[j1, h] + v2 * dense[j2, h] + v3 * dense[j3, h]
            for e in range(fours, last):
                v = values[e]
                j = indices[e]
                for h in range(width):
                    out[i, h] += v * dense[j, h]


@_parallel
def spmm_permuted(indptr, indices, perm, values, dense, out, blocks):
    """out[i] = Σ_j values[perm[ij]] · dense[j]: the product with a transpose whose values stay in their order."""
    width = dense.shape[1]
    for b in prange(len(blocks) - 1):
        for i in range(blocks[b], blocks[b + 1]):
            for h in range(width):
                out[i, h] = _ZERO
            first, last = indptr[i], indptr[i + 1]
            fours = first + (last - first) // 4 * 4
            for e in range(first, fours, 4):
                v0, v1, v2, v3 = values[perm[e]], values[perm[e + 1]], values[perm[e + 2]], values[perm[e + 3]]
                j0, j1, j2, j3 = indices[e], indices[e + 1], indices[e + 2], indices[e + 3]
                for h in range(width):
                    out[i, h] += v0 * dense[j0, h] + v1 * dense[j1, h] + v2 * dense[j2, h] + v3 * dense[j3, h]
            for e in range(fours, last):
                v = values[perm[e]]
                j = indices[e]
                for h in range(width):
                    out[i, h] += v * dense[j, h]


@_parallel
def sddmm(indptr, indices, left, right, out, blocks):
    """out[ij] = left[i] · right[j]; left [R, H], right [K, H]."""
    width = left.shape[1]
    for b in prange(len(blocks) - 1):
        for i in range(blocks[b], blocks[b + 1]):
            for e in range(indptr[i], indptr[i + 1]):
                j = indices[e]
                total = _ZERO
                for h in range(width):
                    total += left[i, h] * right[j, h]
                out[e] = total


@_elementwise
def edge_softmax(indptr, scores, weights, out, mass, blocks):
    """out[ij] = w_ij m_ij / Σ_k w_ik m_ik with m_ij = exp(s_ij - the row's largest score); 0 where the sum is.

    An entry of weight 0 doesn't count for the largest score; its m, which only the gradient needs, is kept finite.
    """
    for b in prange(len(blocks) - 1):
        for i in range(blocks[b], blocks[b + 1]):
            top = np.float32(-np.inf)
            for e in range(indptr[i], indptr[i + 1]):
                if weights[e] > _ZERO:
                    top = max(top, scores[e])
            for e in range(indptr[i], indptr[i + 1]):
                mass[e] = min(scores[e] - top, _MOST)
        for e in range(indptr[blocks[b]], indptr[blocks[b + 1]]):
            mass[e] = exp32(mass[e])
            out[e] = weights[e] * mass[e]
        for i in range(blocks[b], blocks[b + 1]):
            total = _ZERO
            for e in range(indptr[i], indptr[i + 1]):
                total += out[e]
            scale = _ONE / total if total > _ZERO else _ZERO
            for e in range(indptr[i], indptr[i + 1]):
                out[e] *= scale


@_parallel
def edge_softmax_backward(indptr, weights, soft, mass, grad, d_scores, d_weights, blocks):
    """With r_i = Σ_k g_ik a_ik: ds_ij = a_ij (g_ij - r_i) and dw_ij = m_ij / Σ_k w_ik m_ik · (g_ij - r_i)."""
    for b in prange(len(blocks) - 1):
        for i in range(blocks[b], blocks[b + 1]):
            row, total = _ZERO, _ZERO
            for e in range(indptr[i], indptr[i + 1]):
                row += grad[e] * soft[e]
                total += weights[e] * mass[e]
            scale = _ONE / total if total > _ZERO else _ZERO
            for e in range(indptr[i], indptr[i + 1]):
                d_scores[e] = soft[e] * (grad[e] - row)
                d_weights[e] = mass[e] * scale * (grad[e] - row)


@_elementwise
def binary_concrete(logits, pair, free, key, temperature, hard, slope):
    """Straight-through sample: hard = 1[z > 0], slope = σ'(z / τ) / τ with z = logit + logistic noise of the pair.

    Where ``free`` is False (a self-loop) the sample is 1 and its slope 0.
    """
    for e in prange(len(logits)):
        u = uniform(key, np.uint64(pair[e]))
        z = logits[e] + log32(u) - log32(_ONE - u)
        s = _ONE / (_ONE + exp32(-z / temperature))
        hard[e] = _ONE if z > _ZERO or not free[e] else _ZERO
        slope[e] = s * (_ONE - s) / temperature if free[e] else _ZERO


@_elementwise
def bernoulli_kl(logits, prior, free, kl, slope):
    """kl = g (l - logit ρ) - softplus(l) - log(1 - ρ) with g = σ(l), and its slope g (1 - g)(l - logit ρ).

    Both are 0 where the entry is not ``free``.
    """
    for e in prange(len(logits)):
        z = logits[e]
        g = _ONE / (_ONE + exp32(-z))
        log_absent = log32(_ONE - prior[e])
        gap = z - log32(prior[e]) + log_absent
        softplus = max(z, _ZERO) + log32(_ONE + exp32(-abs(z)))
        kl[e] = g * gap - softplus - log_absent if free[e] else _ZERO
        slope[e] = g * (_ONE - g) * gap if free[e] else _ZERO


@_elementwise
def softmax_losses(logits, target, probabilities, log_total, cross, entropy):
    """Per row, with p = softmax(z): cross = -Σ t log p, entropy = -Σ p log p, log_total = log Σ exp z.

    Rows go in tiles, so that all exponentials of a tile are one long loop.
    """
    rows, classes = logits.shape
    for tile in prange((rows + _TILE - 1) // _TILE):
        first, last = tile * _TILE, min(rows, (tile + 1) * _TILE)
        for i in range(first, last):
            top = logits[i, 0]
            for c in range(1, classes):
                top = max(top, logits[i, c])
            log_total[i] = top
            for c in range(classes):
                probabilities[i, c] = logits[i, c] - top
        flat = probabilities[first:last].reshape(-1)
        for k in range(len(flat)):
            flat[k] = exp32(flat[k])
        for i in range(first, last):
            total = _ZERO
            for c in range(classes):
                total += probabilities[i, c]
            log_total[i] += log32(total)
            scale = _ONE / total
            t, h = _ZERO, _ZERO
            for c in range(classes):
                probabilities[i, c] *= scale
                log_p = logits[i, c] - log_total[i]
                t -= target[i, c] * log_p
                h -= probabilities[i, c] * log_p
            cross[i] = t
            entropy[i] = h


@_parallel
def softmax_losses_backward(logits, target, probabilities, log_total, entropy, d_cross, d_entropy, d_logits):
    """dz_c = d_cross (p_c Σ t - t_c) - d_entropy p_c (log p_c + H)."""
    rows, classes = logits.shape
    for i in prange(rows):
        mass = _ZERO
        for c in range(classes):
            mass += target[i, c]
        for c in range(classes):
            p = probabilities[i, c]
            log_p = logits[i, c] - log_total[i]
            d_logits[i, c] = d_cross * (p * mass - target[i, c]) - d_entropy * p * (log_p + entropy[i])


@_parallel
def unit_rows(x, scale, out, norms):
    """out_i = v_i / max(|v_i|, ε) with v_i = scale ⊙ ReLU(x_i): [N, m]."""
    rows, width = x.shape
    for i in prange(rows):
        square = _ZERO
        for h in range(width):
            v = scale[h] * max(x[i, h], _ZERO)
            out[i, h] = v
            square += v * v
        norms[i] = max(np.sqrt(square), _SHORT)
        for h in range(width):
            out[i, h] /= norms[i]


@_parallel
def unit_rows_backward(x, scale, unit, norms, grad, d_x, d_scale):
    """dv = (g - u (u · g)) / |v|; dx = dv ⊙ scale where x > 0; d_scale per tile of rows, to be summed."""
    rows, width = x.shape
    for tile in prange(len(d_scale)):
        for h in range(width):
            d_scale[tile, h] = _ZERO
        for i in range(tile * _TILE, min(rows, (tile + 1) * _TILE)):
            along = _ZERO
            for h in range(width):
                along += unit[i, h] * grad[i, h]
            short = norms[i] <= _SHORT
            for h in range(width):
                dv = _ZERO if short else (grad[i, h] - unit[i, h] * along) / norms[i]
                d_x[i, h] = dv * scale[h] if x[i, h] > _ZERO else _ZERO
                d_scale[tile, h] += dv * max(x[i, h], _ZERO)


@_parallel
def dropout(flat, out, key, limit, scale):
    """out = flat · scale where the entry's 16 bits reach ``limit``, else 0; its own gradient too."""
    count = len(flat)
    for group in prange(count // 4):
        z = lanes(key, np.uint64(group))
        e = 4 * group
        out[e] = flat[e] * scale if (z & _LOW16) >= limit else _ZERO
        out[e + 1] = flat[e + 1] * scale if ((z >> _SIXTEEN) & _LOW16) >= limit else _ZERO
        out[e + 2] = flat[e + 2] * scale if ((z >> _THIRTY_TWO) & _LOW16) >= limit else _ZERO
        out[e + 3] = flat[e + 3] * scale if (z >> _FORTY_EIGHT) >= limit else _ZERO
    z = lanes(key, np.uint64(count // 4))
    for e in range(count // 4 * 4, count):
        out[e] = flat[e] * scale if (z & _LOW16) >= limit else _ZERO
        z >>= _SIXTEEN


@_parallel
def relu_dropout(flat, out, key, limit, scale):
    """out = dropout(max(flat, 0)), in one pass; written so that nan passes through and is noticed in the loss."""
    count = len(flat)
    for group in prange(count // 4):
        z = lanes(key, np.uint64(group))
        e = 4 * group
        out[e] = _ZERO if (flat[e] <= _ZERO) | ((z & _LOW16) < limit) else flat[e] * scale
        z >>= _SIXTEEN
        out[e + 1] = _ZERO if (flat[e + 1] <= _ZERO) | ((z & _LOW16) < limit) else flat[e + 1] * scale
        z >>= _SIXTEEN
        out[e + 2] = _ZERO if (flat[e + 2] <= _ZERO) | ((z & _LOW16) < limit) else flat[e + 2] * scale
        z >>= _SIXTEEN
        out[e + 3] = _ZERO if (flat[e + 3] <= _ZERO) | (z < limit) else flat[e + 3] * scale
    z = lanes(key, np.uint64(count // 4))
    for e in range(count // 4 * 4, count):
        out[e] = _ZERO if (flat[e] <= _ZERO) | ((z & _LOW16) < limit) else flat[e] * scale
        z >>= _SIXTEEN


@_parallel
def add_reverse(values, perm, out):
    """out[e] = values[e] + values[perm[e]]: each entry and its transpose."""
    for e in prange(len(values)):
        out[e] = values[e] + values[perm[e]]


@_parallel
def relu_dropout_backward(out, grad, d_flat, scale):
    """The gradient passes where the output is positive."""
    for e in prange(len(out)):
        d_flat[e] = grad[e] * scale if out[e] > _ZERO else _ZERO


@_parallel
def adam(parameter, grad, mean, square, rate, decay, beta1, beta2, correction1, correction2, eps):
    """One step of Adam in place, flat arrays."""
    one = _ONE
    for e in prange(len(parameter)):
        g = grad[e] + decay * parameter[e]
        mean[e] = beta1 * mean[e] + (one - beta1) * g
        square[e] = beta2 * square[e] + (one - beta2) * g * g
        parameter[e] -= rate / correction1 * mean[e] / (np.sqrt(square[e] / correction2) + eps)
