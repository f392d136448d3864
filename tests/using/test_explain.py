"""Reasons and suspicious edges: sums that give the logits again, and planted edges that are found."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from after_helpers import SCHEDULE

from gdamn import GDAMN, Graph
from gdamn.errors import ConfigError, GraphError
from gdamn.estimators.predictions import Predictions, split_names
from gdamn.model.temperature import Temperature, scaled
from gdamn.using.explain import explain, find_node
from gdamn.using.explain_plot import MOST, draw, drawn_neighbours
from gdamn.using.suspicious import suspicious

pytestmark = pytest.mark.usefixtures("one_thread")


def judged(model: GDAMN, graph: Graph, temperature: float = 1.3) -> Predictions:
    p = scaled(model.predict_proba(), temperature)
    return Predictions(graph, p, split_names(graph), Temperature(temperature, True, ""), {})


@pytest.mark.parametrize("changes", [{}, {"layers": 3, "batch_norm": True}, {"candidates": "all", "epochs": 1}])
def test_the_parts_sum_to_the_logit(changes: dict[str, object], noisy: Graph) -> None:
    """Two ways to the same number: what neighbours, node and bias add, and the saved probabilities."""
    fitted = GDAMN(**{**SCHEDULE, "candidates": "em", **changes}).fit(noisy)
    predictions = judged(fitted, noisy)
    for node in (0, 17, 123):
        found = explain(fitted, noisy, predictions, node)
        assert found["basis"].startswith("exact")
        parts = [found["own"], found["bias"], *found["neighbours"]]
        logits = np.log(fitted.probabilities_[node].astype(float))
        assert sum(part["contribution"] for part in parts) == pytest.approx(logits.max() - logits.mean(), abs=1e-4)
        assert sum(part["share"] for part in parts) == pytest.approx(1)
        assert {each["node"] for each in found["neighbours"]} == neighbours(noisy, node)
        assert found["opinions"]["q"][found["predicted"]] == pytest.approx(found["confidence"])


def neighbours(graph: Graph, node: int) -> set[str]:
    return {str(graph.node_ids[j]) for j in graph.indices[graph.indptr[node] : graph.indptr[node + 1]]}


def test_other_networks_are_explained_by_weight_and_say_so(noisy: Graph) -> None:
    fitted = GDAMN(**{**SCHEDULE, "pretrain_epochs": 5, "epochs": 3}, propagator="appnp", candidates="em").fit(noisy)
    found = explain(fitted, noisy, judged(fitted, noisy), 3)
    assert found["basis"].startswith("approximate")
    weights = {each["node"]: each["stable"] for each in found["neighbours"]}
    assert {each["node"]: each["contribution"] for each in found["neighbours"]} == weights


def test_labels_outside_training_are_not_told(model: GDAMN, noisy: Graph) -> None:
    scrambled = replace(noisy, labels=np.where(noisy.train_mask, noisy.labels, (noisy.labels + 1) % 3))
    for node in range(0, 300, 50):
        one, two = (explain(model, graph, judged(model, graph), node) for graph in (noisy, scrambled))
        assert one == two


def test_a_changed_graph_is_noticed(model: GDAMN, noisy: Graph) -> None:
    with pytest.raises(GraphError, match="changed"):
        explain(model, replace(noisy, features=noisy.features * 2 + 1), judged(model, noisy), 0)


def test_a_wrong_node_has_a_near_one(noisy: Graph) -> None:
    assert find_node(noisy, "n12") == 12
    with pytest.raises(GraphError, match=r"no node 'n1234'.*mean n.*n124"):
        find_node(noisy, "n1234")
    with pytest.raises(GraphError, match=r"'\\x1b\[31m'.*such as n0"):
        find_node(noisy, "\x1b[31m")


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_drawings(suffix: str, model: GDAMN, noisy: Graph, tmp_path: Path) -> None:
    found = explain(model, noisy, judged(model, noisy), 17)
    odd = {**found, "node": "$x^{", "predicted": "[red]\x1b[31m"}
    drawings = [("odd", odd), ("alone", {**found, "neighbours": []})] if suffix == "svg" else []
    for name, shown in [("one", found), ("two", found), *drawings]:
        draw(shown, tmp_path / f"{name}.{suffix}")
    assert (tmp_path / f"one.{suffix}").read_bytes() == (tmp_path / f"two.{suffix}").read_bytes()
    assert len(list(tmp_path.iterdir())) == 2 + len(drawings)


def test_of_many_neighbours_the_ones_that_count_are_drawn() -> None:
    made = [{"cut": at >= 40, "contribution": 100 - at} for at in range(100)]
    shown = drawn_neighbours(made)
    assert len(shown) == MOST
    assert [each["cut"] for each in shown] == [False] * 16 + [True] * 8
    assert shown[0] is made[0]


def test_planted_edges_are_suspicious(model: GDAMN, noisy: Graph) -> None:
    found = suspicious(model, noisy, judged(model, noisy), 10**9)
    assert len(found["hard"]) == noisy.num_edges
    assert (np.diff(found["suspicion"]) <= 0).all()
    number = {name: at for at, name in enumerate(noisy.node_ids.tolist())}
    ends = [(number[a], number[b]) for a, b in zip(found["source"], found["target"], strict=True)]
    wrong = np.array([noisy.labels[a] != noisy.labels[b] for a, b in ends])
    first, last = wrong[:200].mean(), wrong[-200:].mean()
    assert first > wrong.mean() + 0.2 > last + 0.4
    few = suspicious(model, noisy, judged(model, noisy), 7)
    assert all(np.array_equal(few[name], found[name][:7]) for name in found)
    with pytest.raises(ConfigError, match="1 or more"):
        suspicious(model, noisy, judged(model, noisy), 0)


def test_the_suspicion_against_its_definition(model: GDAMN, noisy: Graph) -> None:
    """P(the labels differ) as a sum over pairs of classes, from the Ŷ that p was given: [N, C] with known labels."""
    found = suspicious(model, noisy, judged(model, noisy), 5)
    given = model.tensors_["pseudo_labels"].astype(float)
    number = {name: at for at, name in enumerate(noisy.node_ids.tolist())}
    for at in range(5):
        a, b = number[found["source"][at]], number[found["target"][at]]
        differ = 0.0
        for c in range(3):
            for d in range(3):
                if c != d:
                    differ += given[a, c] * given[b, d]
        entry = int(noisy.indptr[b] + np.searchsorted(noisy.indices[noisy.indptr[b] : noisy.indptr[b + 1]], a))
        hard = model.edge_weights_["hard"]
        both = (hard[entry] + hard[noisy.reverse[entry]]) / 2
        assert found["hard"][at] == pytest.approx(both, rel=1e-5)
        assert found["suspicion"][at] == pytest.approx(differ, rel=1e-5)


def test_saturated_attention_does_not_spoil_the_order(noisy: Graph) -> None:
    """At a low temperature many edges have the same hard attention; their suspicion still tells them apart."""
    sharp = GDAMN(**{**SCHEDULE, "pretrain_epochs": 5, "epochs": 3}, attention_temperature=1e-3).fit(noisy)
    found = suspicious(sharp, noisy, judged(sharp, noisy), 10**9)
    assert len(np.unique(found["hard"].round(5))) < 20 < len(np.unique(found["suspicion"].round(5)))
