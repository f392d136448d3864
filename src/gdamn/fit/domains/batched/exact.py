"""Exact inference on a large graph: layer by layer over blocks of rows, with every neighbour.

Weights on the edges are made for one block at a time from what the nodes have (label distributions, unit
projections, one normaliser each), and dropped when the block is done: no array has the size of the edges.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from ....kernels import Key, binary_concrete, edge_softmax, matmul
from ....model.adjacency import scales
from ....model.attention import keep_probabilities, stable
from ....model.fitted_state import WEIGHTS, Arrays, edge_index
from ....model.label_network import LabelNetwork
from ....model.propagators.gcn import GCN
from ....model.settings import Settings
from .large import Features, LargeProblem
from .rows import Entries, RowBlock

Weigh = Callable[[Entries], Tensor]
"""The weights [e] of some entries."""

BlockWeigh = Callable[[RowBlock], Tensor]
"""The same, where they need all entries of a row."""


def gcn_weights(problem: LargeProblem) -> Weigh:
    """D^{-1/2} (A + I) D^{-1/2}."""
    left, right = scales(*problem.degrees, "sym")
    return lambda entries: entries.scaled(entries.weights, left, right)


def loop_weights(entries: Entries) -> Tensor:
    """I: every node alone."""
    return (~entries.free).float()


@torch.no_grad()
def logits(network: GCN, problem: LargeProblem, weigh: BlockWeigh, inputs: Sequence[Tensor | Features]) -> Tensor:
    """The network's logits [N, C] without dropout, on inputs that stand side by side."""
    network.eval()
    h = first_products(network, inputs)
    for layer, bias in enumerate(network.bias):
        if layer:
            h = F.relu(network.norms[layer - 1](h) if network.norms else h)
            h = matmul(h, network.later[layer - 1])
        out = torch.empty_like(h)
        for block in problem.blocks():
            out[block.rows] = block.product(weigh(block), h, bias)
        h = out
    network.train()
    return h


def first_products(network: GCN, inputs: Sequence[Tensor | Features]) -> Tensor:
    """[B_1‖B_2‖…] W of the first layer: [N, H]."""
    total: Tensor | None = None
    for weight, part in zip(network.first, inputs, strict=True):
        product = matmul(part, weight) if isinstance(part, Tensor) else part.linear(weight)
        total = product if total is None else total.add_(product)
    assert total is not None
    return total


