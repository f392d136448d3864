from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data

from gdamn.errors import GraphError
from gdamn.graph import convert
from gdamn.graph.graph import Graph


def dense(graph: Graph) -> np.ndarray:
    return graph.features.toarray() if graph.is_sparse else graph.features


def assert_equal(a: Graph, b: Graph, features: bool = True, labels: bool = True) -> None:
    assert a.directed == b.directed
    for name in ("indptr", "indices", "reverse"):
        assert np.array_equal(getattr(a, name), getattr(b, name)), name
    assert (a.weights is None) == (b.weights is None)
    assert a.weights is None or np.array_equal(a.weights, b.weights)
    if features:
        assert a.is_sparse == b.is_sparse
        assert np.array_equal(dense(a), dense(b))
    if labels:
        assert np.array_equal(a.labels, b.labels)
        assert a.class_names == b.class_names
        assert a.node_ids.tolist() == b.node_ids.tolist()
        assert all(np.array_equal(a.mask(split), b.mask(split)) for split in ("train", "val", "test"))


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    n = draw(st.integers(1, 12))
    nodes = st.integers(0, n - 1)
    edges = draw(st.lists(st.tuples(nodes, nodes), max_size=30))
    weight = st.floats(0.125, 8, width=32)
    weights = draw(st.none() | st.lists(weight, min_size=len(edges), max_size=len(edges)))
    classes = draw(st.integers(1, 4))
    labels = np.array(draw(st.lists(st.integers(-1, classes - 1), min_size=n, max_size=n)))
    width = draw(st.integers(0, 30))
    rng = np.random.default_rng(draw(st.integers(0, 100)))
    features = rng.random((n, width)) * (rng.random((n, width)) < draw(st.sampled_from([0.03, 0.5])))
    split = rng.integers(0, 4, n) * (labels >= 0)
    names = draw(st.sampled_from([None, ["delta", "alpha", "beta", "gamma"]]))
    ids = draw(st.sampled_from([None, [f"node {i}" for i in range(n)], [10 * i + 3 for i in range(n)]]))
    return Graph.build(
        np.array(edges, dtype=int).reshape(-1, 2).T,
        features,
        labels,
        weights=weights,
        train_mask=split == 1,
        val_mask=split == 2,
        test_mask=split == 3,
        class_names=names,
        node_ids=ids,
        directed=draw(st.booleans()),
    )


@settings(max_examples=60, deadline=None)
@given(graphs(), st.booleans())
def test_pyg_round_trip(graph, sparse):
    assert_equal(graph, convert.from_pyg(convert.to_pyg(graph, sparse=sparse), directed=graph.directed))


@settings(max_examples=60, deadline=None)
@given(graphs())
def test_networkx_round_trip(graph):
    assert_equal(graph, Graph.from_networkx(graph.to_networkx()))


@settings(max_examples=60, deadline=None)
@given(graphs())
def test_scipy_round_trip(graph):
    back = Graph.from_scipy(graph.to_scipy(), graph.features, graph.labels, directed=graph.directed)
    assert_equal(graph, back, labels=False)
    assert np.array_equal(graph.labels, back.labels)


def test_pyg_direction_is_source_to_target():
    data = Data(x=torch.eye(3), edge_index=torch.tensor([[0, 0], [1, 2]]))
    graph = convert.from_pyg(data, directed=True)
    assert graph.directed
    assert np.diff(graph.indptr).tolist() == [0, 1, 1]
    assert graph.indices.tolist() == [0, 0]
    assert Graph.from_pyg(data, "mine").num_edges == 2
    assert Graph.from_pyg(data, "mine").name == "mine"


def test_pyg_weights():
    edges = torch.tensor([[0, 1], [1, 2]])
    given = {"edge_weight": torch.tensor([2.0, 3.0]), "edge_attr": torch.tensor([[2.0], [3.0]]), "far": [2, 3]}
    for name, values in given.items():
        data = Data(x=torch.eye(3), edge_index=edges, **{name: values})
        assert convert.from_pyg(data, weight=name).weights.tolist() == [2, 2, 3, 3]
        assert (convert.from_pyg(data).weights is None) == (name != "edge_weight")
        assert convert.from_pyg(data, weight=None).weights is None
    assert convert.from_pyg(Data(x=torch.eye(3), edge_index=edges, edge_attr=torch.ones(2, 5))).weights is None


