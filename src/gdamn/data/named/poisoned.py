"""Cora's largest component under metattack: an adversary has changed a share of its edges (Jin et al., KDD 2020)."""

from __future__ import annotations

from ...errors import ConfigError
from ...graph.graph import Graph
from ..fetch import DataFile, FileSet, Root, ensure
from ..files.node_arrays import MASKS
from ..files.npz import ADJACENCY, ATTRIBUTES
from ..progress import Progress, silent
from .published import consistent, open_published, published_graph

RATES = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25)
"""Changed edges per edge of the clean graph; nodes, features, labels and split are the same at each."""


def load_poisoned(
    name: str, *, data_root: Root = None, seed: int = 0, split: int = 0, progress: Progress = silent, rate: float = 0.0
) -> Graph:
    """The graph with this share of its edges changed; its one split has 10 % training and 10 % validation nodes.

    Args:
        name: ``cora-meta``.
        data_root: where to look first.
        seed, split, progress: change nothing.
        rate: one of :data:`RATES`; 0 is the clean graph.
    """
    if rate not in RATES:
        raise ConfigError(f"The rate of {name} is one of {', '.join(f'{r:g}' for r in RATES)}, not {rate!r}.")
    file = f"{name}-{rate:.2f}.npz"
    path = ensure(FileSet(title=name, folder="poisoned", files=(DataFile(file),), also=(".",)), data_root) / file
    archive = open_published(path, (*ADJACENCY, *ATTRIBUTES, "labels", *MASKS))
    with consistent(name, path):
        masks = (mask[:, 0] for mask in (archive.masks() or {}).values())
        return published_graph(archive, masks, name=name, meta={"split": "public", "rate": float(rate)})