class Attention:
    """p's attention on the edges, for the label distributions Ŷ of one phase; its parameters must not change.

    Attributes:
        labels: Ŷ [N, C]; attended: the same at the attention's temperature.
        turned: attended Q [N, C], so that a hard logit is turned_i · attended_j.
        unit: h_i / |h_i| [N, m], so that a soft score is -unit_i · unit_j / τ.
    """

    @torch.no_grad()
    def __init__(self, p: LabelNetwork, problem: LargeProblem, s: Settings, labels: Tensor) -> None:
        self.p, self.problem, self.s, self.labels = p, problem, s, labels
        self.attended = p.attention_labels(labels)
        if p.hard is not None:
            self.turned = p.hard.turned(self.attended)
        if p.soft is not None:
            self.unit = torch.empty(problem.num_nodes, s.projection, device=problem.device)
            for run, x in problem.x.blocks():
                self.unit[run] = p.soft.units(x)

    def scores(self, entries: Entries) -> Tensor:
        """δ on the entries; 0 without soft attention."""
        if self.p.soft is None:
            return torch.zeros_like(entries.weights)
        return entries.dots(self.unit, self.unit, -1.0)

    def hard(self, entries: Entries) -> Tensor:
        """σ(ŷ_i Q ŷ_j), 1 on loops and without hard attention."""
        if self.p.hard is None:
            return torch.ones_like(entries.weights)
        return keep_probabilities(entries.dots(self.turned, self.attended), ~entries.free)

    def soft(self, block: RowBlock) -> Tensor:
        """The softmax of the scores over all neighbours."""
        return edge_softmax(block.pattern, self.scores(block), block.weights)

    def sampled(self, block: RowBlock, key: Key) -> Tensor:
        """Lines 8 and 9 of Algorithm 1: the soft weights over one sampled structure, the same as the full batch's."""
        existing = block.weights
        if self.p.hard is not None:
            logits = block.dots(self.turned, self.attended)
            existing = existing * binary_concrete(logits, block.pair, block.free, self.p.hard.temperature, key)
        return edge_softmax(block.pattern, self.scores(block), existing)

    def stable(self, block: RowBlock) -> Tensor:
        """A^stable, not normalised."""
        soft = self.soft(block) if self.s.reweight == "stable" else block.weights  # not made where it doesn't count
        return stable(self.hard(block), soft, block.weights, self.s.reweight)

    def stable_of_some(self, entries: Entries, log_total: Tensor) -> Tensor:
        """The same where a row's entries are not all there: with log Σ_j w_ij exp δ_ij [N] of the whole rows.

        The factors are multiplied in this order: in another the last bits of a weighted graph's fit would change.
        """
        hard = self.hard(entries) * entries.weights
        if self.s.reweight != "stable":
            return hard
        share = torch.exp(self.scores(entries) - entries.dots(log_total[:, None], torch.ones_like(log_total)[:, None]))
        return stable(hard, share, entries.weights, self.s.reweight)

    @torch.no_grad()
    def posterior(self, samples: int, key: Key) -> Tensor:
        """Line 13: p's label distribution [N, C], the mean over sampled structures; known labels stay."""
        inputs: list[Tensor | Features] = [self.labels]
        if self.s.p_input == "both":
            inputs.append(self.problem.x)
        decoder = self.p.decoder
        assert isinstance(decoder, GCN)
        plain = self.p.hard is None and self.p.soft is None
        count = samples if self.p.hard is not None else 1
        total = torch.zeros_like(self.labels)
        for sample in range(count):
            drawn = key.fold(sample)
            weigh = gcn_weights(self.problem) if plain else lambda block, drawn=drawn: self.sampled(block, drawn)
            total += F.softmax(logits(decoder, self.problem, weigh, inputs), dim=1)
        return self.problem.with_known_labels(total / count)

    @torch.no_grad()
    def sums(self) -> tuple[Tensor, Tensor, Tensor]:
        """[N] each: log Σ_j w_ij exp δ_ij of a row, and the sums of A^stable over rows and over columns."""
        n, device = self.problem.num_nodes, self.problem.device
        log_total, rows, columns = torch.zeros(n, device=device), torch.empty(n, device=device), torch.zeros(n)
        columns = columns.to(device).double()
        for block in self.problem.blocks():
            exponentials = block.weights * torch.exp(self.scores(block))  # |δ| ≤ 1/τ: no overflow to fear
            log_total[block.rows] = torch.log(block.row_sums(exponentials).clamp_min(1e-30))
            values = self.stable(block)
            rows[block.rows] = block.row_sums(values)
            columns += block.column_sums(values)
        return log_total, rows, columns.float()

    @torch.no_grad()
    def edge_weights(self) -> Arrays:
        """Hard, soft and stable attention of every edge and loop, and what q propagates on, by a model's names."""
        graph, n = self.problem.graph, self.problem.num_nodes
        _, rows, columns = self.sums()
        left, right = scales(rows, columns, self.s.stable_norm)
        arrays: Arrays = {"edge.index": edge_index(graph)}
        for name in WEIGHTS:
            arrays[f"edge.{name}"] = np.empty(len(graph.indices), np.float32)
            arrays[f"loop.{name}"] = np.empty(n, np.float32)
        for block in self.problem.blocks():
            fused = self.stable(block)
            values = self.hard(block), self.soft(block), fused, block.scaled(fused, left, right)
            edges = block.places >= 0
            for name, value in zip(WEIGHTS, values, strict=True):
                arrays[f"edge.{name}"][block.places[edges]] = value.cpu().numpy()[edges]
                arrays[f"loop.{name}"][block.rows] = value.cpu().numpy()[~edges]
        return arrays
