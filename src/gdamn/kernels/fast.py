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

from .noise import uniform

_MATH = {"reassoc", "contract", "arcp", "nsz"}
_ZERO, _ONE = np.float32(0), np.float32(1)
_MOST = np.float32(40)  # an entry that was cut may score far above those that stayed: exp must not overflow


def _parallel(function):
    return numba.njit(parallel=True, cache=True, fastmath=_MATH, boundscheck=False)(function)


@_parallel
def spmm(indptr, indices, values, dense, out, blocks):
    """out[i] = Σ_j values[ij] · dense[j]; dense [K, H], out [R, H]."""
    width = dense.shape[1]
    for b in prange(len(blocks) - 1):
        for i in range(blocks[b], blocks[b + 1]):
            for h in range(width):
                out[i, h] = _ZERO
            for e in range(indptr[i], indptr[i + 1]):
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
            for e in range(indptr[i], indptr[i + 1]):
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


@_parallel
def dropped_spmm(indptr, indices, values, dense, out, blocks, key, rate):
    """spmm whose entries are dropped with probability ``rate``; the rest are divided by 1 - rate."""
    width = dense.shape[1]
    scale = _ONE / (_ONE - rate)
    for b in prange(len(blocks) - 1):
        for i in range(blocks[b], blocks[b + 1]):
            for h in range(width):
                out[i, h] = _ZERO
            for e in range(indptr[i], indptr[i + 1]):
                if uniform(key, np.uint64(e)) >= rate:
                    v = values[e] * scale
                    j = indices[e]
                    for h in range(width):
                        out[i, h] += v * dense[j, h]


@_parallel
def dropped_spmm_permuted(indptr, indices, perm, values, dense, out, blocks, key, rate):
    """The product with the transpose of the dropped matrix of :func:`dropped_spmm`, drawn again from the key."""
    width = dense.shape[1]
    scale = _ONE / (_ONE - rate)
    for b in prange(len(blocks) - 1):
        for i in range(blocks[b], blocks[b + 1]):
            for h in range(width):
                out[i, h] = _ZERO
            for e in range(indptr[i], indptr[i + 1]):
                at = perm[e]
                if uniform(key, np.uint64(at)) >= rate:
                    v = values[at] * scale
                    j = indices[e]
                    for h in range(width):
                        out[i, h] += v * dense[j, h]


@_parallel
def edge_softmax(indptr, scores, weights, out, blocks):
    """out[ij] = w_ij exp(s_ij) / Σ_k w_ik exp(s_ik), shifted by the row's largest score; 0 where the sum is."""
    for b in prange(len(blocks) - 1):
        for i in range(blocks[b], blocks[b + 1]):
            first, last = indptr[i], indptr[i + 1]
            top = np.float32(-np.inf)
            for e in range(first, last):
                if weights[e] > _ZERO:
                    top = max(top, scores[e])
            total = _ZERO
            for e in range(first, last):
                if weights[e] > _ZERO:
                    out[e] = weights[e] * np.exp(scores[e] - top)
                    total += out[e]
                else:
                    out[e] = _ZERO
            if total > _ZERO:
                for e in range(first, last):
                    out[e] /= total


@_parallel
def edge_softmax_backward(indptr, scores, weights, soft, grad, d_scores, d_weights, blocks):
    """With r_i = Σ_k g_ik a_ik: ds_ij = a_ij (g_ij - r_i) and dw_ij = exp(s_ij) / Z_i · (g_ij - r_i)."""
    for b in prange(len(blocks) - 1):
        for i in range(blocks[b], blocks[b + 1]):
            first, last = indptr[i], indptr[i + 1]
            top = np.float32(-np.inf)
            row = _ZERO
            for e in range(first, last):
                if weights[e] > _ZERO:
                    top = max(top, scores[e])
                    row += grad[e] * soft[e]
            total = _ZERO
            for e in range(first, last):
                if weights[e] > _ZERO:
                    total += weights[e] * np.exp(scores[e] - top)
            for e in range(first, last):
                d_scores[e] = soft[e] * (grad[e] - row)
                if total > _ZERO:
                    d_weights[e] = np.exp(min(scores[e] - top, _MOST)) / total * (grad[e] - row)
                else:
                    d_weights[e] = _ZERO


