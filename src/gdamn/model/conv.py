"""GDAMNConv: both attentions and a propagation as one layer, called as PyTorch Geometric calls its own."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from ..errors import GraphError
from ..graph.graph import Graph
from ..graph.structure import Structure
from ..kernels import Key, matmul, spmm
from ..kernels.checks import check_shape
from .attention import HardAttention, SoftAttention, soft_weights
from .inputs import label_block
from .objectives import structure_kl, structure_prior


class GDAMNConv(nn.Module):
    """x'_i = Σ_j α_ij W x_j + b, α_ij = a_ij exp δ_ij / Σ_k a_ik exp δ_ik over a node's sources and itself.

    δ_ij = -cos(h_i, h_j) is the soft attention on features. a_ij is the hard attention on labels times the edge's
    weight: in training a sample of σ(ŷ_i Q ŷ_j) with a straight-through gradient (torch.manual_seed fixes it), in
    evaluation the probability itself. Self-loops are added where they are missing and never cut.

    >>> conv = GDAMNConv(16, 32, num_classes=7)
    >>> out = conv(x, edge_index, labels)  # [N, 16], [2, E], [N, 7] -> [N, 32]

    Args:
        in_channels, out_channels: F and the columns of x'.
        num_classes: C, the columns of the labels.
        projection: m, the size of h.
        temperature: of the binary concrete sample.
        symmetric: one logit for both directions of an edge.
        dropout: of α in training.
        bias: whether there is a b.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        num_classes: int,
        *,
        projection: int = 64,
        temperature: float = 0.5,
        symmetric: bool = False,
        dropout: float = 0.0,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.in_channels, self.out_channels, self.num_classes = in_channels, out_channels, num_classes
        self.hard = HardAttention(num_classes, temperature, symmetric)
        self.soft = SoftAttention(in_channels, projection)
        self.weight = nn.Parameter(torch.empty(in_channels, out_channels))
        self.bias = nn.Parameter(torch.empty(out_channels)) if bias else None
        self.dropout = dropout
        self._latest: tuple[Any, Structure] | None = None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Start anew: Q = I, b = 0, W and the projection uniform (Xavier)."""
        nn.init.eye_(self.hard.Q)
        self.soft.reset_parameters()
        nn.init.xavier_uniform_(self.weight)
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor,
        labels: Tensor,
        edge_weight: Tensor | None = None,
        return_attention_weights: bool = False,
    ) -> Any:
        """x' [N, out_channels]; with ``return_attention_weights`` also (edge_index [2, E'], α [E']) with all loops.

        Args:
            x: [N, F].
            edge_index: [2, E] source, target. An edge that is listed twice counts once.
            labels: [N, C] a distribution per node: one-hot where the label is known, predictions elsewhere.
            edge_weight: [E] positive; constant, so it gets no gradient.
        """
        check_shape("GDAMNConv", "x", x, -1, self.in_channels)
        check_shape("GDAMNConv", "labels", labels, len(x), self.num_classes)
        structure = self.structure(edge_index, len(x), edge_weight)
        key = Key(int(torch.randint(2**62, ()).item())) if self.training else None
        alpha = self.attention(structure, x, labels, key)
        rows = matmul(x, self.weight)
        edges = None if key is None else key.fold("edges")
        out = spmm(structure.pattern, alpha, rows, self.bias, self.dropout, edges)
        if not return_attention_weights:
            return out
        source, target = (structure.pattern.tensor(name, x.device) for name in ("indices", "rows"))
        return out, (torch.stack([source, target]), alpha)

    def attention(self, structure: Structure, x: Tensor, labels: Tensor, key: Key | None) -> Tensor:
        """α on every entry of A + I: [E']; over a sample of the hard attention where there is a key."""
        logits = self.hard.logits(structure, labels)
        hard = self.hard
        exists = hard.probabilities(structure, logits) if key is None else hard.sample(structure, logits, key)
        existing = structure.tensor("weights", x.device).to(x.dtype)
        return soft_weights(structure, self.soft.scores(structure, label_block(x, 0.0)), existing * exists)

    def kl(self, edge_index: Tensor, labels: Tensor, clamp: float = 1e-4) -> Tensor:
        """KL of the hard attention to the prior cos(ŷ_i, ŷ_j), the mean over the edges: a part of the loss.

        Args:
            edge_index: [2, E], as for :meth:`forward`.
            labels: [N, C].
            clamp: how far the prior is kept from 0 and 1.
        """
        structure = self.structure(edge_index, len(labels), None)
        prior = structure_prior(structure, labels.detach(), clamp)
        edges = structure.pattern.num_entries - len(labels)
        return structure_kl(structure, self.hard.logits(structure, labels), prior, edges)

    def structure(self, edge_index: Tensor, num_nodes: int, edge_weight: Tensor | None) -> Structure:
        """A + I of the edges; that of the latest edges is kept, so that a full batch sorts them once."""
        if not isinstance(edge_index, Tensor) or edge_index.layout is not torch.strided:
            raise GraphError("GDAMNConv takes an edge_index of shape [2, edges], not a sparse matrix.")
        given = edge_index, edge_weight
        if self._latest is not None and self._is_latest(given, num_nodes):
            return self._latest[1]
        weights = None if edge_weight is None else edge_weight.detach()
        structure = Graph.build(edge_index, None, num_nodes=num_nodes, weights=weights, directed=True).structure
        versions = tuple(None if each is None else each._version for each in given)
        self._latest = (given, versions, num_nodes), structure
        return structure

    def _is_latest(self, given: tuple[Tensor, Tensor | None], num_nodes: int) -> bool:
        """Whether these are the tensors of the structure that is kept, and nobody has written into them."""
        assert self._latest is not None
        known, versions, nodes = self._latest[0]
        same = all(a is b for a, b in zip(known, given, strict=True)) and nodes == num_nodes
        return same and versions == tuple(None if each is None else each._version for each in given)

    def __getstate__(self) -> dict[str, Any]:
        """Without the structure that is kept."""
        return {**self.__dict__, "_latest": None}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, num_classes={self.num_classes})"
