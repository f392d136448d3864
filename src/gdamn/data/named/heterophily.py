"""Chameleon (without duplicate pages) and Actor: graphs with many inter-class edges and ten public splits each."""

from __future__ import annotations

from ...graph.graph import Graph
from ..fetch import DataFile, FileSet, Root, ensure
from ..files.node_arrays import MASKS
from ..files.npz import ADJACENCY, ATTRIBUTES
from ..progress import Progress, silent
from .published import consistent, open_published

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
        train, val, test = (mask[:, column] for mask in (archive.masks() or {}).values())
        return Graph.build(
            archive.edges()[0],
            archive.features(),
            archive.arrays["labels"],
            train_mask=train,
            val_mask=val,
            test_mask=test,
            name=name,
            meta={"split": column},
        )
