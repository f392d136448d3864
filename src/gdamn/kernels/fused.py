"""Both attentions in one loop over the edges, and their gradient in another: nothing per edge but the weights.

For graphs whose edges fill the memory. An undirected graph's A + I is its own transpose, so the entry (j, i) of each
(i, j) is known (``mirror``), and with it the number of the pair that the noise hangs on; logits, scores, samples and
the prior are made where they are used and forgotten. A process that has only some of the rows is given the numbers
(``pairs``), and what stands against its columns: its own nodes first, then those of others.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc"
# ruff: noqa: D102

from __future__ import annotations

from typing import Any, NamedTuple

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
from .numba.scalars import exp32, kl32, kl_gap, log32, sigmoid32
from .numba.sparse import _AHEAD, _ask, _dot
from .paths import array
from .products import add_reverse, spmm, spmm_t
from .threads import use_threads

_ZERO, _ONE = np.float32(0), np.float32(1)


class Rows(NamedTuple):
    """A CSR pattern [R, K] as arrays; the loop of row i is in column i.

    ``mirror`` [E] has the position of (j, i) in a symmetric pattern, ``pairs`` [E] the number of {i, j} in any other
    (else it is empty), and ``blocks`` runs of rows.
    """

    indptr: Any
    indices: Any
    mirror: Any
    pairs: Any
    blocks: Any


class Nodes(NamedTuple):
    """What the edges' numbers are made of: Ŷ Q [R, C] of the rows; Ŷ, h / |h| and Ŷ / |Ŷ| [K, …] of the columns."""

    turned: Any
    labels: Any
    unit: Any
    known: Any


class Constants(NamedTuple):
    """Factor of the cosines, temperature of the draw, clamp of the prior, and the key of the noise."""

    scale: Any
    temperature: Any
    clamp: Any
    key: Any


@numba.njit(inline="always")
def _short(left, i, right, j):
    """left[i] · right[j] for a few columns."""
    total = _ZERO
    for h in range(left.shape[1]):
        total += left[i, h] * right[j, h]
    return total


@numba.njit(inline="always")
def _pair(e, i, j, mirror, pairs):
    """The number of the pair {i, j}: the smaller of the two entries' places among the edges without loops."""
    if len(pairs):
        return np.int64(pairs[e])
    forward, backward = e - i, np.int64(mirror[e]) - j
    return min(forward - 1, backward) if j > i else min(forward, backward - 1)


@numba.njit(inline="always")
def _read_edges(rows, nodes, first, last):
    """For the entries of some rows: ŷ_i Q ŷ_j, unit_i · unit_j, and the number of the pair; -1 for loops."""
    indptr, indices = rows.indptr, rows.indices
    start, count = indptr[first], indptr[last] - indptr[first]
    logits, cosines, pairs = np.empty(count, np.float32), np.empty(count, np.float32), np.empty(count, np.int64)
    for i in range(first, last):
        for e in range(indptr[i], indptr[i + 1]):
            if e + _AHEAD < len(indices):
                _ask(nodes.unit, indices[e + _AHEAD])
                _ask(nodes.labels, indices[e + _AHEAD])
            j, at = indices[e], e - start
            logits[at] = _short(nodes.turned, i, nodes.labels, j)
            cosines[at] = _dot(nodes.unit, i, nodes.unit, j)
            pairs[at] = -1 if i == j else _pair(e, i, j, rows.mirror, rows.pairs)
    return logits, cosines, pairs


@_elementwise
def attend(rows, nodes, weights, constants, sampling, values, totals):
    """values[ij] = w_ij k_ij exp(scale · unit_i · unit_j) over its sum on the row, which goes to totals [N].

    k is a draw with probability σ(turned_i · labels_j) if ``sampling``, else 1; on loops 1. ``weights`` may be empty.
    """
    indptr, blocks, scale, key = rows.indptr, rows.blocks, constants.scale, constants.key
    for b in prange(len(blocks) - 1):
        first, last = blocks[b], blocks[b + 1]
        start, count = indptr[first], indptr[last] - indptr[first]
        logits, cosines, pairs = _read_edges(rows, nodes, first, last)
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
def kl_rows(rows, nodes, clamp, out):
    """out[i] = Σ_j KL(Bernoulli(σ(turned_i · labels_j)) ‖ Bernoulli(ρ_ij)), ρ_ij = known_i · known_j, clamped."""
    indptr, indices, blocks = rows.indptr, rows.indices, rows.blocks
    turned, labels, known = nodes.turned, nodes.labels, nodes.known
    for b in prange(len(blocks) - 1):
        first, last = blocks[b], blocks[b + 1]
        start, count = indptr[first], indptr[last] - indptr[first]
        each, prior = np.empty(count, np.float32), np.empty(count, np.float32)
        for i in range(first, last):
            for e in range(indptr[i], indptr[i + 1]):
                each[e - start] = _short(turned, i, labels, indices[e])
                prior[e - start] = _short(known, i, known, indices[e])
        for e in range(count):
            each[e] = kl32(each[e], min(max(prior[e], clamp), _ONE - clamp))
        for i in range(first, last):
            total = 0.0
            for e in range(indptr[i], indptr[i + 1]):
                if indices[e] != i:
                    total += each[e - start]
            out[i] = total


