"""Training in batches: equal to the full batch where every neighbour is there, close to it elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch

import gdamn
from gdamn.data import load
from gdamn.errors import ConfigError
from gdamn.fit.domains.batched import exact, large
from gdamn.fit.domains.batched.large import make_features, make_large
from gdamn.fit.domains.batched.views import Viewer
from gdamn.graph.graph import Graph
from gdamn.kernels import Key, bernoulli_kl
from gdamn.model.inputs import feature_block
from gdamn.model.objectives import weighed_kl

CPU = torch.device("cpu")
QUIET: dict[str, Any] = {
    "seed": 1,
    "dropout_input": 0.0,
    "dropout_hidden": 0.0,
    "dropout_labels": 0.0,
    "dropout_attention": 0.0,
    "pretrain_epochs": 4,
    "epochs": 4,
    "em_iterations": 2,
    "hidden": 8,
    "projection": 8,
    "start": "graph",
}
WHOLE: dict[str, Any] = {"batch": "partition", "halo": -1, "accumulate": True}


def small(**options: Any) -> Graph:
    return load("sbm", num_nodes=300, degree=6.0, num_features=12, **options)


def same_fit(full: gdamn.GDAMN, parts: gdamn.GDAMN) -> None:
    for a, b in zip(full.history_, parts.history_, strict=True):
        assert a["phase"] == b["phase"]
        for name in ("loss", "likelihood", "entropy", "kl", "val_loss"):
            if a.get(name) is not None:
                assert b[name] == pytest.approx(a[name], rel=2e-4, abs=1e-5), (a["phase"], a["epoch"], name)
    np.testing.assert_allclose(parts.probabilities_, full.probabilities_, atol=2e-4)
    assert full.edge_weights_ is not None
    assert parts.edge_weights_ is not None
    for name, values in full.edge_weights_.items():
        np.testing.assert_allclose(parts.edge_weights_[name], values, atol=2e-4)


@pytest.mark.parametrize("partitioner", ["metis", "stream", "order"])
def test_parts_with_a_whole_halo_are_the_full_batch_step_for_step(partitioner: str) -> None:
    graph = small()
    full = gdamn.GDAMN(batch="full", **QUIET).fit(graph)
    parts = gdamn.GDAMN(**WHOLE, batch_nodes=70, partitioner=partitioner, **QUIET).fit(graph)
    same_fit(full, parts)


@pytest.mark.parametrize(
    "changed",
    [
        {"stable_norm": "row", "kl_per": "edge", "e_step": "sums"},
        {"hard": False},
        {"attention_temperature": 0.3, "prior_clamp": 0.05},
        {"soft": False, "reweight": "hard"},
        {"p_input": "labels", "layers": 3, "stable_norm": "none"},
        {"candidates": "all", "average": 0.9, "normalize": "standard"},
        {"class_weight": "0=9,2=0.3", "metric": "macro_f1", "candidates": "all"},
    ],
)
def test_every_variant_is_the_full_batch_too(changed: dict[str, Any]) -> None:
    graph = small()
    settings = {**QUIET, **changed}
    full = gdamn.GDAMN(batch="full", **settings).fit(graph)
    parts = gdamn.GDAMN(**WHOLE, batch_nodes=120, **settings).fit(graph)
    same_fit(full, parts)


def test_weighted_directed_and_sparse_graphs_are_the_full_batch_too() -> None:
    rng = np.random.default_rng(3)
    n = 120
    features = (rng.random((n, 40)) < 0.1).astype(np.float32)
    masks = np.zeros((3, n), bool)
    for which, nodes in enumerate(np.split(rng.permutation(n), [30, 60])):
        masks[which, nodes] = True
    edges = rng.integers(0, n, (2, 500))
    graph = Graph.build(
        edges,
        features,
        rng.integers(0, 3, n),
        weights=rng.random(500) + 0.1,
        train_mask=masks[0],
        val_mask=masks[1],
        test_mask=masks[2],
        directed=True,
    )
    full = gdamn.GDAMN(batch="full", **QUIET).fit(graph)
    same_fit(full, gdamn.GDAMN(**WHOLE, batch_nodes=50, partitioner="order", **QUIET).fit(graph))


def test_neighbours_that_are_all_sampled_are_the_full_batch() -> None:
    graph = small()
    full = gdamn.GDAMN(batch="full", **QUIET).fit(graph)
    same_fit(full, gdamn.GDAMN(batch="neighbour", fanout=1000, accumulate=True, batch_nodes=90, **QUIET).fit(graph))


@pytest.mark.parametrize("settings", [{"batch": "partition", "halo": 1}, {"batch": "neighbour", "fanout": 5}])
def test_real_batches_learn_and_repeat_to_the_bit(settings: dict[str, Any]) -> None:
    graph = load("sbm", num_nodes=400)
    first, again = (
        gdamn.GDAMN(
            seed=3, start="graph", batch_nodes=200, epochs=8, em_iterations=1, pretrain_epochs=8, **settings
        ).fit(graph)
        for _ in range(2)
    )
    assert first.score() > 0.8
    assert first.history_ == again.history_
    np.testing.assert_array_equal(first.probabilities_, again.probabilities_)


def test_inference_over_blocks_is_that_of_the_whole_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = small()
    monkeypatch.setattr("gdamn.fit.domains.batched.large.ENTRIES", 100)
    monkeypatch.setattr("gdamn.fit.domains.batched.large.ROWS", 37)
    full = gdamn.GDAMN(batch="full", **QUIET).fit(graph)
    same_fit(full, gdamn.GDAMN(**WHOLE, batch_nodes=300, **QUIET).fit(graph))


def test_a_view_has_the_large_graphs_pairs_and_complete_own_rows() -> None:
    graph = small()
    problem = make_large(graph, "none", 0.0, CPU)
    own = np.arange(0, 60, dtype=np.int64)
    view = Viewer(problem).halo(own, 1)
    pattern, structure = view.problem.structure.pattern, graph.structure
    nodes = view.nodes.numpy()
    for row in view.own.numpy():
        here = slice(pattern.indptr[row], pattern.indptr[row + 1])
        whole = slice(structure.pattern.indptr[nodes[row]], structure.pattern.indptr[nodes[row] + 1])
        np.testing.assert_array_equal(nodes[pattern.indices[here]], structure.pattern.indices[whole])
        np.testing.assert_array_equal(view.problem.structure.pair[here], structure.pair[whole])
    assert int(view.counted.sum()) == np.diff(graph.indptr)[own].sum()


def test_sums_over_sampled_neighbours_are_unbiased() -> None:
    graph = load("sbm", num_nodes=400, degree=30.0)
    problem = make_large(graph, "none", 0.0, CPU)
    viewer, own = Viewer(problem), np.arange(20, dtype=np.int64)
    block = next(problem.blocks())
    x = torch.as_tensor(graph.features.copy())
    wanted = block.product(block.weights, x)[own]
    draws = []
    for draw in range(400):
        view = viewer.sampled(own, 1, 5, Key(7).fold(draw))
        adjacency = view.problem.structure
        values = torch.as_tensor(adjacency.weights.copy())
        rows = torch.zeros(len(view.nodes), x.shape[1])
        rows.index_add_(
            0,
            torch.as_tensor(adjacency.pattern.rows).long(),
            values[:, None] * x[view.nodes[adjacency.pattern.indices]],
        )
        draws.append(rows[view.own])
    found = torch.stack(draws)
    error = (found.mean(0) - wanted) / (found.std(0) / 400**0.5 + 1e-6)
    assert error.abs().mean() < 1.2  # standard errors: 0.8 if unbiased
    assert error.abs().max() < 6


def test_the_kl_with_weights_is_that_of_the_kernels() -> None:
    logits = torch.linspace(-3, 3, 50)
    prior = torch.linspace(0.01, 0.99, 50)
    free = torch.arange(50) % 3 > 0
    torch.testing.assert_close(weighed_kl(logits, prior, free.float(), 1), bernoulli_kl(logits, prior, free))


def test_blocks_make_the_degrees_of_the_structure() -> None:
    graph = small()
    rows, columns = make_large(graph, "none", 0.0, CPU).degrees
    wanted = torch.as_tensor(np.diff(graph.structure.pattern.indptr)).float()
    torch.testing.assert_close(rows, wanted)
    torch.testing.assert_close(columns.float(), wanted)


def test_features_of_half_width_are_read_in_full() -> None:
    x = np.random.default_rng(0).random((50, 4)).astype(np.float16)
    block = make_features(x, "standard", 0.0, CPU).block(np.arange(10))
    assert block.dense is not None
    assert block.dense.dtype == torch.float32
    whole = x.astype(np.float64)
    np.testing.assert_allclose(block.dense, ((whole - whole.mean(0)) / whole.std(0))[:10], atol=1e-4)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("how", ["idf", "row", "binary"])
def test_features_are_the_same_a_run_at_a_time(how: str, sparse: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large, "ROWS", 7)
    x: Any = np.random.default_rng(0).integers(0, 3, (50, 4)).astype(np.float32)
    x = sp.csr_array(x) if sparse else x
    weight = torch.randn(4, 3)
    torch.testing.assert_close(
        make_features(x, how, 0.0, CPU).linear(weight), feature_block(x, how, 0.0, CPU).linear(weight, None)
    )


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"propagator": "gat"}, "propagator=gat"),
        ({"start": "similar"}, "start=similar"),
        ({"beta": "auto"}, "beta"),
        ({"reweight_samples": 2}, "reweight_samples=2"),
    ],
)
def test_what_batches_cannot_do_is_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        gdamn.GDAMN(batch="partition", **settings).fit(small())


def test_a_graph_too_large_for_memory_goes_over_to_parts_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    model = gdamn.GDAMN(memory=1e-4, pretrain_epochs=2, epochs=2, em_iterations=1, batch_nodes=100).fit(small())
    assert "batch=partition" in caplog.text
    assert model.edge_weights_ is not None
    caplog.clear()
    gdamn.GDAMN(pretrain_epochs=2, epochs=2, em_iterations=1).fit(small())
    assert caplog.text == ""


def test_weights_of_the_chosen_structure_need_no_array_of_edges() -> None:
    graph = small()
    problem = make_large(graph, "none", 0.0, CPU)
    weigh = exact.gcn_weights(problem)
    block = next(problem.blocks())
    degrees = np.diff(graph.indptr) + 1.0
    wanted = 1 / np.sqrt(degrees[block.pattern.rows] * degrees[block.pattern.indices])
    np.testing.assert_allclose(weigh(block), wanted, rtol=1e-5)
