"""Both attentions in one loop over the edges, and their gradient in another: nothing per edge but the weights.

For graphs whose edges fill the memory. An undirected graph's A + I is its own transpose, so the entry (j, i) of each
(i, j) is known (``mirror``), and with it the number of the pair that the noise hangs on; logits, scores, samples and
the prior are made where they are used and forgotten.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc"
# ruff: noqa: D102

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
import torch
from numba import prange
from torch import Tensor
from torch.autograd import Function

from ..graph.pattern import Pattern
from .memory import empty
from .noise import Key, uniform
from .numba.edges import _elementwise
from .numba.scalars import exp32, log32
from .numba.sparse import _AHEAD, _ask, _dot
from .paths import array
from .products import add_reverse, spmm
from .threads import use_threads

_ZERO, _ONE = np.float32(0), np.float32(1)


@numba.njit(inline="always")
def _short(left, i, right, j):
    """left[i] · right[j] for a few columns."""
    total = _ZERO
    for h in range(left.shape[1]):
        total += left[i, h] * right[j, h]
    return total


@numba.njit(inline="always")
def _pair(e, i, j, mirror):
    """The number of the pair {i, j}: the smaller of the two entries' places among the edges without loops."""
    here, there = e - i, np.int64(mirror[e]) - j
    return min(here - 1, there) if j > i else min(here, there - 1)


@numba.njit(inline="always")
def _read_edges(indptr, indices, mirror, turned, labels, unit, first, last, logits, cosines, pairs):
    """For the entries of some rows: ŷ_i Q ŷ_j, unit_i · unit_j, and the number of the pair; -1 for loops."""
    start = indptr[first]
    for i in range(first, last):
        for e in range(indptr[i], indptr[i + 1]):
            if e + _AHEAD < len(indices):
                _ask(unit, indices[e + _AHEAD])
                _ask(labels, indices[e + _AHEAD])
            j, at = indices[e], e - start
            logits[at] = _short(turned, i, labels, j)
            cosines[at] = _dot(unit, i, unit, j)
            pairs[at] = -1 if i == j else _pair(e, i, j, mirror)


@_elementwise
def attend(indptr, indices, mirror, weights, turned, labels, unit, scale, sampling, key, values, totals, blocks):
    """values[ij] = w_ij k_ij exp(scale · unit_i · unit_j) over its sum on the row, which goes to totals [N].

    k is a draw with probability σ(turned_i · labels_j) if ``sampling``, else 1; on loops 1. ``weights`` may be empty.
    """
    for b in prange(len(blocks) - 1):
        first, last = blocks[b], blocks[b + 1]
        start, count = indptr[first], indptr[last] - indptr[first]
        logits, cosines, pairs = np.empty(count, np.float32), np.empty(count, np.float32), np.empty(count, np.int64)
        _read_edges(indptr, indices, mirror, turned, labels, unit, first, last, logits, cosines, pairs)
        out = values[start : start + count]
        if sampling:
            for e in range(count):
                u = uniform(key, np.uint64(pairs[e]))
                kept = (logits[e] + log32(u) - log32(_ONE - u) > _ZERO) | (pairs[e] < 0)
                out[e] = exp32(scale * cosines[e]) if kept else _ZERO
        else:
            for e in range(count):
                out[e] = exp32(scale * cosines[e])
        if len(weights):
            for e in range(count):
                out[e] *= weights[start + e]
        for i in range(first, last):
            total = _ZERO
            for e in range(indptr[i], indptr[i + 1]):
                total += values[e]
            totals[i] = total
            for e in range(indptr[i], indptr[i + 1]):
                values[e] /= total


@_elementwise
def kl_rows(indptr, indices, turned, labels, known, clamp, out, blocks):
    """out[i] = Σ_j KL(Bernoulli(σ(turned_i · labels_j)) ‖ Bernoulli(ρ_ij)), ρ_ij = known_i · known_j, clamped."""
    for b in prange(len(blocks) - 1):
        first, last = blocks[b], blocks[b + 1]
        start, count = indptr[first], indptr[last] - indptr[first]
        each, prior = np.empty(count, np.float32), np.empty(count, np.float32)
        for i in range(first, last):
            for e in range(indptr[i], indptr[i + 1]):
                each[e - start] = _short(turned, i, labels, indices[e])
                prior[e - start] = _short(known, i, known, indices[e])
        for e in range(count):
            z, rho = each[e], min(max(prior[e], clamp), _ONE - clamp)
            keep = _ONE / (_ONE + exp32(-z))
            soft_plus = max(z, _ZERO) + log32(_ONE + exp32(-abs(z)))
            each[e] = keep * (z - log32(rho) + log32(_ONE - rho)) - soft_plus - log32(_ONE - rho)
        for i in range(first, last):
            total = 0.0
            for e in range(indptr[i], indptr[i + 1]):
                if indices[e] != i:
                    total += each[e - start]
            out[i] = total


