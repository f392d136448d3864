"""The loops on edges and rows, compiled: parallel over runs of rows, each row by one thread in a fixed order.

So the result of every loop has the same bits for any number of threads. The loops know CSR arrays and float32
blocks, nothing of models. ``blocks`` are row boundaries of about equal work (:func:`pattern.balanced_blocks`).
Compiled code is cached on disk; the first call ever compiles, later starts only load. Products are in
:mod:`sparse` and :mod:`dense`, loops on single numbers in :mod:`elementwise`.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numba
import numpy as np
from numba import prange

from ..noise import uniform
from .scalars import exp32, kl32, kl_gap, log32, sigmoid32

_MATH = {"reassoc", "contract", "arcp", "nsz"}
_ZERO, _ONE = np.float32(0), np.float32(1)
_SHORT = np.float32(1e-8)
TILE = 256
"""Rows that a loop takes together."""
_MOST = np.float32(40)  # an entry that was cut may score far above those that stayed: exp must not overflow


def _parallel(function):
    return numba.njit(parallel=True, cache=True, fastmath=_MATH, boundscheck=False)(function)


def _elementwise(function):
    """For loops with exp32 and log32, whose accuracy needs the order of operations as it is written."""
    return numba.njit(parallel=True, cache=True, fastmath={"contract", "nsz"}, boundscheck=False)(function)


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
        s = sigmoid32(z / temperature)
        hard[e] = _ONE if (z > _ZERO) | (not free[e]) else _ZERO
        slope[e] = s * (_ONE - s) / temperature if free[e] else _ZERO


@_elementwise
def bernoulli_kl(logits, prior, free, kl, slope):
    """kl = KL(Bernoulli(σ(l)) ‖ Bernoulli(ρ)) and its slope; both are 0 where the entry is not ``free``."""
    for e in prange(len(logits)):
        g = sigmoid32(logits[e])
        kl[e] = kl32(logits[e], prior[e]) if free[e] else _ZERO
        slope[e] = g * (_ONE - g) * kl_gap(logits[e], prior[e]) if free[e] else _ZERO


@_elementwise
def softmax_losses(logits, target, probabilities, log_total, cross, entropy):
    """Per row, with p = softmax(z): cross = -Σ t log p, entropy = -Σ p log p, log_total = log Σ exp z.

    Rows go in tiles, so that all exponentials of a tile are one long loop.
    """
    rows, classes = logits.shape
    for tile in prange((rows + TILE - 1) // TILE):
        first, last = tile * TILE, min(rows, (tile + 1) * TILE)
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
        for i in range(tile * TILE, min(rows, (tile + 1) * TILE)):
            along = _ZERO
            for h in range(width):
                along += unit[i, h] * grad[i, h]
            short = norms[i] <= _SHORT
            for h in range(width):
                dv = _ZERO if short else (grad[i, h] - unit[i, h] * along) / norms[i]
                d_x[i, h] = dv * scale[h] if x[i, h] > _ZERO else _ZERO
                d_scale[tile, h] += dv * max(x[i, h], _ZERO)
