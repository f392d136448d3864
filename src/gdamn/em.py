"""Algorithm 1 of the paper: pre-train q, then alternate M-step and E-step.

Line numbers in the comments are those of the paper's Algorithm 1. Two networks and two attentions take part:
q carries features, p carries labels (and features), hard decides which edges exist, soft how much they count.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .adjacency import Adjacency, gcn_adjacency, normalized
from .attention import HardAttention, SoftAttention, soft_weights, stable
from .config import Settings
from .inputs import Block, label_block
from .kernels import Key
from .objectives import e_step_target, m_step_target, p_loss, pretrain_target, q_loss, structure_kl, structure_prior
from .problem import Problem
from .propagators import GCN, initialise, initialise_gcn
from .training import Record, Watch, copy_state, decayed, evaluate, make_generator, run_epochs


class LabelNetwork(nn.Module):
    """p_φ = GCN_φ ∘ Soft_Att_φ ∘ Hard_Att_φ: cuts edges, weighs the rest, and carries labels over them."""

    def __init__(self, problem: Problem, s: Settings, generator: torch.Generator) -> None:
        super().__init__()
        self.problem, self.s = problem, s
        classes, width = problem.num_classes, problem.x.width
        self.hard = HardAttention(classes, s.hard_temperature, s.symmetric_q) if s.hard else None
        self.soft = SoftAttention(width, s.projection, s.soft_temperature) if s.soft else None
        widths = [classes, width] if s.p_input == "both" else [classes]
        self.decoder = GCN(widths, s.hidden, classes, s.layers, s.dropout_hidden, s.batch_norm)
        initialise_gcn(self.decoder, s.init, generator)
        if self.soft is not None:
            initialise([self.soft.W_proj], s.init, generator)
        self.plain = gcn_adjacency(problem.structure, problem.device).values

    def hard_logits(self, labels: Tensor) -> Tensor | None:
        """Line 7: the encoder's logits on the edges; None without hard attention."""
        return None if self.hard is None else self.hard.logits(self.problem.structure, labels)

    def soft_scores(self) -> Tensor:
        """δ on the edges; 0 without soft attention, so that the softmax is uniform."""
        structure = self.problem.structure
        if self.soft is None:
            return torch.zeros(structure.pattern.num_entries, device=self.problem.device)
        return self.soft.scores(structure, self.problem.x)

    def sampled_weights(self, logits: Tensor | None, scores: Tensor, key: Key) -> Tensor:
        """Lines 8 and 9: A^soft over one sampled structure A^hard."""
        if self.hard is None and self.soft is None:
            return self.plain
        structure = self.problem.structure
        existing = structure.tensor("weights", self.problem.device)
        if self.hard is not None and logits is not None:
            existing = existing * self.hard.sample(structure, logits, key)
        return soft_weights(structure, scores, existing)

    def forward(self, labels: Tensor, weights: Tensor, key: Key | None) -> Tensor:
        """Line 10: label logits [N, C] from [Ŷ‖X] over the weights A^soft."""
        adjacency = Adjacency(self.problem.structure, weights, self.s.dropout_attention)
        blocks: list[Block] = [label_block(labels, self.s.dropout_labels)]
        if self.s.p_input == "both":
            blocks.append(self.problem.x)
        return self.decoder(adjacency, blocks, key)  # type: ignore[no-any-return]

    @torch.no_grad()
    def posterior(self, labels: Tensor, samples: int, key: Key) -> Tensor:
        """Line 13: p's label distribution [N, C], the mean over sampled structures; known labels stay."""
        self.eval()
        logits, scores = self.hard_logits(labels), self.soft_scores()
        count = samples if self.hard is not None else 1
        total = torch.zeros_like(labels)
        for sample in range(count):
            weights = self.sampled_weights(logits, scores, key.fold(sample))
            total += F.softmax(self(labels, weights, None), dim=1)
        return known_labels_kept(self.problem, total / count)

    @torch.no_grad()
    def reweighting(self, labels: Tensor, key: Key) -> dict[str, Tensor]:
        """Line 14: hard, soft and stable weights [E], and the ones that q propagates on."""
        structure, s = self.problem.structure, self.s
        logits, scores = self.hard_logits(labels), self.soft_scores()
        ones = torch.ones_like(scores)
        hard = ones if logits is None else HardAttention.probabilities(structure, logits)
        if self.hard is None and self.soft is None:
            return {"used": self.plain}
        soft = soft_weights(structure, scores, structure.tensor("weights", self.problem.device))
        fused = stable(hard, soft)
        if s.reweight_samples > 0:
            draws = [self.sampled_weights(logits, scores, key.fold(i)) for i in range(s.reweight_samples)]
            fused = torch.stack(draws).mean(0)
        return {"hard": hard, "soft": soft, "stable": fused, "used": normalized(structure, fused, s.stable_norm)}


