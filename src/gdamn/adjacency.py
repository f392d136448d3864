"""Adjacency: a structure with one weight per entry, and the ways to normalise it."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from .graph import Structure
from .kernels import Key, dropout, spmm


@dataclass(frozen=True, eq=False)
class Adjacency:
    """Weights [E] on the entries of A + I; ``rate`` is the dropout of the weights in training."""

    structure: Structure
    values: Tensor
    rate: float = 0.0

    def propagate(self, h: Tensor, key: Key | None) -> Tensor:
        """Σ_j α_ij h_j for every node i: [N, H] (the paper's neighbourhood aggregate)."""
        return spmm(self.structure.pattern, dropout(self.values, self.rate, key), h)


def row_sums(structure: Structure, values: Tensor) -> Tensor:
    """[N] sum of each row's weights."""
    rows = structure.pattern.tensor("rows", values.device)
    return values.new_zeros(structure.pattern.shape[0]).index_add_(0, rows, values)


def normalized(structure: Structure, values: Tensor, how: str) -> Tensor:
    """Weights as they are (none), each row divided by its sum (row), or a_ij / √(r_i c_j) (sym).

    r and c are the sums of rows and columns; for the plain graph with loops, sym is the GCN's normalisation.
    """
    if how == "none":
        return values
    pattern = structure.pattern
    rows = pattern.tensor("rows", values.device)
    out = row_sums(structure, values)
    if how == "row":
        return values / out[rows].clamp_min(1e-12)
    cols = pattern.tensor("indices", values.device)
    into = values.new_zeros(pattern.shape[1]).index_add_(0, cols, values)
    return values / torch.sqrt((out[rows] * into[cols]).clamp_min(1e-24))


def gcn_adjacency(structure: Structure, device: torch.device) -> Adjacency:
    """D^{-1/2} (A + I) D^{-1/2}: the graph of pre-training."""
    weights = structure.tensor("weights", device)
    return Adjacency(structure, normalized(structure, weights, "sym"))
