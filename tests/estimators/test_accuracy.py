"""Wilson's interval against another implementation and its definition, and how accuracies are told."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from gdamn.estimators.accuracy import LEVEL, count_text, full, interval, measured, short, with_nodes


@given(st.integers(1, 5000), st.floats(0, 1))
def test_the_interval_agrees_with_scipy(nodes: int, share: float) -> None:
    right = round(share * nodes)
    theirs = binomtest(right, nodes).proportion_ci(0.95, method="wilson")
    assert interval(right / nodes, nodes) == pytest.approx((theirs.low, theirs.high), abs=1e-9)


@given(st.integers(2, 2000), st.floats(0, 1))
def test_each_end_is_where_the_accuracy_is_just_possible(nodes: int, share: float) -> None:
    """Wilson's definition: |p - end| is 1.96 standard deviations of a share whose truth is the end."""
    p = round(share * nodes) / nodes
    low, high = interval(p, nodes)
    assert 0 <= low <= p <= high <= 1
    for end in {low, high} - {0.0, 1.0, p}:
        assert abs(p - end) == pytest.approx(LEVEL * (end * (1 - end) / nodes) ** 0.5, rel=1e-6)


def test_eight_of_eight_is_not_a_hundred_per_cent() -> None:
    low, high = interval(1.0, 8)
    assert low == pytest.approx(0.676, abs=1e-3)
    assert high == 1
    assert short(1.0, 8) == "100.0 % (67.6–100.0)"
    assert full(1.0, 8) == "100.0 % of 8 nodes (95 % interval 67.6–100.0)"


def test_what_is_not_known_is_not_made_up() -> None:
    assert short(None, 8) == short(float("nan"), 8) == full(None, None) == "–"
    assert short(0.5, None) == full(0.5, None) == "50.0 %"
    assert measured(0.5, None)["interval_95"] is None
    assert measured(None, 0) == {"accuracy": None, "nodes": 0, "interval_95": None}
    old = {"mean": 0.5, "std": 0.0, "per_seed": [0.5]}
    assert with_nodes(old, [None]) == old
    told = with_nodes({**old, "per_seed": [0.5, None]}, [10, 0])
    assert told["nodes"] == [10, 0]
    assert told["interval_95"] == [list(interval(0.5, 10)), None]
    with pytest.raises(ValueError, match="at least one node"):
        interval(0.5, 0)


def test_counts_in_words() -> None:
    assert [count_text(nodes) for nodes in ([], [None], [1], [22, 22], [20, 1000, None])] == [
        "",
        "",
        "1 node",
        "22 nodes",
        "20 to 1,000 nodes",
    ]