@dataclass
class Networks:
    """The two networks as EM leaves them."""

    q: GCN
    p: LabelNetwork


def new_q(problem: Problem, s: Settings, key: Key) -> GCN:
    """A fresh feature propagator."""
    q = GCN([problem.x.width], s.hidden, problem.num_classes, s.layers, s.dropout_hidden, s.batch_norm)
    initialise_gcn(q, s.init, make_generator(key))
    return q.to(problem.device)


def expectation_maximisation(problem: Problem, s: Settings, watch: Watch) -> Networks:
    """Algorithm 1. The watch keeps the history and the state of the best epoch of q."""
    root = Key(s.seed).fold("gdamn")
    q = new_q(problem, s, root.fold("start q"))
    p = LabelNetwork(problem, s, make_generator(root.fold("start p"))).to(problem.device)

    opinion = pretrain(problem, s, q, watch, root.fold("pre-train"))  # line 3
    before = opinion.argmax(1)
    for iteration in range(1, s.em_iterations + 1):  # line 4
        key = root.fold("iteration").fold(iteration)
        decay = s.weight_decay if iteration == 1 else s.weight_decay_later
        labels = annotate(problem, s, opinion, key.fold("annotate"))  # line 6
        m_step(problem, s, p, labels, decay, watch, iteration, key.fold("M"))  # lines 7 to 11

        target = p.posterior(labels, s.samples, key.fold("posterior"))  # line 13
        weights = p.reweighting(labels, key.fold("reweight"))  # line 14
        if s.restart_q:
            q = new_q(problem, s, key.fold("start q"))
        context = {"iteration": iteration, "p": p, "labels": labels, "target": target, "weights": weights}
        opinion = e_step(problem, s, q, decay, watch, context, key.fold("E"))  # lines 15 and 16

        after = opinion.argmax(1)
        if s.tolerance > 0 and (after != before).float().mean().item() <= s.tolerance:
            break
        before = after
    return Networks(q, p)


def pretrain(problem: Problem, s: Settings, q: GCN, watch: Watch, key: Key) -> Tensor:
    """Line 3: q learns the known labels on the plain graph, with the entropy regulariser. Returns its opinion."""
    adjacency = gcn_adjacency(problem.structure, problem.device)
    beta = s.beta_pretrain if s.beta_pretrain >= 0 else float(s.beta)
    context = {"iteration": 0, "weights": {"used": adjacency.values}}
    last = s.em_iterations == 0

    target = pretrain_target(problem.labels, problem.train)

    def loss(step: Key) -> dict[str, Tensor]:
        return q_loss(q(adjacency, [problem.x], step), target, beta)

    return train_q(
        problem, s, q, adjacency, loss, s.pretrain_epochs, s.weight_decay, watch, "pre-train", context, last, key
    )


def annotate(problem: Problem, s: Settings, opinion: Tensor, key: Key) -> Tensor:
    """Line 6: Ŷ [N, C], the true labels where known and q's opinion (a distribution [N, C]) elsewhere."""
    probabilities = F.softmax(opinion.clamp_min(1e-30).log() / s.pseudo_temperature, dim=1)
    if s.pseudo_labels == "argmax":
        probabilities = F.one_hot(opinion.argmax(1), problem.num_classes).float()
    elif s.pseudo_labels == "sample":
        drawn = torch.multinomial(probabilities.cpu(), 1, generator=make_generator(key)).to(problem.device)
        probabilities = F.one_hot(drawn[:, 0], problem.num_classes).float()
    return known_labels_kept(problem, probabilities)