@_elementwise
def attend_backward(rows, nodes, weights, constants, drawn, outer, d_turned, d_scores):
    """Gradients of :func:`attend`, straight through the draw, plus d_kl times that of :func:`kl_rows`.

    Args:
        drawn: values [E] and totals [N] of :func:`attend`.
        outer: the gradient on the values [E], and d_kl.
        d_turned: [N, C], result.
        d_scores: [E], result: the gradient of unit_i · unit_j.
    """
    indptr, indices, blocks = rows.indptr, rows.indices, rows.blocks
    turned, labels, known = nodes.turned, nodes.labels, nodes.known
    scale, temperature, clamp, key = constants
    values, totals = drawn
    d_values, d_kl = outer
    for b in prange(len(blocks) - 1):
        first, last = blocks[b], blocks[b + 1]
        start, count = indptr[first], indptr[last] - indptr[first]
        gaps, prior = np.empty(count, np.float32), np.empty(count, np.float32)
        logits, cosines, pairs = _read_edges(rows, nodes, first, last)
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
            s = sigmoid32((z + log32(u) - log32(_ONE - u)) / temperature)
            keep = sigmoid32(z)
            through = gaps[e] * exp32(scale * cosines[e]) * s * (_ONE - s) / temperature
            d_z = through + d_kl * keep * (_ONE - keep) * kl_gap(z, rho)
            logits[e] = _ZERO if pairs[e] < 0 else d_z
        for i in range(first, last):
            for h in range(turned.shape[1]):
                d_turned[i, h] = _ZERO
            for e in range(indptr[i], indptr[i + 1]):
                for h in range(turned.shape[1]):
                    d_turned[i, h] += logits[e - start] * labels[indices[e], h]


class Inputs(NamedTuple):
    """What the loops read beside turned and unit: constants of one phase.

    ``labels`` and ``known`` [K, C] stand against the columns; ``pairs`` [E] where the pattern is not symmetric.
    """

    pattern: Pattern
    pairs: Any
    weights: Tensor
    labels: Tensor
    known: Tensor
    scale: float
    temperature: float
    clamp: float

    @property
    def rows(self) -> Rows:
        """The pattern for the loops."""
        p = self.pattern
        return Rows(p.indptr, p.indices, p.t_perm, self.pairs, p.blocks)

    def nodes(self, turned: Tensor, unit: Tensor) -> Nodes:
        """The nodes' numbers for the loops."""
        return Nodes(array(turned), array(self.labels), array(unit), array(self.known))

    def constants(self, key: Key | None) -> Constants:
        """Single numbers for the loops."""
        f = np.float32
        return Constants(f(self.scale), f(self.temperature), f(self.clamp), np.uint64(0 if key is None else key.value))


def draw(inputs: Inputs, turned: Tensor, unit: Tensor, key: Key | None) -> tuple[Tensor, Tensor]:
    """One structure's weights [E] and the sums of its rows [R]; without a key every edge is kept.

    Args:
        turned: [R, C] of the rows; unit: [K, m] of the columns.
    """
    p = inputs.pattern
    values, totals = empty(p.num_entries), empty(p.shape[0])
    use_threads(p.num_entries * unit.shape[1])
    arrays = inputs.rows, inputs.nodes(turned, unit), array(inputs.weights), inputs.constants(key)
    attend(*arrays, key is not None, values.numpy(), totals.numpy())
    return values, totals


class SampledAttention(Function):
    """Lines 7 to 9 of Algorithm 1 with the KL of line 11: the weights [E] of one sampled structure, and Σ KL."""

    @staticmethod
    def forward(ctx, turned: Tensor, unit: Tensor, inputs: Inputs, key: Key):
        values, totals = draw(inputs, turned, unit, key)
        kl = np.empty(len(turned))
        kl_rows(inputs.rows, inputs.nodes(turned, unit), np.float32(inputs.clamp), kl)
        ctx.inputs, ctx.key = inputs, key
        ctx.save_for_backward(turned, unit, values, totals)
        return values, torch.tensor(kl.sum(), dtype=turned.dtype)

    @staticmethod
    def backward(ctx, d_values: Tensor, d_kl: Tensor):
        turned, unit, values, totals = ctx.saved_tensors
        inputs: Inputs = ctx.inputs
        p = inputs.pattern
        d_turned, d_scores = empty(*turned.shape), empty(p.num_entries)
        use_threads(p.num_entries * unit.shape[1])
        arrays = inputs.rows, inputs.nodes(turned, unit), array(inputs.weights), inputs.constants(ctx.key)
        drawn, outer = (array(values), array(totals)), (array(d_values), np.float32(d_kl.item()))
        attend_backward(*arrays, drawn, outer, d_turned.numpy(), d_scores.numpy())
        return d_turned, _gram_backward(p, d_scores, unit), None, None


def _gram_backward(p: Pattern, d_scores: Tensor, unit: Tensor) -> Tensor:
    """The gradient [K, m] of unit_i · unit_j on every entry; in place of two products one where the pattern allows."""
    if p.symmetric:
        return spmm(p, add_reverse(p, d_scores), unit)
    rows = p.shape[0]
    d_unit = spmm_t(p, d_scores, unit[:rows])
    d_unit[:rows] += spmm(p, d_scores, unit)
    return d_unit
