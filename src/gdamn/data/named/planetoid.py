"""Cora, CiteSeer and PubMed from the raw Planetoid files, with their public split."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ...errors import DataError, in_short
from ...graph.graph import Graph
from ...system.reading import check_file
from ..fetch import DataFile, FileSet, Root, ensure
from ..progress import Progress, silent
from .cora_content import load_cora_content
from .published import consistent
from .safe_pickle import read_pickle

BASE_URL = "https://raw.githubusercontent.com/kimiyoung/planetoid/master/data/"

VALIDATION = 500
"""The public split validates on the nodes that follow the training nodes."""

_PINNED = {
    "cora": (
        DataFile("ind.cora.x", "23cfa55d91c6f624233f5eb7b6e3f141f1bd2b2ae39608a63cf5d084bb27baab", 22119),
        DataFile("ind.cora.tx", "b9afbaa4a400df991f6f02ef677e1e44da55ffc04801fd02f9e673987829226a", 148025),
        DataFile("ind.cora.allx", "9419ba2f26f5c35243db64aba110e0f35a04851609e0dc5433450676ca6b8543", 257305),
        DataFile("ind.cora.y", "94465c14eb53e04ca262198dcbb2521ee8af60fb3f3d546cd6ca24a511b0e7d1", 4054),
        DataFile("ind.cora.ty", "41f5ac76596a1699cc33f53084a2419e92961c42bb75f36fc38e616d348532ad", 28135),
        DataFile("ind.cora.ally", "2b998f5cc7fedc86e7f97ca2498f47a1ffc1462c29e2d578b23bf3f62b6e7d71", 47959),
        DataFile("ind.cora.graph", "58f13302f39dde8852dad6fe6d15b89b077b6d7f837626bce671ef80344b383d", 59847),
        DataFile("ind.cora.test.index", "297ce89af2b51a6a194181c7dbe1796c6a1cf9cd9349a88383b1b1e227867875", 5000),
    ),
    "citeseer": (
        DataFile("ind.citeseer.x", "d20de19150741e555de0ed037195630fc194114ebc7fd72ced62810148aa22f6", 31087),
        DataFile("ind.citeseer.tx", "539a8906a2da97628d212f2fdd668c109a8b3f0d36574b59e5d3fd5b5303da21", 260321),
        DataFile("ind.citeseer.allx", "2ac30345d95c9ec933a817ee0bdd6a5f077f8c184a20e696910192d534414668", 595021),
        DataFile("ind.citeseer.y", "8ba87e515d8e3ee3cf52f6d2c5b86aa73f11ecad825a808455209ec26cd54924", 3014),
        DataFile("ind.citeseer.ty", "55e5bd1ba1e733a04598753ad1a8d57957f4b8f89e74519f41f4f4938767e4ce", 24135),
        DataFile("ind.citeseer.ally", "f704b2d986dde6c2669934de1f3ae5696a6cf9455c0f6b2646a2d135ea0a1c95", 55623),
        DataFile("ind.citeseer.graph", "d79a4ef9d3e7169aee8946145f6b7306e35bc79bffad26346cfb94e10e9912a7", 61987),
        DataFile("ind.citeseer.test.index", "2af990671580b6b2df5d158d1038f8292e30c9cd821b5453f399659b25b723d4", 5000),
    ),
    "pubmed": (
        DataFile("ind.pubmed.x", "fbe9cb5c47200d1b7769a26e579be3b7130b556831f9d850e77c4c74f2599b33", 23172),
        DataFile("ind.pubmed.tx", "4eb5f5d0f30f26497eb0ac6ac9719d09c67e284f1ed0385c93f3ef27a671da3d", 405505),
        DataFile("ind.pubmed.allx", "508e538e2abdccdd54c4d3e9f49d638b4af7107d85845f66ddea5a5152658b7e", 7578385),
        DataFile("ind.pubmed.y", "e6c807633307a07ed659249006536a147c7999c797f11a2560752990181b41b3", 854),
        DataFile("ind.pubmed.ty", "ee2e0d4819d9fbcc403689c3bf2e49face401b605932f093bc58ab6461130fdd", 12135),
        DataFile("ind.pubmed.ally", "0c37bbe3b5014ec365e9d393cf4791925e5ed94fb194305d74f064a8d7b50f0e", 224739),
        DataFile("ind.pubmed.graph", "5b89f0036ca22909471f1e6558eb42fa06e0c730a577bde5b058b40638f81dc9", 471808),
        DataFile("ind.pubmed.test.index", "b101d421688bbaecbd82e8a18f1e282378d6830f3a37666f28ebc47f844341b5", 6000),
    ),
}

_FOLDERS = {"cora": ("Cora",), "citeseer": ("CiteSeer", "Citeseer"), "pubmed": ("PubMed", "Pubmed")}


def file_set(name: str) -> FileSet:
    """The files of one of the three data sets, in the folders that PyTorch Geometric uses."""
    folders = _FOLDERS[name]
    also = [f"Planetoid/{folder}/raw" for folder in folders[1:]] + [f"{folder}/raw" for folder in folders]
    return FileSet(
        title=name,
        folder=f"Planetoid/{folders[0]}/raw",
        files=_PINNED[name],
        also=(*also, "raw", "."),
        base_url=BASE_URL,
    )


def load_planetoid(
    name: str, *, data_root: Root = None, seed: int = 0, split: int | str = 0, progress: Progress = silent
) -> Graph:
    """One of the three data sets with its public split; seed and split change nothing, but for Cora's split dgl."""
    if split == "dgl":
        return load_cora_content(data_root)
    folder = ensure(file_set(name), data_root, progress)
    part = {key: read_pickle(folder / f"ind.{name}.{key}") for key in ("x", "tx", "allx", "y", "ty", "ally", "graph")}
    test = _read_index(folder / f"ind.{name}.test.index")
    with consistent(name, folder):
        return _assemble(name, part, test)


