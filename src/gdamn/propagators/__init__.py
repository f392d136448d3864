"""The networks that carry features (q), or labels and features (p), over a weighted graph.

A propagator maps an adjacency and input blocks to class logits: ``forward(adjacency, blocks, key) -> [N, C]``.
With a key it draws its dropout from the key; without one it evaluates. ``initialise(how, generator)`` starts
its weights.
"""

from __future__ import annotations

from .appnp import APPNP
from .common import initialise
from .dagnn import DAGNN
from .gat import GAT
from .gcn import GCN, initialise_gcn
from .gcnii import GCNII
from .mlp import MLP
from .sage import SAGE

__all__ = ["APPNP", "DAGNN", "GAT", "GCN", "GCNII", "MLP", "SAGE", "initialise", "initialise_gcn"]
