"""Defaults of the baselines for graphs without a preset, and the presets that keep the publications' settings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression

from gdamn import Graph
from gdamn.estimators.registry import make

pytestmark = pytest.mark.usefixtures("one_thread")

PUBLISHED: dict[str, dict[str, Any]] = {
    "logreg": {"weight_decay": 5e-4, "learning_rate": 0.1, "epochs": 200, "dropout_input": 0.0},
    "lpa": {"alpha": 1.0, "norm": "row", "epochs": 50},
    "sgc": {"steps": 2, "learning_rate": 0.2, "dropout_input": 0.0},
    "appnp": {"weight_decay": 5e-3, "learning_rate": 0.01, "epochs": 400, "steps": 10, "dropout_edges": 0.5},
    "grand": {"weight_decay": 5e-4, "drop_node": 0.5, "hidden": 32},
}
EPOCHS = {"cora": 1000, "citeseer": 1000, "pubmed": 150, "coauthor-cs": 200, "coauthor-physics": 200}


@pytest.mark.parametrize("dataset", EPOCHS)
@pytest.mark.parametrize("method", PUBLISHED)
def test_presets_have_the_settings_of_the_publications(method: str, dataset: str) -> None:
    settings = make(method, dataset).get_params()
    assert {key: settings[key] for key in PUBLISHED[method]} == PUBLISHED[method]
    if method != "lpa":
        rows = method == "sgc" or "coauthor" not in dataset
        assert settings["normalize"] == ("auto" if rows else "none")
    if method == "grand":
        assert settings["epochs"] == EPOCHS[dataset]
        assert settings["lambda_"] == (0.7 if dataset == "citeseer" else 1.0)
        assert make(method).get_params()["lambda_"] == 0.3


def words(seed: int = 0) -> Graph:
    """Three classes with words of their own among many others, in rows of 40 to 80 words; most edges within a class."""
    random = np.random.default_rng(seed)
    labels = np.repeat([0, 1, 2], 60)
    likely = np.full((3, 600), 0.1)
    for number in range(3):
        likely[number, 20 * number : 20 * number + 20] = 0.3
    features = sp.csr_array((random.random((180, 600)) < likely[labels]).astype(np.float32))
    near = random.integers(0, 60, (2, 400)) + 60 * random.integers(0, 3, 400)
    far = random.integers(0, 180, (2, 80))
    train = np.concatenate([np.arange(5) + 60 * number for number in range(3)])
    return Graph.build(
        np.concatenate([near, far], 1),
        features,
        labels,
        train_mask=train,
        test_mask=np.setdiff1d(np.arange(180), train),
    )


def test_sgc_is_logistic_regression_on_features_smoothed_four_times() -> None:
    graph = words()
    adjacency = graph.to_scipy().toarray() + np.eye(graph.num_nodes)
    degrees = adjacency.sum(1)
    smooth = np.linalg.matrix_power(adjacency / np.sqrt(np.outer(degrees, degrees)), 4)
    rows = graph.features.toarray()
    x = smooth @ (rows / np.linalg.norm(rows, axis=1, keepdims=True))
    train = graph.train_mask
    sgc = make("sgc", overrides={"epochs": 2000})
    strength = 1 / (sgc.settings.weight_decay * train.sum())  # the mean loss and half of the decay, as Adam has them
    exact = LogisticRegression(C=strength, tol=1e-8, max_iter=10_000).fit(x[train], graph.labels[train])
    np.testing.assert_allclose(sgc.fit(graph).predict_proba(), exact.predict_proba(x), atol=0.01)