@_elementwise
def attend_backward(
    indptr, indices, mirror, weights, turned, labels, unit, known,
    scale, key, temperature, clamp, values, totals, d_values, d_kl, d_turned, d_scores, blocks,
):  # fmt: skip
    """Gradients of :func:`attend`, straight through the draw, plus ``d_kl`` times that of :func:`kl_rows`.

    Into d_turned [N, C], and into d_scores [E], the gradient of unit_i · unit_j.
    """
    for b in prange(len(blocks) - 1):
        first, last = blocks[b], blocks[b + 1]
        start, count = indptr[first], indptr[last] - indptr[first]
        logits, cosines, pairs = np.empty(count, np.float32), np.empty(count, np.float32), np.empty(count, np.int64)
        gaps, prior = np.empty(count, np.float32), np.empty(count, np.float32)
        _read_edges(indptr, indices, mirror, turned, labels, unit, first, last, logits, cosines, pairs)
        for i in range(first, last):
            mean = _ZERO
            for e in range(indptr[i], indptr[i + 1]):
                mean += values[e] * d_values[e]
            inverse = _ONE / totals[i]
            for e in range(indptr[i], indptr[i + 1]):
                gap = d_values[e] - mean
                d_scores[e] = scale * values[e] * gap
                gaps[e - start] = gap * inverse * (weights[e] if len(weights) else _ONE)
                prior[e - start] = _short(known, i, known, indices[e])
        for e in range(count):
            z, rho = logits[e], min(max(prior[e], clamp), _ONE - clamp)
            u = uniform(key, np.uint64(pairs[e]))
            s = _ONE / (_ONE + exp32(-(z + log32(u) - log32(_ONE - u)) / temperature))
            keep = _ONE / (_ONE + exp32(-z))
            through = gaps[e] * exp32(scale * cosines[e]) * s * (_ONE - s) / temperature
            d_z = through + d_kl * keep * (_ONE - keep) * (z - log32(rho) + log32(_ONE - rho))
            logits[e] = _ZERO if pairs[e] < 0 else d_z
        for i in range(first, last):
            for h in range(turned.shape[1]):
                d_turned[i, h] = _ZERO
            for e in range(indptr[i], indptr[i + 1]):
                for h in range(turned.shape[1]):
                    d_turned[i, h] += logits[e - start] * labels[indices[e], h]


class Inputs(NamedTuple):
    """What the loops read beside turned and unit: constants of one phase."""

    pattern: Pattern
    weights: Tensor
    labels: Tensor
    known: Tensor
    scale: float
    temperature: float
    clamp: float


def draw(given: Inputs, turned: Tensor, unit: Tensor, key: Key | None) -> tuple[Tensor, Tensor]:
    """One structure's weights [E] and the sums of its rows [N]; without a key every edge is kept."""
    p = given.pattern
    values, totals = empty(p.num_entries), empty(p.shape[0])
    use_threads(p.num_entries * unit.shape[1])
    attend(
        *(p.indptr, p.indices, p.t_perm, array(given.weights), array(turned), array(given.labels), array(unit)),
        *(np.float32(given.scale), key is not None, np.uint64(0 if key is None else key.value)),
        *(values.numpy(), totals.numpy(), p.blocks),
    )
    return values, totals


class SampledAttention(Function):
    """Lines 7 to 9 of Algorithm 1 with the KL of line 11: the weights [E] of one sampled structure, and Σ KL."""

    @staticmethod
    def forward(ctx, turned: Tensor, unit: Tensor, given: Inputs, key: Key):
        values, totals = draw(given, turned, unit, key)
        p, rows = given.pattern, np.empty(len(turned))
        kl_rows(
            *(p.indptr, p.indices, array(turned), array(given.labels), array(given.known)),
            *(np.float32(given.clamp), rows, p.blocks),
        )
        ctx.given, ctx.key = given, key
        ctx.save_for_backward(turned, unit, values, totals)
        return values, torch.tensor(rows.sum(), dtype=turned.dtype)

    @staticmethod
    def backward(ctx, d_values: Tensor, d_kl: Tensor):
        turned, unit, values, totals = ctx.saved_tensors
        given: Inputs = ctx.given
        p = given.pattern
        d_turned, d_scores = empty(*turned.shape), empty(p.num_entries)
        use_threads(p.num_entries * unit.shape[1])
        attend_backward(
            *(p.indptr, p.indices, p.t_perm, array(given.weights), array(turned), array(given.labels), array(unit)),
            *(array(given.known), np.float32(given.scale), np.uint64(ctx.key.value)),
            *(np.float32(given.temperature), np.float32(given.clamp), array(values), array(totals), array(d_values)),
            *(np.float32(d_kl.item()), d_turned.numpy(), d_scores.numpy(), p.blocks),
        )
        d_unit = spmm(p, add_reverse(p, d_scores), unit)
        return d_turned, d_unit, None, None
