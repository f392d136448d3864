"""The full batch with the least memory: the same numbers as the full batch, by other loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gdamn
from gdamn.data import load
from gdamn.errors import ConfigError
from gdamn.fit.domains.lean import lean_structure
from gdamn.graph.graph import Graph

from .test_batched import same_fit, small

FEW: dict[str, Any] = {"seed": 2, "pretrain_epochs": 4, "epochs": 4, "em_iterations": 2, "hidden": 8, "projection": 8}


def weighted() -> Graph:
    g = small()
    rows = np.repeat(np.arange(g.num_nodes), np.diff(g.indptr))
    edges = np.stack([rows, g.indices])
    weights = np.random.default_rng(1).random(g.num_nodes**2).reshape(g.num_nodes, -1)
    weights = (weights + weights.T)[rows, g.indices] + 0.1
    masks = {f"{which}_mask": g.mask(which) for which in ("train", "val", "test")}
    return Graph.build(edges, g.features, g.labels, weights=weights, **masks)


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"stable_norm": "row", "kl_per": "edge"},
        {"reweight": "hard", "symmetric_q": False, "hard_temperature": 1.0},
        {"candidates": "all", "p_propagator": "sage", "start": "features"},
        {"attention_temperature": 0.3, "prior_clamp": 0.05, "diversity": 1.0},
        {"class_weight": "0=9,2=0.3", "metric": "balanced_accuracy", "candidates": "all"},
    ],
)
@pytest.mark.parametrize("graph", [small, weighted])
def test_the_fused_batch_is_the_full_batch_with_all_its_noise(graph: Any, changed: dict[str, Any]) -> None:
    settings = {**FEW, "start": "graph", **changed}
    same_fit(*(gdamn.GDAMN(batch=batch, **settings).fit(graph()) for batch in ("full", "fused")))


def test_sparse_features_are_the_same_too() -> None:
    graph = load("karate")
    settings = {**FEW, "start": "graph"}
    same_fit(*(gdamn.GDAMN(batch=batch, **settings).fit(graph) for batch in ("full", "fused")))


def test_the_result_does_not_depend_on_threads() -> None:
    one, two = (gdamn.GDAMN(batch="fused", threads=count, **FEW).fit(small()) for count in (1, 2))
    np.testing.assert_array_equal(one.probabilities_, two.probabilities_)


def test_the_lean_structure_is_the_structure() -> None:
    for graph in (small(), weighted()):
        lean, whole = lean_structure(graph), graph.structure
        for name in ("indptr", "indices", "t_indptr", "t_indices", "t_perm"):
            np.testing.assert_array_equal(getattr(lean.pattern, name), getattr(whole.pattern, name))
        np.testing.assert_array_equal(lean.weights, whole.weights)
        np.testing.assert_array_equal(lean.free, whole.free)
        assert lean.pattern.symmetric


@pytest.mark.parametrize(
    ("settings", "said"),
    [({"hard": False}, "hard=False"), ({"start": "similar"}, "similar")],
)
def test_what_it_cannot_do_is_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        gdamn.GDAMN(batch="fused", **settings).fit(small())


def test_auto_takes_it_before_it_takes_parts(caplog: pytest.LogCaptureFixture) -> None:
    graph = small()
    few = {"pretrain_epochs": 1, "epochs": 1, "em_iterations": 1, "hidden": 4, "projection": 4, "start": "graph"}
    gdamn.GDAMN(memory=0.0005, **few).fit(graph)
    assert "batch=fused" in caplog.text
