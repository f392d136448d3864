"""Coauthor CS and Physics, which have no split of their own: 20 training and 30 validation nodes per class."""

from __future__ import annotations

import numpy as np

from ...graph.graph import Graph
from ..fetch import DataFile, FileSet, Root, ensure
from ..files.npz import ADJACENCY, ATTRIBUTES
from ..progress import Progress, silent
from ..splits import per_class_split
from .published import consistent, open_published, published_graph

BASE_URL = "https://raw.githubusercontent.com/shchur/gnn-benchmark/master/data/npz/"

TRAIN, VAL = 20, 30

_PINNED = {
    "coauthor-cs": (
        "CS",
        DataFile("ms_academic_cs.npz", "933c745734e78908c7eb77172a673fee0503f30e26e5a99b36814d88534c42e3", 12835626),
    ),
    "coauthor-physics": (
        "Physics",
        DataFile("ms_academic_phy.npz", "e4d68468eba5fb8f6b280ffd406bd53e6e4295ba1dd2967d6fe99b978e4b3375", 16374005),
    ),
}


def file_set(name: str) -> FileSet:
    """The one file of a data set, in the folders that PyTorch Geometric uses."""
    folder, file = _PINNED[name]
    also = (f"{folder}/raw", "raw", ".")
    return FileSet(title=name, folder=f"Coauthor/{folder}/raw", files=(file,), also=also, base_url=BASE_URL)


def load_coauthor(
    name: str, *, data_root: Root = None, seed: int = 0, split: int = 0, progress: Progress = silent
) -> Graph:
    """One of the two data sets; features are 1 where a key word occurs at all, as is customary."""
    files = file_set(name)
    path = ensure(files, data_root, progress) / files.files[0].name
    archive = open_published(path, (*ADJACENCY, *ATTRIBUTES, "labels"))
    with consistent(name, path):
        features = archive.features()
        features.data = (features.data > 0).astype(np.float32)
        masks = per_class_split(archive.arrays["labels"], TRAIN, VAL, split)
        return published_graph(archive, masks, name=name, meta={"split": split}, features=features)
