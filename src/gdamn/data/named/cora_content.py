"""Cora from the files of its first publication, in their order of nodes: the split that DGL 0.4 had.

DGL 0.4 read ``cora.content`` and ``cora.cites`` and split by row: training nodes 0 to 139, as many of a class as there
happen to be, validation nodes 200 to 499, test nodes 500 to 1499. Papers, citations and words are those of the public
split's files (Planetoid); the nodes of the three sets are others.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.sparse as sp

from ...errors import DataError
from ...graph.graph import Graph
from ...system.reading import check_file
from ..fetch import DataFile, FileSet, Root, ensure
from .published import consistent

FILES = FileSet(
    title="cora with split=dgl",
    folder="cora",
    files=(DataFile("cora.content"), DataFile("cora.cites")),
    also=("Cora", "Cora/raw", "Planetoid/Cora/raw", "raw", "."),
)

TRAIN, VAL, TEST = range(140), range(200, 500), range(500, 1500)
"""Rows of ``cora.content``."""


def load_cora_content(data_root: Root = None) -> Graph:
    """The graph with the nodes in the order of ``cora.content``, which has an id, words (0 or 1) and a class a line."""
    folder = ensure(FILES, data_root)
    lines = [line.split() for line in _text(folder / "cora.content").splitlines() if line.strip()]
    with consistent(FILES.title, folder):
        ids, names = [line[0] for line in lines], sorted({line[-1] for line in lines})
        number = {paper: at for at, paper in enumerate(ids)}
        if len(number) < len(ids):
            raise ValueError("a paper has two lines in cora.content")
        features = sp.csr_array(np.array([line[1:-1] for line in lines], np.float32))
        cited = [line.split() for line in _text(folder / "cora.cites").splitlines() if line.strip()]
        return Graph.build(
            np.array([[number[paper] for paper in pair] for pair in cited], np.int64).T,
            features,
            np.array([names.index(line[-1]) for line in lines]),
            train_mask=np.array(TRAIN),
            val_mask=np.array(VAL),
            test_mask=np.array(TEST),
            node_ids=ids,
            class_names=names,
            name="cora",
            meta={"split": "dgl"},
        )


def _text(path: Path) -> str:
    """The text of a file."""
    check_file(path, empty=True)
    try:
        return path.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError):
        raise DataError(f"The file {path} can't be read as text; replace it by the published one.") from None
