"""The objectives of the M-step and the E-step as pure functions; all are losses, so that smaller is better.

A network's logits [N, C] meet a target distribution [N, C] whose rows carry their weight in the sum, so that one
pass over the logits gives the likelihood term and the entropy term of every phase. Where several processes train one
model, each has its nodes' share of a loss: sums are its own, and what they are divided by counts all nodes.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from ..graph.structure import Structure
from ..kernels import bernoulli_kl, sddmm, softmax_losses
from ..kernels.place import here


def structure_prior(structure: Structure, labels: Tensor, clamp: float) -> Tensor:
    """ρ_ij = cos(ŷ_i, ŷ_j), the prior probability of each entry, kept ``clamp`` away from 0 and 1: [E]."""
    unit = F.normalize(labels, dim=1, eps=1e-12)
    return sddmm(structure.pattern, unit, unit).clamp(clamp, 1 - clamp)


def structure_kl(structure: Structure, logits: Tensor, prior: Tensor, per: str) -> Tensor:
    """KL(g_φ ‖ prior) over the edges without loops: their mean (per edge), or their sum over N (per node)."""
    nodes = here().rows or structure.pattern.shape[0]
    count = (here().entries or structure.pattern.num_entries) - nodes if per == "edge" else nodes
    return bernoulli_kl(logits, prior, structure.tensor("free", logits.device)) / max(count, 1)


def pretrain_target(labels: Tensor, train: Tensor) -> Tensor:
    """Target of pre-training: the mean over L. labels [N, C] are one-hot on ``train`` and 0 elsewhere."""
    return labels / max(here().count(len(train)), 1)


def m_step_target(pseudo_labels: Tensor) -> Tensor:
    """Target of the M-step: Ŷ of every node, mean over N."""
    return pseudo_labels / max(here().rows_of(pseudo_labels), 1)


def e_step_target(labels: Tensor, train: Tensor, posterior: Tensor, rest: Tensor, lambda_: float, how: str) -> Tensor:
    """Target of the E-step: the known labels on L plus λ times p's posterior on U: [N, C].

    Args:
        labels: [N, C] one-hot, read on ``train`` alone.
        posterior: [N, C] of p, read on ``rest`` alone.
        how: each part as a mean (means), or both sums divided by N (sums).
    """
    target = torch.zeros_like(posterior)
    n = here().rows_of(posterior)
    known, others = here().count(len(train)), here().count(len(rest))
    target[train] = labels[train] / (n if how == "sums" else max(known, 1))
    target[rest] = lambda_ * posterior[rest] / (n if how == "sums" else max(others, 1))
    return target


def q_loss(logits: Tensor, target: Tensor, beta: float, nodes: int | None = None) -> dict[str, Tensor]:
    """-O_θ: the likelihood of the target, and β times the entropy of the predictions (pre-training only).

    The entropy is a mean over ``nodes``: all of them, where the logits are those of a batch.
    """
    likelihood, entropy = softmax_losses(logits, target)
    entropy = entropy / max(nodes or here().rows_of(logits), 1)
    return {"loss": likelihood + beta * entropy if beta else likelihood, "likelihood": likelihood, "entropy": entropy}


def p_loss(
    logits: Tensor, target: Tensor, kl: Tensor | None, beta: float, kl_weight: float, nodes: int | None = None
) -> dict[str, Tensor]:
    """-O_φ = -ELBO + β ENT: reconstruction of Ŷ, KL to the structure prior, neighbour entropy H(Ŷ | Ŷ_N)."""
    parts = q_loss(logits, target, beta, nodes)
    if kl is None:
        return parts
    return {**parts, "loss": parts["loss"] + kl_weight * kl, "kl": kl}


def consistency(passes: Sequence[Tensor], temperature: float, confidence: float) -> Tensor:
    """mean_m mean_i ‖P^m_i - P*_i‖²: how far noisy passes are from what they say together (Feng et al. 2020).

    P* ∝ P̄^{1/T} is the sharpened mean of the passes and carries no gradient; nodes whose largest P̄ is below
    ``confidence`` count 0.

    Args:
        passes: logits [N, C] of each pass.
    """
    p = F.softmax(torch.stack(list(passes)), dim=2)
    with torch.no_grad():
        mean = p.mean(0)
        sharp = F.softmax(mean.clamp_min(1e-30).log() / temperature, dim=1)
        sure = (mean.amax(1) >= confidence).float()
    apart = (p - sharp).square().sum(2) * sure
    return apart.mean() if here().whole else apart.sum() / (len(p) * here().rows_of(p[0]))


def passes_loss(
    passes: Sequence[Tensor], target: Tensor, beta: float, weight: float, temperature: float, confidence: float
) -> dict[str, Tensor]:
    """q's loss, the mean over its noisy passes, and ``weight`` times their consistency where there are several."""
    parts = [q_loss(logits, target, beta) for logits in passes]
    if len(parts) == 1:
        return parts[0]
    total = {name: torch.stack([part[name] for part in parts]).mean() for name in parts[0]}
    apart = consistency(passes, temperature, confidence)
    return {**total, "loss": total["loss"] + weight * apart, "consistency": apart}