def known_labels_kept(problem: Problem, distribution: Tensor) -> Tensor:
    """The distribution [N, C] with the rows of training nodes replaced by their labels."""
    distribution = distribution.clone()
    distribution[problem.train] = problem.labels[problem.train]
    return distribution


def m_step(
    problem: Problem, s: Settings, p: LabelNetwork, labels: Tensor, decay: float, watch: Watch, iteration: int, key: Key
) -> None:
    """Lines 7 to 11: p learns to reconstruct Ŷ over structures sampled from the hard attention."""
    prior = structure_prior(problem.structure, labels, s.prior_clamp)  # new in each EM iteration
    target, phase = m_step_target(labels), f"M-step {iteration}"
    p.train()

    def loss(step: Key) -> dict[str, Tensor]:
        logits = p.hard_logits(labels)
        weights = p.sampled_weights(logits, p.soft_scores(), step.fold("structure"))
        kl = None if logits is None else structure_kl(problem.structure, logits, prior, s.kl_per)
        return p_loss(p(labels, weights, step), target, kl, float(s.beta), s.kl_weight)

    def after(epoch: int, values: Record, started: float) -> None:
        watch.record({"phase": phase, "iteration": iteration, "epoch": epoch, **values}, s.epochs, started)

    run_epochs(decayed(p, decay, s.decay, never=("Q",)), s.learning_rate, s.epochs, loss, after, key)


def e_step(
    problem: Problem, s: Settings, q: GCN, decay: float, watch: Watch, context: dict[str, Any], key: Key
) -> Tensor:
    """Lines 15 and 16: q learns the known labels and p's opinion of the others, on the stable weights."""
    adjacency = Adjacency(problem.structure, context["weights"]["used"], s.dropout_attention)
    phase = f"E-step {context['iteration']}"
    target = e_step_target(problem.labels, problem.train, context["target"], problem.rest, s.lambda_, s.e_step)

    def loss(step: Key) -> dict[str, Tensor]:
        return q_loss(q(adjacency, [problem.x], step), target, 0.0)

    return train_q(problem, s, q, adjacency, loss, s.epochs, decay, watch, phase, context, True, key)


def train_q(
    problem: Problem,
    s: Settings,
    q: GCN,
    adjacency: Adjacency,
    loss: Any,
    epochs: int,
    decay: float,
    watch: Watch,
    phase: str,
    context: dict[str, Any],
    candidate: bool,
    key: Key,
) -> Tensor:
    """Train q for a phase, evaluating after every epoch; ``candidate`` epochs may be chosen.

    Returns q's opinion, the distribution [N, C] that annotates: its mean over the last epochs.
    """
    logits = predict(q, adjacency, problem)
    opinion = F.softmax(logits, dim=1)
    first = epochs - min(s.annotate_epochs, epochs)

    def state() -> dict[str, Any]:
        p = context.get("p")
        return {**context, "q": copy_state(q), "p": copy_state(p) if p is not None else None, "logits": logits}

    def after(epoch: int, values: Record, started: float) -> None:
        nonlocal logits, opinion
        logits = predict(q, adjacency, problem)
        if epoch >= first:
            opinion = torch.lerp(opinion, F.softmax(logits, dim=1), 1 / (epoch - first + 1))
        record = {"phase": phase, "iteration": context["iteration"], "epoch": epoch, **values}
        record.update(evaluate(problem, logits))
        watch.record(record, epochs, started, state if candidate else None)

    run_epochs(decayed(q, decay, s.decay), s.learning_rate, epochs, loss, after, key)
    return opinion


@torch.no_grad()
def predict(q: GCN, adjacency: Adjacency, problem: Problem) -> Tensor:
    """q's logits [N, C] without dropout."""
    q.eval()
    logits: Tensor = q(adjacency, [problem.x], None)
    q.train()
    return logits
