"""The objectives of the M-step and the E-step as pure functions; all are losses, so that smaller is better."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from .graph import Structure
from .kernels import sddmm


def cross_entropy(log_probs: Tensor, target: Tensor) -> Tensor:
    """-Σ_c t_c log p_c, mean over the rows: both [N, C]."""
    return -(target * log_probs).sum() / max(len(target), 1)


def neighbour_entropy(log_probs: Tensor) -> Tensor:
    """H(Ŷ | Ŷ_N), the mean entropy of the predicted distributions (the paper's O_ENT)."""
    return -(log_probs.exp() * log_probs).sum() / max(len(log_probs), 1)


def structure_prior(structure: Structure, labels: Tensor, clamp: float) -> Tensor:
    """ρ_ij = cos(ŷ_i, ŷ_j), the prior probability of each entry, kept ``clamp`` away from 0 and 1: [E]."""
    unit = F.normalize(labels, dim=1, eps=1e-12)
    return sddmm(structure.pattern, unit, unit).clamp(clamp, 1 - clamp)


def bernoulli_kl(logits: Tensor, prior: Tensor) -> Tensor:
    """KL(Bernoulli(σ(l)) ‖ Bernoulli(ρ)) per entry, from the logits: g (l - logit ρ) - softplus(l) - log(1 - ρ)."""
    return torch.sigmoid(logits) * (logits - torch.logit(prior)) - F.softplus(logits) - torch.log1p(-prior)


def structure_kl(structure: Structure, logits: Tensor, prior: Tensor, per: str) -> Tensor:
    """KL between hard attention and prior over the edges without loops: their mean, or their sum over N."""
    free = structure.tensor("free", logits.device)
    kl = torch.where(free, bernoulli_kl(logits, prior), torch.zeros_like(logits)).sum()
    edges = len(structure.loop) - structure.pattern.shape[0]
    return kl / max(edges if per == "edge" else structure.pattern.shape[0], 1)


def m_step_loss(log_probs: Tensor, pseudo_labels: Tensor, kl: Tensor, beta: float, kl_weight: float) -> dict[str, Tensor]:
    """-O_φ = -ELBO + β ENT, and its parts."""
    reconstruction = cross_entropy(log_probs, pseudo_labels)
    entropy = neighbour_entropy(log_probs)
    loss = reconstruction + kl_weight * kl + beta * entropy
    return {"loss": loss, "reconstruction": reconstruction, "kl": kl, "entropy": entropy}


def e_step_loss(log_probs: Tensor, labels: Tensor, train: Tensor, target: Tensor, rest: Tensor, lambda_: float, how: str) -> dict[str, Tensor]:
    """-O_θ: likelihood of the known labels plus λ times the expected likelihood under p's posterior.

    Args:
        log_probs: [N, C] of q.
        labels: [N, C] one-hot, read on ``train`` alone.
        target: [N, C] p's posterior, read on ``rest`` alone.
        how: means of the two sums, or both sums divided by N.
    """
    labelled = cross_entropy(log_probs[train], labels[train])
    unlabelled = cross_entropy(log_probs[rest], target[rest])
    if how == "sums":
        n = len(log_probs)
        loss = labelled * (len(train) / n) + lambda_ * unlabelled * (len(rest) / n)
    else:
        loss = labelled + lambda_ * unlabelled
    return {"loss": loss, "labelled": labelled, "unlabelled": unlabelled}


def pretrain_loss(log_probs: Tensor, labels: Tensor, train: Tensor, beta: float) -> dict[str, Tensor]:
    """Likelihood of the known labels with the entropy regulariser, for the first q."""
    labelled = cross_entropy(log_probs[train], labels[train])
    entropy = neighbour_entropy(log_probs)
    return {"loss": labelled + beta * entropy, "labelled": labelled, "entropy": entropy}
