from __future__ import annotations

import gzip
import subprocess
import sys

import numpy as np
import pytest

from gdamn.data import DATASETS, load
from gdamn.errors import ConfigError, DataError
from gdamn.graph.graph import Graph

BUNDLED = {"digits": (200, 300, 1297), "wine": (30, 30, 118), "cancer": (20, 40, 509), "karate": (4, 8, 22)}
FILES = {
    "cora": ((2708, 5278, 1433, 7), (140, 500, 1000)),
    "citeseer": ((3327, 4552, 3703, 6), (120, 500, 1000)),
    "pubmed": ((19717, 44324, 500, 3), (60, 500, 1000)),
    "coauthor-cs": ((18333, 81894, 6805, 15), (300, 450, 17583)),
    "coauthor-physics": ((34493, 247962, 8415, 5), (100, 150, 34243)),
    "arxiv-2023": ((33868, 303379, 4264, 39), (19461, 4682, 9725)),
    "chameleon": ((890, 8854, 2325, 5), None),
    "actor": ((7600, 26659, 932, 5), (3648, 2432, 1520)),
    "cora-meta": ((2485, 5069, 1433, 7), (247, 249, 1988)),
}


def counts(graph):
    return graph.num_nodes, graph.num_edges, graph.num_features, len(np.unique(graph.labels))


def sizes(graph):
    return graph.train_mask.sum(), graph.val_mask.sum(), graph.test_mask.sum()


def test_importing_the_package_is_light():
    code = "import sys, gdamn.data; assert not {'torch', 'sklearn', 'networkx', 'rich'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("name", BUNDLED)
def test_bundled(name):
    graph, info = load(name), DATASETS[name]
    assert counts(graph) == (info.nodes, info.edges, info.features, info.classes)
    assert sizes(graph) == BUNDLED[name]
    assert graph.name == graph.meta["dataset"] == name
    again, other = load(name), load(name, split=1)
    assert (graph.indices == again.indices).all()
    assert (graph.val_mask == again.val_mask).all()
    assert (graph.indices == other.indices).all()
    assert (graph.val_mask != other.val_mask).any()
    assert (load(name, seed=1).val_mask == other.val_mask).all()


def test_karate_is_that_of_pytorch_geometric():
    from torch_geometric.datasets import KarateClub

    theirs, ours = Graph.from_pyg(KarateClub()[0]), load("karate")
    assert (theirs.to_scipy() != ours.to_scipy()).nnz == 0
    assert (theirs.features != ours.features).nnz == 0
    assert (theirs.labels == ours.labels).all()
    assert (theirs.train_mask == ours.train_mask).all()


def test_karate_keeps_its_training_nodes():
    graph = load("karate", split=7)
    assert [int(np.flatnonzero(graph.labels == c)[0]) for c in range(4)] == sorted(
        np.flatnonzero(graph.train_mask).tolist(), key=lambda node: graph.labels[node]
    )
    assert "validation" in graph.meta["split_note"]


def test_neighbours():
    graph = load("digits", k=3)
    assert np.diff(graph.indptr).min() >= 3
    x = np.asarray(graph.features, dtype=float)
    distance = ((x - x[0]) ** 2).sum(axis=1)
    distance[0] = np.inf
    assert set(np.argsort(distance, kind="stable")[:3]) <= set(graph.indices[: graph.indptr[1]].tolist())
    assert load("wine").class_names == ("class_0", "class_1", "class_2")
    for k in (0, 178, 1.5):
        with pytest.raises(ConfigError, match=r"neighbours k|'k' must be a whole number"):
            load("wine", k=k)


def test_noise():
    graph = load("digits", noise=1.0, seed=0)
    assert graph.num_edges == 2 * DATASETS["digits"].edges
    assert graph.meta["noise"]["planted"] == DATASETS["digits"].edges
    assert graph.meta["planted"].shape == graph.indices.shape


@pytest.mark.data
@pytest.mark.parametrize("name", FILES)
def test_files(name, data_root):
    graph, info = load(name, data_root=data_root), DATASETS[name]
    expected, split = FILES[name]
    assert counts(graph) == expected == (info.nodes, info.edges, info.features, info.classes)
    assert split is None or sizes(graph) == split


