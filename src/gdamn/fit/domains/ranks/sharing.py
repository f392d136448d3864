"""A problem shared out: every rank owns a run of nodes with their entries, features and labels, and knows its halo."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ....errors import ConfigError, DataError
from ....kernels import Pattern
from ....kernels.noise import LANES
from ....kernels.place import Place
from ....model.inputs import Block
from ....model.objectives import Counts
from ....model.problem import Problem
from ....model.setting import Trainable
from ....model.settings import BETAS, Settings
from ...checkpoint import identity
from .group import Group
from .halo import HaloPattern, halo_pattern

if TYPE_CHECKING:
    from ....model.settings import BaseSettings
    from .checkpoints import SharedCheckpoint


@dataclass(frozen=True, eq=False)
class Share:
    """Which nodes and entries each rank owns.

    Attributes:
        nodes: [R + 1] rank r owns the nodes from ``nodes[r]`` to ``nodes[r + 1]``; entries: the same of A + I.
        names: the name of the fit's checkpoints for each value of beta.
        counts: those of the whole graph.
    """

    group: Group
    nodes: NDArray[np.int64]
    entries: NDArray[np.int64]
    names: dict[float | str, str]
    counts: Counts

    @property
    def node_slice(self) -> slice:
        """This rank's nodes."""
        return slice(int(self.nodes[self.group.rank]), int(self.nodes[self.group.rank + 1]))

    @property
    def entry_slice(self) -> slice:
        """This rank's entries."""
        return slice(int(self.entries[self.group.rank]), int(self.entries[self.group.rank + 1]))

    @cached_property
    def place(self) -> Place:
        """Where the arrays of this rank begin in the whole ones, for noise and sums."""
        sizes = np.diff(self.nodes).tolist()
        return Place(
            first_row=self.node_slice.start,
            first_entry=self.entry_slice.start,
            rows=int(self.nodes[-1]),
            entries=int(self.entries[-1]),
            total=self.group.total,
            every=lambda x: self.group.every(x, sizes),
        )


@dataclass(frozen=True, eq=False)
class SharedProblem(Problem):
    """One rank's part of a problem; ``cosines`` [E] of its features are there where the setting start may need them."""

    share: Share | None = None
    cosines: NDArray[np.float32] | None = None

    @property
    def place(self) -> Place:
        """Which part of the whole graph this rank has."""
        assert self.share is not None
        return self.share.place

    @property
    def counts(self) -> Counts:
        """How many nodes and edges the whole graph has."""
        assert self.share is not None
        return self.share.counts

    def weighed_by_features(self) -> SharedProblem:
        """The same problem on A ⊙ C, with the mean of all ranks' edges (:meth:`Problem.weighed_by_features`)."""
        assert self.share is not None
        assert self.cosines is not None
        edges = self.cosines[self.structure.off_loop]
        local = torch.tensor([edges.sum(dtype=np.float64), len(edges)], dtype=torch.float64)
        total, count = self.share.group.total(local.to(self.share.group.device)).tolist()
        factors = (self.cosines / max(total / max(count, 1), 1e-12)).astype(np.float32)
        return replace(self, structure=self.structure.weighed(factors))

    def checkpoint(self, folder: Path | None, settings: BaseSettings) -> SharedCheckpoint | None:
        """The checkpoint of a fit, in rank 0's folder; None where rank 0 keeps none."""
        from .checkpoints import SharedCheckpoint

        assert self.share is not None
        if not self.share.group.tell_word(folder is not None):
            return None
        name = self.share.names[getattr(settings, "beta", 0.0)]
        return SharedCheckpoint((folder or Path()) / name, share=self.share)


def check_settings(s: Trainable, device: torch.device, group: Group) -> None:
    """Refuse what can't be trained over several ranks."""
    if device.type != group.device.type:
        raise ConfigError(
            f"The ranks are connected by way of '{group.device.type}' and can't train on '{device.type}'; "
            f"set device={group.device.type}."
        )
    if not isinstance(s, Settings):
        return
    if s.batch not in ("auto", "full"):
        raise ConfigError(f"Several ranks train on the whole graph; batch={s.batch} can't be set with them.")
    if s.propagator == "pagerank":
        raise ConfigError("propagator=pagerank trains in one process; several ranks need another propagator.")
    if s.batch_norm and (s.propagator, s.p_propagator) != ("gcn", "gcn"):
        raise ConfigError(
            "Over several ranks batch_norm=true works with the propagator gcn alone; "
            f"q's is {s.propagator} and p's {s.p_propagator}."
        )
    if s.batch_norm and device.type != "cpu":
        raise ConfigError("Over several ranks batch_norm=true works on the CPU alone; set device=cpu.")


