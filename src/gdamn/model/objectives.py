"""The objectives of the M-step and the E-step as pure functions; all are losses, so that smaller is better.

A network's logits [N, C] meet a target distribution [N, C] whose rows carry their weight in the sum, so that one
pass over the logits gives the likelihood term and the entropy term of every phase. Where the rows are only some of the
graph's (a batch, or one process of several), the sums are theirs and the :class:`Counts` they are divided by are those
of the whole graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn import functional as F

from ..graph.structure import Structure

if TYPE_CHECKING:
    from .problem import Labelled

from ..kernels import bernoulli_kl, sddmm, softmax_losses
from ..kernels.place import Place
from ..kernels.torch_path import kl_terms


def structure_prior(structure: Structure, labels: Tensor, clamp: float) -> Tensor:
    """ρ_ij = cos(ŷ_i, ŷ_j), the prior probability of each entry, kept ``clamp`` away from 0 and 1: [E]."""
    unit = F.normalize(labels, dim=1, eps=1e-12)
    return sddmm(structure.pattern, unit, unit).clamp(clamp, 1 - clamp)


@dataclass(frozen=True)
class Counts:
    """Of the whole graph: N nodes, the edges in both directions, |L| training, |U| other and validation nodes."""

    nodes: int
    edges: int
    train: int
    rest: int
    val: int


def structure_kl(structure: Structure, logits: Tensor, prior: Tensor, count: int) -> Tensor:
    """KL(g_φ ‖ prior), summed over the edges that may be cut and divided by ``count``: all edges, or all nodes."""
    return bernoulli_kl(logits, prior, structure.tensor("open", logits.device)) / max(count, 1)


def weighed_kl(logits: Tensor, prior: Tensor, weights: Tensor, count: int) -> Tensor:
    """The same, each entry with its weight [E] in the sum, as the entries of a batch have one.

    In plain torch: the gradient of :func:`structure_kl`'s loop has other last bits.
    """
    return (kl_terms(logits, prior) * weights).sum() / max(count, 1)


def weighed(problem: Labelled) -> Tensor:
    """Known labels [N, C], each times the weight of its class and its own; together these are 1 in the mean over L."""
    labels = problem.labels if problem.class_weights is None else problem.labels * problem.class_weights
    return labels if problem.label_weights is None else labels * problem.label_weights[:, None]


def pretrain_target(problem: Labelled) -> Tensor:
    """Target of pre-training: the mean over L, weighed where class_weight or sample_weight says so: [N, C]."""
    return weighed(problem) / max(problem.counts.train, 1)


def m_step_target(pseudo_labels: Tensor, counts: Counts) -> Tensor:
    """Target of the M-step: Ŷ of every node, mean over N."""
    return pseudo_labels / max(counts.nodes, 1)


def e_step_target(problem: Labelled, posterior: Tensor, lambda_: float, how: str) -> Tensor:
    """Target of the E-step: the known labels on L plus λ times p's posterior on U: [N, C].

    Args:
        problem: its labels [N, C], one-hot, are read on its training nodes alone, with their weights.
        posterior: [N, C] of p, read on all other nodes.
        how: each part as a mean (means), or both sums divided by N (sums).
    """
    target, counts = torch.zeros_like(posterior), problem.counts
    known, others = (counts.nodes, counts.nodes) if how == "sums" else (max(counts.train, 1), max(counts.rest, 1))
    target[problem.train] = weighed(problem)[problem.train] / known
    target[problem.rest] = lambda_ * posterior[problem.rest] / others
    return target


def agreed(problem: Labelled, posterior: Tensor, opinion: Tensor, confidence: float) -> Tensor:
    """[N, 1] which rows of an E-step's target count: known labels, and where p and q agree with this confidence."""
    same = posterior.argmax(1) == opinion.argmax(1)
    sure = torch.minimum(posterior.amax(1), opinion.amax(1)) >= confidence
    count = (same & sure).float()
    count[problem.train] = 1
    return count[:, None]


