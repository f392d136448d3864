"""Temperature scaling: against a grid search, on labels drawn from known probabilities, and its limits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdamn.after.calibration import (
    cross_fitted,
    expected_calibration_error,
    fit_temperature,
    nll,
    report,
    scaled,
)


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
    grid = [nll(scaled(p, t), y) for t in np.geomspace(0.05, 20, 400)]
    assert nll(scaled(p, best.value), y) <= min(grid) + 1e-9


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


@given(st.integers(0, 10**6), st.floats(0.05, 20))
def test_scaling_keeps_labels_and_sums(seed: int, temperature: float) -> None:
    p = np.random.default_rng(seed).dirichlet(np.ones(5), 20).astype(np.float32)
    q = scaled(p, temperature)
    assert np.allclose(q.sum(1), 1)
    assert np.array_equal(q.argmax(1), p.argmax(1))


def test_nothing_is_fitted_where_nothing_can_be() -> None:
    sure, y = np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([0, 1])
    assert fit_temperature(sure, y).value == 1
    assert "every" in fit_temperature(sure, y).reason
    assert "no validation node is right" in fit_temperature(sure, 1 - y).reason
    assert not fit_temperature(sure[:0], y[:0]).fitted


def test_each_half_has_the_temperature_of_the_other() -> None:
    p, y = drawn(2.0, nodes=100)
    made = cross_fitted(p, y)
    order = np.random.default_rng([0, 0xCA1]).permutation(100)
    first, second = order[::2], order[1::2]
    assert np.allclose(made[first], scaled(p[first], fit_temperature(p[second], y[second]).value))
    changed = y.copy()
    changed[first] = (changed[first] + 1) % 4
    assert np.array_equal(cross_fitted(p, changed)[first], made[first])
