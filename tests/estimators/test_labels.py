"""Labels come back as the user's names, from every kind of names, and in tables."""

from __future__ import annotations

import importlib.util
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from gdamn import Graph, load
from gdamn.baselines.gcn import GCNClassifier
from gdamn.errors import GraphError
from gdamn.estimators.conventions import class_array
from gdamn.estimators.predictions import of_fit

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def graph() -> Graph:
    return load("karate")


def fitted(graph: Graph) -> GCNClassifier:
    return GCNClassifier(epochs=5, threads=1).fit(graph)


@pytest.mark.parametrize(
    ("names", "classes"),
    [
        (("0", "1", "2", "3"), [0, 1, 2, 3]),
        (("1", "2", "3", "7"), [1, 2, 3, 7]),
        (("-1", "1", "2", "3"), [-1, 1, 2, 3]),
        (("01", "1", "2", "3"), ["01", "1", "2", "3"]),
        (("a", "b", "ü", "d\0"), ["a", "b", "ü", "d\0"]),
        (("1", "2", "3", "x"), ["1", "2", "3", "x"]),
        (("1.0", "2.0", "3.0", "4.0"), ["1.0", "2.0", "3.0", "4.0"]),
        (("1", "2", "3", "9" * 30), ["1", "2", "3", "9" * 30]),
    ],
)
def test_names_of_every_kind(graph: Graph, names: tuple[str, ...], classes: list[object]) -> None:
    model = fitted(replace(graph, class_names=names))
    assert model.classes_.tolist() == classes
    numbers = model.predict(names=False)
    assert numbers.dtype == np.int64
    assert numbers.tolist() == model.predict_proba().argmax(1).tolist()
    assert model.predict().tolist() == [classes[number] for number in numbers]
    assert class_array(()).tolist() == []


def test_a_table_of_all_nodes(graph: Graph) -> None:
    named = replace(graph, class_names=("a", "b", "c", "d"), node_ids=np.array([f"n{i}" for i in range(34)]))
    model = fitted(named)
    frame = model.predict_frame()
    assert isinstance(frame, pd.DataFrame)
    columns = of_fit(model, named).short_columns()
    assert list(frame.columns) == list(columns) == ["node", "predicted", "confidence", "split"]
    for name, column in columns.items():
        assert frame[name].tolist() == column.tolist()
    assert frame.predicted.tolist() == model.predict().tolist()


def test_without_pandas_it_is_an_arrow_table(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    model = fitted(graph)
    frame = model.predict_frame()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    table = model.predict_frame()
    assert isinstance(table, pa.Table)
    assert table.to_pydict() == {name: frame[name].tolist() for name in frame.columns}


@pytest.mark.parametrize("unknown", [None, np.nan, -1], ids=str)
def test_y_by_names_and_numbers(graph: Graph, unknown: object) -> None:
    named = replace(graph, class_names=("a", "b", "c", "d"))
    bare = replace(named, labels=np.full(34, -1))
    known = graph.train_mask | graph.val_mask
    texts = np.where(known, np.array(["a", "b", "c", "d"], object)[graph.labels], unknown)
    assert np.array_equal(fitted(named).predict(), GCNClassifier(epochs=5, threads=1).fit_predict(bare, texts))
    with pytest.raises(GraphError, match=r"'zebra' in y is no class of the graph, which has a, b, c, d"):
        GCNClassifier().fit(bare, ["zebra"] * 34)
    with pytest.raises(GraphError, match="3 labels in y for 34 nodes"):
        GCNClassifier().fit(bare, ["a"] * 3)
    with pytest.raises(GraphError, match="progress="):
        GCNClassifier().fit(bare, print)  # type: ignore[arg-type]


def test_y_names_the_classes_of_a_graph_without_labels(graph: Graph) -> None:
    """Every labelled node trains, as in scikit-learn's semi-supervised methods."""
    edges = np.stack([graph.indices, graph.rows])
    bare = Graph.build(edges, graph.features)
    y = pd.Series(np.where(graph.train_mask, 10 * (graph.labels + 1), np.nan))
    model = GCNClassifier(epochs=5, threads=1).fit(bare, y)
    assert model.classes_.tolist() == [10, 20, 30, 40]
    assert np.array_equal(model.graph_.train_mask, graph.train_mask)
    assert model.protocol_["selection"].startswith("last epoch")
    named = replace(graph, class_names=("10", "20", "30", "40"))
    alone = named.with_masks(graph.train_mask, [], [])
    assert np.array_equal(fitted(alone).predict(), model.predict())
