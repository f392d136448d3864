"""LargeProblem: what a fit sees of a graph whose edges and features are only ever read a part at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from ....graph.graph import Graph
from ....graph.normalisation import (
    automatic,
    column_powers,
    filled_rows,
    rarity,
    scaled_columns,
    spread_of,
    standardised,
)
from ....model.inputs import Block, feature_block
from ....model.problem import Labelled, check_learnable, known_labels
from .rows import RowBlock, row_block

ENTRIES = 1 << 22
"""Entries of A that a block of rows has, about: large enough for the kernels, small beside everything else."""
ROWS = 1 << 18
"""Rows of features that are read at a time."""


@dataclass(frozen=True, eq=False)
class Features:
    """The features of all nodes, normalised when they are read; they may lie on disk and may be float16.

    Attributes:
        raw: [N, F], dense or CSR.
        how: row, binary, idf, standard or none.
        mean, spread: [F] of the columns, where they are standardised.
        factors: [F] of the columns, where rare ones count more (idf).
        rate: dropout in training.
    """

    raw: Any
    how: str
    rate: float
    device: torch.device
    mean: NDArray[np.float32] | None = None
    spread: NDArray[np.float32] | None = None
    factors: NDArray[np.float32] | None = None

    @property
    def width(self) -> int:
        """F."""
        return int(self.raw.shape[1])

    def block(self, nodes: NDArray[Any] | slice) -> Block:
        """The features of these nodes."""
        part = self.raw[nodes]
        if not sp.issparse(part):
            part = np.array(part, np.float32)  # a copy in memory, of what may lie on disk
        if self.factors is not None:
            return feature_block(scaled_columns(part, self.factors), "row", self.rate, self.device)
        if self.how != "standard":
            return feature_block(part, self.how, self.rate, self.device)
        assert self.mean is not None
        assert self.spread is not None
        return feature_block(standardised(part, self.mean, self.spread), "none", self.rate, self.device)

    def blocks(self) -> Iterator[tuple[slice, Block]]:
        """All nodes, a run of them at a time."""
        for run in runs(self.raw.shape[0], ROWS):
            yield run, self.block(run)

    def linear(self, weight: Tensor) -> Tensor:
        """X W without dropout: [N, H]."""
        out = torch.empty(self.raw.shape[0], weight.shape[1], device=self.device)
        for run, block in self.blocks():
            out[run] = block.linear(weight, None)
        return out


def runs(count: int, size: int) -> Iterator[slice]:
    """0 to ``count`` in slices of at most ``size``."""
    for begin in range(0, count, size):
        yield slice(begin, min(begin + size, count))


def make_features(raw: Any, how: str, rate: float, device: torch.device) -> Features:
    """Look at all features once, where the normalisation needs that."""
    n = raw.shape[0]
    if how == "auto":
        how = automatic(raw[run] for run in runs(n, ROWS))
    if how == "idf":
        counts = sum((filled_rows(raw[run]) for run in runs(n, ROWS)), np.zeros(raw.shape[1], np.int64))
        return Features(raw, how, rate, device, factors=rarity(counts, n))
    if how != "standard":
        return Features(raw, how, rate, device)
    powers = sum((column_powers(raw[run]) for run in runs(n, ROWS)), np.zeros((2, raw.shape[1])))
    return Features(raw, how, rate, device, *spread_of(powers, n))


@dataclass(frozen=True, eq=False)
class LargeProblem(Labelled):
    """The same as :class:`gdamn.model.problem.Problem`, with the edges left in the graph."""

    graph: Graph
    x: Features

    @property
    def num_edges(self) -> int:
        """Entries of A: an undirected edge counts twice."""
        return len(self.graph.indices)

    @property
    def weighted(self) -> bool:
        """Whether edges have weights."""
        return self.graph.weights is not None

    def blocks(self) -> Iterator[RowBlock]:
        """The rows of A + I, a run of them at a time, with all their columns."""
        indptr = self.graph.indptr
        at, n = 0, self.num_nodes
        while at < n:
            end = int(np.searchsorted(indptr, indptr[at] + ENTRIES, side="right")) - 1
            end = min(max(end, at + 1), n)
            yield row_block(self.graph, at, end, self.device)
            at = end

    @cached_property
    def degrees(self) -> tuple[Tensor, Tensor]:
        """[N] sums of the rows and of the columns of A + I."""
        rows = torch.empty(self.num_nodes, device=self.device)
        columns = torch.zeros(self.num_nodes, device=self.device)
        for block in self.blocks():
            rows[block.rows] = block.row_sums(block.weights)
            columns += block.column_sums(block.weights)
        return rows, columns

    def arrays(self) -> list[NDArray[Any]]:
        """All that decides a fit."""
        g, x = self.graph, self.x.raw
        features = [x.indptr, x.indices, x.data] if sp.issparse(x) else [x]
        weights = [] if g.weights is None else [g.weights]
        tensors = self.labels, self.val, self.val_labels, self.class_weights, self.label_weights
        arrays = [t.cpu().numpy() for t in tensors if t is not None]
        return [g.indptr, g.indices, *weights, *features, *arrays]


def make_large(
    graph: Graph, normalize: str, dropout_input: float, device: torch.device, class_weight: str = "none"
) -> LargeProblem:
    """Check that the graph can be learned from; its edges and features stay where they are."""
    check_learnable(graph)
    x = make_features(graph.features, normalize, dropout_input, device)
    return LargeProblem(graph=graph, x=x, device=device, **known_labels(graph, device, class_weight))