@pytest.mark.data
def test_nodes_that_citeseer_lacks(data_root):
    graph = load("citeseer", data_root=data_root)
    assert graph.meta["nodes_without_data"] == 15
    nowhere = ~(graph.train_mask | graph.val_mask | graph.test_mask)
    empty = np.diff(graph.features.indptr) == 0
    assert (empty & nowhere & (graph.labels == 0)).sum() >= 15
    assert not (empty & (graph.train_mask | graph.val_mask | graph.test_mask)).any()


@pytest.mark.data
def test_splits_of_files(data_root):
    first, third = load("coauthor-cs", data_root=data_root), load("coauthor-cs", data_root=data_root, split=3)
    assert (first.train_mask != third.train_mask).any()
    assert third.meta["split"] == 3
    assert load("chameleon", data_root=data_root, split=13).meta["split"] == 3
    tests = [load("arxiv-2023", data_root=data_root, test=test).test_mask.sum() for test in ("2021plus", "official")]
    assert tests == [9725, 668]
    with pytest.raises(ConfigError, match="'2021plus' or 'official'"):
        load("arxiv-2023", data_root=data_root, test="all")
    with pytest.raises(ConfigError, match="one public split"):
        load("cora", data_root=data_root, split=1)


@pytest.mark.data
def test_other_layouts(data_root):
    assert load("cora", data_root=data_root / "Planetoid").num_edges == 5278
    assert load("cora", data_root=data_root / "Planetoid" / "Cora" / "raw").num_edges == 5278
    assert load("CiteSeer", data_root=data_root / "Planetoid").num_edges == 4552


def write_ogb(folder, tables):
    for name, rows in tables.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with gzip.open(path, "wt") as out:
            out.writelines(",".join(map(str, row)) + "\n" for row in rows)


OGB = {
    "raw/edge.csv.gz": [(0, 1), (1, 0), (1, 2), (3, 4), (4, 4)],
    "raw/node-feat.csv.gz": [(i, 0.5, -i) for i in range(5)],
    "raw/node-label.csv.gz": [(0,), (1,), (0,), (2,), (1,)],
    "split/time/train.csv.gz": [(0,), (1,)],
    "split/time/valid.csv.gz": [(3,)],
    "split/time/test.csv.gz": [(2,), (4,)],
}


def test_ogbn_arxiv_layout(tmp_path):
    write_ogb(tmp_path / "ogbn_arxiv", OGB)
    graph = load("ogbn-arxiv", data_root=tmp_path)
    assert counts(graph) == (5, 3, 3, 3)
    assert sizes(graph) == (2, 1, 2)
    assert graph.features[3].tolist() == [3, 0.5, -3]
    assert not (tmp_path / "ogbn_arxiv" / "processed").exists()


def test_ogbn_arxiv_damaged(tmp_path):
    write_ogb(tmp_path / "ogbn_arxiv", {**OGB, "raw/edge.csv.gz": [("a", "b")]})
    with pytest.raises(DataError, match=r"edge\.csv\.gz can't be read as a table"):
        load("ogbn-arxiv", data_root=tmp_path)


def test_unknown_name():
    with pytest.raises(DataError, match=r"^There is no data set 'koauthor-cs' \(did you mean coauthor-cs") as caught:
        load("koauthor-cs")
    assert all(name in str(caught.value) for name in DATASETS)
    with pytest.raises(DataError, match="no data set 'qqq'"):
        load("qqq")


def test_unknown_option_and_numbers():
    with pytest.raises(ConfigError, match="digits has no option 'kk'; it takes k"):
        load("digits", kk=3)
    with pytest.raises(ConfigError, match="karate has no option 'k'; it takes none"):
        load("karate", k=3)
    with pytest.raises(ConfigError, match="seed must be a whole number"):
        load("wine", seed=-1)
    with pytest.raises(ConfigError, match="split must be a whole number"):
        load("wine", split=1.5)