def _assemble(name: str, part: dict[str, Any], test: NDArray[np.int64]) -> Graph:
    """Put training, other and test nodes into one numbering.

    The test rows are stored sorted by an index that is not: row i of ``tx`` is the i-th node of the index as it
    stands in the file. CiteSeer's index has gaps: isolated nodes without features and label, which get zeros and,
    as everywhere else, class 0; they are in no split.
    """
    known, nodes = part["allx"].shape[0], max(part["allx"].shape[0], int(test.max()) + 1)
    if len(test) != part["tx"].shape[0] or test.min() < known or len(np.unique(test)) != len(test):
        raise ValueError("the test index doesn't number the test nodes")
    labels = np.zeros(nodes, np.int64)
    labels[:known] = np.argmax(part["ally"], axis=1)
    labels[test] = np.argmax(part["ty"], axis=1)
    rows = sp.coo_array(sp.csr_array(part["tx"]))
    upper = sp.coo_array(sp.csr_array(part["allx"]))
    features = sp.csr_array(
        (
            np.concatenate([upper.data, rows.data]),
            (np.concatenate([upper.row, test[rows.row]]), np.concatenate([upper.col, rows.col])),
        ),
        shape=(nodes, upper.shape[1]),
    )
    graph = part["graph"]
    sources = np.repeat(np.fromiter(graph.keys(), np.int64), [len(near) for near in graph.values()])
    targets = np.fromiter((node for near in graph.values() for node in near), np.int64)
    train = part["y"].shape[0]
    return Graph.build(
        np.stack([sources, targets]),
        features,
        labels,
        train_mask=np.arange(train),
        val_mask=np.arange(train, train + VALIDATION),
        test_mask=test,
        name=name,
        meta={"split": "public", "nodes_without_data": nodes - known - len(test)},
    )


def _read_index(path: Path) -> NDArray[np.int64]:
    """The node numbers in a text file, one per line."""
    check_file(path, empty=True)
    try:
        return np.loadtxt(path, dtype=np.int64, ndmin=1)
    except (OSError, ValueError) as error:
        raise DataError(f"The file {path} can't be read as a list of nodes: {in_short(error)}.") from None
