"""Adjacency: a structure with one weight per entry, and the ways to normalise it."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from ..graph.structure import Structure
from ..kernels import Key, Pattern, sddmm, spmm, sums
from .inputs import Block


@dataclass(frozen=True, eq=False)
class Adjacency:
    """Weights [E] on the entries of A + I; ``rate`` is the dropout of the weights in training."""

    structure: Structure
    values: Tensor
    rate: float = 0.0
    _averaged: tuple[Block, Tensor] | None = field(default=None, repr=False)

    def propagate(self, h: Tensor, key: Key | None, bias: Tensor | None = None) -> Tensor:
        """Σ_j α_ij h_j (plus a bias) for every node i: [N, H] (the paper's neighbourhood aggregate)."""
        return spmm(self.structure.pattern, self.values, h, bias, self.rate, key)

    def averaged(self, x: Block) -> Tensor:
        """Â X for dense features without dropout: [N, F], made once."""
        if self._averaged is None or self._averaged[0] is not x:
            object.__setattr__(self, "_averaged", (x, spmm(self.structure.pattern, self.values, x.dropped(None))))
        assert self._averaged is not None
        return self._averaged[1]


def normalized(structure: Structure, values: Tensor, how: str) -> Tensor:
    """Weights as they are (none), each row or column divided by its sum (row, col), or a_ij / √(r_i c_j) (sym).

    r and c are the sums of rows and columns; for the plain graph with loops, sym is the GCN's normalisation.
    """
    if how == "none":
        return values
    left, right = scales(*sums(structure.pattern, values), how)
    return scaled(structure.pattern, values, left, right)


def scaled(pattern: Pattern, values: Tensor, left: Tensor, right: Tensor) -> Tensor:
    """left_i a_ij right_j on every entry, for left [R] and right [K]: [E]."""
    return values * sddmm(pattern, left[:, None], right[:, None])


def scales(rows: Tensor, columns: Tensor, how: str) -> tuple[Tensor, Tensor]:
    """[N] factors of rows and of columns that normalise a matrix with these sums, as :func:`normalized` does."""
    rows, columns = rows.clamp_min(1e-12), columns.clamp_min(1e-12)
    left = {"row": 1 / rows, "sym": rows.rsqrt()}.get(how, torch.ones_like(rows))
    right = {"col": 1 / columns, "sym": columns.rsqrt()}.get(how, torch.ones_like(columns))
    return left, right


def gcn_adjacency(structure: Structure, device: torch.device, how: str = "sym") -> Adjacency:
    """D^{-1/2} (A + I) D^{-1/2}: the graph of pre-training; D^{-1} (A + I) where ``how`` is row."""
    weights = structure.tensor("weights", device)
    return Adjacency(structure, normalized(structure, weights, how))


def neighbours(structure: Structure, how: str, device: torch.device) -> Adjacency:
    """A without loops (their entries weigh 0), normalised: D^{-1}A (row), A D^{-1} (col), D^{-1/2} A D^{-1/2} (sym)."""
    weights = structure.tensor("weights", device) * structure.tensor("free", device)
    return Adjacency(structure, normalized(structure, weights, how))


def loops_only(structure: Structure, device: torch.device) -> Adjacency:
    """I on the entries of A + I: every node alone."""
    return Adjacency(structure, 1 - structure.tensor("free", device).float())
