"""The same operations in plain torch: for GPUs and other dtypes, and as the second way to each number."""

from __future__ import annotations

import warnings

import torch
from torch import Tensor

from ..graph.pattern import Pattern
from .noise import Key, lane_torch, threshold, uniform_torch


def spmm(p: Pattern, values: Tensor, dense: Tensor) -> Tensor:
    """out[i] = Σ_j values[ij] dense[j]."""
    return _csr(p.tensor("indptr", dense.device), p.tensor("indices", dense.device), values, p.shape) @ dense


def spmm_transposed(p: Pattern, values: Tensor, dense: Tensor) -> Tensor:
    """out[j] = Σ_i values[ij] dense[i]."""
    device = dense.device
    moved = values[p.tensor("t_perm", device)]
    pointers, columns = p.tensor("t_indptr", device), p.tensor("t_indices", device)
    return _csr(pointers, columns, moved, (p.shape[1], p.shape[0])) @ dense


def _csr(pointers: Tensor, columns: Tensor, values: Tensor, shape: tuple[int, int]) -> Tensor:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # torch calls its CSR tensors a beta feature once
        return torch.sparse_csr_tensor(pointers, columns, values, size=shape, check_invariants=False)


def sddmm(p: Pattern, left: Tensor, right: Tensor) -> Tensor:
    """out[ij] = left[i] · right[j], a slice of columns at a time so that no [E, H] array is made."""
    rows, cols = p.tensor("rows", left.device), p.tensor("indices", left.device)
    out = left.new_zeros(p.num_entries)
    for at in range(0, left.shape[1], 8):
        out += (left[:, at : at + 8][rows] * right[:, at : at + 8][cols]).sum(1)
    return out


def edge_softmax(p: Pattern, scores: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    """w_ij m_ij / Σ_k w_ik m_ik (0 in rows whose weights are all 0), and m_ij = exp(s_ij - top of the row)."""
    rows = p.tensor("rows", scores.device)
    live = torch.where(weights > 0, scores, torch.full_like(scores, -torch.inf))
    top = scores.new_full((p.shape[0],), -torch.inf).scatter_reduce_(0, rows, live, "amax")
    top = torch.where(torch.isfinite(top), top, torch.zeros_like(top))
    mass = torch.exp((scores - top[rows]).clamp_max(40))
    return weights * mass * _inverse_totals(p, weights, mass)[rows], mass


def edge_softmax_backward(
    p: Pattern, weights: Tensor, soft: Tensor, mass: Tensor, grad: Tensor
) -> tuple[Tensor, Tensor]:
    """Gradients on the scores and on the weights."""
    rows = p.tensor("rows", grad.device)
    row = grad.new_zeros(p.shape[0]).index_add_(0, rows, grad * soft)
    centred = grad - row[rows]
    return soft * centred, mass * _inverse_totals(p, weights, mass)[rows] * centred


def _inverse_totals(p: Pattern, weights: Tensor, mass: Tensor) -> Tensor:
    """1 / Σ_k w_ik m_ik per row; 0 where the sum is."""
    total = mass.new_zeros(p.shape[0]).index_add_(0, p.tensor("rows", mass.device), weights * mass)
    return torch.where(total > 0, 1 / total, torch.zeros_like(total))


def binary_concrete(logits: Tensor, pair: Tensor, free: Tensor, temperature: float, key: Key) -> tuple[Tensor, Tensor]:
    """The hard sample, and the slope of its relaxation."""
    u = uniform_torch(key, pair).to(logits.dtype)
    z = logits + torch.log(u) - torch.log1p(-u)
    s = torch.sigmoid(z / temperature)
    hard = torch.where(free, (z > 0).to(logits.dtype), torch.ones_like(logits))
    return hard, torch.where(free, s * (1 - s) / temperature, torch.zeros_like(s))


def dropout(x: Tensor, rate: float, key: Key, first: int = 0) -> Tensor:
    """x with entries dropped at ``rate``, the rest divided by 1 - rate; the noise is that from ``first`` on."""
    index = torch.arange(first, first + x.numel(), device=x.device).reshape(x.shape)
    return torch.where(lane_torch(key, index) >= threshold(rate), x / (1 - rate), torch.zeros_like(x))


def softmax_losses(logits: Tensor, target: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Per row: p = softmax(z), log Σ exp z, -Σ t log p and -Σ p log p."""
    log_total = torch.logsumexp(logits, dim=1)
    log_p = logits - log_total[:, None]
    p = log_p.exp()
    return p, log_total, -(target * log_p).sum(1), -(p * log_p).sum(1)


def softmax_losses_backward(
    logits: Tensor,
    target: Tensor,
    p: Tensor,
    log_total: Tensor,
    entropy: Tensor,
    d_cross: Tensor,
    d_entropy: Tensor,
) -> Tensor:
    """Gradient on the logits."""
    log_p = logits - log_total[:, None]
    return d_cross * (p * target.sum(1, keepdim=True) - target) - d_entropy * p * (log_p + entropy[:, None])


def unit_rows(x: Tensor, scale: Tensor) -> tuple[Tensor, Tensor]:
    """v / max(|v|, ε) with v = scale ⊙ ReLU(x), and the norms."""
    v = scale * torch.relu(x)
    norms = v.norm(dim=1).clamp_min(1e-8)
    return v / norms[:, None], norms


def unit_rows_backward(x: Tensor, scale: Tensor, unit: Tensor, norms: Tensor, grad: Tensor) -> tuple[Tensor, Tensor]:
    """Gradients on x and on the scale."""
    along = (unit * grad).sum(1, keepdim=True)
    dv = torch.where((norms > 1e-8)[:, None], (grad - unit * along) / norms[:, None], torch.zeros_like(grad))
    return torch.where(x > 0, dv * scale, torch.zeros_like(dv)), (dv * torch.relu(x)).sum(0)


def bernoulli_kl(logits: Tensor, prior: Tensor, free: Tensor) -> tuple[Tensor, Tensor]:
    """KL per entry and its slope; 0 where the entry is not free."""
    g, kl = torch.sigmoid(logits), kl_terms(logits, prior)
    zero = torch.zeros_like(kl)
    return torch.where(free, kl, zero), torch.where(free, g * (1 - g) * (logits - torch.logit(prior)), zero)


def kl_terms(logits: Tensor, prior: Tensor) -> Tensor:
    """KL(Bernoulli(σ(l)) ‖ Bernoulli(ρ)) = σ(l) (l - logit ρ) - softplus(l) - log(1 - ρ) per entry; differentiable.

    The sigmoid comes first: autograd adds up gradients in the order of the operations, which decides their last bits.
    """
    softplus = torch.nn.functional.softplus
    return torch.sigmoid(logits) * (logits - torch.logit(prior)) - softplus(logits) - torch.log1p(-prior)


def adam(parameter: Tensor, grad: Tensor, mean: Tensor, square: Tensor, rate: float, decay: float, steps: int) -> None:
    """One step of Adam in place (β₁ 0.9, β₂ 0.999, ε 1e-8)."""
    g = grad + decay * parameter
    mean.mul_(0.9).add_(g, alpha=0.1)
    square.mul_(0.999).addcmul_(g, g, value=0.001)
    parameter.sub_(rate / (1 - 0.9**steps) * mean / ((square / (1 - 0.999**steps)).sqrt() + 1e-8))
