"""p_φ, the network of the M-step: hard attention, soft attention and a propagator that carries labels.

Line numbers in the docstrings are those of the paper's Algorithm 1.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..kernels import Key
from ..kernels.checks import check_shape
from .adjacency import Adjacency, gcn_adjacency, normalized
from .attention import HardAttention, SoftAttention, soft_weights, stable, tempered
from .inputs import Block, label_block
from .objectives import structure_kl, structure_prior
from .problem import Problem
from .propagators import initialise, make_propagator
from .settings import Settings


class LabelNetwork(nn.Module):
    """p_φ = GCN_φ ∘ Soft_Att_φ ∘ Hard_Att_φ: cuts edges, weighs the rest, and carries labels over them.

    Args:
        problem: the graph as tensors (:func:`gdamn.model.problem.make_problem`).
        s: its sizes, dropouts, and which attentions it has.
        generator: of the start of its weights.
    """

    def __init__(self, problem: Problem, s: Settings, generator: torch.Generator) -> None:
        super().__init__()
        self.problem, self.s = problem, s
        classes, width = problem.num_classes, problem.x.width
        self.hard = HardAttention(classes, s.hard_temperature, s.symmetric_q) if s.hard else None
        self.soft = SoftAttention(width, s.projection, start=False) if s.soft else None
        widths = [classes, width] if s.p_input == "both" else [classes]
        self.decoder = make_propagator(s.p_propagator, widths, classes, s, generator)
        if self.soft is not None:
            initialise([self.soft.W_proj], s.init, generator)
        self.weighted = problem.weighted
        self._plain: tuple[Problem, Tensor] | None = None

    @property
    def plain(self) -> Tensor:
        """[E] the weights of the plain graph, for p without any attention; made once for a problem."""
        if self._plain is None or self._plain[0] is not self.problem:
            self._plain = self.problem, gcn_adjacency(self.problem.structure, self.problem.device).values
        return self._plain[1]

    def attention_labels(self, labels: Tensor) -> Tensor:
        """Ŷ [N, C] at the attention's temperature, which the hard attention and the prior are made from."""
        return tempered(labels, self.s.attention_temperature)

    def hard_logits(self, labels: Tensor) -> Tensor | None:
        """Line 7: the encoder's logits on the edges, from :meth:`attention_labels`; None without hard attention."""
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
            sampled = self.hard.sample(structure, logits, key)
            existing = existing * sampled if self.weighted else sampled
        return soft_weights(structure, scores, existing)

    def forward(self, labels: Tensor, weights: Tensor, key: Key | None) -> Tensor:
        """Line 10: label logits [N, C] from [Ŷ‖X] over the weights A^soft [E]."""
        check_shape("LabelNetwork", "labels", labels, self.problem.num_nodes, self.problem.num_classes)
        check_shape("LabelNetwork", "weights", weights, self.problem.structure.pattern.num_entries)
        adjacency = Adjacency(self.problem.structure, weights, self.s.dropout_attention)
        blocks: list[Block] = [label_block(labels, self.s.dropout_labels)]
        if self.s.p_input == "both":
            blocks.append(self.problem.x)
        return self.decoder(adjacency, blocks, key)  # type: ignore[no-any-return]

    def learner(self, labels: Tensor) -> Callable[[object, Key], tuple[Tensor, Tensor | None]]:
        """Lines 7 to 9 and the KL of line 11, as an epoch of the M-step needs them: weights of a draw, and the KL."""
        structure, counts = self.problem.structure, self.problem.counts
        labels = self.attention_labels(labels)
        prior = structure_prior(structure, labels, self.s.prior_clamp)  # new in each EM iteration
        count = counts.edges if self.s.kl_per == "edge" else counts.nodes

        def draw(_: object, key: Key) -> tuple[Tensor, Tensor | None]:  # the view is the whole graph
            logits = self.hard_logits(labels)
            weights = self.sampled_weights(logits, self.soft_scores(), key)
            return weights, None if logits is None else structure_kl(structure, logits, prior, count)

        return draw

    def drawer(self, labels: Tensor) -> Callable[[Key], Tensor]:
        """The weights of one draw after the other, for parameters that don't change."""
        logits, scores = self.hard_logits(self.attention_labels(labels)), self.soft_scores()
        return lambda key: self.sampled_weights(logits, scores, key)

    @torch.no_grad()
    def posterior(self, labels: Tensor, samples: int, key: Key) -> Tensor:
        """Line 13: p's label distribution [N, C], the mean over sampled structures; known labels stay."""
        self.eval()
        draw = self.drawer(labels)
        count = samples if self.hard is not None else 1
        total = torch.zeros_like(labels)
        for sample in range(count):
            total += F.softmax(self(labels, draw(key.fold(sample)), None), dim=1)
        return self.problem.with_known_labels(total / count)

    @torch.no_grad()
    def reweighting(self, labels: Tensor, key: Key) -> dict[str, Tensor]:
        """Line 14: hard, soft and stable weights [E], and the ones that q propagates on."""
        structure, s = self.problem.structure, self.s
        logits, scores = self.hard_logits(self.attention_labels(labels)), self.soft_scores()
        ones = torch.ones_like(scores)
        hard = ones if logits is None else HardAttention.probabilities(structure, logits)
        if self.hard is None and self.soft is None:
            return {"used": self.plain}
        existing = structure.tensor("weights", self.problem.device)
        soft = soft_weights(structure, scores, existing)
        fused = stable(hard, soft, existing, s.reweight)
        if s.reweight_samples > 0:
            draws = [self.sampled_weights(logits, scores, key.fold(i)) for i in range(s.reweight_samples)]
            fused = torch.stack(draws).mean(0)
        return {"hard": hard, "soft": soft, "stable": fused, "used": normalized(structure, fused, s.stable_norm)}
