"""Reading own tables: ids, labels, encodings and splits."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from broken_tables import files
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer

from gdamn import Graph
from gdamn.data import files as own
from gdamn.data import structure_features as structure
from gdamn.data.encode import Encoder
from gdamn.data.files.table import from_frame
from gdamn.data.held_out import held_out


def ring(ids: list[Any]) -> pd.DataFrame:
    return pd.DataFrame({"source": ids, "target": ids[1:] + ids[:1]})


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        (["007", "7", "x"], ["007", "7", "x"]),
        ([3, 1, 2], [3, 1, 2]),
        (["3", "1", "2"], [3, 1, 2]),
        ([1.0, 2.0, 3.0], [1, 2, 3]),
        ([0.5, 1.5, 2.5], ["0.5", "1.5", "2.5"]),
        ([2**70, 5, 6], [str(2**70), "5", "6"]),
        (pd.to_datetime(["2020-01-01", "2020-01-02", "2021-01-01"]).tolist(), None),
        ([True, False], ["true", "false"]),
        (["NA", "null", " "], ["NA", "null", " "]),
        (["ä", "日本", "🦉"], ["ä", "日本", "🦉"]),
    ],
)
def test_ids_of_any_type(ids: list[Any], expected: list[Any] | None) -> None:
    ids_column: Any = [str(i) for i in ids] if any(isinstance(i, int) and i > 2**63 for i in ids) else ids
    graph = Graph.from_tables(pd.DataFrame({"id": ids_column, "x": range(len(ids))}), ring(list(ids_column)))
    assert graph.num_nodes == len(ids)
    assert graph.num_edges == (3 if len(ids) == 3 else 1)
    if expected is not None:
        assert graph.node_ids.tolist() == expected


def test_classes_are_in_order_and_empty_means_unknown() -> None:
    nodes = pd.DataFrame({"id": range(6), "label": ["10", "9", "", None, "10", "9"], "x": range(6)})
    graph = Graph.from_tables(nodes, ring(list(range(6))), label="label")
    assert graph.class_names == ("9", "10")
    assert graph.labels.tolist() == [1, 0, -1, -1, 1, 0]
    words = nodes.assign(label=["NATO", "b", None, "", "NATO", "b"])
    assert Graph.from_tables(words, ring(list(range(6))), label="label").class_names == ("NATO", "b")


def test_numbers_are_standardised_and_categories_one_hot() -> None:
    nodes = pd.DataFrame({"id": range(40), "size": np.arange(40) ** 2, "kind": ["u", "v", None, "w"] * 10, "one": 1})
    graph: Any = Graph.from_tables(nodes, ring(list(range(40))))
    x = graph.features.toarray() if graph.is_sparse else graph.features
    size = nodes["size"].to_numpy(float)
    assert np.allclose(x[:, 0], (size - size.mean()) / size.std(), atol=1e-6)
    assert np.array_equal(x[:, 1], np.zeros(40))
    assert np.array_equal(x[:, 2:], np.eye(4)[[0, 1, 3, 2] * 10][:, :3])
    said = " ".join(graph.meta["notes"])
    assert "'one' is constant" in said
    assert "'kind' one-hot encoded in 3" in said


def test_text_becomes_tfidf() -> None:
    texts = ["red apple", "green apple", "blue sky", "", "red sky at night"] * 3
    nodes = pd.DataFrame({"id": range(15), "words": texts})
    graph: Any = Graph.from_tables(nodes, ring(list(range(15))), text="words")
    x = graph.features.toarray() if graph.is_sparse else graph.features
    assert np.allclose(x, TfidfVectorizer().fit_transform(texts).toarray(), atol=1e-6)


def test_columns_that_nobody_asked_for_are_left_out_when_they_are_names() -> None:
    nodes = pd.DataFrame({"id": range(60), "name": [f"person {i}" for i in range(60)], "age": range(60)})
    graph = Graph.from_tables(nodes, ring(list(range(60))))
    assert graph.num_features == 1
    assert any(note.startswith("Left out: 'name'") for note in graph.meta["notes"])


def test_the_encoder_goes_through_json_and_does_the_same() -> None:
    nodes = pd.DataFrame({"a": [1.5, 2.25, 1e-9], "k": ["x", "y", None], "t": ["one two", "two", "three"]})
    table = from_frame(nodes, "nodes")
    fitted = Encoder.fit(table, ["a", "k"], "t", [])
    again = Encoder.from_dict(json.loads(json.dumps(fitted.as_dict())), "x")
    assert np.array_equal(fitted.transform(table).toarray(), again.transform(table).toarray())
    new = from_frame(pd.DataFrame({"a": [0.0], "k": ["never seen"], "t": ["four"]}), "new")
    assert again.transform(new).toarray()[0, 1:].tolist() == [0] * (again.width - 1)


def test_eigenvectors_are_eigenvectors() -> None:
    rng = np.random.default_rng(0)
    for n in (30, 600):
        edges = rng.integers(0, n, (2, 4 * n))
        matrix = structure.adjacency(edges, n)
        vectors, values = structure.eigenvectors(matrix)
        operator = structure.normalised(matrix)
        assert vectors.shape == (n, 16)
        assert np.allclose(operator @ vectors, vectors * values, atol=0.05)
        exact = np.sort(np.linalg.eigvalsh(operator.toarray()))[::-1][1:17]
        assert np.allclose(values, exact, atol=1e-3)


def test_carried_eigenvectors_are_those_of_the_whole_graph_where_the_formula_is_exact() -> None:
    """A node that is left out and carried back gets its own value: the eigenvector equation is the formula."""
    rng = np.random.default_rng(1)
    edges = rng.integers(0, 50, (2, 300))
    vectors, values = structure.eigenvectors(structure.adjacency(edges, 50))
    known = np.arange(50)
    known[7] = -1
    carried = structure.extended(edges, 50, known, vectors.astype(np.float32), values)
    strong = np.abs(values) > 0.05
    assert np.allclose(carried[7, strong], vectors[7, strong], atol=1e-3)
    assert np.allclose(carried[8], vectors[8], atol=1e-6)


@given(
    labels=st.lists(st.integers(-1, 4), min_size=1, max_size=80),
    val=st.floats(0, 0.6),
    test=st.floats(0, 0.35),
    seed=st.integers(0, 9),
)
@settings(max_examples=60, deadline=None)
def test_a_made_split_is_stratified(labels: list[int], val: float, test: float, seed: int) -> None:
    y = np.array(labels)
    train, held, tested = held_out(y, val, test, seed)
    assert np.array_equal(train | held | tested, y >= 0)
    assert (train.astype(int) + held + tested).max() <= 1
    for label, count in Counter(y[y >= 0].tolist()).items():
        own_class = y == label
        assert train[own_class].any()
        assert abs(tested[own_class].sum() - test * count) <= 1
    again = held_out(y, val, test, seed)
    assert all(np.array_equal(a, b) for a, b in zip((train, held, tested), again, strict=True))


def test_another_seed_is_another_split_and_the_split_number_fixes_it(tmp_path: Path) -> None:
    files()(tmp_path)
    options: dict[str, Any] = {"edges": str(tmp_path / "edges.csv"), "label": "label", "test_share": 0.2}
    first, second = (own.load(tmp_path / "nodes.csv", seed=seed, **options) for seed in (0, 1))
    assert not np.array_equal(first.val_mask, second.val_mask)
    fixed = own.load(tmp_path / "nodes.csv", seed=1, split=0, **options)
    assert np.array_equal(first.val_mask, fixed.val_mask)
    assert first.test_mask.sum() == 3
    assert "3 for the test" in first.meta["notes"][-1]


def test_a_given_split_without_validation_nodes_holds_some_out() -> None:
    nodes = pd.DataFrame({"id": range(30), "y": ["a", "b"] * 15, "set": ["train"] * 20 + ["test"] * 10, "x": range(30)})
    graph = Graph.from_tables(nodes, ring(list(range(30))), label="y", split="set")
    assert [int(graph.mask(name).sum()) for name in ("train", "val", "test")] == [16, 4, 10]
    assert "no validation nodes" in graph.meta["notes"][-1]


def test_test_labels_change_nothing_but_the_score(tmp_path: Path) -> None:
    """Features are encoded and splits made without them."""
    nodes = pd.DataFrame({"id": range(30), "y": ["a", "b"] * 15, "x": range(30)})
    nodes["set"] = ["train"] * 12 + ["val"] * 8 + ["test"] * 10
    other = nodes.assign(y=nodes["y"].where(nodes["set"] != "test", "a"))
    one, two = (Graph.from_tables(each, ring(list(range(30))), label="y", split="set") for each in (nodes, other))
    assert np.array_equal(one.features, two.features)
    assert one.meta["encoder"] == two.meta["encoder"]
    assert np.array_equal(one.train_mask, two.train_mask)
