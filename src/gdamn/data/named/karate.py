"""Zachary's karate club with the four communities and training nodes that PyTorch Geometric's data set has.

The club is written here because importing PyTorch Geometric for 78 edges takes seconds; a test compares the two.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...graph.graph import Graph
from ..fetch import Root
from ..progress import Progress, silent
from ..splits import per_class_split

VAL_PER_CLASS = 2

FRIENDS = {
    0: (1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 17, 19, 21, 31),
    1: (2, 3, 7, 13, 17, 19, 21, 30),
    2: (3, 7, 8, 9, 13, 27, 28, 32),
    3: (7, 12, 13),
    4: (6, 10),
    5: (6, 10, 16),
    6: (16,),
    8: (30, 32, 33),
    9: (33,),
    13: (33,),
    14: (32, 33),
    15: (32, 33),
    18: (32, 33),
    19: (33,),
    20: (32, 33),
    22: (32, 33),
    23: (25, 27, 29, 32, 33),
    24: (25, 27, 31),
    25: (31,),
    26: (29, 33),
    27: (33,),
    28: (31, 33),
    29: (32, 33),
    30: (32, 33),
    31: (32, 33),
    32: (33,),
}
"""Who met whom outside of the club; each pair once, under its lower number."""

COMMUNITIES = "1111333101311100310101002200200200"
"""One digit per member."""

LABELLED = (0, 4, 8, 24)
"""The training node of each community."""


def load_karate(
    name: str, *, data_root: Root = None, seed: int = 0, split: int = 0, progress: Progress = silent
) -> Graph:
    """The club with one-hot features and these training nodes.

    There is no public validation set: two nodes of each community, drawn by the split number, serve as one, and the
    rest is the test set.
    """
    pairs = np.array([(a, b) for a, others in FRIENDS.items() for b in others]).T
    labels = np.array([int(digit) for digit in COMMUNITIES])
    train = np.isin(np.arange(len(labels)), LABELLED)
    graph = Graph.build(pairs, np.eye(len(labels), dtype=np.float32), labels, name=name, train_mask=train)
    rest = np.where(graph.train_mask, -1, graph.labels)
    val, _, test = per_class_split(rest, VAL_PER_CLASS, 0, split)
    graph = replace(graph, meta={**graph.meta, "split": split})
    note = f"training nodes as bundled; validation: {VAL_PER_CLASS} others per class, drawn"
    return graph.with_masks(graph.train_mask, val, test, split_note=note)
