"""Chameleon (without duplicate pages) and Actor: graphs with many inter-class edges and ten public splits each."""

from __future__ import annotations

from ...graph.graph import Graph
from ..fetch import DataFile, FileSet, Root, ensure
from ..files.npz import ADJACENCY, ATTRIBUTES, csr, edges, fitting, read_npz

SPLITS = 10

_FILES = {"chameleon": "chameleon_filtered.npz", "actor": "actor.npz"}


def load_heterophily(name: str, *, data_root: Root = None, seed: int = 0, split: int = 0) -> Graph:
    """One of the two data sets with public split number ``split % 10``."""
    wanted = FileSet(title=name, folder="heterophily", files=(DataFile(_FILES[name]),), also=(".",))
    path = ensure(wanted, data_root) / _FILES[name]
    arrays = read_npz(path, (*ADJACENCY, *ATTRIBUTES, "labels", "train_mask", "val_mask", "test_mask"))
    column = split % SPLITS
    with fitting(name, path):
        return Graph.build(
            edges(arrays, path),
            csr(arrays, "attr", path),
            arrays["labels"],
            train_mask=arrays["train_mask"][:, column],
            val_mask=arrays["val_mask"][:, column],
            test_mask=arrays["test_mask"][:, column],
            name=name,
            meta={"split": column},
        )
