"""Cross-fitted regressions on multi-hop features: each part by another way, and what the opinion may read."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from gdamn import GDAMN, Graph
from gdamn.data import load
from gdamn.errors import ConfigError
from gdamn.estimators.inductive import answer
from gdamn.fit.domains.domain import WholeDomain
from gdamn.fit.em import EM
from gdamn.fit.guard import Guard, Reference, collapse, repeated
from gdamn.fit.multihop import multihop_opinion
from gdamn.fit.multihop.cross_fitting import FOLDS, cross_fit, splits, stratified_folds
from gdamn.fit.multihop.features import HOPS, TELEPORTS, depths, multihop_features
from gdamn.fit.multihop.labels import FLOOR, TELEPORT, propagated_labels
from gdamn.fit.multihop.logistic import fit_logistic, log_probabilities
from gdamn.fit.training import Watch
from gdamn.kernels.place import WHOLE
from gdamn.model.problem import Problem, make_problem
from gdamn.model.settings import Settings
from gdamn.model.temperature import matching_temperature, scaled

pytestmark = pytest.mark.usefixtures("one_thread")
CPU = torch.device("cpu")
SHORT = {"pretrain_epochs": 4, "epochs": 3, "hidden": 8, "projection": 8, "threads": 1}


@pytest.fixture(scope="module")
def graph() -> Graph:
    made = load("sbm", num_nodes=150, num_classes=3, degree=8, num_features=12, train_per_class=8, val_per_class=8)
    return without_validation(made)


def without_validation(graph: Graph) -> Graph:
    return dataclasses.replace(graph, val_mask=np.zeros(graph.num_nodes, bool), test_mask=~graph.train_mask)


def problem_of(graph: Graph) -> Problem:
    return make_problem(graph, "auto", 0.5, CPU)


def random_rows(count: int = 40, width: int = 5, classes: int = 3) -> tuple[torch.Tensor, torch.Tensor, np.ndarray]:
    generator = np.random.default_rng(0)
    labels = generator.integers(classes, size=count)
    x = generator.normal(size=(count, width)) + np.eye(classes, width)[labels]
    return torch.from_numpy(x), torch.eye(classes, dtype=torch.float64)[labels], labels


@pytest.mark.parametrize("penalty", [3.0, 0.3])
def test_the_regression_is_scikit_learns(penalty: float) -> None:
    x, targets, labels = random_rows()
    weights = torch.from_numpy(np.random.default_rng(1).uniform(0.5, 2, len(labels)))
    w = fit_logistic(x, targets, weights[None], penalty)[0]
    theirs = LogisticRegression(C=1 / penalty, tol=1e-8, max_iter=2000).fit(x.numpy(), labels, weights.numpy())
    assert np.allclose(log_probabilities(x, w).exp(), theirs.predict_proba(x.numpy()), atol=2e-3)


def test_problems_that_are_solved_together_don_t_disturb_each_other() -> None:
    x, targets, _ = random_rows()
    weights = torch.stack([torch.ones(40).double(), (torch.arange(40) % 2).double(), (torch.arange(40) < 20).double()])
    together = fit_logistic(x, targets, weights, 1.0)
    for w, mask in zip(together, weights, strict=True):
        alone = fit_logistic(x[mask > 0], targets[mask > 0], torch.ones(1, int(mask.sum())).double(), 1.0)[0]
        assert torch.allclose(log_probabilities(x, w), log_probabilities(x, alone), atol=5e-3)


def test_diffused_features_by_dense_matrices(graph: Graph) -> None:
    problem = problem_of(graph)
    a = np.eye(graph.num_nodes)
    a[graph.rows, graph.indices] = 1
    a /= np.sqrt(np.outer(a.sum(1), a.sum(0)))
    assert problem.x.dense is not None
    x = problem.x.dense.numpy().astype(float)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    features = dict(multihop_features(problem.structure, problem.x, CPU, 0))
    powers = [np.linalg.matrix_power(a, hop) @ x for hop in range(HOPS + 1)]

    def unit(h: np.ndarray) -> np.ndarray:
        return h / np.linalg.norm(h, axis=1, keepdims=True)

    assert np.allclose(features["features"], x, atol=1e-5)
    assert np.allclose(features["hops-2 centred"], unit(powers[2] - powers[2].mean(0)), atol=1e-4)
    for alpha in TELEPORTS:
        rank = sum(alpha * (1 - alpha) ** hop * powers[hop] for hop in range(HOPS)) + (1 - alpha) ** HOPS * powers[HOPS]
        assert np.allclose(features[f"ppr-{alpha}"], unit(rank), atol=1e-4)
    values = np.sort(np.abs(np.linalg.eigvalsh(a)))[::-1]
    assert features["structure"].shape == (graph.num_nodes, 64)
    assert values[0] == pytest.approx(1)


def test_similar_pageranks_go_over_edges_that_features_agree_with(graph: Graph) -> None:
    problem = problem_of(graph)
    weighed = problem.weighed_by_features().structure
    none = torch.empty(0, dtype=torch.int64)
    views = {depth.name: depth.h for depth in depths(problem.structure, problem.x, none, 0, weighed)}
    over = {depth.name: depth.h for depth in depths(weighed, problem.x, none, 0)}
    for alpha in TELEPORTS:
        assert torch.allclose(views[f"similar ppr-{alpha}"], over[f"ppr-{alpha}"], atol=1e-5)
        assert not torch.allclose(views[f"similar ppr-{alpha}"], views[f"ppr-{alpha}"], atol=1e-2)


def test_wide_features_are_projected_on_what_matters() -> None:
    """Of 400 columns, of which two carry everything, no regression loses anything by the projection."""
    generator = np.random.default_rng(0)
    labels = np.arange(200) % 2
    x = 0.01 * generator.normal(size=(200, 400)).astype(np.float32)
    x[np.arange(200), labels] += 1
    made = Graph.build(
        edges=generator.integers(200, size=(2, 400)), features=x, labels=labels, train_mask=np.arange(200) < 20
    )
    problem = problem_of(made)
    h = dict(multihop_features(problem.structure, problem.x, CPU, 0))["features"]
    assert h.shape == (200, 128)
    right = multihop_opinion(problem).probabilities.argmax(1).numpy() == labels
    assert right.mean() > 0.98


@settings(max_examples=40)
@given(st.lists(st.integers(0, 3), min_size=2, max_size=60), st.integers(0, 5))
def test_folds_are_stratified(classes: list[int], seed: int) -> None:
    labels = np.array(classes)
    fold = stratified_folds(labels, FOLDS, seed)
    for each in np.unique(labels):
        counts = np.bincount(fold[labels == each], minlength=FOLDS)
        assert counts.max() - counts.min() <= 1


def test_a_node_s_own_label_never_judges_it() -> None:
    """Its held-out probabilities stay the same bits whatever its label is, as long as the folds do."""
    x, targets, labels = random_rows()
    left_out = torch.from_numpy(np.stack(list(splits(labels, 0))))
    ones = torch.ones(len(labels)).double()
    _, before = cross_fit(x, targets, ones, 1.0, left_out, None)
    once = left_out.clone()
    once[:, 7] = False
    once[2, 7] = True
    changed = targets.clone()
    changed[7] = torch.eye(3, dtype=torch.float64)[(labels[7] + 1) % 3]
    _, same_folds = cross_fit(x, targets, ones, 1.0, once[2:3], None)
    _, other_label = cross_fit(x, changed, ones, 1.0, once[2:3], None)
    assert torch.allclose(same_folds[7], other_label[7], atol=1e-3)
    assert not torch.allclose(before[7], torch.full((3,), -np.log(3.0)).double(), atol=1e-3)


def test_the_opinion_reads_training_labels_alone(graph: Graph) -> None:
    labels = np.where(graph.train_mask, graph.labels, (graph.labels + 1) % 3)
    ours, blind = multihop_opinion(problem_of(graph)), multihop_opinion(problem_of(graph.with_labels(labels)))
    assert torch.equal(ours.probabilities, blind.probabilities)
    assert torch.equal(ours.held_out, blind.held_out)
    assert ours.weights == blind.weights


def test_the_opinion_is_right_and_sure_to_the_degree_that_it_is(graph: Graph) -> None:
    opinion = multihop_opinion(problem_of(graph))
    right = (opinion.probabilities.argmax(1).numpy() == graph.labels)[graph.test_mask].mean()
    assert right > 0.9
    assert torch.allclose(opinion.probabilities.sum(1), torch.ones(graph.num_nodes), atol=1e-5)
    assert sum(opinion.weights.values()) == pytest.approx(1)
    assert opinion.graph == "graph"
    assert opinion.accuracy(torch.as_tensor(graph.labels[graph.train_mask])) > 0.8


def test_two_labels_are_enough_to_start_and_judge_nothing(graph: Graph) -> None:
    """One label a class: none can be left out, so there is no accuracy, and no temperature."""
    train = np.zeros(graph.num_nodes, bool)
    train[[np.flatnonzero(graph.labels == 0)[0], np.flatnonzero(graph.labels == 1)[0]]] = True
    two = dataclasses.replace(graph, train_mask=train, test_mask=~train)
    opinion = multihop_opinion(problem_of(two))
    assert not opinion.judged.any()
    assert torch.isfinite(opinion.probabilities).all()
    model = GDAMN(**SHORT).fit(two)
    assert "cross_fitted" not in model.best_epoch_
    assert "temperature" not in model.best_epoch_


def test_edges_that_say_nothing_lose_to_features() -> None:
    """Edges between any classes in groups of their own, features that decide: q starts without edges."""
    generator = np.random.default_rng(0)
    labels = np.arange(300) % 3
    x = (np.eye(3, 20)[labels] * 3 + generator.normal(size=(300, 20))).astype(np.float32)
    edges = np.stack(
        [np.arange(300).repeat(12), (np.arange(300).repeat(12) // 30) * 30 + generator.integers(30, size=3600)]
    )
    made = Graph.build(edges=edges, features=x, labels=labels, train_mask=np.arange(300) < 60)
    opinion = multihop_opinion(problem_of(made))
    assert opinion.graph == "features"
    assert (opinion.probabilities.argmax(1).numpy() == labels)[60:].mean() > 0.8


def test_propagated_labels_by_dense_matrices(graph: Graph) -> None:
    problem = problem_of(graph)
    a = np.eye(graph.num_nodes)
    a[graph.rows, graph.indices] = 1
    a /= np.sqrt(np.outer(a.sum(1), a.sum(0)))
    walk = sum(TELEPORT * (1 - TELEPORT) ** hop * np.linalg.matrix_power(a, hop) for hop in range(HOPS))
    walk += (1 - TELEPORT) ** HOPS * np.linalg.matrix_power(a, HOPS)
    train, classes = problem.train.numpy(), graph.labels[graph.train_mask]
    targets = np.eye(3)[classes]
    left_out = np.stack(list(splits(classes, 0)))

    def by_hand(used: np.ndarray) -> np.ndarray:
        known = targets * used[:, None]
        reached = walk[:, train] @ (known / known.sum(0))
        reached += FLOOR * np.sort(reached.sum(1))[(len(walk) - 1) // 2] / 3
        return np.log(reached / reached.sum(1, keepdims=True))

    view, unseen = propagated_labels(
        problem.structure, problem.train, torch.from_numpy(targets), torch.from_numpy(left_out), 2
    )
    assert np.allclose(view.h, by_hand(np.ones(len(train), bool)), atol=1e-4)
    assert np.allclose(view.alone, -np.log(3))
    judges = [(mask, by_hand(~mask)) for mask in left_out]
    for at, node in enumerate(train):
        expected = np.mean([logs[node] for mask, logs in judges if mask[at]], axis=0)
        assert np.allclose(unseen[at], expected, atol=1e-4)


def test_labels_speak_where_features_say_nothing(graph: Graph) -> None:
    noise = np.random.default_rng(0).normal(size=(graph.num_nodes, 12)).astype(np.float32)
    opinion = multihop_opinion(problem_of(dataclasses.replace(graph, features=noise)))
    assert max(opinion.weights, key=lambda name: opinion.weights[name]) == "labels, 0"


def test_q_sees_own_features_apart_where_a_gcn_can_t_repeat_the_opinion(tmp_path: Path) -> None:
    """Features decide and edges join any two nodes: a GCN mixes what it should keep apart."""
    generator = np.random.default_rng(0)
    labels = np.arange(240) % 3
    x = (np.eye(3, 20)[labels] * 3 + generator.normal(size=(240, 20))).astype(np.float32)
    made = Graph.build(
        edges=generator.integers(240, size=(2, 1500)), features=x, labels=labels, train_mask=np.arange(240) < 12
    )
    model = GDAMN(**{**SHORT, "pretrain_epochs": 30}).fit(made)
    assert {record["phase"] for record in model.history_} >= {"pre-train (multihop)", "pre-train (multihop, sage)"}
    assert model.settings.propagator == "gcn"
    assert model.settings_.propagator == model.best_epoch_["propagator"] == "sage"
    model.save(tmp_path / "model.gdamn")
    loaded = GDAMN.load(tmp_path / "model.gdamn")
    assert np.allclose(answer(loaded, made, made).probabilities, model.predict_proba(), atol=1e-4)


def test_an_iteration_that_leaves_the_opinion_is_undone(graph: Graph) -> None:
    problem = problem_of(graph)
    watch = Watch()
    watch.best = {"epoch": 0}
    watch.best_state = {}
    watch.history.append(watch.best)
    guard = Guard(watch, problem, "auto")
    guard.begin(1)
    before = torch.eye(3)[torch.arange(150) % 3]
    after, reference = before.clone(), before.clone()
    after[:30] = before[1:31]
    assert repeated(reference, after) == 0.8
    assert not guard.undoes(1, before, after)
    assert guard.undoes(1, before, after, Reference(reference, like_edges=True))
    assert watch.best["undone"].startswith("EM iteration 1: only 80 % of the nodes kept the class")
    unlike = Guard(watch, problem, "auto")
    unlike.begin(1)
    assert unlike.undoes(1, before, before, Reference(reference, like_edges=False))


def test_a_fit_without_validation_nodes_starts_from_it(graph: Graph) -> None:
    model = GDAMN(**SHORT).fit(graph)
    assert model.history_[0]["phase"] == "pre-train (multihop)"
    assert model.best_epoch_["cross_fitted"]["nodes"] == graph.train_mask.sum()
    assert 0 < model.best_epoch_["temperature"] < 100
    named = GDAMN(**SHORT, start="multihop").fit(graph)
    assert np.array_equal(model.predict_proba(), named.predict_proba())
    assert GDAMN(**SHORT, start="graph").fit(graph).history_[0]["phase"] == "pre-train"


def test_with_validation_nodes_it_can_be_asked_for(graph: Graph) -> None:
    val = ~graph.train_mask & (np.arange(150) % 3 == 0)
    with_val = dataclasses.replace(graph, val_mask=val, test_mask=graph.test_mask & ~val)
    assert GDAMN(**SHORT).fit(with_val).history_[0]["phase"] == "pre-train"
    asked = GDAMN(**SHORT, start="multihop").fit(with_val)
    assert asked.history_[0]["phase"] == "pre-train (multihop)"
    assert asked.best_epoch_["val_accuracy"] == max(r.get("val_accuracy", 0) for r in asked.history_)


def test_the_mode_with_little_memory_starts_from_it_too(graph: Graph) -> None:
    fused = GDAMN(**SHORT, batch="fused").fit(graph)
    assert fused.history_[0]["phase"] == "pre-train (multihop)"
    whole = GDAMN(**SHORT, judge_edges=False).fit(graph)  # little memory has no room to judge edges
    assert np.allclose(fused.predict_proba(), whole.predict_proba(), atol=1e-3)


@pytest.mark.parametrize("batch", ["partition", "neighbour"])
def test_batches_can_t_start_from_it(graph: Graph, batch: str) -> None:
    with pytest.raises(ConfigError, match=r"start=multihop needs .* batch=full or fused"):
        GDAMN(**SHORT, start="multihop", batch=batch).fit(graph)
    assert GDAMN(**SHORT, batch=batch).fit(graph).history_[0]["phase"] == "pre-train"


def rows(*classes: int) -> torch.Tensor:
    return torch.eye(3)[list(classes)]


def test_what_counts_as_a_collapse() -> None:
    before = rows(*[0] * 10, *[1] * 10, *[2] * 10)
    assert collapse(before, before, WHOLE) is None
    assert collapse(before, rows(*[0] * 10, *[1] * 18, *[2] * 2), WHOLE) == "class 2 vanished"
    assert collapse(before, rows(*[0] * 30), WHOLE) == "classes 1, 2 vanished"
    assert collapse(before, rows(*[1] * 10, *[2] * 10, *[0] * 10), WHOLE) == "100 % of the labels changed"
    names = ("ham", "spam", "4")
    assert collapse(before, rows(*[0] * 30), WHOLE, names) == "classes 'spam', '4' vanished"
    rare = rows(*[0] * 29, 2)
    assert collapse(rare, rows(*[0] * 30), WHOLE) is None  # a class of one node may go


def test_an_iteration_that_collapses_is_undone(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = EM.e_step

    def collapsing(self: EM, posterior: torch.Tensor, *rest: object) -> torch.Tensor:
        opinion = honest(self, posterior, *rest)  # type: ignore[arg-type]
        return opinion if self.iteration == 1 else torch.eye(3)[torch.zeros(len(opinion), dtype=torch.long)]

    monkeypatch.setattr("gdamn.fit.em.STABLE", 0.0)
    for place in ("em", "guard"):
        monkeypatch.setattr(f"gdamn.fit.{place}.REPEATED", 0.0)
    once = GDAMN(**SHORT, em_iterations=1).fit(graph)
    monkeypatch.setattr(EM, "e_step", collapsing)
    model = GDAMN(**SHORT, em_iterations=3).fit(graph)
    lost = ", ".join(f"'{name}'" for name in graph.class_names[1:])
    assert model.best_epoch_["undone"] == f"EM iteration 2: classes {lost} vanished"
    assert model.best_epoch_["iteration"] == 1
    assert "undone" in model.protocol_["selection"]
    assert np.array_equal(model.predict_proba(), once.predict_proba())
    assert max(record["iteration"] for record in model.history_) == 2  # the third was not begun


def test_validation_nodes_need_no_guard(graph: Graph) -> None:
    val = ~graph.train_mask & (np.arange(150) % 3 == 0)
    with_val = dataclasses.replace(graph, val_mask=val, test_mask=graph.test_mask & ~val)
    em = EM(WholeDomain(problem_of(with_val)), Settings(**SHORT), Watch()).run()
    assert em.guard.safe == {}


def test_the_temperature_matches_the_mean_confidence() -> None:
    p = np.random.default_rng(0).dirichlet(np.ones(4), 200)
    for confidence in (0.4, 0.6, 0.9):
        t = matching_temperature(p, confidence)
        assert scaled(p, t).max(axis=1).mean() == pytest.approx(confidence, abs=1e-4)
    assert matching_temperature(p[:0], 0.5) == 1
