"""What is computed head by head on the nodes alone: halves of scores, and sums with a factor per head."""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np
from numba import prange

from .edges import _parallel
from .vector import WIDTH, fma8, load8, mul8, splat8, store8, total8

_ZERO = np.float32(0)


@_parallel
def add_heads(x, gate, y, out):
    """out_ik = x_ik + gate_ik y_ik for the columns of each head k: x, y, out [N, K · H], gate [N, K]."""
    heads = gate.shape[1]
    units = x.shape[1] // heads
    whole = units // WIDTH * WIDTH
    for i in prange(len(x)):
        for k in range(heads):
            for h in range(k * units, k * units + whole, WIDTH):
                store8(out, i, h, fma8(splat8(gate[i, k]), load8(y, i, h), load8(x, i, h)))
            for h in range(k * units + whole, (k + 1) * units):
                out[i, h] = x[i, h] + gate[i, k] * y[i, h]


@_parallel
def add_heads_backward(grad, gate, y, d_gate, d_y):
    """d_gate_ik = G_ik · y_ik and d_y_ik = gate_ik G_ik."""
    heads = gate.shape[1]
    units = grad.shape[1] // heads
    whole = units // WIDTH * WIDTH
    for i in prange(len(grad)):
        for k in range(heads):
            sums, factor = splat8(_ZERO), splat8(gate[i, k])
            for h in range(k * units, k * units + whole, WIDTH):
                g = load8(grad, i, h)
                sums = fma8(g, load8(y, i, h), sums)
                store8(d_y, i, h, mul8(factor, g))
            total = total8(sums)
            for h in range(k * units + whole, (k + 1) * units):
                total += grad[i, h] * y[i, h]
                d_y[i, h] = gate[i, k] * grad[i, h]
            d_gate[i, k] = total


@_parallel
def head_scores(x, target, source, t, s):
    """t_ik = a_k · x_ik and s_ik = b_k · x_ik: x [N, K · H], a and b [1, K · H], t and s [N, K]."""
    heads = t.shape[1]
    units = x.shape[1] // heads
    whole = units // WIDTH * WIDTH
    for i in prange(len(x)):
        for k in range(heads):
            a = b = splat8(_ZERO)
            for h in range(k * units, k * units + whole, WIDTH):
                v = load8(x, i, h)
                a, b = fma8(load8(target, 0, h), v, a), fma8(load8(source, 0, h), v, b)
            one, other = total8(a), total8(b)
            for h in range(k * units + whole, (k + 1) * units):
                one += target[0, h] * x[i, h]
                other += source[0, h] * x[i, h]
            t[i, k], s[i, k] = one, other


@_parallel
def head_scores_backward(x, vectors, outer, d_x, d_vectors):
    """d_x_ik = dt_ik a_k + ds_ik b_k, and Σ_i dt_ik x_ik and Σ_i ds_ik x_ik over the rows of each block.

    Args:
        vectors: a and b [1, K · H].
        outer: dt and ds [N, K].
        d_vectors: [B · 2, K · H] result, for B runs of rows: that of a, then that of b.
    """
    (target, source), (d_t, d_s) = vectors, outer
    heads, blocks = d_t.shape[1], len(d_vectors) // 2
    units = x.shape[1] // heads
    whole = units // WIDTH * WIDTH
    for block in prange(blocks):
        d_vectors[2 * block : 2 * block + 2] = _ZERO
        for i in range(len(x) * block // blocks, len(x) * (block + 1) // blocks):
            for k in range(heads):
                dt, ds = d_t[i, k], d_s[i, k]
                for h in range(k * units, k * units + whole, WIDTH):
                    v = load8(x, i, h)
                    store8(d_x, i, h, fma8(splat8(ds), load8(source, 0, h), mul8(splat8(dt), load8(target, 0, h))))
                    store8(d_vectors, 2 * block, h, fma8(splat8(dt), v, load8(d_vectors, 2 * block, h)))
                    store8(d_vectors, 2 * block + 1, h, fma8(splat8(ds), v, load8(d_vectors, 2 * block + 1, h)))
                for h in range(k * units + whole, (k + 1) * units):
                    d_x[i, h] = dt * target[0, h] + ds * source[0, h]
                    d_vectors[2 * block, h] += dt * x[i, h]
                    d_vectors[2 * block + 1, h] += ds * x[i, h]
