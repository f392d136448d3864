"""A graph in a model file: the same graph comes back, in few bytes, and a damaged one is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from gdamn import Graph, load
from gdamn.errors import DataError
from gdamn.graph.packed import PREFIX, pack, split_codes, unpack


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    n = draw(st.integers(1, 12))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    edges = rng.integers(0, n, (2, draw(st.integers(0, 30))))
    kinds = [[0, 1], [0, 0, 0, 0, 0, 1], [0, 16, 255], [0.5, -2.0], [-0.0, 1.0], [0.1, 0.2, 1e9]]
    values = draw(st.sampled_from(kinds))
    features = rng.choice(np.array(values, np.float32), (n, draw(st.integers(1, 9))))
    weights = rng.random(edges.shape[1]) + 0.1 if draw(st.booleans()) else None
    return Graph.build(edges, features, rng.integers(-1, 3, n), weights=weights, directed=draw(st.booleans()))


def back(graph: Graph, edges: bool = True) -> Graph:
    about, arrays = pack(graph, edges)
    if not edges:
        arrays["edge.index"] = np.stack([graph.indices, graph.rows])
    return unpack(about, arrays, graph.num_features, graph.node_ids, graph.class_names)


@given(graphs(), st.booleans())
def test_the_same_graph_comes_back_without_labels(graph: Graph, edges: bool) -> None:
    again = back(graph, edges)
    for name in ("indptr", "indices", "reverse", "weights", "node_ids"):
        assert np.array_equal(getattr(again, name), getattr(graph, name)), name
    assert again.is_sparse == graph.is_sparse
    dense, other = (g.features.toarray() if g.is_sparse else g.features for g in (graph, again))
    assert dense.tobytes() == other.tobytes()
    assert (again.class_names, again.name, again.directed) == (graph.class_names, graph.name, graph.directed)
    assert (again.labels == -1).all()
    assert not (again.train_mask | again.val_mask | again.test_mask).any()


def test_it_takes_few_bytes() -> None:
    digits, karate = load("digits"), load("karate")
    for graph, size in ((digits, 2 * digits.features.size + 4 * digits.num_edges), (karate, 34 + 34 + 2 * 78)):
        _, arrays = pack(graph)
        assert sum(array.nbytes for array in arrays.values()) == size


def test_features_that_somebody_holds_otherwise_stay_so() -> None:
    karate = load("karate")
    dense = replace(karate, features=karate.features.toarray())
    assert not back(dense).is_sparse
    digits = load("digits")
    sparse = replace(digits, features=sp.csr_array(digits.features))
    assert np.array_equal(back(sparse).features.toarray(), digits.features)
    assert back(sparse).is_sparse


def test_the_parts_of_nodes_are_numbers() -> None:
    karate = load("karate")
    codes = split_codes(karate)
    assert np.array_equal(codes == 1, karate.train_mask)
    assert np.array_equal(codes == 2, karate.val_mask)
    assert np.array_equal(codes == 3, karate.test_mask)


def damaged(about: dict, arrays: dict, what: str) -> None:
    name = f"{PREFIX}{what.split()[0]}"
    if what == "edges out of range":
        arrays[name] = arrays[name] + np.uint8(200)
    elif what == "edges of floats":
        arrays[name] = arrays[name].astype(np.float32)
    elif what == "columns out of range":
        arrays[name] = arrays[name] + np.uint8(200)
    elif what == "counts of other nodes":
        arrays[name] = arrays[name][1:]
    elif what == "counts of more values":
        arrays[name] = arrays[name] + np.uint8(1)
    elif what == "weights of other edges":
        arrays[name] = np.ones(3, np.float32)
    elif what == "no counts":
        del arrays[f"{PREFIX}counts"]
    else:
        about["directed"] = "yes"


@pytest.mark.parametrize(
    "what",
    [
        *("edges out of range", "edges of floats", "columns out of range", "counts of other nodes"),
        *("counts of more values", "weights of other edges", "no counts", "a word for directed"),
    ],
)
def test_what_is_damaged_is_refused(what: str) -> None:
    karate = load("karate")
    about, arrays = pack(karate)
    damaged(about, arrays, what)
    with pytest.raises(DataError, match="its graph can't be"):
        unpack(about, arrays, karate.num_features, karate.node_ids, karate.class_names)


def test_a_graph_in_one_line_and_as_a_table() -> None:
    karate = replace(load("karate"), name="<i>\x1b", class_names=("a", "b", "<script>", "d"))
    assert repr(load("karate")) == (
        "Graph('karate', nodes=34, edges=78, features=34, classes=4, train=4, val=8, test=22, sparse=True)"
    )
    page = karate._repr_html_()
    assert "&lt;script&gt; (1)" in page
    assert "<script" not in page
    assert "\x1b" not in page
    assert "\n" not in repr(karate)
    assert "\x1b" not in repr(karate)
    many = replace(karate, class_names=tuple(map(str, range(40))))
    assert "and 28 more" in many._repr_html_()
