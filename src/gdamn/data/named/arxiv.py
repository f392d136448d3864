"""Citations between arXiv papers: ogbn-arxiv in OGB's own layout, and a newer graph like it."""

from __future__ import annotations

import gzip
import warnings
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import ConfigError, DataError, in_short
from ...graph.graph import Graph
from ...system.reading import check_file
from ..fetch import DataFile, FileSet, Root, ensure, locate, missing
from ..files.node_arrays import MASKS
from ..files.npz import ADJACENCY, ATTRIBUTES
from ..progress import Progress, silent
from .published import consistent, open_published, published_graph

OGB_URL = "https://snap.stanford.edu/ogb/data/nodeproppred/arxiv.zip"
OGB_LIMIT = 1 << 30
"""No file of ogbn-arxiv unpacks to more than this; one that does is refused."""

NEWER = "test_mask_2021plus"
"""The array that marks every paper from 2021 on."""

_OGB_FILES = (
    "raw/edge.csv.gz",
    "raw/node-feat.csv.gz",
    "raw/node-label.csv.gz",
    "split/time/train.csv.gz",
    "split/time/valid.csv.gz",
    "split/time/test.csv.gz",
)

_OGB = FileSet(
    title="ogbn-arxiv",
    folder="ogbn_arxiv",
    files=tuple(DataFile(name) for name in _OGB_FILES),
    also=("ogb/ogbn_arxiv", "."),
)


def load_ogbn_arxiv(
    name: str, *, data_root: Root = None, seed: int = 0, split: int = 0, progress: Progress = silent
) -> Graph:
    """ogbn-arxiv, made undirected, with its official split by year; seed and split change nothing."""
    folder = locate(_OGB, data_root)
    if folder is None:
        raise missing(
            _OGB, data_root, f"they aren't downloaded, since nobody has pinned them; unpack {OGB_URL} yourself"
        )
    table = {file: _read_csv(folder / file, float if "feat" in file else int) for file in _OGB_FILES}
    pairs, features, labels, train, val, test = table.values()
    with consistent(name, folder):
        return Graph.build(
            pairs.T,
            features,
            labels[:, 0],
            train_mask=train[:, 0],
            val_mask=val[:, 0],
            test_mask=test[:, 0],
            name=name,
            meta={"split": "official"},
        )


def _read_csv(path: Path, kind: type) -> NDArray[Any]:
    """[rows, columns] of a packed table without a header."""
    check_file(path, empty=True)
    try:
        with gzip.open(path) as packed:
            size = 0
            while block := packed.read(1 << 20):  # before any of it is kept
                size += len(block)
                if size > OGB_LIMIT:
                    raise DataError(f"The file {path} would unpack to more than {OGB_LIMIT:,} bytes; it isn't read.")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an empty table has no first column, which Graph.build refuses
            return np.loadtxt(path, dtype=np.int64 if kind is int else np.float32, delimiter=",", ndmin=2)
    except (OSError, zlib.error, ValueError, EOFError) as error:
        raise DataError(f"The file {path} can't be read as a table of numbers: {in_short(error)}.") from None


def load_arxiv_2023(
    name: str,
    *,
    data_root: Root = None,
    seed: int = 0,
    split: int = 0,
    progress: Progress = silent,
    test: str = "2021plus",
) -> Graph:
    """Citations of newer papers with ogbn-arxiv's class numbers, of which one (12) has no node.

    Args:
        name: ``arxiv-2023``.
        data_root: where to look first.
        seed, split, progress: change nothing.
        test: ``2021plus`` tests on every paper from 2021 on that is neither in training nor in validation: more
            papers and so a steadier accuracy than the file's own test set, which is ``official``.
    """
    if test not in ("2021plus", "official"):
        raise ConfigError(f"The test set of {name} is '2021plus' or 'official', not {test!r}.")
    file_set = FileSet(title=name, folder="arxiv", files=(DataFile("arxiv_2023.npz"),), also=(".",))
    path = ensure(file_set, data_root) / file_set.files[0].name
    archive = open_published(path, (*ADJACENCY, *ATTRIBUTES, "labels", *MASKS, NEWER))
    with consistent(name, path):
        masks = archive.masks("test_mask" if test == "official" else NEWER) or {}
        train, val, tested = (mask[:, 0] for mask in masks.values())
        tested = tested if test == "official" else tested & ~train & ~val
        return published_graph(archive, (train, val, tested), name=name, meta={"split": "by year", "test": test})
