"""Building blocks for models of your own (docs/own-model.md).

A layer in PyTorch Geometric's manner:
    GDAMNConv                       forward(x, edge_index, labels)
The parts of the paper, on a Structure such as ``graph.structure`` (A + I with E entries):
    HardAttention, SoftAttention    logits and scores on the entries
    soft_weights, stable, tempered  A^soft, A^stable, Ŷ at a temperature
    structure_prior, structure_kl   the prior of the edges, and the KL to it
    LabelNetwork                    p: both attentions and a propagator; on a Problem (make_problem)
Networks that carry features over an ``Adjacency``, ``forward(adjacency, blocks, key) -> [N, C]``:
    APPNP, DAGNN, GAT, GCN, GCNII, MLP, RandomPropagation, SAGE, make_propagator
    Adjacency, gcn_adjacency, normalized; Block, feature_block, label_block
Operations with their gradients, whose arguments are checked:
    spmm, sddmm, gram, edge_softmax, binary_concrete, bernoulli_kl, unit_rows, sums, matmul, sparse_linear, dropout,
    relu_dropout, softmax_losses; Key names their noise, Pattern the entries

Names are loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .system.lazy import exports

if TYPE_CHECKING:
    from .graph.structure import Structure
    from .kernels import (
        Key,
        Pattern,
        bernoulli_kl,
        binary_concrete,
        dropout,
        edge_softmax,
        gram,
        matmul,
        relu_dropout,
        sddmm,
        softmax_losses,
        sparse_linear,
        spmm,
        sums,
        unit_rows,
    )
    from .model.adjacency import Adjacency, gcn_adjacency, normalized
    from .model.attention import HardAttention, SoftAttention, soft_weights, stable, tempered
    from .model.conv import GDAMNConv
    from .model.inputs import Block, feature_block, label_block
    from .model.label_network import LabelNetwork
    from .model.objectives import structure_kl, structure_prior
    from .model.problem import Problem, make_problem
    from .model.propagators import (
        APPNP,
        DAGNN,
        GAT,
        GCN,
        GCNII,
        MLP,
        SAGE,
        RandomPropagation,
        make_propagator,
    )

__all__ = [
    "APPNP",
    "DAGNN",
    "GAT",
    "GCN",
    "GCNII",
    "MLP",
    "SAGE",
    "Adjacency",
    "Block",
    "GDAMNConv",
    "HardAttention",
    "Key",
    "LabelNetwork",
    "Pattern",
    "Problem",
    "RandomPropagation",
    "SoftAttention",
    "Structure",
    "bernoulli_kl",
    "binary_concrete",
    "dropout",
    "edge_softmax",
    "feature_block",
    "gcn_adjacency",
    "gram",
    "label_block",
    "make_problem",
    "make_propagator",
    "matmul",
    "normalized",
    "relu_dropout",
    "sddmm",
    "soft_weights",
    "softmax_losses",
    "sparse_linear",
    "spmm",
    "stable",
    "structure_kl",
    "structure_prior",
    "sums",
    "tempered",
    "unit_rows",
]

_KERNELS = (
    *("Key", "Pattern", "bernoulli_kl", "binary_concrete", "dropout", "edge_softmax", "gram", "matmul", "relu_dropout"),
    *("sddmm", "softmax_losses", "sparse_linear", "spmm", "sums", "unit_rows"),
)
_PROPAGATORS = ("APPNP", "DAGNN", "GAT", "GCN", "GCNII", "MLP", "SAGE", "RandomPropagation", "make_propagator")

__getattr__, __dir__ = exports(
    __name__,
    {
        **dict.fromkeys(_KERNELS, "..kernels"),
        **dict.fromkeys(_PROPAGATORS, "..model.propagators"),
        **dict.fromkeys(("HardAttention", "SoftAttention", "soft_weights", "stable", "tempered"), "..model.attention"),
        **dict.fromkeys(("Adjacency", "gcn_adjacency", "normalized"), "..model.adjacency"),
        **dict.fromkeys(("Block", "feature_block", "label_block"), "..model.inputs"),
        **dict.fromkeys(("structure_kl", "structure_prior"), "..model.objectives"),
        **dict.fromkeys(("Problem", "make_problem"), "..model.problem"),
        "GDAMNConv": "..model.conv",
        "LabelNetwork": "..model.label_network",
        "Structure": "..graph.structure",
    },
)
