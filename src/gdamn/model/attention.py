"""The decoupled attention: hard on labels, soft on features, and their stable fusion.

==========  =======================================================================  ======================
paper        equation                                                                 here
==========  =======================================================================  ======================
Hard_Att     A ⊙ sigmoid(Ŷ Q Ŷᵀ), on the edges only                                   HardAttention
A^hard       a binary sample of it, by the Gumbel trick                               HardAttention.sample
Soft_Att     h_i = s ⊙ ReLU(W x_i), δ_ij = -cos(h_i, h_j),                            SoftAttention
             A^soft_ij = A^hard_ij exp δ_ij / Σ_j A^hard_ij exp δ_ij
A^stable     Hard_Att(A, Ŷ) ⊙ Soft_Att(A, X)                                          stable
==========  =======================================================================  ======================

Ŷ of the hard attention and of its prior is :func:`tempered`. Self-loops, and edges that a person confirmed, have hard
attention 1 and are never sampled (docs/method.md, docs/review.md).
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ..errors import GraphError
from ..graph.structure import Structure
from ..kernels import Key, binary_concrete, edge_softmax, gram, matmul, sddmm, unit_rows
from ..kernels.checks import check_shape
from .inputs import Block


def tempered(labels: Tensor, temperature: float) -> Tensor:
    """Ŷ as the hard attention and its prior read it: ŷ_ic^{1/T} / Σ_k ŷ_ik^{1/T}, [N, C]; a one-hot row stays one-hot.

    p reads and predicts Ŷ as it is. With T = 1 (the paper) both are the same tensor.
    """
    if temperature == 1:
        return labels
    powers = (labels / labels.amax(1, keepdim=True).clamp_min(1e-30)).pow(1 / temperature)
    return powers / powers.sum(1, keepdim=True).clamp_min(1e-30)


class HardAttention(nn.Module):
    """Which edges exist, from the label distributions of their ends: the encoder g_φ.

    Args:
        classes: C.
        temperature: of the binary concrete sample; small is close to 0 and 1 in its gradient, too.
        symmetric: read (Q + Qᵀ) / 2, so that both directions of an edge have one logit.
    """

    def __init__(self, classes: int, temperature: float = 0.5, symmetric: bool = False) -> None:
        super().__init__()
        self.Q = nn.Parameter(torch.eye(classes))
        self.temperature = temperature
        self.symmetric = symmetric

    def logits(self, structure: Structure, labels: Tensor) -> Tensor:
        """ŷ_i Q ŷ_j on every entry: labels [N, C] -> [E]."""
        return sddmm(structure.pattern, self.turned(labels), labels)

    def turned(self, labels: Tensor) -> Tensor:
        """Ŷ Q [N, C], so that the logit of an edge is the product of its row i with ŷ_j."""
        check_shape("HardAttention", "labels", labels, -1, len(self.Q))
        return matmul(labels, (self.Q + self.Q.T) / 2 if self.symmetric else self.Q)

    def sample(self, structure: Structure, logits: Tensor, key: Key) -> Tensor:
        """A^hard: [E] of 0 and 1, one noise per undirected pair, straight-through gradient to the logits."""
        pair = structure.tensor("pair", logits.device)
        undecided = structure.tensor("open", logits.device)
        return binary_concrete(logits, pair, undecided, self.temperature, key)

    @staticmethod
    def probabilities(structure: Structure, logits: Tensor) -> Tensor:
        """Hard_Att(A, Ŷ) on every entry of a structure: [E]."""
        return keep_probabilities(logits, structure.tensor("certain", logits.device))


class SoftAttention(nn.Module):
    """How much each edge that exists counts: more where the features differ.

    Args:
        features: F.
        projection: m, the size of h.
        start: start W from torch's own generator; else the caller does it.
    """

    def __init__(self, features: int, projection: int = 64, start: bool = True) -> None:
        super().__init__()
        self.W_proj = nn.Parameter(torch.empty(features, projection))
        self.s = nn.Parameter(torch.ones(projection))
        if start:
            self.reset_parameters()

    def reset_parameters(self) -> None:
        """Start anew: W uniform within ±√(6 / (F + m)), s all 1."""
        nn.init.xavier_uniform_(self.W_proj)
        nn.init.ones_(self.s)

    def scores(self, structure: Structure, x: Block) -> Tensor:
        """δ_ij = -cos(h_i, h_j) on every entry: [E]. A node whose h is 0 has cosine 0 with all."""
        return gram(structure.pattern, self.units(x), -1.0)

    def units(self, x: Block) -> Tensor:
        """h_i / |h_i| with h_i = s ⊙ ReLU(W x_i): [N, m]."""
        if x.width != len(self.W_proj):
            raise GraphError(f"SoftAttention: x must have {len(self.W_proj)} columns; got {x.width}.")
        return unit_rows(x.linear(self.W_proj, None), self.s)


def keep_probabilities(logits: Tensor, loops: Tensor) -> Tensor:
    """sigmoid of the logits, 1 on self-loops: [E].

    Args:
        loops: positions of the self-loops, or a mask [E].
    """
    hard = torch.sigmoid(logits)
    hard = hard.clone() if hard.requires_grad else hard  # the gradient of the sigmoid needs what it gave
    hard[loops] = 1.0
    return hard


def soft_weights(structure: Structure, scores: Tensor, hard: Tensor) -> Tensor:
    """A^soft: softmax of the scores over each node's entries, weighted by the structure ``hard``: [E]."""
    return edge_softmax(structure.pattern, scores, hard)


def stable(hard: Tensor, soft: Tensor, existing: Tensor, reweight: str) -> Tensor:
    """A^stable = Hard_Att(A, Ŷ) ⊙ Soft_Att(A, X): [E]; with ``reweight`` = hard, Hard_Att(A, Ŷ) ⊙ A."""
    check_shape("stable", "soft", soft, *hard.shape)
    check_shape("stable", "existing", existing, *hard.shape)
    return hard * (soft if reweight == "stable" else existing)
