"""The place of a node in the graph: how heat that starts at every node arrives at it (Donnat et al., KDD 2018)."""

from __future__ import annotations

import torch
from scipy.special import ive
from torch import Tensor
from torch.nn import functional as F

from ..graph.structure import Structure
from ..kernels import Pattern, spmm, sums

TIME = 1000.0
"""How long the heat flows, in units of 1 / λ_max."""
ORDER = 100
"""Degree of the polynomial that stands for the exponential."""
STEP, POINTS = 20.0, 32
"""The characteristic function is read at 0, 20, …, 620."""
CODE = 2 * POINTS
"""Length of a node's code."""
SMALLEST = 1e-4
"""A column that spreads less is rounding and counts as 0."""
COLUMNS = 256
"""Starting nodes at a time, so that no N×N array exists."""


@torch.no_grad()
def topology_code(structure: Structure, device: torch.device) -> Tensor:
    """t_i = [Re φ_i‖Im φ_i] with φ_i(u) = mean_j exp(i u Ψ_ij): [N, 64], columns standardised, rows of length 1.

    Ψ = exp(-1000 ℒ / λ_max) is the heat kernel of the Laplacian ℒ = D - A.
    """
    pattern, n = structure.pattern, structure.pattern.shape[0]
    values = laplacian(structure, device)
    scaled = 2 * values / largest_eigenvalue(pattern, values)
    scaled = scaled - structure.tensor("loop", device).float()  # its eigenvalues are in [-1, 1]
    total = torch.zeros(n, POINTS, dtype=torch.complex64, device=device)
    for first in range(0, n, COLUMNS):
        count = min(COLUMNS, n - first)
        start = torch.zeros(n, count, device=device)
        start[torch.arange(first, first + count), torch.arange(count)] = 1
        total += waves(heat(pattern, scaled, start))
    code = torch.cat([total.real, total.imag], 1) / n
    spread = code.std(0, correction=0)
    varies = spread > SMALLEST
    code = torch.where(varies, (code - code.mean(0)) / torch.where(varies, spread, torch.ones_like(spread)), 0.0)
    return F.normalize(code, dim=1)


def laplacian(structure: Structure, device: torch.device) -> Tensor:
    """D - A on the entries of A + I: [E]."""
    weights = structure.tensor("weights", device) * structure.tensor("free", device)
    degrees = sums(structure.pattern, weights)[0]
    loop = structure.tensor("loop", device)
    values = -weights
    values[loop] = degrees
    return values


def largest_eigenvalue(pattern: Pattern, values: Tensor, steps: int = 200) -> Tensor:
    """The largest eigenvalue of a positive semi-definite matrix by power iteration, plus 1 % as a margin."""
    n = pattern.shape[0]
    vector = torch.cos(torch.arange(n, device=values.device, dtype=values.dtype))[:, None]
    for _ in range(steps):
        vector = F.normalize(spmm(pattern, values, vector), dim=0)
    eigenvalue = (vector * spmm(pattern, values, vector)).sum()
    return 1.01 * eigenvalue.clamp_min(1e-6)


def heat(pattern: Pattern, scaled: Tensor, start: Tensor) -> Tensor:
    """exp(-t (L + I) / 2) ``start`` for L with eigenvalues in [-1, 1], t = 1000: [N, B].

    The series of Chebyshev polynomials T_k of L, with modified Bessel functions as coefficients.
    """
    before, now = start, spmm(pattern, scaled, start)
    total = float(ive(0, TIME / 2)) * before - 2 * float(ive(1, TIME / 2)) * now
    for k in range(2, ORDER + 1):
        before, now = now, 2 * spmm(pattern, scaled, now) - before
        total = total.add_(now, alpha=2 * (-1) ** k * float(ive(k, TIME / 2)))
    return total


def waves(psi: Tensor) -> Tensor:
    """Σ_j exp(i u Ψ_ij) at every u: [N, 32]; each power from the one before."""
    turn = torch.polar(torch.ones_like(psi), STEP * psi)
    power = torch.ones_like(turn)
    values = []
    for _ in range(POINTS):
        values.append(power.sum(1))
        power = power * turn
    return torch.stack(values, 1)
