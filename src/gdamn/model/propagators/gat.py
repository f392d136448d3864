"""GAT: attention over neighbours (Veličković et al., ICLR 2018)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ...kernels import Key, Pattern, attend_heads, dropout, elu_dropout, head_scores, head_weights, matmul
from ..adjacency import Adjacency
from ..inputs import Block
from .common import child, initialise, new_biases, new_weights, side_by_side

Wanted = list[NDArray[np.bool_]]
"""Per layer which nodes' results are read: [N] each."""


def wanted_nodes(pattern: Pattern, nodes: NDArray[np.int64], layers: int) -> Wanted:
    """What each layer must compute for these nodes: they in the last, before it their neighbours too, and so on."""
    found = [np.zeros(pattern.shape[0], np.bool_)]
    found[0][nodes] = True
    for _ in range(layers - 1):
        before = np.zeros(pattern.shape[0], np.bool_)
        before[pattern.indices[found[0][pattern.rows]]] = True
        found.insert(0, before)
    return found


class GAT(nn.Module):
    """Per head: g_j = W h_j, e_ij = LeakyReLU(a·g_i + b·g_j), α_i = softmax_j e_ij, h'_i = Σ_j dr(α_ij) dr(g_j).

    Hidden layers put their heads side by side and apply ELU; the last layer averages its heads. The softmax runs
    over the entries of the adjacency (neighbours and the node itself), weighted by its values: all 1 is the
    publication's. ``adjacency.rate`` is the dropout of α. Inputs of layers have one dropout for all heads.

    One loop over the edges serves all heads, and no array of edges times heads exists (:func:`attend_heads`).

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

    def forward(
        self, adjacency: Adjacency, blocks: Sequence[Block], key: Key | None, wanted: Wanted | None = None
    ) -> Tensor:
        """Logits [N, C]; where the nodes of each layer that are ``wanted`` are given, those of the last alone."""
        g = side_by_side(blocks, self.first, key)
        for layer in range(len(self.bias)):
            g = self.layer(adjacency, g, layer, child(key, layer), None if wanted is None else wanted[layer])
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

    def layer(
        self, adjacency: Adjacency, g: Tensor, layer: int, key: Key | None, wanted: NDArray[np.bool_] | None = None
    ) -> Tensor:
        """From a layer's W h [N, heads · units] to that of the next one, or to the logits."""
        heads, bias = self.attend(adjacency, g, layer, key, wanted), self.bias[layer]
        if layer == len(self.bias) - 1:
            logits: Tensor = heads.view(len(g), self.heads[layer], -1).mean(1) + bias
            return logits
        return matmul(elu_dropout(heads + bias, self.rate, key), self.later[layer])

    def attend(
        self, adjacency: Adjacency, g: Tensor, layer: int, key: Key | None, wanted: NDArray[np.bool_] | None = None
    ) -> Tensor:
        """The heads' aggregates side by side [N, heads · units], of g [N, heads · units]."""
        messages = dropout(g, self.rate, child(key, "messages"))
        edges = child(key, "edges")
        keys = None if edges is None else [edges.fold(head) for head in range(self.heads[layer])]
        halves = head_scores(g, self.target[layer], self.source[layer])
        pattern, values, rate = adjacency.structure.pattern, adjacency.values, adjacency.rate
        return attend_heads(pattern, halves, messages, values, rate, keys, wanted=wanted)[0]

    def alphas(self, adjacency: Adjacency, g: Tensor, layer: int) -> Iterator[Tensor]:
        """α [E] of one head after the other."""
        halves = head_scores(g, self.target[layer], self.source[layer])
        return head_weights(adjacency.structure.pattern, halves, adjacency.values)
