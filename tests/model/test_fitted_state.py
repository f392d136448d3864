"""One description of what a fitted model holds: fits, files and the way back from another node order follow it."""

from __future__ import annotations

import numpy as np
import pytest

from gdamn import GDAMN, GDAMNPlus, Graph
from gdamn.estimators.registry import make
from gdamn.graph.order import renumbered
from gdamn.model.fitted_state import ATTENTION, HELD, WEIGHTS, Axis, FittedState, edge_index, put_back, shapes

pytestmark = pytest.mark.usefixtures("one_thread")
FEW = {"epochs": 2, "pretrain_epochs": 2, "em_iterations": 1, "hidden": 4, "projection": 4, "start": "graph"}


def make_graph(n: int = 30) -> Graph:
    rng = np.random.default_rng(0)
    labels = np.arange(n) % 3
    edges = rng.integers(0, n, (2, 4 * n))
    weights = rng.uniform(0.5, 2, 4 * n)
    x = np.eye(3)[labels] + rng.standard_normal((n, 3))
    return Graph.build(edges, x, labels, weights=weights, train_mask=np.arange(9), val_mask=np.arange(9, 18))


@pytest.mark.parametrize("batch", ["full", "fused", "partition"])
@pytest.mark.parametrize("estimator", [GDAMN, GDAMNPlus])
def test_a_fit_leaves_what_is_described_and_parameters(estimator, batch, tmp_path):
    graph = make_graph()
    settings = {**FEW, "propagator": "gcn", "draws": 1, "soft": True, "reweight": "stable", "batch": batch}
    settings["start"] = "evidence" if batch == "full" else "graph"
    model = estimator(**settings).fit(graph)
    wanted = shapes(graph.num_nodes, graph.num_classes, len(graph.indices))
    del wanted["base_probabilities"]  # those of correct and smooth
    del wanted["edge.kept"]  # where edges are cut
    if batch != "full":
        del wanted["edge.evidence"], wanted["edge.reliability"], wanted["edge.lot"]
    assert {name: model.tensors_[name].shape for name in wanted} == wanted
    assert all(model.tensors_[name].dtype == np.float32 for name in wanted.keys() - {"edge.index"})
    assert all(name.startswith(("q.", "p.")) for name in model.tensors_.keys() - HELD.keys())
    np.testing.assert_array_equal(model.tensors_["edge.index"], edge_index(graph))
    loaded = estimator.load(model.save(tmp_path / "model.gdamn"))
    assert loaded.tensors_.keys() == model.tensors_.keys()


def test_attention_is_that_of_the_edges_and_loops():
    arrays = {name: np.full(2, at) for at, name in enumerate(HELD)}
    state = FittedState.of(arrays)
    for kind, attention in (("edge", state.attention), ("loop", state.loop_attention)):
        assert attention is not None
        assert list(attention) == list(ATTENTION)
        assert all(attention[name] is arrays[f"{kind}.{name}"] for name in ATTENTION)
    assert FittedState.of({"probabilities": np.ones((2, 2))}).attention is None
    del arrays["loop.stable"]
    assert FittedState.of(arrays).loop_attention is None


def test_the_state_reads_and_writes_every_array_that_belongs_to_the_graph():
    arrays = {name: np.full(2, at) for at, name in enumerate(HELD)}
    written = FittedState.of({**arrays, "q.first.0": np.ones(3)}).named()
    assert written.keys() == HELD.keys()
    assert all(written[name] is array for name, array in arrays.items())
    assert FittedState.of({}).named() == {}


def test_correct_and_smooth_leaves_what_is_described_and_parameters(tmp_path):
    graph = make_graph()
    model = make("gcn-cs", overrides={"epochs": 2, "hidden": 4}).fit(graph)
    assert {name for name in model.tensors_ if name in HELD} == {"probabilities", "base_probabilities"}
    assert all(name.startswith("network.") for name in model.tensors_.keys() - HELD.keys())
    assert model.state_.base_probabilities.shape == (graph.num_nodes, graph.num_classes)
    loaded = type(model).load(model.save(tmp_path / "model.gdamn"))
    assert loaded.tensors_.keys() == model.tensors_.keys()


def test_put_back_undoes_the_order_of_every_array():
    graph = make_graph()
    rng = np.random.default_rng(1)
    order = rng.permutation(graph.num_nodes)
    moved, entries = renumbered(graph, order)
    wanted = {
        name: rng.standard_normal(shape).astype(np.float32)
        for name, shape in shapes(graph.num_nodes, graph.num_classes, len(graph.indices)).items()
    }
    wanted |= {"edge.index": edge_index(graph), "edge.hard": graph.weights, "q.first.0": np.arange(3)}
    in_fit = {Axis.NODE: order, Axis.LOOP: order, Axis.EDGE: entries}
    given = {name: wanted[name][in_fit[axes[0]]] for name, axes in HELD.items() if axes[0] in in_fit}
    np.testing.assert_array_equal(given["edge.hard"], moved.weights)  # as the renumbered graph has them
    given |= {"edge.index": edge_index(moved), "q.first.0": wanted["q.first.0"]}
    found = put_back(given, graph, order, entries)
    assert found.keys() == wanted.keys() == {*HELD, "q.first.0"}
    for name, value in wanted.items():
        np.testing.assert_array_equal(found[name], value, err_msg=name)


def test_the_weights_of_loops_and_edges_are_the_same():
    for kind, axis in (("edge", Axis.EDGE), ("loop", Axis.LOOP)):
        assert [HELD[f"{kind}.{name}"] for name in WEIGHTS] == [(axis,)] * len(WEIGHTS)
