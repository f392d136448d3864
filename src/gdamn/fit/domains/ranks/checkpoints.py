"""Checkpoints of a shared fit: rank 0 gathers the parts and keeps the files, as those of a fit in one process.

So a run may go on with another number of ranks, or with one process.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ....model.fitted_state import STATE_PER_NODE
from ... import checkpoint
from ...checkpoint import Checkpoint
from ...checkpoint_file import Tree, from_bytes, to_bytes

if TYPE_CHECKING:
    from .sharing import Share


ASKED = 0.05
"""Share of the time between two checkpoints after which rank 0 is asked again whether one is due."""
SELDOM = 1000
"""Epochs after which it is asked at the latest."""


@dataclass
class RankCheckpoint(Checkpoint):
    """A checkpoint of which rank 0 says when it is due; its word would cost a step of every small epoch."""

    share: Share | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._unasked, self._asked = 0, time.monotonic()
        self._epochs = 1

    def due(self) -> bool:
        """Whether rank 0 thinks so, at the end of a phase and after as many epochs as it has named."""
        assert self.share is not None
        assert self.loop is not None
        self._unasked += 1
        if self._unasked < self._epochs and self.loop.done < self.loop.epochs:
            return False
        due, self._epochs = self.share.group.tell_word([super().due(), self._epochs_ahead()])
        self._unasked, self._asked = 0, time.monotonic()
        return bool(due)

    def _epochs_ahead(self) -> int:
        """Epochs until rank 0 is asked again, by the time that the last ones took."""
        every = checkpoint.EVERY_SECONDS if self.every is None else self.every
        epoch = (time.monotonic() - self._asked) / max(1, self._unasked)
        return max(1, min(SELDOM, int(ASKED * every / max(epoch, 1e-6))))


@dataclass
class SharedCheckpoint(RankCheckpoint):
    """A checkpoint whose folder rank 0 reads and writes."""

    def read(self) -> Tree | None:
        """The newest checkpoint of rank 0's folder, as far as it is this rank's."""
        assert self.share is not None
        group = self.share.group
        tree = super().read() if group.leads else None
        content = group.tell(b"" if tree is None else to_bytes(tree))
        return split(from_bytes(content, self.folder), self.share) if content else None

    def put(self, tree: Tree) -> None:
        """Gather and write, on rank 0."""
        assert self.share is not None
        whole = gathered(tree, self.share)
        if self.share.group.leads:
            super().put(whole)


def gathered(tree: Tree, share: Share) -> Tree:
    """On rank 0 the tree with the parts of all ranks put together; the other ranks only send theirs."""
    known: dict[tuple[int, torch.Size], Tensor] = {}

    def whole(part: Tensor, sizes: list[int]) -> Tensor:
        name = part.data_ptr(), part.shape
        if name not in known:
            whole = share.group.gather(part, sizes)
            known[name] = part if whole is None else whole
        return known[name]

    return per_part(tree, lambda x: whole(x, _sizes(share.nodes)), lambda x: whole(x, _sizes(share.entries)))


def split(tree: Tree, share: Share) -> Tree:
    """This rank's part of such a tree."""
    return per_part(tree, lambda x: x[share.node_slice].clone(), lambda x: x[share.entry_slice].clone())


def _sizes(bounds: Tree) -> list[int]:
    return [int(b - a) for a, b in pairwise(bounds)]


def per_part(tree: Tree, node: Callable[[Tensor], Tensor], entry: Callable[[Tensor], Tensor]) -> Tree:
    """The tree with what is per node and per entry replaced."""

    def visit(value: Tree, name: str, above: str) -> Tree:
        if isinstance(value, Tensor):
            if name in STATE_PER_NODE and value.ndim == 2:
                return node(value)
            return entry(value) if above == "weights" else value
        if name == "tried":  # [start, opinion, weights of q]
            return [[start, node(opinion), weights] for start, opinion, weights in value]
        if hasattr(value, "items"):
            return {key: visit(item, key, name) for key, item in value.items()}
        return value

    return visit(tree, "", "")