@_parallel
def binary_concrete(logits, pair, free, key, temperature, hard, slope):
    """Straight-through sample: hard = 1[z > 0], slope = σ'(z / τ) / τ with z = logit + logistic noise of the pair.

    Where ``free`` is False (a self-loop) the sample is 1 and its slope 0.
    """
    for e in prange(len(logits)):
        if free[e]:
            u = uniform(key, np.uint64(pair[e]))
            z = logits[e] + np.log(u) - np.log(_ONE - u)
            s = _ONE / (_ONE + np.exp(-z / temperature))
            hard[e] = _ONE if z > _ZERO else _ZERO
            slope[e] = s * (_ONE - s) / temperature
        else:
            hard[e] = _ONE
            slope[e] = _ZERO


@_parallel
def dropout(flat, out, key, rate):
    """out = flat with entries dropped at ``rate`` and the rest divided by 1 - rate; its own gradient too."""
    scale = _ONE / (_ONE - rate)
    for e in prange(len(flat)):
        out[e] = flat[e] * scale if uniform(key, np.uint64(e)) >= rate else _ZERO


@_parallel
def relu_dropout(flat, out, key, rate):
    """out = dropout(max(flat, 0)), in one pass."""
    scale = _ONE / (_ONE - rate)
    for e in prange(len(flat)):
        v = flat[e]
        # written so that nan passes through and is noticed in the loss
        out[e] = _ZERO if v <= _ZERO or uniform(key, np.uint64(e)) < rate else v * scale


@_parallel
def relu_dropout_backward(out, grad, d_flat, rate):
    """The gradient passes where the output is positive."""
    scale = _ONE / (_ONE - rate)
    for e in prange(len(out)):
        d_flat[e] = grad[e] * scale if out[e] > _ZERO else _ZERO


@_parallel
def softmax_losses(logits, target, cross, entropy):
    """Per row: cross = -Σ t log p and entropy = -Σ p log p with p = softmax(logits)."""
    rows, classes = logits.shape
    for i in prange(rows):
        top = logits[i, 0]
        for c in range(1, classes):
            top = max(top, logits[i, c])
        total = _ZERO
        for c in range(classes):
            total += np.exp(logits[i, c] - top)
        log_total = np.log(total) + top
        t, h = _ZERO, _ZERO
        for c in range(classes):
            log_p = logits[i, c] - log_total
            t -= target[i, c] * log_p
            h -= np.exp(log_p) * log_p
        cross[i] = t
        entropy[i] = h


@_parallel
def softmax_losses_backward(logits, target, entropy, d_cross, d_entropy, d_logits):
    """dz_c = d_cross (p_c Σ t - t_c) - d_entropy p_c (log p_c + H)."""
    rows, classes = logits.shape
    for i in prange(rows):
        top = logits[i, 0]
        for c in range(1, classes):
            top = max(top, logits[i, c])
        total, mass = _ZERO, _ZERO
        for c in range(classes):
            total += np.exp(logits[i, c] - top)
            mass += target[i, c]
        log_total = np.log(total) + top
        for c in range(classes):
            log_p = logits[i, c] - log_total
            p = np.exp(log_p)
            d_logits[i, c] = d_cross * (p * mass - target[i, c]) - d_entropy * p * (log_p + entropy[i])


@_parallel
def bernoulli_kl(logits, prior, free, kl, slope):
    """kl = g (l - logit ρ) - softplus(l) - log(1 - ρ) with g = σ(l), and its slope g (1 - g)(l - logit ρ).

    Both are 0 where the entry is not ``free``.
    """
    for e in prange(len(logits)):
        if free[e]:
            z = logits[e]
            g = _ONE / (_ONE + np.exp(-z))
            gap = z - np.log(prior[e] / (_ONE - prior[e]))
            softplus = max(z, _ZERO) + np.log1p(np.exp(-abs(z)))
            kl[e] = g * gap - softplus - np.log1p(-prior[e])
            slope[e] = g * (_ONE - g) * gap
        else:
            kl[e] = _ZERO
            slope[e] = _ZERO


@_parallel
def adam(parameter, grad, mean, square, rate, decay, beta1, beta2, correction1, correction2, eps):
    """One step of Adam in place, flat arrays."""
    one = _ONE
    for e in prange(len(parameter)):
        g = grad[e] + decay * parameter[e]
        mean[e] = beta1 * mean[e] + (one - beta1) * g
        square[e] = beta2 * square[e] + (one - beta2) * g * g
        parameter[e] -= rate / correction1 * mean[e] / (np.sqrt(square[e] / correction2) + eps)
