"""The halo: rows of other ranks that this rank's entries name, fetched before a product and given back after it.

A rank owns a run of nodes and the entries of A + I in their rows. Against the columns of those entries stand its own
nodes first, then its halo. Products are then the same as in one process: the entries of a row stand in the same order.
"""
# mypy: disable-error-code="no-untyped-call,misc,no-untyped-def"

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.autograd import Function

from ....graph.pattern import Pattern
from ....graph.shared_pattern import SharedPattern
from .group import Group


@dataclass(frozen=True, eq=False)
class Halo:
    """Who needs which of whose rows.

    Attributes:
        own: number of this rank's own nodes.
        take: rows that come from each rank, in the order of the halo.
        give: rows that go to each rank; lent: their numbers among the own ones, below each other.
    """

    group: Group
    own: int
    take: list[int]
    give: list[int]
    lent: Tensor

    @property
    def size(self) -> int:
        """Nodes of the halo."""
        return sum(self.take)

    def fetch(self, own: Tensor) -> Tensor:
        """Own rows [n, H], then those of the halo: [n + halo, H]."""
        out, wait = self.fetching(own)
        wait()
        return out

    def fetching(self, own: Tensor) -> tuple[Tensor, Callable[[], None]]:
        """The same; the halo's rows are there when the function returns."""
        out = own.new_empty((self.own + self.size, own.shape[1]))
        lent = own.index_select(0, self.lent.to(own.device))
        wait = self.group.exchanging(lent, self.give, self.take, out[self.own :])
        out[: self.own] = own
        return out, wait

    def give_back(self, rows: Tensor) -> Tensor:
        """Own rows [n, H] of [n + halo, H], plus what other ranks have in their halos for them, in rank order."""
        return self.giving_back(rows)()

    def giving_back(self, rows: Tensor) -> Callable[[], Tensor]:
        """The same: the halo's rows leave now, the own ones may change until the function is called."""
        received = rows.new_empty((sum(self.give), rows.shape[1]))
        wait = self.group.exchanging(rows[self.own :], self.take, self.give, received)

        def added() -> Tensor:
            wait()
            out = rows[: self.own].clone()
            for part, places in zip(received.split(self.give), self.lent.to(out.device).split(self.give), strict=True):
                out.index_add_(0, places, part)  # a rank names a row once
            return out

        return added


class _Fetch(Function):
    @staticmethod
    def forward(ctx, halo: Halo, own: Tensor) -> Tensor:
        ctx.halo = halo
        return halo.fetch(own)

    @staticmethod
    def backward(ctx, grad: Tensor):
        return None, ctx.halo.give_back(grad)


@dataclass(frozen=True, eq=False)
class HaloPattern(SharedPattern):
    """Rows of a square pattern that one rank owns; the columns are its own nodes and its halo: shape [n, n + halo]."""

    halo: Halo | None = None

    @property
    def shared(self) -> bool:
        """Whether there are other ranks."""
        return self.halo is not None and self.halo.group.size > 1

    def arriving(self, own: Tensor) -> tuple[Tensor, Callable[[], None]]:
        """The rows [n, H] with those of the halo below them, which are there when the function returns."""
        assert self.halo is not None
        return self.halo.fetching(own)

    def leaving(self, columns: Tensor) -> Callable[[], Tensor]:
        """Send the halo's rows of [n + halo, H] to their owners; the function adds what comes from them: [n, H]."""
        assert self.halo is not None
        return self.halo.giving_back(columns)

    def extended(self, dense: Tensor) -> Tensor:
        """The rows [n, H] with those of the halo below them; the gradient of those goes back to their owners."""
        assert self.halo is not None
        if self.halo.group.size == 1:
            return dense
        extended: Tensor = _Fetch.apply(self.halo, dense)
        return extended

    def collected(self, columns: Tensor) -> Tensor:
        """Sums per column [n + halo, H] with those of the other ranks: [n, H]."""
        assert self.halo is not None
        return columns if self.halo.group.size == 1 else self.halo.give_back(columns)


def halo_pattern(pattern: Pattern, bounds: NDArray[np.int64], group: Group) -> tuple[HaloPattern, NDArray[np.int32]]:
    """The part of a square pattern whose rows this rank owns, and the nodes [halo] of its halo."""
    first, last = int(bounds[group.rank]), int(bounds[group.rank + 1])
    begin, end = int(pattern.indptr[first]), int(pattern.indptr[last])
    columns = pattern.indices[begin:end]
    own = (columns >= first) & (columns < last)
    outside = np.unique(columns[~own])  # sorted, so the owners come in the order of the ranks
    local = np.where(own, columns - first, last - first + np.searchsorted(outside, columns)).astype(np.int32)
    shape = last - first, last - first + len(outside)
    local_pattern = HaloPattern.from_csr(pattern.indptr[first : last + 1] - begin, local, shape)
    assert isinstance(local_pattern, HaloPattern)
    halo = agree(outside, bounds, group)
    return replace(local_pattern, first_entry=begin, halo=halo), outside


def agree(outside: NDArray[Any], bounds: NDArray[np.int64], group: Group) -> Halo:
    """Tell every owner which of its nodes this rank needs."""
    take = np.diff(np.searchsorted(outside, bounds)).tolist()
    ones = [1] * group.size
    give = group.exchange(torch.tensor(take, device=group.device), ones, ones).tolist()
    wanted = group.exchange(torch.as_tensor(outside.astype(np.int64), device=group.device), take, give)
    first, last = int(bounds[group.rank]), int(bounds[group.rank + 1])
    return Halo(group, last - first, take, give, (wanted - first).cpu())
