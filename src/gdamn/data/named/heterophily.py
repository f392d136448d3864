"""Chameleon (without duplicate pages) and Actor: graphs with many inter-class edges and ten public splits each."""

from __future__ import annotations

from ...graph.graph import Graph
from ..fetch import DataFile, FileSet, Root, ensure
from ..files.node_arrays import MASKS
from ..files.npz import ADJACENCY, ATTRIBUTES
from ..progress import Progress, silent
from .published import consistent, open_published, published_graph

SPLITS = 10

_FILES = {"chameleon": "chameleon_filtered.npz", "actor": "actor.npz"}


def load_heterophily(
    name: str, *, data_root: Root = None, seed: int = 0, split: int = 0, progress: Progress = silent
) -> Graph:
    """One of the two data sets with public split number ``split % 10``."""
    file_set = FileSet(title=name, folder="heterophily", files=(DataFile(_FILES[name]),), also=(".",))
    path = ensure(file_set, data_root) / _FILES[name]
    archive = open_published(path, (*ADJACENCY, *ATTRIBUTES, "labels", *MASKS))
    column = split % SPLITS
    with consistent(name, path):
        masks = (mask[:, column] for mask in (archive.masks() or {}).values())
        return published_graph(archive, masks, name=name, meta={"split": column})
