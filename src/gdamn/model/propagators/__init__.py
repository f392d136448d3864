"""The networks that carry features (q), or labels and features (p), over a weighted graph.

A propagator maps an adjacency and input blocks to class logits: ``forward(adjacency, blocks, key) -> [N, C]``.
With a key it draws its dropout from the key; without one it evaluates. ``initialise(how, generator)`` starts
its weights.
"""

from __future__ import annotations

from .appnp import APPNP
from .build import MAKERS, draws, make_propagator, start_norm
from .common import initialise
from .dagnn import DAGNN
from .gat import GAT
from .gcn import GCN
from .gcnii import GCNII
from .mlp import MLP
from .pagerank import Pagerank, Walk
from .random import RandomPropagation, without_nodes
from .sage import SAGE

__all__ = [
    "APPNP",
    "DAGNN",
    "GAT",
    "GCN",
    "GCNII",
    "MAKERS",
    "MLP",
    "SAGE",
    "Pagerank",
    "RandomPropagation",
    "Walk",
    "draws",
    "initialise",
    "make_propagator",
    "start_norm",
    "without_nodes",
]
