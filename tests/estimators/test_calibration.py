"""Temperature scaling: against a grid search, on labels drawn from known probabilities, and its limits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdamn.data import load
from gdamn.estimators.calibration import (
    calibrated,
    cross_fitted,
    expected_calibration_error,
    report,
    temperature_of,
)
from gdamn.model.temperature import ENOUGH, HIGHEST, fit_temperature, nll, scaled, smoothed_nll, warning


def drawn(temperature: float, nodes: int = 4000, classes: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities that are wrong by a known temperature, and labels of the right ones."""
    rng = np.random.default_rng(0)
    right = scaled(rng.dirichlet(np.ones(classes), nodes), 1.0)
    labels = np.array([rng.choice(classes, p=row) for row in right])
    return scaled(right, 1 / temperature), labels


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.5])
def test_a_known_temperature_is_found_and_the_error_goes(temperature: float) -> None:
    p, y = drawn(temperature)
    found = fit_temperature(p, y)
    assert found.fitted
    assert found.value == pytest.approx(temperature, rel=0.08)
    told = report(p, y, found)
    assert told["ece_after"] < 0.03
    assert told["ece_after_cross_fitted"] < 0.03
    if temperature != 1:
        assert told["ece_before"] > 2 * told["ece_after"]


def test_the_temperature_is_the_best_of_a_grid() -> None:
    p, y = drawn(1.7, nodes=200)
    best = fit_temperature(p, y)
    grid = [smoothed_nll(np.log(p) / t, y) for t in np.geomspace(0.05, 200, 400)]
    assert smoothed_nll(np.log(p) / best.value, y) <= min(grid) + 1e-9


