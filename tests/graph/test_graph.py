from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gdamn.errors import GraphError
from gdamn.graph.graph import Graph, reverse_map

X = np.arange(6.0).reshape(3, 2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"features": None}, "without features needs num_nodes"),
        ({"features": [["a", "b"]]}, "Features must be numbers"),
        ({"features": [1.0, 2.0]}, r"must have two dimensions .* shape \(2,\)"),
        ({"num_nodes": 4}, "Features have 3 rows, but the graph has 4 nodes"),
        ({"features": np.zeros((0, 2))}, "no nodes"),
        ({"features": [[0, 1], [2, np.nan], [3, 4]]}, "Feature 1 of node 1 is not a finite number"),
        ({"features": sp.csr_array([[0, 1], [np.inf, 0], [0, 0]])}, "Feature 0 of node 1 is not a finite number"),
        ({"labels": [0, 1]}, r"shape \(3,\); these have shape \(2,\)"),
        ({"labels": ["a", "b", "c"]}, "must be class numbers"),
        ({"labels": [0, 1.5, 1]}, "label of node 1 is 1.5, not a whole number"),
        ({"labels": [0, 1, 10**6]}, "Label 1000000 is too large for 3 nodes"),
        ({"train_mask": [True, False]}, r"train mask has shape \(2,\); it must be \(3,\)"),
        ({"val_mask": [0.5]}, "val set must be a boolean mask or a list of node numbers"),
        ({"test_mask": [3]}, "test set names node 3, but nodes are numbered 0 to 2"),
        ({"test_mask": [-1]}, "test set names node"),
        ({"labels": [0, 1, 0], "train_mask": [0, 1], "val_mask": [1]}, "Node 1 is in more than one of"),
        ({"labels": [0, -1, 0], "train_mask": [1]}, "Node 1 is in the train set but has no label"),
        ({"labels": [0, -1, 0], "val_mask": [1]}, "Node 1 is in the val set but has no label"),
        ({"node_ids": ["a", "b"]}, "one id per node, 3 in all"),
        ({"node_ids": ["a", "b", "a"]}, r"node id .*'a'.* stands for more than one node"),
        ({"edges": [[0, 1, 2]]}, r"integer array of shape \[2, edges\]"),
        ({"edges": [[0.0], [1.0]]}, r"integer array of shape \[2, edges\]; got float64"),
        ({"edges": [[0, 1], [1, 3]]}, r"Edge 1 is \(1, 3\), but nodes are numbered 0 to 2"),
        ({"edges": [[0, -1], [1, 0]]}, r"Edge 1 is \(-1, 0\)"),
        ({"weights": [1.0]}, "There are 1 edge weights for 2 edges"),
        ({"weights": [1.0, 0.0]}, "weight of edge 1 is 0.0; weights must be finite and greater than 0"),
        ({"weights": [np.nan, 1.0]}, "weight of edge 0 is nan"),
    ],
)
def test_errors_say_where(arguments, message):
    given_ = {"edges": [[0, 1], [1, 2]], "features": X} | arguments
    with pytest.raises(GraphError, match=message):
        Graph.build(given_.pop("edges"), given_.pop("features"), **given_)


def test_build():
    graph = Graph.build([[0, 1, 1, 0, 2], [1, 0, 2, 1, 2]], X, [1, -7, 0], train_mask=[0], test_mask=[1])
    assert (graph.num_nodes, graph.num_edges, graph.num_features, graph.num_classes) == (3, 2, 2, 2)
    assert graph.indptr.tolist() == [0, 1, 3, 4]
    assert graph.indices.tolist() == [1, 0, 2, 1]
    assert graph.labels.tolist() == [1, -1, 0]
    assert graph.meta == {"dropped_self_loops": 1, "merged_duplicates": 2}
    assert (graph.indptr.dtype, graph.indices.dtype, graph.reverse.dtype) == (np.int64, np.int32, np.int32)
    assert graph.mask("labelled").tolist() == [True, False, True]
    assert graph.mask("all").all()
    with pytest.raises(GraphError, match="no node set 'exam'"):
        graph.mask("exam")


def test_largest_weight_counts():
    graph = Graph.build([[0, 1, 1, 0], [1, 0, 2, 1]], X, weights=[0.5, 3, 2, 1])
    assert graph.weights.tolist() == [3, 3, 2, 2]
    assert Graph.build([[0, 1], [1, 0]], X, weights=[0.5, 1]).weights is None
    assert Graph.build([[], []], X, weights=[]).weights is None


def test_directed_rows_hear_from_sources():
    graph = Graph.build([[0, 0, 2, 0], [1, 2, 0, 2]], X, directed=True)
    assert graph.num_edges == 3
    assert graph.indptr.tolist() == [0, 1, 2, 3]
    assert graph.indices.tolist() == [2, 0, 0]
    assert graph.reverse.tolist() == [2, -1, 0]


