from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gdamn.data.splits import per_class_split
from gdamn.errors import ConfigError, GraphError


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 6), st.integers(0, 4), st.integers(0, 4), st.integers(0, 1000), st.integers(0, 5))
def test_every_class_gives_what_is_asked(classes, train, val, seed, unknown):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(max(train + val, 1), train + val + 10, classes)
    labels = rng.permutation(np.concatenate([np.repeat(np.arange(classes), sizes), np.full(unknown, -1)]))
    a, b, c = per_class_split(labels, train, val, seed)
    assert np.bincount(labels[a], minlength=classes).tolist() == [train] * classes
    assert np.bincount(labels[b], minlength=classes).tolist() == [val] * classes
    assert (a.astype(int) + b + c == (labels >= 0)).all()


def test_numbers_choose_the_split():
    labels = np.arange(300) % 3
    first, again, other = (per_class_split(labels, 5, 5, seed) for seed in (1, 1, 2))
    assert all((x == y).all() for x, y in zip(first, again, strict=True))
    assert (first[0] != other[0]).any()


def test_every_node_is_as_likely():
    labels = np.repeat([0, 1], 10)
    counts = sum(per_class_split(labels, 3, 3, seed)[0].astype(int) for seed in range(400))
    assert counts.sum() == 400 * 6
    assert abs(counts - 120).max() < 50


def test_gaps_in_the_class_numbers_are_passed_over():
    train, val, test = per_class_split([0, 0, 5, 5], 1, 1, 0)
    assert (train.sum(), val.sum(), test.sum()) == (2, 2, 0)


def test_no_label_at_all():
    assert [mask.sum() for mask in per_class_split([-1, -1], 1, 1, 0)] == [0, 0, 0]


def test_too_small_a_class_is_an_error():
    with pytest.raises(
        GraphError, match=r"^Class 1 has 2 nodes, but the split needs 2 for training and 1 for .* fewer\.$"
    ):
        per_class_split([0, 0, 0, 1, 1], 2, 1, 0)


def test_wrong_arguments():
    with pytest.raises(ConfigError, match="-1 nodes"):
        per_class_split([0, 1], -1, 0, 0)
    with pytest.raises(GraphError, match="shape"):
        per_class_split([[0, 1]], 1, 0, 0)
