"""Zachary's karate club as PyTorch Geometric bundles it: four communities, one training node each."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..graph import Graph
from .files import Root
from .splits import per_class_split

VAL_PER_CLASS = 2


def load_karate(name: str, *, data_root: Root = None, seed: int = 0, split: int = 0) -> Graph:
    """The club with one-hot features and the bundled training nodes.

    The bundled data have no validation set: two nodes of each community, drawn by the split number, serve as one,
    and the rest is the test set.
    """
    from torch_geometric.datasets import KarateClub

    graph = Graph.from_pyg(KarateClub()[0], name)
    rest = np.where(graph.train_mask, -1, graph.labels)
    val, _, test = per_class_split(rest, VAL_PER_CLASS, 0, split)
    graph = replace(graph, meta={**graph.meta, "split": split})
    note = f"training nodes as bundled; validation: {VAL_PER_CLASS} others per class, drawn"
    return graph.with_masks(graph.train_mask, val, test, split_note=note)
