"""Attention of several heads as one operation (GAT's), and the same in plain torch, a head at a time."""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc,no-any-return"
# ruff: noqa: D102

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.autograd import Function
from torch.nn import functional as F

from ..errors import GraphError
from ..graph.pattern import Pattern
from .checks import check_shape, check_transpose, check_types
from .memory import empty
from .noise import Key, lane_torch, threshold
from .numba import heads as loops
from .numba import heads_backward as back
from .numba.vector import WIDTH
from .ops import edge_softmax, sddmm, spmm
from .paths import array, is_fast
from .threads import use_threads

SLOPE = 0.2
"""Of the LeakyReLU on attention scores."""

_NONE = np.zeros(0, np.bool_)

Keys = Key | Sequence[Key] | None


@dataclass(frozen=True)
class _Entries:
    """The entries of a pattern as some heads see them, with the dropout of their α (:func:`attend_heads`)."""

    pattern: Pattern
    heads: int
    rate: float
    keys: Key | Sequence[Key]

    def noise(self) -> loops.Noise:
        """The dropout for the compiled loops."""
        by_row = isinstance(self.keys, Key)
        keys = np.zeros(_rounded_up(self.heads), np.uint64)
        keys[: self.heads] = self.keys.value if isinstance(self.keys, Key) else [key.value for key in self.keys]
        scale, first = np.float32(1 / (1 - self.rate)), np.int64(self.pattern.first_entry)
        return loops.Noise(keys, np.uint64(threshold(self.rate)), scale, first, by_row, self.heads)

    def factors(self, head: int, like: Tensor) -> Tensor:
        """The factors [E] of dropout of one head, by plain torch."""
        p, device = self.pattern, like.device
        place = torch.arange(p.num_entries, device=device) + p.first_entry
        if isinstance(self.keys, Key):
            counts, begin = np.diff(p.indptr), p.indptr[:-1]
            jump = torch.as_tensor((self.heads - 1) * begin + head * counts).to(device)
            place = place + jump[p.tensor("rows", device)]
        key = self.keys if isinstance(self.keys, Key) else self.keys[head]
        stays = lane_torch(key, place) >= threshold(self.rate)
        return stays.to(like.dtype) / (1 - self.rate)


def attend_heads(
    pattern: Pattern,
    halves: tuple[Tensor, Tensor],
    values: Tensor,
    weights: Tensor,
    rate: float = 0.0,
    keys: Keys = None,
    classes: tuple[Tensor, int] | None = None,
    wanted: NDArray[np.bool_] | None = None,
) -> tuple[Tensor, Tensor]:
    """out_ik = Σ_j dr(α_ijk) v_jk with α_ijk = w_ij exp e_ijk / Σ_j' w_ij' exp e_ij'k, e_ijk = LeakyReLU(t_ik + s_jk).

    Differentiable in t, s, v and w. On the CPU nothing of the size of entries times heads is made.

    Args:
        halves: t [R, K] and s [C, K], of K heads.
        values: [C, K · H] v, the heads side by side.
        weights: [E] w.
        rate: dropout of α; none without keys.
        keys: one per head, for the noise of each entry; or one for all, whose noise is that of an array which has
            the entries of a row head after head.
        classes: the class [C] of each column, and their number.
        wanted: [R] which rows anybody reads; the others may be anything. None: all.

    Returns:
        out [R, K · H], and the sum [R, K, classes] of dr(α_ijk) over the columns of each class, not differentiable.
    """
    target, source = halves
    heads = target.shape[1]
    check_types("attend_heads", values, target, source, weights)
    check_shape("attend_heads", "weights", weights, pattern.num_entries)
    check_shape("attend_heads", "t", target, pattern.shape[0], -1)
    source, values = pattern.extended(source), pattern.extended(values)
    check_shape("attend_heads", "s", source, pattern.shape[1], heads)
    check_shape("attend_heads", "values", values, pattern.shape[1], -1)
    if heads == 0 or values.shape[1] % heads:
        raise GraphError(f"attend_heads: {values.shape[1]} columns can't be shared out among {heads} heads.")
    if classes is not None:
        check_shape("attend_heads", "classes", classes[0], pattern.shape[1])
        _check_classes(*classes)
    if wanted is not None and wanted.shape != (pattern.shape[0],):
        raise GraphError(f"attend_heads: wanted must have {pattern.shape[0]} entries; got {list(wanted.shape)}.")
    check_transpose(pattern)
    entries = _Entries(pattern, heads, 0.0 if keys is None else rate, Key(0) if keys is None else keys)
    if is_fast(values, target, source, weights):
        out, shares = AttendHeads.apply(target, source, values, weights, entries, (classes, wanted))
        return out, shares.view(len(out), -1, _rounded_up(heads)).transpose(1, 2)[:, :heads]
    return _by_torch(entries, halves=(target, source), values=values, weights=weights, classes=classes)


