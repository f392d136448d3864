"""The same graph through every format is the same Graph, and every format keeps what it should."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
import torch
from torch_geometric.data import Data

from gdamn import Graph
from gdamn.data import files as own
from gdamn.data import load
from gdamn.data.files import torch_file
from gdamn.errors import DataError

N = 40
CLASSES = ("cat", "dog", "owl")


@pytest.fixture(scope="module")
def truth() -> dict[str, Any]:
    """A weighted graph with two standardised features, some labels and a split."""
    rng = np.random.default_rng(3)
    pairs = sorted({(min(a, b), max(a, b)) for a, b in rng.integers(0, N, (120, 2)).tolist() if a != b})
    x = rng.standard_normal((N, 2))
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    y = rng.integers(0, 3, N)
    y[30:] = -1
    split = np.array(["train", "train", "val", "test"] * (N // 4))
    split[30:] = ""
    weights = rng.integers(1, 5, len(pairs)).astype(float)
    return {"pairs": np.array(pairs).T, "x": x, "y": y, "split": split, "weights": weights}


def frames(truth: dict[str, Any]) -> tuple[pd.DataFrame, pd.DataFrame]:
    names = [CLASSES[y] if y >= 0 else None for y in truth["y"]]
    nodes = {"id": np.arange(N), "label": names, "a": truth["x"][:, 0], "b": truth["x"][:, 1]}
    source, target = truth["pairs"]
    edges = {"source": source, "target": target, "weight": truth["weights"]}
    return pd.DataFrame({**nodes, "split": [s or None for s in truth["split"]]}), pd.DataFrame(edges)


def masks(truth: dict[str, Any]) -> dict[str, Any]:
    return {f"{name}_mask": truth["split"] == name for name in ("train", "val", "test")}


def write(kind: str, truth: dict[str, Any], folder: Path) -> tuple[Path, dict[str, Any]]:
    """The graph in a format: the file, and the options that it is read with."""
    nodes, edges = frames(truth)
    options: dict[str, Any] = {"split_column": "split"}
    if kind in ("csv", "tsv", "parquet"):
        paths = [folder / f"{name}.{kind}" for name in ("nodes", "edges")]
        for frame, path in zip((nodes, edges), paths, strict=True):
            if kind == "parquet":
                pq.write_table(pa.Table.from_pandas(frame), path)
            else:
                frame.to_csv(path, index=False, sep="\t" if kind == "tsv" else ",", float_format="%.17g")
        return paths[0], {**options, "edges": str(paths[1])}
    if kind in ("graphml", "gexf"):
        graph = nx.Graph()
        for row in nodes.to_dict("records"):
            values = {key: value for key, value in row.items() if key != "id" and isinstance(value, (str, float))}
            plain = {key: str(value) if isinstance(value, str) else value for key, value in values.items()}
            graph.add_node(row["id"], **{key: value for key, value in plain.items() if value == value})
        graph.add_weighted_edges_from(edges.itertuples(index=False, name=None))
        if kind == "gexf":  # there a node's label is what it is called
            nx.set_node_attributes(graph, {node: y for node, y in graph.nodes(data="label") if y}, "kind")
            for _, values in graph.nodes(data=True):
                values.pop("label", None)
            options["label"] = "kind"
        path = folder / f"graph.{kind}"
        (nx.write_graphml if kind == "graphml" else nx.write_gexf)(graph, path)
        return path, options
    path = folder / f"graph.{kind}"
    if kind == "npz":
        matrix = sp.csr_array((truth["weights"], tuple(truth["pairs"])), shape=(N, N))
        parts = {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr, "shape": matrix.shape}
        arrays = {f"adj_{key}": value for key, value in parts.items()}
        extra = {"features": truth["x"], "labels": truth["y"], "class_names": np.array(CLASSES)}
        np.savez_compressed(path, **arrays, **extra, **masks(truth))
        return path, {}
    tensors = {key: torch.as_tensor(value) for key, value in masks(truth).items()}
    data = Data(
        x=torch.as_tensor(truth["x"]), edge_index=torch.as_tensor(truth["pairs"]), y=torch.as_tensor(truth["y"])
    )
    data.update({**tensors, "edge_weight": torch.as_tensor(truth["weights"]), "class_names": list(CLASSES)})
    torch.save(data, path)
    return path, {}


def check_same(one: Graph, other: Graph) -> None:
    for name in (
        "indptr",
        "indices",
        "reverse",
        "weights",
        "labels",
        "train_mask",
        "val_mask",
        "test_mask",
        "node_ids",
    ):
        a, b = getattr(one, name), getattr(other, name)
        assert np.array_equal(a, b), name
        assert a.dtype == b.dtype, name
    assert one.class_names == other.class_names
    assert np.allclose(one.features, other.features, atol=1e-6)


@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet", "npz", "pt", "graphml", "gexf", "frames"])
def test_every_format_gives_the_same_graph(kind: str, truth: dict[str, Any], tmp_path: Path) -> None:
    expected = Graph.build(
        truth["pairs"], truth["x"], truth["y"], weights=truth["weights"], class_names=CLASSES, **masks(truth)
    )
    if kind == "frames":
        graph = Graph.from_tables(*frames(truth), label="label", split="split")
    else:
        path, options = write(kind, truth, tmp_path)
        graph = own.load(path, **options)
    check_same(graph, expected)


def test_published_npz_files_are_read_as_the_named_loaders_do(data_root: Path) -> None:
    named = load("chameleon", data_root=data_root, split=3)
    read = own.load(data_root / "heterophily" / "chameleon_filtered.npz", split=3)
    for name in ("indptr", "indices", "labels", "train_mask", "val_mask", "test_mask"):
        assert np.array_equal(getattr(read, name), getattr(named, name)), name
    assert (named.features != read.features).nnz == 0


def test_an_npz_without_features_gets_structural_ones(truth: dict[str, Any], tmp_path: Path) -> None:
    path, _ = write("npz", truth, tmp_path)
    with np.load(path) as archive:
        arrays = {key: archive[key] for key in archive.files if key != "features"}
    np.savez(path, **arrays)
    graph = own.load(path)
    assert graph.meta["encoder"]["kind"] == "structural"
    assert graph.num_features == 17


def test_several_splits_are_numbered(truth: dict[str, Any], tmp_path: Path) -> None:
    path, _ = write("npz", truth, tmp_path)
    with np.load(path) as archive:
        arrays = dict(archive)
    one = {name: arrays[name] for name in ("train_mask", "val_mask", "test_mask")}
    swapped = {"train_mask": one["val_mask"], "val_mask": one["train_mask"], "test_mask": one["test_mask"]}
    both = {name: np.stack([one[name], swapped[name]], axis=1) for name in one}
    np.savez(path, **{**arrays, **both})
    assert np.array_equal(own.load(path, split=1).train_mask, one["val_mask"])
    assert np.array_equal(own.load(path, seed=2).train_mask, one["train_mask"])
    with pytest.raises(Exception, match="no split 2"):
        own.load(path, split=2)


def test_a_data_that_pyg_saved_with_attributes_in_torch_sparse(tmp_path: Path, truth: dict[str, Any]) -> None:
    x = torch.as_tensor(np.where(truth["x"] > 0.5, 1.0, 0.0)).float()
    data = Data(x=x.to_sparse(), edge_index=torch.as_tensor(truth["pairs"]), y=torch.as_tensor(truth["y"]))
    torch.save(data, tmp_path / "data.pt")
    torch.serialization.add_safe_globals([Data])  # as PyG does; other tests may have taken it back
    trusted = set(torch.serialization.get_safe_globals())
    graph: Any = own.load(tmp_path / "data.pt")
    dense = graph.features.toarray() if graph.is_sparse else graph.features
    assert np.array_equal(dense, x.numpy())
    assert set(torch.serialization.get_safe_globals()) == trusted


def test_a_torch_that_can_not_read_safely_reads_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.save({"edge_index": torch.tensor([[0], [1]])}, tmp_path / "data.pt")
    monkeypatch.setattr(torch_file, "SAFE_TORCH", "99")
    with pytest.raises(DataError, match=r"can't be read safely by torch .* \(CVE-2026-24747\); upgrade torch"):
        own.load(tmp_path / "data.pt")


class OnlyArrow:
    """A data frame of another library: it gives a stream, as polars does."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._table.__arrow_c_stream__(requested_schema)


