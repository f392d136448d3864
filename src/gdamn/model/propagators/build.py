"""A propagator by its name, with the sizes that the settings give."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ...kernels import Key
from ..adjacency import Adjacency
from ..inputs import Block
from ..settings import Settings
from .appnp import APPNP
from .dagnn import DAGNN
from .gat import GAT
from .gcn import GCN
from .gcnii import GCNII
from .pagerank import Pagerank, Walk
from .random import RandomPropagation
from .sage import SAGE

Maker = Callable[[Sequence[int], int, Settings], Any]

MAKERS: dict[str, Maker] = {
    "gcn": lambda w, c, s: GCN(w, s.hidden, c, s.layers, s.dropout_hidden, s.batch_norm),
    "gat": lambda w, c, s: GAT(w, s.hidden, c, s.layers, s.dropout_hidden, s.heads, 1),
    "sage": lambda w, c, s: SAGE(w, s.hidden, c, s.layers, s.dropout_hidden, s.batch_norm),
    "appnp": lambda w, c, s: APPNP(w, s.hidden, c, s.layers, s.dropout_hidden, s.steps, s.teleport, s.batch_norm),
    "gcnii": lambda w, c, s: GCNII(w, s.hidden, c, s.steps, s.dropout_hidden, s.teleport),
    "dagnn": lambda w, c, s: DAGNN(w, s.hidden, c, s.layers, s.dropout_hidden, s.steps, s.batch_norm),
    "random": lambda w, c, s: RandomPropagation(
        w, s.hidden, c, s.layers, s.dropout_hidden, s.steps, s.drop_node, s.batch_norm
    ),
    "pagerank": lambda w, c, s: Pagerank(
        w[0],
        s.hidden,
        c,
        s.layers,
        s.dropout_hidden,
        Walk(s.steps, s.teleport, s.top_k, s.push_threshold, s.drop_node),
        s.batch_norm,
    ),
}


def start_norm(propagator: str) -> str:
    """How the graph of pre-training is normalised for a propagator (:func:`..adjacency.gcn_adjacency`)."""
    return "row" if propagator == "pagerank" else "sym"


def make_propagator(
    name: str, widths: Sequence[int], classes: int, s: Settings, generator: torch.Generator
) -> nn.Module:
    """A fresh propagator with its weights started.

    Args:
        name: one of ``MAKERS``.
        widths: columns of each input block.
    """
    network: nn.Module = MAKERS[name](widths, classes, s)
    network.initialise(s.init, generator)  # type: ignore[operator]
    return network


def draws(network: nn.Module, adjacency: Adjacency, blocks: Sequence[Block], key: Key, count: int) -> list[Tensor]:
    """Logits [N, C] of several passes with independent noise."""
    keys = [key.fold(i) for i in range(count)]
    if isinstance(network, RandomPropagation):
        return network.draws(adjacency, blocks, keys)
    return [network(adjacency, blocks, k) for k in keys]