def test_features_are_held_by_density():
    assert Graph.build([[0], [1]], np.eye(20)).is_sparse
    assert not Graph.build([[0], [1]], np.eye(3)).is_sparse
    assert not Graph.build([[0], [1]], sp.eye_array(3, format="csr")).is_sparse
    assert Graph.build([[0], [1]], torch.eye(20).to_sparse()).is_sparse
    assert Graph.build(torch.tensor([[0], [1]]), torch.eye(5), torch.tensor([0] * 5)).num_edges == 1


@st.composite
def edge_lists(draw):
    n = draw(st.integers(1, 10))
    nodes = st.integers(0, n - 1)
    edges = np.array(draw(st.lists(st.tuples(nodes, nodes), max_size=40)), dtype=int).reshape(-1, 2).T
    weights = draw(st.none() | st.lists(st.floats(0.5, 4, width=32), min_size=edges.shape[1], max_size=edges.shape[1]))
    return n, edges, weights, draw(st.booleans())


@settings(max_examples=150, deadline=None)
@given(edge_lists())
def test_edges_against_a_dense_matrix(case):
    n, edges, weights, directed = case
    graph = Graph.build(edges, None, num_nodes=n, weights=weights, directed=directed)
    dense = np.zeros((n, n), np.float32)
    for (source, target), w in zip(edges.T, weights or np.ones(edges.shape[1]), strict=True):
        if source != target:
            dense[target, source] = max(dense[target, source], w)
    if not directed:
        dense = np.maximum(dense, dense.T)
    assert np.array_equal(graph.to_scipy().toarray(), dense)
    assert all(np.all(np.diff(graph.indices[a:b]) > 0) for a, b in zip(graph.indptr, graph.indptr[1:], strict=False))
    entries = list(zip(graph.rows.tolist(), graph.indices.tolist(), strict=True))
    place = {entry: i for i, entry in enumerate(entries)}
    assert graph.reverse.tolist() == [place.get((j, i), -1) for i, j in entries]
    check_structure(graph, dense, place)


def check_structure(graph, dense, place):
    s, n = graph.structure, graph.num_nodes
    full = dense + np.eye(n, dtype=np.float32)
    rows, columns = np.nonzero(full)
    assert s.pattern.rows.tolist() == rows.tolist()
    assert s.pattern.indices.tolist() == columns.tolist()
    assert s.weights.tolist() == full[rows, columns].tolist()
    assert s.loop.tolist() == (rows == columns).tolist()
    pairs = list(zip(rows.tolist(), columns.tolist(), strict=True))
    assert s.loop.tolist() == [pair not in place for pair in pairs]
    numbers: dict[int, set[frozenset[int]]] = {}
    for number, pair in zip(s.pair.tolist(), pairs, strict=True):
        numbers.setdefault(number, set()).add(frozenset(pair))
    assert all(len(each) == 1 for each in numbers.values())
    assert len(numbers) == len({frozenset(pair) for pair in pairs})
    order = np.lexsort((rows, columns))
    assert s.pattern.t_perm.tolist() == order.tolist()
    assert s.pattern.t_indices.tolist() == rows[order].tolist()
    assert np.diff(s.pattern.t_indptr).tolist() == np.bincount(columns, minlength=n).tolist()
    assert s.off_loop.tolist() == np.flatnonzero(rows != columns).tolist()


def test_reverse_of_nothing():
    assert reverse_map(np.zeros(4, np.int64), np.empty(0, np.int32)).shape == (0,)
    graph = Graph.build([[], []], X)
    assert graph.num_edges == 0
    assert graph.structure.pattern.num_entries == 3


def test_many_duplicates_of_one_edge():
    graph = Graph.build([[0] * 1000, [1] * 1000], X)
    assert graph.num_edges == 1
    assert graph.meta["merged_duplicates"] == 999


def test_immutable():
    edges, labels, mask = np.array([[0], [1]]), np.array([0, 1, 0]), np.array([True, False, False])
    graph = Graph.build(edges, X, labels, train_mask=mask)
    with pytest.raises(dataclasses.FrozenInstanceError):
        graph.labels = labels
    edges[:], labels[:], mask[:] = 2, 1, True
    assert graph.indices.tolist() == [1, 0]
    assert graph.labels.tolist() == [0, 1, 0]
    assert graph.train_mask.tolist() == [True, False, False]


def test_other_masks_and_labels():
    graph = Graph.build([[0], [1]], X, [0, 1, 0], train_mask=[0], meta={"a": 1})
    other = graph.with_masks([1], [0], [2], split=4)
    assert (other.train_mask.tolist(), other.meta["split"], other.meta["a"]) == ([False, True, False], 4, 1)
    assert graph.train_mask.tolist() == [True, False, False]
    assert graph.with_labels([1, 1, -3]).labels.tolist() == [1, 1, -1]
    with pytest.raises(GraphError, match="more than one"):
        graph.with_masks([1], [1], [2])


def test_inter_class_share():
    graph = Graph.build([[0, 1, 2], [1, 2, 3]], None, [0, 0, 1, -1], num_nodes=4)
    assert graph.inter_class_share() == 0.5
    assert graph.inter_class_share(np.array([1, 1, 3, 3, 9, 9])) == 0.75
    assert np.isnan(Graph.build([[0], [1]], X).inter_class_share())
