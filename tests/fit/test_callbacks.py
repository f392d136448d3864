"""Callbacks: what they hear, how they end a fit, and that they change nothing else."""

from __future__ import annotations

import logging
from collections.abc import Callable

import numpy as np
import pytest

from gdamn import GDAMN, Callback, EarlyStopping, Graph, load
from gdamn.baselines.gcn import GCNClassifier
from gdamn.errors import ConfigError, TrainingError
from gdamn.estimators.inductive import answer
from gdamn.fit.callbacks import Event, numbers_of

pytestmark = pytest.mark.usefixtures("one_thread")
SHORT = {"pretrain_epochs": 6, "epochs": 5, "em_iterations": 2, "hidden": 8, "projection": 8, "threads": 1}


@pytest.fixture(scope="module")
def graph() -> Graph:
    sizes = {"num_nodes": 120, "num_classes": 3, "degree": 6, "num_features": 8}
    return load("sbm", **sizes, train_per_class=5, val_per_class=8)


class Heard(Callback):
    """Everything, in order."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str, int]] = []

    def on_fit_begin(self, event: Event) -> None:
        self.events.append(("fit begins", event.phase, event.epoch))

    def on_phase_begin(self, event: Event) -> None:
        self.events.append(("begins", event.phase, event.epochs))

    def on_epoch_end(self, event: Event) -> None:
        assert event.history[-1] is event.record
        self.events.append(("epoch", event.phase, event.epoch))

    def on_phase_end(self, event: Event) -> None:
        self.events.append(("ends", event.phase, event.epoch))

    def on_fit_end(self, event: Event) -> None:
        self.events.append(("fit ends", event.phase, len(event.history)))


def stop_in(phase: str, epoch: int) -> Callable[[Event], None]:
    def stop(event: Event) -> None:
        if (event.phase, event.epoch) == (phase, epoch):
            event.stop()

    return stop


def test_every_phase_and_epoch_is_told_in_order(graph: Graph) -> None:
    heard = Heard()
    model = GDAMN(**SHORT, start="graph").fit(graph, callbacks=[heard])
    phases = [("pre-train", 6), ("M-step 1", 5), ("E-step 1", 5), ("M-step 2", 5), ("E-step 2", 5)]
    expected = [("fit begins", "", -1)]
    for name, epochs in phases:
        told = [("epoch", name, at) for at in range(epochs)]
        expected += [("begins", name, epochs), *told, ("ends", name, epochs - 1)]
    assert heard.events == [*expected, ("fit ends", "", model.epochs_)]


@pytest.mark.parametrize("candidates", ["em", "all"])
def test_a_callback_that_ends_nothing_changes_no_bit(graph: Graph, candidates: str) -> None:
    alone, watched = (
        GDAMN(**SHORT, candidates=candidates).fit(graph, callbacks=each) for each in ([], [lambda event: None])
    )
    assert alone.history_ == watched.history_
    assert alone.best_epoch_ == watched.best_epoch_
    assert alone.tensors_.keys() == watched.tensors_.keys()
    assert all(np.array_equal(value, watched.tensors_[name]) for name, value in alone.tensors_.items())


def test_a_fit_that_is_stopped_is_the_fit_of_so_many_epochs(graph: Graph) -> None:
    stopped = GCNClassifier(epochs=40, threads=1).fit(graph, callbacks=[stop_in("train", 9)])
    short = GCNClassifier(epochs=10, threads=1).fit(graph)
    assert stopped.history_ == short.history_
    assert stopped.protocol_["ended_by_callbacks"] == ["the fit, train after 10 of 40 epochs"]
    assert "ended_by_callbacks" not in short.protocol_
    assert np.array_equal(stopped.probabilities_, short.probabilities_)


WHERE = [
    ("pre-train", 2, "em"),
    ("pre-train (similar)", 0, "em"),
    ("M-step 1", 1, "em"),
    ("M-step 1", 1, "all"),
    ("E-step 1", 0, "em"),
    ("E-step 1", 4, "all"),
    ("M-step 2", 2, "all"),
    ("E-step 2", 1, "em"),
]


@pytest.mark.parametrize(("phase", "epoch", "candidates"), WHERE)
def test_the_best_epoch_is_kept_wherever_a_fit_is_stopped(
    graph: Graph, phase: str, epoch: int, candidates: str
) -> None:
    """What is kept repeats itself bit for bit: networks, predictions and weights of edges belong together."""
    model = GDAMN(**SHORT, candidates=candidates).fit(graph, callbacks=[stop_in(phase, epoch)])
    assert (model.history_[-1]["phase"], model.history_[-1]["epoch"]) == (phase, epoch)
    judged = [record for record in model.history_ if "val_accuracy" in record]
    ended = [record for record in judged if record["iteration"]]
    candidates_left = ended if candidates == "em" and ended else judged
    assert model.best_epoch_["val_accuracy"] == max(record["val_accuracy"] for record in candidates_left)
    again = answer(model, graph)
    assert np.array_equal(again.probabilities, model.probabilities_)
    for name, weights in (model.edge_weights_ or {}).items():
        assert np.array_equal(again.weights[name], weights)


def test_without_validation_nodes_a_half_done_iteration_is_undone(graph: Graph) -> None:
    alone = graph.with_masks(graph.train_mask, [], graph.test_mask)
    model = GDAMN(**{**SHORT, "epochs": 20}).fit(alone, callbacks=[stop_in("E-step 1", 1)])
    assert model.best_epoch_["iteration"] == 0
    assert model.best_epoch_["undone"] == "EM iteration 1: it ended after 2 of 20 epochs of its E-step"


def test_a_fit_that_is_stopped_before_q_learned_has_no_answer(graph: Graph) -> None:
    with pytest.raises(TrainingError, match="before q was trained"):
        GDAMN(**{**SHORT, "pretrain_epochs": 0}, start="graph").fit(graph, callbacks=[stop_in("M-step 1", 0)])


def test_beta_auto_is_stopped_as_a_whole(graph: Graph) -> None:
    model = GDAMN(**SHORT, beta="auto", start="graph").fit(graph, callbacks=[stop_in("E-step 1", 2)])
    assert model.best_epoch_["beta"] == 0.2
    assert model.history_[-1]["phase"] == "E-step 1"


def test_patience_ends_a_phase(graph: Graph) -> None:
    model = GCNClassifier(epochs=300, threads=1).fit(graph, callbacks=[EarlyStopping(7, "val_loss")])
    losses = [record["val_loss"] for record in model.history_]
    assert model.epochs_ == losses.index(min(losses)) + 1 + 7 < 300
    by_accuracy = EarlyStopping(7, "val_accuracy", min_delta=0.001)
    model = GCNClassifier(epochs=300, threads=1).fit(graph, callbacks=[by_accuracy])
    scores = [record["val_accuracy"] for record in model.history_]
    assert model.epochs_ == scores.index(max(scores)) + 1 + 7
    again = GCNClassifier(epochs=300, threads=1).fit(graph, callbacks=[by_accuracy])  # it begins anew
    assert again.history_ == model.history_


def test_patience_of_a_phase_goes_on_with_the_next_and_of_the_fit_ends_it(graph: Graph) -> None:
    settings = {**SHORT, "pretrain_epochs": 60, "epochs": 20, "start": "graph"}
    phases = [
        [record["phase"] for record in GDAMN(**settings).fit(graph, callbacks=[each]).history_]
        for each in (EarlyStopping(2, "train_accuracy"), EarlyStopping(2, "train_accuracy", whole_fit=True))
    ]
    assert phases[0].count("pre-train") < 60
    assert phases[0].count("M-step 1") == 20  # nothing is measured there
    assert {"E-step 1", "E-step 2"} <= set(phases[0])
    assert set(phases[1]) == {"pre-train"}


def test_what_early_stopping_can_not_watch_is_said(graph: Graph) -> None:
    alone = graph.with_masks(graph.train_mask, [], graph.test_mask)
    with pytest.raises(ConfigError, match=r"no validation nodes; watch 'loss'"):
        GCNClassifier(epochs=3).fit(alone, callbacks=[EarlyStopping()])
    with pytest.raises(ConfigError, match=r"'val_los', which no epoch has; there are loss, .*val_accuracy"):
        GCNClassifier(epochs=3).fit(graph, callbacks=[EarlyStopping(monitor="val_los")])
    with pytest.raises(ConfigError, match="1 or more; got 0"):
        EarlyStopping(0)


@pytest.mark.parametrize("wrong", [3, "print", EarlyStopping], ids=str)
def test_what_is_no_callback_is_said(graph: Graph, wrong: object) -> None:
    with pytest.raises(ConfigError, match="A callback is a gdamn Callback or a function"):
        GCNClassifier(epochs=1).fit(graph, callbacks=[wrong])


def test_one_callback_wants_brackets_and_several_ranks_none(graph: Graph) -> None:
    for one in (Heard(), print):
        with pytest.raises(ConfigError, match=r"callbacks=\[\.\.\.\]"):
            GCNClassifier(epochs=1).fit(graph, callbacks=one)
    with pytest.raises(ConfigError, match="Callbacks are for one process"):
        GDAMN().fit(graph, callbacks=[Heard()], group=object())


def test_a_fit_is_silent_unless_asked(
    graph: Graph, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    model = GCNClassifier(epochs=3, threads=1)
    model.fit(graph)
    assert capsys.readouterr() == ("", "")
    model.fit(graph, verbose=1)
    line = f"train: 3 of 3 epochs; at the end {numbers_of(model.history_[-1])}\n"
    assert capsys.readouterr() == ("", line)
    model.fit(graph, verbose=2)
    assert capsys.readouterr().err.count("\n") == 4
    for level, lines in ((logging.INFO, 1), (logging.DEBUG, 4)):
        caplog.clear()
        with caplog.at_level(level, "gdamn"):
            model.fit(graph)
        assert len(caplog.messages) == lines
        assert caplog.messages[-1] == line.strip()
    assert capsys.readouterr() == ("", "")
