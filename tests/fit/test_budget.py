"""The budget of a fit, under a clock that the test moves: what is done, what is left out, and what the record says."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import torch

from gdamn import GDAMN, Graph
from gdamn.data import load
from gdamn.errors import ConfigError
from gdamn.fit.budget import FEWEST, LEAST, Budget, Phase
from gdamn.fit.domains.domain import WholeDomain
from gdamn.fit.em import EM
from gdamn.fit.training import Record, Watch
from gdamn.model.problem import make_problem
from gdamn.model.settings import Settings

pytestmark = pytest.mark.usefixtures("one_thread")
SHORT = {"pretrain_epochs": 40, "epochs": 10, "hidden": 8, "projection": 8, "threads": 1, "em_iterations": 2}
COST = {"M": 3.0, "E": 1.0, "p": 1.0}
"""Seconds of an epoch by the first letter of its phase: M-step, E-step, pre-train."""


class Clock:
    """Stands still, but for epochs."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def epoch(self, phase: str, epoch: int, epochs: int, record: Record) -> None:
        self.now += COST[phase[0]]


@pytest.fixture(scope="module")
def with_val() -> Graph:
    return load("sbm", num_nodes=80, num_classes=3, degree=6, num_features=8, train_per_class=5, val_per_class=8)


@pytest.fixture(scope="module")
def graph(with_val: Graph) -> Graph:
    return with_val.with_masks(with_val.train_mask, np.zeros(80, bool), ~with_val.train_mask)


def run(graph: Graph, seconds: float, **settings: Any) -> tuple[EM, float]:
    """A fit under a budget, and the seconds that it took by the clock."""
    clock = Clock()
    s = Settings(**{**SHORT, "start": "graph", "tolerance": 0.0, **settings}, budget=seconds)
    watch = Watch(clock.epoch, budget=Budget(seconds, clock))
    return EM(WholeDomain(make_problem(graph, "auto", 0.5, torch.device("cpu"))), s, watch).run(), clock.now


def phases(em: EM) -> list[tuple[str, int]]:
    records = (record["phase"] for record in em.watch.history)
    return [(name, len(list(part))) for name, part in itertools.groupby(records)]


def test_time_enough_changes_no_bit(graph: Graph) -> None:
    """The whole fit takes 40 + 2 · (30 + 10) seconds."""
    (free, _), (bounded, seconds) = run(graph, 0.0), run(graph, 120.0)
    assert seconds == 120
    assert bounded.watch.history == free.watch.history
    assert "left_out" not in bounded.watch.best
    assert torch.equal(bounded.watch.best_state["logits"], free.watch.best_state["logits"])


@pytest.mark.parametrize(
    ("seconds", "done", "left_out"),
    [
        (85.0, [("pre-train", 40), ("M-step 1", 10), ("E-step 1", 10)], ["EM iteration 2"]),
        (50.0, [("pre-train", 40), ("M-step 1", 3)], ["EM iteration 1"]),  # p's speed wasn't known before
        (44.0, [("pre-train", 40)], ["EM iteration 1"]),
        (30.0, [("pre-train", 30)], ["pre-train after 30 of 40 epochs", "EM iteration 1"]),
        (1.0, [("pre-train", FEWEST)], [f"pre-train after {FEWEST} of 40 epochs", "EM iteration 1"]),
    ],
)
def test_what_has_no_time_is_left_out(
    graph: Graph, seconds: float, done: list[tuple[str, int]], left_out: list[str]
) -> None:
    em, _ = run(graph, seconds)
    assert phases(em) == done
    assert em.watch.best["left_out"] == left_out
    assert torch.isfinite(em.watch.best_state["logits"]).all()


def test_an_iteration_with_little_time_has_fewer_epochs_in_both_steps(graph: Graph) -> None:
    em, seconds = run(graph, 70.0)
    (_, before), (m_step, p), (e_step, q) = phases(em)
    assert (before, m_step, e_step) == (40, "M-step 1", "E-step 1")
    assert LEAST * 10 <= p < 10
    assert LEAST * 10 <= q <= 10
    assert seconds <= 70
    assert em.watch.best["phase"] == "E-step 1"
    assert em.watch.best["left_out"][0] == f"M-step 1 after {p} of 10 epochs"


@pytest.mark.parametrize("seconds", range(20, 130, 15))
def test_every_budget_is_kept_to_and_leaves_a_model(with_val: Graph, graph: Graph, seconds: int) -> None:
    for g, candidates in ((with_val, "em"), (graph, "all")):
        em, took = run(g, float(seconds), candidates=candidates, epochs=6, pretrain_epochs=30)
        assert took <= max(seconds, FEWEST) + 3 * COST["M"]  # an iteration is given up after three epochs of p
        assert em.watch.best_state["logits"].shape == (80, 3)
        assert ("left_out" in em.watch.best) == (took < 30 + 2 * 6 * 4)


def test_a_short_e_step_is_undone_without_validation_nodes(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    """Something else takes the time between the two steps: q, trained for two epochs, isn't kept."""
    honest = EM.e_step

    def late(self: EM, *given: Any) -> torch.Tensor:
        self.budget.before += self.budget.left - 2
        return honest(self, *given)

    monkeypatch.setattr(EM, "e_step", late)
    em, _ = run(graph, 100.0, restart_q=True)
    assert phases(em)[-1] == ("E-step 1", 2)
    assert em.watch.best["phase"] == "pre-train"
    assert em.watch.best["undone"] == "EM iteration 1: it ended after 2 of 10 epochs of its E-step"


def test_other_starts_are_left_out(with_val: Graph) -> None:
    em, _ = run(with_val, 70.0, start="auto", em_iterations=0, judge_edges=False)
    assert [name for name, _ in phases(em)] == ["pre-train", "pre-train (similar)"]
    assert em.watch.best["left_out"] == ["pre-train (similar) after 30 of 40 epochs", "pre-train (features)"]


def test_a_resumed_fit_has_what_is_left() -> None:
    clock = Clock()
    budget = Budget(100.0, clock)
    clock.now = 10
    assert budget.left == 90
    budget.resume({"pace": {"q": 2.0}, "left_out": ["EM iteration 2"]}, before=50.0)
    assert budget.left == 40
    assert budget.share({"q": 40}) == 0.5
    assert not budget.fits("EM iteration 3", {"q": 41})
    assert budget.left_out == ["EM iteration 2", "EM iteration 3"]


def test_without_a_budget_the_clock_is_not_asked() -> None:
    def clock() -> float:
        raise AssertionError("asked")

    budget = Budget(0.0, clock)
    assert budget.fits("all", {"q": 10**9})
    assert not Phase(budget, "pre-train", "q", 10).over(5)


def test_the_estimator_keeps_to_it_and_says_so(graph: Graph) -> None:
    model = GDAMN(**SHORT, budget=1e-6).fit(graph)
    assert model.best_epoch_["left_out"] == [
        f"pre-train (multihop) after {FEWEST} of 40 epochs",
        "pre-train (multihop, sage)",  # a GCN can't repeat the opinion after so few
        "EM iteration 1",
    ]
    assert model.predict_proba().shape == (80, 3)
    assert model.edge_weights_ is None


def test_several_ranks_have_no_budget(graph: Graph) -> None:
    with pytest.raises(ConfigError, match="budget=0"):
        GDAMN(**SHORT, budget=5)._fit(graph, None, object())  # type: ignore[arg-type]