def test_pyg_sparse_features_and_several_splits():
    masks = torch.tensor([[True, False], [False, True], [False, False]])
    data = Data(x=torch.eye(3).to_sparse(), edge_index=torch.tensor([[0], [1]]), y=torch.tensor([[0], [1], [0]]))
    data.train_mask = masks
    graph = convert.from_pyg(data)
    assert np.array_equal(dense(graph), np.eye(3))
    assert graph.train_mask.tolist() == [True, False, False]
    assert (graph.meta["split"], graph.meta["splits"]) == (0, 2)


def test_pyg_without_features_or_edges():
    graph = convert.from_pyg(Data(edge_index=torch.tensor([[0], [3]]), num_nodes=5))
    assert (graph.num_nodes, graph.num_features) == (5, 0)
    with pytest.raises(GraphError, match="no edge_index"):
        convert.from_pyg(Data(x=torch.eye(2)))


def test_to_pyg_shares_no_memory():
    graph = Graph.build([[0], [1]], np.ones((2, 2)), [0, 1])
    data = graph.to_pyg()
    data.x.zero_()
    data.y.zero_()
    assert graph.features.sum() == 4
    assert graph.labels.tolist() == [0, 1]


def test_scipy():
    matrix = sp.csr_matrix(np.array([[1, 2, 0], [5, 0, 0], [0, 0, 0]], dtype=float))
    graph = Graph.from_scipy(matrix, name="mine", train_mask=[0], labels=[1, 0, -1])
    assert graph.weights.tolist() == [5, 5]
    assert graph.meta["dropped_self_loops"] == 1
    assert graph.name == "mine"
    explicit = sp.coo_array(([0.0, 1.0], ([0, 1], [1, 2])), shape=(3, 3))
    assert Graph.from_scipy(explicit).num_edges == 1
    one_way = sp.csr_array(([1.0], ([0], [1])), shape=(2, 2))
    assert (Graph.from_scipy(one_way, directed=True).to_scipy() != one_way).nnz == 0
    with pytest.raises(GraphError, match="square"):
        Graph.from_scipy(sp.csr_array((2, 3)))
    with pytest.raises(GraphError, match="not ndarray"):
        Graph.from_scipy(np.eye(2))


def test_networkx_labels_and_ids():
    source = nx.Graph()
    source.add_node("a", label="red", x=[1, 2])
    source.add_node("b", label="blue", x=[3, 4], split="train")
    source.add_node("c", x=[5, 6])
    source.add_edge("a", "c", weight=2.5)
    source.add_edge("a", "b")
    graph = Graph.from_networkx(source)
    assert graph.class_names == ("blue", "red")
    assert graph.labels.tolist() == [1, 0, -1]
    assert graph.node_ids.tolist() == ["a", "b", "c"]
    assert graph.weights.tolist() == [1, 2.5, 1, 2.5]
    assert graph.train_mask.tolist() == [False, True, False]


def test_networkx_kinds():
    assert Graph.from_networkx(nx.karate_club_graph(), label="club").class_names == ("Mr. Hi", "Officer")
    assert Graph.from_networkx(nx.karate_club_graph(), label="club").weights is not None
    grid = Graph.from_networkx(nx.grid_2d_graph(2, 3))
    assert grid.node_ids.tolist()[:2] == [(0, 0), (0, 1)]
    assert grid.num_features == 0
    assert_equal(grid, Graph.from_networkx(grid.to_networkx()))
    several = nx.MultiGraph([(0, 1), (0, 1), (1, 2)])
    assert Graph.from_networkx(several).num_edges == 2
    arrow = Graph.from_networkx(nx.DiGraph([(0, 1)]))
    assert arrow.directed
    assert np.diff(arrow.indptr).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ({0: {"x": [1]}, 1: {}}, "Node 1 has no feature vector 'x'"),
        ({0: {"x": [1]}, 1: {"x": [1, 2]}}, "Node 1 has 2 features, but node 0 has 1"),
        ({0: {"x": ["red"]}}, "of node 0 are not numbers"),
        ({0: {"split": "exam"}}, "Node 0 is in the split 'exam'"),
    ],
)
def test_networkx_errors(nodes, message):
    source = nx.Graph()
    source.add_nodes_from(nodes.items())
    with pytest.raises(GraphError, match=message):
        Graph.from_networkx(source)


def test_networkx_ids_that_read_alike():
    with pytest.raises(GraphError, match="node ids 1 and '1' read alike"):
        Graph.from_networkx(nx.Graph([(1, "1")]))


def test_networkx_wrong_weight_and_no_nodes():
    with pytest.raises(GraphError, match="weight of the edge between 0 and 1 is 'heavy', not a number"):
        Graph.from_networkx(nx.Graph([(0, 1, {"weight": "heavy"})]))
    with pytest.raises(GraphError, match="no nodes"):
        Graph.from_networkx(nx.Graph())