class OnlyToArrow:
    """A data frame of an older library."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def to_arrow(self) -> pa.Table:
        return self._table


@pytest.mark.parametrize("wrap", [OnlyArrow, OnlyToArrow, lambda table: table.to_pydict(), lambda table: table])
def test_any_library_that_gives_arrow(wrap: Any, truth: dict[str, Any]) -> None:
    nodes, edges = frames(truth)
    expected = Graph.from_tables(nodes, edges, label="label", split="split")
    tables = [wrap(pa.Table.from_pandas(frame)) for frame in (nodes, edges)]
    check_same(Graph.from_tables(*tables, label="label", split="split"), expected)


def test_a_named_index_is_a_column(truth: dict[str, Any]) -> None:
    nodes, edges = frames(truth)
    made = Graph.from_tables(nodes.set_index("id"), edges, id="id", label="label", split="split")
    check_same(made, Graph.from_tables(nodes, edges, label="label", split="split"))


def test_directed_edges_stay_directed(truth: dict[str, Any], tmp_path: Path) -> None:
    path, options = write("csv", truth, tmp_path)
    graph = own.load(path, **options, directed=True)
    expected = Graph.build(truth["pairs"], truth["x"], weights=truth["weights"], directed=True)
    assert graph.directed
    assert np.array_equal(graph.indptr, expected.indptr)
    assert np.array_equal(graph.indices, expected.indices)
    assert replace(graph, name="x").num_edges == truth["pairs"].shape[1]
