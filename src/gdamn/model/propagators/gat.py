"""GAT: attention over neighbours (Veličković et al., ICLR 2018)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ...kernels import Key, dropout, edge_softmax, sddmm, spmm
from ..adjacency import Adjacency
from ..inputs import Block
from .common import child, initialise, new_biases, new_weights, side_by_side

SLOPE = 0.2
"""Of the LeakyReLU on attention scores."""


class GAT(nn.Module):
    """Per head: g_j = W h_j, e_ij = LeakyReLU(a·g_i + b·g_j), α_i = softmax_j e_ij, h'_i = Σ_j dr(α_ij) dr(g_j).

    Hidden layers put their heads side by side and apply ELU; the last layer averages its heads. The softmax runs
    over the entries of the adjacency (neighbours and the node itself), weighted by its values: all 1 is the
    publication's. ``adjacency.rate`` is the dropout of α. Inputs of layers have one dropout for all heads.

    A score is [a·g_i, 1] · [1, b·g_j], so one sddmm of width 2 makes the [E] scores of a head, with its gradient;
    the heads take turns, so that no array of edges times heads exists.

    Args:
        widths: columns of each input block.
        hidden: units of each head.
        heads, out_heads: heads of the hidden layers and of the last one.
        rate: dropout of hidden layers and of g.
    """

    def __init__(
        self, widths: Sequence[int], hidden: int, classes: int, layers: int, rate: float, heads: int, out_heads: int
    ) -> None:
        super().__init__()
        self.heads = [heads] * (layers - 1) + [out_heads]
        sizes = [sum(widths)] + [heads * hidden] * (layers - 1) + [out_heads * classes]
        self.first = new_weights((w, sizes[1]) for w in widths)
        self.later = new_weights(pairwise(sizes[1:]))
        per_head = [(k, size // k) for k, size in zip(self.heads, sizes[1:], strict=True)]
        self.target = new_weights(per_head)  # a, of the node that collects: [heads, units]
        self.source = new_weights(per_head)  # b, of its neighbour
        self.bias = new_biases([*sizes[1:-1], classes])
        self.rate = rate

    def initialise(self, how: str, generator: torch.Generator) -> None:
        """Start all weights; biases stay 0."""
        initialise(list(self.first), how, generator)
        for weight in self.later:
            initialise([weight], how, generator)
        for vectors in (*self.target, *self.source):
            for vector in vectors.detach():
                initialise([vector[:, None]], how, generator)

    def forward(self, adjacency: Adjacency, blocks: Sequence[Block], key: Key | None) -> Tensor:
        """Logits [N, C]."""
        g = side_by_side(blocks, self.first, key)
        for layer in range(len(self.bias)):
            g = self.layer(adjacency, g, layer, child(key, layer))
        return g

    @torch.no_grad()
    def attention_weights(self, adjacency: Adjacency, blocks: Sequence[Block]) -> list[Tensor]:
        """α of each layer [E], the mean over its heads, without dropout; the entries of a row sum to 1."""
        g = side_by_side(blocks, self.first, None)
        means = []
        for layer in range(len(self.bias)):
            means.append(torch.stack(list(self.alphas(adjacency, g, layer))).mean(0))
            g = self.layer(adjacency, g, layer, None)
        return means

    def layer(self, adjacency: Adjacency, g: Tensor, layer: int, key: Key | None) -> Tensor:
        """From a layer's W h [N, heads · units] to that of the next one, or to the logits."""
        heads, bias = self.attend(adjacency, g, layer, key), self.bias[layer]
        if layer == len(self.bias) - 1:
            logits: Tensor = torch.stack(heads).mean(0) + bias
            return logits
        following: Tensor = dropout(F.elu(torch.cat(heads, 1) + bias), self.rate, key) @ self.later[layer]
        return following

    def attend(self, adjacency: Adjacency, g: Tensor, layer: int, key: Key | None) -> list[Tensor]:
        """Each head's aggregate [N, units] of g [N, heads · units]."""
        shape = len(g), self.heads[layer], -1
        messages = dropout(g, self.rate, child(key, "messages")).view(shape).transpose(0, 1).contiguous()
        aggregates = []
        for head, (alpha, message) in enumerate(zip(self.alphas(adjacency, g, layer), messages, strict=True)):
            dropped = dropout(alpha, adjacency.rate, child(child(key, "edges"), head))
            aggregates.append(spmm(adjacency.structure.pattern, dropped, message))
        return aggregates

    def alphas(self, adjacency: Adjacency, g: Tensor, layer: int) -> Iterator[Tensor]:
        """α [E] of one head after the other."""
        parts = g.view(len(g), self.heads[layer], -1)
        target, source = (parts * self.target[layer]).sum(2), (parts * self.source[layer]).sum(2)  # [N, heads]
        pattern, ones = adjacency.structure.pattern, torch.ones_like(target[:, 0])
        for head in range(self.heads[layer]):
            scores = sddmm(pattern, torch.stack([target[:, head], ones], 1), torch.stack([ones, source[:, head]], 1))
            yield edge_softmax(pattern, F.leaky_relu(scores, SLOPE), adjacency.values)
