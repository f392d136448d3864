"""Numbers that go wrong: every fit ends with finite results or with one clear sentence, never with a silent nan."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gdamn.errors import GdamnError, GraphError, TrainingError
from gdamn.estimators import registry as methods
from gdamn.estimators.base import NodeClassifier
from gdamn.graph.graph import Graph
from gdamn.model.attention import HardAttention

pytestmark = pytest.mark.usefixtures("one_thread")

N = 40
FEW = {"pretrain_epochs": 20, "epochs": 10, "em_iterations": 2}
METHODS: list[tuple[str, dict[str, Any]]] = [("gdamn", FEW), ("gdamn-plus", FEW), ("gcn", {"epochs": 20})]


def graph(
    labels: np.ndarray | None = None, x: np.ndarray | None = None, edges: np.ndarray | None = None, val: int = 10
) -> Graph:
    """Twelve training nodes, some for validation, and the rest for the test."""
    luck = np.random.default_rng(0)
    labels = np.arange(N) % 2 if labels is None else labels
    edges = luck.integers(0, N, (2, 3 * N)) if edges is None else edges
    x = luck.normal(size=(N, 6)) + labels[:, None] if x is None else x
    masks = {"train_mask": range(12), "val_mask": range(12, 12 + val), "test_mask": range(12 + val, N)}
    return Graph.build(edges, x, labels, **{name: list(nodes) for name, nodes in masks.items()})


def fitted(method: str, where: Graph, overrides: dict[str, Any]) -> NodeClassifier:
    return methods.make(method, None, seed=0, overrides=overrides).fit(where)


def assert_finite(model: NodeClassifier) -> None:
    for name, value in model.tensors_.items():
        assert np.isfinite(value).all(), name
    for record in model.history_:
        assert all(np.isfinite(value) for value in record.values() if isinstance(value, float)), record
    assert model.probabilities_.sum(axis=1) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize(("method", "few"), METHODS)
@pytest.mark.parametrize("factor", [1, 100])
def test_a_hundred_times_the_learning_rate(method: str, few: dict[str, Any], factor: int) -> None:
    rate = factor * methods.make(method, None, seed=0, overrides=few).settings.learning_rate  # type: ignore[attr-defined]
    assert_finite(fitted(method, graph(), {**few, "learning_rate": rate}))


def test_a_beta_of_ten() -> None:
    assert_finite(fitted("gdamn", graph(), {**FEW, "beta": 10.0, "beta_pretrain": 10.0, "beta_e_step": 10.0}))


@pytest.mark.parametrize(("method", "few"), METHODS)
def test_a_learning_rate_beyond_all_bounds_is_refused(method: str, few: dict[str, Any]) -> None:
    with pytest.raises(TrainingError, match=r"(loss is (nan|inf)|not finite).*lower learning_rate"):
        fitted(method, graph(), {**few, "learning_rate": 1e38})


@pytest.mark.parametrize("val", [0, 10])
def test_weights_that_the_last_step_spoils_are_seen(val: int) -> None:
    """The loss of the only epoch is finite, because it is taken before the step."""
    with pytest.raises(TrainingError, match="predictions are not finite after epoch 0"):
        fitted("gcn", graph(val=val), {"epochs": 1, "learning_rate": 3e38})


@pytest.mark.parametrize("shift", [-1e4, 1e4])
def test_all_edges_cut_and_all_kept(monkeypatch: pytest.MonkeyPatch, shift: float) -> None:
    logits = HardAttention.logits
    monkeypatch.setattr(HardAttention, "logits", lambda self, *args: logits(self, *args) + shift)
    model = fitted("gdamn", graph(), {**FEW, "candidates": "em"})
    assert_finite(model)
    weights = model.edge_weights_
    assert weights is not None
    assert (weights["hard"] == (0 if shift < 0 else 1)).all()


def test_a_dead_projection(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every node's projection is cut to 0 by its ReLU, so that no cosine exists: all edges of a node weigh the same."""
    from gdamn.model import label_network

    start = label_network.initialise

    def dead(weights: list[torch.Tensor], how: str, generator: torch.Generator) -> None:
        start(weights, how, generator)
        for weight in weights:
            weight.data.fill_(-1)

    monkeypatch.setattr(label_network, "initialise", dead)
    assert_finite(fitted("gdamn", graph(x=np.abs(graph().features)), {**FEW, "normalize": "none"}))


LARGE = np.ones(N, dtype=int)
LARGE[[0, 13, 25]] = 0
GRAPHS = {
    "isolated nodes only": graph(edges=np.zeros((2, 0), dtype=int)),
    "a class without validation nodes": graph(np.array([0, 1, 2] * 4 + [0, 1] * 5 + [0, 1, 2] * 6)),
    "a class without training nodes": graph(np.array([0, 1] * 6 + [0, 1, 2] * 9 + [2])),
    "one class far larger": graph(LARGE),
    "no validation nodes": graph(val=0),
    "features of zeros": graph(x=np.zeros((N, 6))),
    "features that are all the same": graph(x=np.ones((N, 6))),
    "tiny features": graph(x=graph().features * 1e-30),
    "a star": graph(edges=np.stack([np.zeros(N - 1, dtype=int), np.arange(1, N)])),
}


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize(("method", "few"), METHODS)
def test_odd_graphs(name: str, method: str, few: dict[str, Any]) -> None:
    assert_finite(fitted(method, GRAPHS[name], few))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of NumPy, on the way to the error
@pytest.mark.parametrize("normalize", ["none", "row", "standard", "auto"])
@pytest.mark.parametrize("scale", [1e-38, 1e20, 1e37])
def test_extreme_features_are_finite_or_refused(normalize: str, scale: float) -> None:
    try:
        model = fitted("gdamn", graph(x=graph().features * scale), {**FEW, "normalize": normalize})
    except TrainingError as problem:
        assert "check the features for extreme values" in str(problem)  # noqa: PT017 - either is right
    else:
        assert_finite(model)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_features_that_are_no_numbers_are_refused(value: float) -> None:
    x = graph().features.copy()
    x[3, 2] = value
    with pytest.raises(GraphError, match="finite"):
        graph(x=x)


@settings(max_examples=15, deadline=None)
@given(
    rate=st.floats(1e-6, 1e6),
    beta=st.floats(0, 100),
    temperature=st.floats(0.01, 10),
    decay=st.floats(0, 100),
    seed=st.integers(0, 99),
)
def test_any_settings_end_finite_or_in_a_sentence(
    rate: float, beta: float, temperature: float, decay: float, seed: int
) -> None:
    chosen = {"learning_rate": rate, "beta": beta, "hard_temperature": temperature}
    few = {"pretrain_epochs": 4, "epochs": 3, "em_iterations": 1, "weight_decay": decay, **chosen}
    try:
        model = methods.make("gdamn", None, seed=seed, overrides=few).fit(graph())
    except GdamnError as problem:
        assert str(problem).endswith(".")  # noqa: PT017 - either is right
    else:
        assert_finite(model)