def _check_classes(classes: Tensor, count: int) -> None:
    """Refuse numbers that are no classes: the loops would write elsewhere."""
    if len(classes) and (classes.min() < 0 or classes.max() >= count):
        raise GraphError(f"attend_heads: classes must lie between 0 and {count - 1}.")


def head_weights(pattern: Pattern, halves: tuple[Tensor, Tensor], weights: Tensor) -> Iterator[Tensor]:
    """α [E] of one head after the other, for t [R, K] and s [C, K]; differentiable.

    A score is [t_i, 1] · [1, s_j], so one sddmm of width 2 makes the scores of a head, with their gradient.
    """
    target, source = halves
    ones, others = torch.ones_like(target[:, 0]), torch.ones_like(source[:, 0])
    for t, s in zip(target.T, source.T, strict=True):
        scores = sddmm(pattern, torch.stack([t, ones], 1), torch.stack([others, s], 1))
        yield edge_softmax(pattern, F.leaky_relu(scores, SLOPE), weights)


def _by_torch(
    entries: _Entries,
    halves: tuple[Tensor, Tensor],
    values: Tensor,
    weights: Tensor,
    classes: tuple[Tensor, int] | None,
) -> tuple[Tensor, Tensor]:
    """The same in plain torch, a head at a time."""
    p, parts, shares = entries.pattern, [], []
    one_hot = values.new_zeros(len(values), 0) if classes is None else F.one_hot(*classes).to(values.dtype)
    alphas = head_weights(p, halves, weights)
    for head, (alpha, value) in enumerate(zip(alphas, values.chunk(entries.heads, 1), strict=True)):
        dropped = alpha * entries.factors(head, alpha) if entries.rate > 0 else alpha
        parts.append(spmm(p, dropped, value.contiguous()))
        shares.append(spmm(p, dropped.detach(), one_hot) if classes is not None else one_hot[: p.shape[0]])
    return torch.cat(parts, 1), torch.stack(shares, 1)


def _rounded_up(heads: int) -> int:
    """The next multiple of 8."""
    return -(-heads // WIDTH) * WIDTH


def _padded(x: Tensor) -> Any:
    """x [N, K] with columns of 0 up to a multiple of 8."""
    more = _rounded_up(x.shape[1]) - x.shape[1]
    return array(F.pad(x.detach(), (0, more)) if more else x)


class AttendHeads(Function):
    """The compiled loops of :mod:`numba.heads`; on the way back α is made again from [R, K] sums."""

    @staticmethod
    def forward(ctx, target: Tensor, source: Tensor, values: Tensor, weights: Tensor, entries: _Entries, asked):
        classes, wanted = asked
        p, rows, padded = entries.pattern, len(target), _rounded_up(entries.heads)
        trains = any(ctx.needs_input_grad[:4])
        out, totals = empty(rows, values.shape[1]), empty(3, rows, padded)
        turned = empty(*(out.shape if trains else (0, 0)))
        numbers, count = (np.zeros(0, np.int64), 0) if classes is None else (array(classes[0]), classes[1])
        shares = empty(rows, count * padded)
        ctx.entries, ctx.nodes = entries, loops.Nodes(_padded(target), _padded(source), array(values))
        ctx.rows = loops.Rows(p.indptr, p.indices, array(weights), p.blocks, _NONE if wanted is None else wanted)
        use_threads(p.num_entries * values.shape[1])
        results = tuple(totals.numpy()), out.numpy(), turned.numpy(), shares.numpy()
        loops.attend(ctx.rows, ctx.nodes, entries.noise(), numbers, *results)
        ctx.save_for_backward(out, turned, totals)
        ctx.mark_non_differentiable(shares)
        return out, shares

    @staticmethod
    def backward(ctx, grad: Tensor, _):
        out, turned, totals = ctx.saved_tensors
        p, heads, noise, nodes = ctx.entries.pattern, ctx.entries.heads, ctx.entries.noise(), ctx.nodes
        tops, inverses, slopes = totals.numpy()
        (along, d_target), live = torch.zeros(2, *slopes.shape), np.empty(len(out), np.bool_)
        use_threads(p.num_entries * grad.shape[1])
        arrays = array(grad), array(out), array(turned), slopes
        back.row_gradients(*arrays, heads, along.numpy(), d_target.numpy(), live)
        outer = arrays[0], along.numpy(), tops, inverses, live
        d_source, d_values = empty(*nodes.source.shape), empty(*nodes.values.shape)
        columns = loops.Columns(p.t_indptr, p.t_indices, p.t_perm, p.t_blocks)
        back.column_gradients(columns, ctx.rows, nodes, noise, outer, d_source.numpy(), d_values.numpy())
        d_weights = None
        if ctx.needs_input_grad[3]:
            d_weights = empty(p.num_entries)
            back.weight_gradients(ctx.rows, nodes, noise, outer, d_weights.numpy())
        return d_target[:, :heads], d_source[:, :heads], d_values, d_weights, None, None