def share_out(problem: Problem, s: Trainable, group: Group, method: str = "gdamn") -> SharedProblem:
    """This rank's part of a problem that every rank has read whole."""
    check_same(problem, group)
    check_settings(s, problem.device, group)
    structure = problem.structure
    nodes = row_ranges(structure.pattern.indptr, group.size)
    names: dict[float | str, str] = {0.0: identity(method, s, problem)}
    if isinstance(s, Settings):
        betas = BETAS if s.beta == "auto" else (s.beta,)
        names = {beta: identity(method, replace(s, beta=beta), problem) for beta in betas}
    share = Share(group, nodes, structure.pattern.indptr[nodes], names, problem.counts)
    rows, entries = share.node_slice, share.entry_slice
    pattern, outside = halo_pattern(structure.pattern, nodes, group)
    mine = replace(
        structure,
        pattern=pattern,
        weights=structure.weights[entries].copy(),
        loop=structure.loop[entries].copy(),
        pair=structure.pair[entries].copy(),
        _tensors={},
    )
    similar = isinstance(s, Settings) and s.start in ("auto", "similar")
    train, rest, val = (_within(part, rows) for part in (problem.train, problem.rest, problem.val))
    return SharedProblem(
        structure=mine,
        x=rows_of(problem.x, rows),
        labels=problem.labels[rows].clone(),
        train=problem.train[train] - rows.start,
        rest=problem.rest[rest] - rows.start,
        val=problem.val[val] - rows.start,
        val_labels=problem.val_labels[val],
        train_labels=problem.train_labels[train],
        device=problem.device,
        class_weights=problem.class_weights,
        label_weights=None if problem.label_weights is None else problem.label_weights[rows].clone(),
        class_names=problem.class_names,
        share=share,
        cosines=_cosines(problem.x, pattern, rows, outside) if similar else None,
    )


def check_same(problem: Problem, group: Group) -> None:
    """Refuse to go on where the ranks have read different graphs."""
    digest = hashlib.sha256()
    for array in problem.arrays():
        digest.update(array.tobytes())
    digests = group.ask_all(digest.hexdigest())
    other = [rank for rank, hashed in enumerate(digests) if hashed != digests[0]]
    if other:
        raise DataError(
            f"Rank {other[0]} has read another graph than rank 0; give every host the same files, options and seed."
        )


def row_ranges(indptr: NDArray[np.int64], ranks: int) -> NDArray[np.int64]:
    """[R + 1] boundaries of runs of rows with about equal work, at multiples of 4: dropout's noise comes in fours."""
    n = len(indptr) - 1
    if n < LANES * ranks:
        raise ConfigError(f"The graph has {n} nodes, too few for {ranks} ranks; start at most {max(1, n // LANES)}.")
    work = indptr + np.arange(n + 1)
    balanced = np.searchsorted(work, np.linspace(0, work[-1], ranks + 1)) // LANES * LANES
    bounds = [0]
    for rank in range(1, ranks):
        most = (n - LANES * (ranks - rank)) // LANES * LANES
        bounds.append(int(min(max(balanced[rank], bounds[-1] + LANES), most)))
    return np.array([*bounds, n], np.int64)


def _within(nodes: Tensor, rows: slice) -> Tensor:
    inside: Tensor = (nodes >= rows.start) & (nodes < rows.stop)
    return inside


def rows_of(x: Block, rows: slice) -> Block:
    """The features of a run of nodes."""
    if x.pattern is None or x.values is None:
        assert x.dense is not None
        return replace(x, dense=x.dense[rows].clone())
    begin, end = int(x.pattern.indptr[rows.start]), int(x.pattern.indptr[rows.stop])
    indptr = x.pattern.indptr[rows.start : rows.stop + 1] - begin
    pattern = Pattern.from_csr(indptr, x.pattern.indices[begin:end], (rows.stop - rows.start, x.width))
    return replace(x, pattern=replace(pattern, first_entry=begin), values=x.values[begin:end].clone())


def _cosines(x: Block, pattern: HaloPattern, rows: slice, outside: NDArray[Any]) -> NDArray[np.float32]:
    """cos(x_i, x_j) on this rank's entries [E], from the features of its nodes and of its halo."""
    near = np.concatenate([np.arange(rows.start, rows.stop), outside])
    plain = Pattern.from_csr(pattern.indptr, pattern.indices, pattern.shape)
    if x.pattern is None or x.values is None:
        assert x.dense is not None
        block = replace(x, dense=x.dense[torch.as_tensor(near).to(x.dense.device)])
    else:
        chosen, entries = x.pattern.select_rows(near)
        block = replace(x, pattern=chosen, values=x.values[torch.as_tensor(entries).to(x.values.device)])
    cosines: NDArray[np.float32] = block.cosines(plain).clamp_min(0).cpu().numpy()
    return cosines