def q_loss(logits: Tensor, target: Tensor, beta: float, nodes: int) -> dict[str, Tensor]:
    """-O_θ: the likelihood of the target, and β times the entropy of the predictions (pre-training only).

    The entropy is a mean over ``nodes``: N, also where the logits are those of a part of the graph.
    """
    likelihood, entropy = softmax_losses(logits, target)
    entropy = entropy / max(nodes, 1)
    return {"loss": likelihood + beta * entropy if beta else likelihood, "likelihood": likelihood, "entropy": entropy}


def marginal_entropy(logits: Tensor, nodes: int, place: Place) -> Tensor:
    """H(ȳ) of the mean prediction ȳ = mean_i ŷ_i: how evenly the classes are predicted.

    -Σ_i Σ_c ŷ_ic log ȳ_c / N, with ȳ held fixed, is H(ȳ) and has its gradient, since the ŷ_i sum to 1; and it is a sum
    over nodes, so that each process has its share. A batch takes its own nodes' mean for ȳ.

    Args:
        logits: [n, C] the rows that count: all of them, a batch's, or those of one process.
        nodes: N.
    """
    predicted = F.softmax(logits, dim=1)
    with torch.no_grad():
        sums = place.sum(torch.cat([predicted.sum(0), predicted.new_tensor([len(predicted)])]))
        log_mean = (sums[:-1] / sums[-1].clamp_min(1)).clamp_min(1e-30).log()
    return -(predicted @ log_mean).sum() / max(nodes, 1)


def diverse(
    parts: dict[str, Tensor], passes: Sequence[Tensor], weight: float, nodes: int, place: Place
) -> dict[str, Tensor]:
    """q's loss minus ``weight`` times H(ȳ), the mean over its noisy passes.

    With β for the weight, β mean_i H(ŷ_i) becomes -β I, I the mutual information of node and label: the entropy falls,
    but not by giving all nodes one label.
    """
    marginal = torch.stack([marginal_entropy(logits, nodes, place) for logits in passes]).mean()
    return {**parts, "loss": parts["loss"] - weight * marginal, "marginal": marginal}


def p_loss(
    logits: Tensor, target: Tensor, kl: Tensor | None, beta: float, kl_weight: float, nodes: int
) -> dict[str, Tensor]:
    """-O_φ = -ELBO + β ENT: reconstruction of Ŷ, KL to the structure prior, neighbour entropy H(Ŷ | Ŷ_N)."""
    parts = q_loss(logits, target, beta, nodes)
    if kl is None:
        return parts
    return {**parts, "loss": parts["loss"] + kl_weight * kl, "kl": kl}


def consistency(passes: Sequence[Tensor], temperature: float, confidence: float, nodes: int) -> Tensor:
    """mean_m mean_i ‖P^m_i - P*_i‖²: how far noisy passes are from what they say together (Feng et al. 2020).

    P* ∝ P̄^{1/T} is the sharpened mean of the passes and carries no gradient; nodes whose largest P̄ is below
    ``confidence`` count 0.

    Args:
        passes: logits [N, C] of each pass.
        nodes: N.
    """
    p = F.softmax(torch.stack(list(passes)), dim=2)
    with torch.no_grad():
        mean = p.mean(0)
        sharp = F.softmax(mean.clamp_min(1e-30).log() / temperature, dim=1)
        sure = (mean.amax(1) >= confidence).float()
    apart = (p - sharp).square().sum(2) * sure
    return apart.sum() / (len(p) * nodes)


def passes_loss(
    passes: Sequence[Tensor],
    target: Tensor,
    beta: float,
    weight: float,
    temperature: float,
    confidence: float,
    nodes: int,
) -> dict[str, Tensor]:
    """q's loss, the mean over its noisy passes, and ``weight`` times their consistency where there are several."""
    parts = [q_loss(logits, target, beta, nodes) for logits in passes]
    if len(parts) == 1:
        return parts[0]
    total = {name: torch.stack([part[name] for part in parts]).mean() for name in parts[0]}
    apart = consistency(passes, temperature, confidence, nodes)
    return {**total, "loss": total["loss"] + weight * apart, "consistency": apart}
