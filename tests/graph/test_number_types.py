"""Numbers of every type of NumPy and PyTorch: read where they mean what they say, else one sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch_geometric.data import Data

from gdamn import Graph
from gdamn.data import files as own
from gdamn.errors import GdamnError, GraphError
from gdamn.graph.validation import sound_csr

EDGES = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]])
SMALL = torch.tensor([[0.0, 1.0], [0.5, 2.0], [1.0, 0.0], [4.0, 0.25]])
FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2]
WHOLE = [torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.uint16, torch.uint32]


def from_file(data: Data, folder: Path) -> Graph:
    try:
        torch.save(data, folder / "g.pt")
    except KeyError:
        pytest.skip("this torch can't save numbers of this type")
    return own.load(folder / "g.pt", val_share=0.0)


DOORS = [
    lambda data, folder: Graph.build(data.edge_index, data.x, data.y),
    lambda data, folder: Graph.from_pyg(data),
    from_file,
]


@pytest.mark.parametrize("door", range(3))
@pytest.mark.parametrize("kind", [*FLOATS, *WHOLE], ids=str)
def test_features_of_every_type(kind: torch.dtype, door: int, tmp_path: Path) -> None:
    x = SMALL if kind in FLOATS else SMALL.floor()
    data = Data(x=x.to(kind), edge_index=EDGES, y=torch.tensor([0, 1, 0, 1]))
    graph: Any = DOORS[door](data, tmp_path)
    found = graph.features.toarray() if graph.is_sparse else graph.features
    expected = x.bool() if kind == torch.bool else x
    assert np.array_equal(found, expected.float().numpy())


@pytest.mark.parametrize("door", range(3))
@pytest.mark.parametrize("field", ["x", "y"])
def test_complex_numbers_are_refused(door: int, field: str, tmp_path: Path) -> None:
    data = Data(x=SMALL, edge_index=EDGES, y=torch.tensor([0, 1, 0, 1]))
    data[field] = data[field].to(torch.complex64)
    with pytest.raises(GdamnError, match="real"):
        DOORS[door](data, tmp_path)


@pytest.mark.parametrize(
    ("features", "said"),
    [
        (np.ones((4, 2), complex), "real numbers"),
        (sp.csr_array(np.ones((4, 2), complex)), "real numbers"),
        (np.full((4, 2), "2020-01-01", "M8[D]"), "real numbers"),
        (np.full((4, 2), 3, "m8[s]"), "real numbers"),
        ([[1.0], [2.0, 3.0], [1.0], [1.0]], "must be numbers"),
        (np.full((4, 2), None), "node 0"),
        (torch.empty((4, 2), device="meta"), "can't be taken as numbers"),
    ],
)
def test_features_that_are_no_numbers(features: Any, said: str) -> None:
    with pytest.raises(GraphError, match=said):
        Graph.build(EDGES, features)


@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr, torch.sparse_csc])
@pytest.mark.filterwarnings("ignore:Sparse")
def test_sparse_layouts(layout: torch.layout) -> None:
    x = SMALL.bfloat16().to_sparse(layout=layout)
    graph: Any = Graph.from_pyg(Data(x=x, edge_index=EDGES))
    found = graph.features.toarray() if graph.is_sparse else graph.features
    assert np.array_equal(found, SMALL.numpy())


LABELS = [
    (np.array([0, 1, 0, 2**63], np.uint64), "node 3"),
    (np.array([0, 1, 0, 2**64 - 1], np.uint64), "node 3"),
    (np.array([0, 1, 0, 1e300]), "node 3"),
    (np.array([0, 1, 2.5, 1]), "node 2"),
    (np.array([0, 1, np.inf, 1]), "node 2"),
    (np.array([0, -np.inf, 0, 1]), "node 1"),
]


@pytest.mark.parametrize(("labels", "said"), LABELS, ids=str)
def test_labels_that_are_no_class_numbers(labels: Any, said: str, tmp_path: Path) -> None:
    with pytest.raises(GraphError, match=said):
        Graph.build(EDGES, SMALL, labels)
    data = Data(x=SMALL, edge_index=EDGES, y=torch.from_numpy(labels))
    with pytest.raises(GdamnError, match=said):
        from_file(data, tmp_path)
    graph = nx.cycle_graph(4)
    nx.set_node_attributes(graph, dict(enumerate(labels.tolist())), "label")
    if labels.dtype == np.uint64 or labels[3] == 1e300:
        with pytest.raises(GraphError, match="label"):
            Graph.from_networkx(graph)


def test_unknown_labels_of_every_type() -> None:
    for kind in ("int8", "int64", "float16", "float32", "float64"):
        assert Graph.build(EDGES, SMALL, np.array([0, 1, -1, -7], kind)).labels.tolist() == [0, 1, -1, -1]
    assert Graph.build(EDGES, SMALL, np.array([0, 1, np.nan, -1e300])).labels.tolist() == [0, 1, -1, -1]
    assert Graph.build(EDGES, SMALL, np.array([0, 1, 1, 0], np.uint8)).labels.tolist() == [0, 1, 1, 0]
    assert Graph.build(EDGES, SMALL, torch.tensor([0, 1, 1, 0]).bfloat16()).labels.tolist() == [0, 1, 1, 0]


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16, torch.int64, torch.uint8])
def test_weights_of_every_type(kind: torch.dtype) -> None:
    data = Data(x=SMALL, edge_index=EDGES, edge_attr=torch.tensor([[2.0], [3.0], [4.0], [5.0]]).to(kind))
    assert sorted(set(Graph.from_pyg(data, weight="edge_attr").weights.tolist())) == [2, 3, 4, 5]
    with pytest.raises(GraphError, match="real"):
        Graph.build(EDGES, SMALL, weights=np.ones(4, complex))


def pointers(*changes: tuple[int, int], kind: str) -> np.ndarray[Any, Any]:
    made = np.arange(5).astype(kind)
    for at, value in changes:
        made[at] = value
    return made


@pytest.mark.parametrize(
    "indptr",
    [
        pointers((2, 1), (1, 4), kind="uint64"),
        pointers((1, 200), (4, 0), kind="int64"),
        pointers((1, 2**63), kind="uint64"),
        pointers((1, 250), kind="uint8"),
        pointers((1, 2**31 - 1), (2, -(2**31)), kind="int32"),
    ],
    ids=str,
)
def test_pointers_that_go_back_never_reach_compiled_code(indptr: Any) -> None:
    """Differences of unsigned numbers wrap around, so that SciPy's own check lets them through, and it crashes."""
    with pytest.raises(ValueError, match="point"):
        sound_csr(np.ones(4), np.arange(4), indptr, (4, 4))


@pytest.mark.parametrize("kind", ["uint8", "uint64", "int16", ">i8"])
def test_indices_of_every_type_in_an_archive(kind: str, tmp_path: Path) -> None:
    matrix = Graph.build(EDGES, SMALL).to_scipy()
    parts = {f"adj_{name}": np.asarray(getattr(matrix, name)).astype(kind) for name in ("indices", "indptr", "shape")}
    parts["adj_data"] = np.array([1, 2] * 4, np.float16)
    np.savez(tmp_path / "g.npz", **parts, features=SMALL, labels=[0, 1, 0, 1])
    assert own.load(tmp_path / "g.npz").num_edges == 4