def overconfident(nodes: int, classes: int = 3, right: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Nodes that are surer than 0.999, of which so many (by default all) are right."""
    gaps = np.random.default_rng(nodes).uniform(8, 20, (nodes, classes - 1))
    p = scaled(np.exp(np.concatenate([np.zeros((nodes, 1)), -gaps], axis=1)), 1.0)
    assert p[:, 0].min() > 0.999
    return p, (np.arange(nodes) >= (nodes if right is None else right)).astype(int)


@pytest.mark.parametrize("classes", [2, 3, 10])
def test_eight_of_eight_right_are_worth_nine_of_ten(classes: int) -> None:
    p, y = overconfident(8, classes)
    found = fit_temperature(p, y)
    assert found.fitted
    confidence = scaled(p, found.value).max(axis=1)
    assert 0.85 < confidence.mean() < 0.9 + 1e-3
    assert (confidence < 0.999).all()
    alike = np.tile(p[:1], (8, 1))
    same = scaled(alike, fit_temperature(alike, y).value).max(axis=1)
    assert same == pytest.approx(0.9, abs=1e-4)


@pytest.mark.parametrize(("right", "nodes"), [(0, 5), (1, 1), (3, 6), (40, 60)])
def test_nodes_that_are_alike_get_the_rule_of_succession(right: int, nodes: int) -> None:
    p = np.tile([[0.9999, 0.0001]], (nodes, 1))
    y = (np.arange(nodes) >= right).astype(int)
    confidence = scaled(p, fit_temperature(p, y).value).max()
    wanted = max(0.5, (right + 1) / (nodes + 2))  # the predicted class of two stays ahead
    assert confidence == pytest.approx(wanted, abs=0.02 if wanted == 0.5 else 1e-4)


def test_more_nodes_that_are_right_allow_more_confidence() -> None:
    p = np.tile([[0.99999, 0.00001]], (400, 1))
    found = [
        scaled(p[:1], fit_temperature(p[:n], np.zeros(n, int)).value).max() for n in (1, 2, 3, 5, 8, 20, 50, 150, 400)
    ]
    assert (np.diff(found) > 0).all()
    assert found[0] == pytest.approx(2 / 3, abs=1e-4)
    assert found[-1] < 1 - 1 / 500


def test_many_nodes_agree_with_the_plain_maximum_likelihood() -> None:
    p, y = drawn(1.7, nodes=8000)
    plain = min(np.geomspace(1.2, 2.4, 2000), key=lambda t: nll(scaled(p, t), y))
    assert fit_temperature(p, y).value == pytest.approx(plain, rel=2e-3)


def test_few_nodes_give_no_calibration_error() -> None:
    p, y = drawn(2.0, nodes=ENOUGH)
    told = report(p, y, fit_temperature(p, y))
    assert all(told[key] is not None for key in ("ece_before", "ece_after", "ece_after_cross_fitted"))
    told = report(p[:-1], y[:-1], fit_temperature(p[:-1], y[:-1]))
    assert [told[key] for key in ("ece_before", "ece_after", "ece_after_cross_fitted")] == [None] * 3
    assert told["nodes"] == ENOUGH - 1
    assert warning(ENOUGH) is None
    assert "only 8 validation nodes" in str(warning(8))
    assert "uncalibrated: it rests on only 1 validation node," in str(warning(1))
    assert "isn't calibrated" in str(warning(0))
    assert warning(50, "labelled", 0.2) is None
    assert "the 50 labelled nodes that it rests on tell the accuracy only to within 9 points" in str(
        warning(50, "labelled", 0.45)
    )
    assert warning(65, "labelled", 0.5) is None  # as many as any accuracy needs


def test_only_validation_labels_calibrate() -> None:
    graph = load("sbm", num_nodes=150, num_classes=3, train_per_class=6, val_per_class=10)
    p = np.random.default_rng(0).dirichlet(np.ones(3) / 4, graph.num_nodes)
    made, found = calibrated(p, graph)
    assert found.nodes == int(graph.val_mask.sum()) == 30
    assert np.array_equal(made, scaled(p, found.value))
    other = (graph.labels + 1) % 3
    blind = graph.with_labels(np.where(graph.val_mask, graph.labels, other))
    assert temperature_of(p, blind) == found
    assert temperature_of(p, graph.with_labels(np.where(graph.val_mask, other, graph.labels))) != found
    assert np.allclose(calibrated(p, graph, wanted=False)[0], p)


def test_the_error_against_its_definition() -> None:
    rng = np.random.default_rng(1)
    p, y = rng.dirichlet(np.ones(3), 300), rng.integers(0, 3, 300)
    confidence, right = p.max(1), p.argmax(1) == y
    total = 0.0
    for low in np.arange(15) / 15:
        inside = (confidence >= low) & (confidence < low + 1 / 15) if low < 14 / 15 else confidence >= low
        if inside.any():
            total += inside.mean() * abs(right[inside].mean() - confidence[inside].mean())
    assert expected_calibration_error(p, y) == pytest.approx(total)


@given(st.integers(0, 10**6), st.floats(0.05, HIGHEST))
def test_scaling_keeps_labels_and_sums(seed: int, temperature: float) -> None:
    p = np.random.default_rng(seed).dirichlet(np.ones(5), 20).astype(np.float32)
    q = scaled(p, temperature)
    assert np.allclose(q.sum(1), 1)
    assert np.array_equal(q.argmax(1), p.argmax(1))


def test_nothing_is_fitted_where_nothing_can_be() -> None:
    found = fit_temperature(np.zeros((0, 3)), np.zeros(0, int))
    assert (found.value, found.fitted, found.nodes) == (1, False, 0)
    assert "isn't calibrated" in found.reason
    assert not fit_temperature(np.ones((4, 1)), np.zeros(4, int)).fitted
    none_right = fit_temperature(np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([1, 0]))
    assert none_right.value > 50  # nothing speaks for a label


def test_each_half_has_the_temperature_of_the_other() -> None:
    p, y = drawn(2.0, nodes=100)
    made = cross_fitted(p, y)
    order = np.random.default_rng([0, 0xCA1]).permutation(100)
    first, second = order[::2], order[1::2]
    assert np.allclose(made[first], scaled(p[first], fit_temperature(p[second], y[second]).value))
    changed = y.copy()
    changed[first] = (changed[first] + 1) % 4
    assert np.array_equal(cross_fitted(p, changed)[first], made[first])
