"""1 rank equals 2 and 4 ranks, step for step; what they sample is the same bit for bit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ranks_at_work import BY_FOUR, CASES

NAMES = list(CASES)
NORMED = "batch norm"
KINDS = ["sparse-float32", "directed-float32", "directed-float64"]
SAME_BITS = ("spmm", "sddmm", "spmm with dropout", "dropout of nodes", "dropout of entries", "relu and dropout")
"""What has the same bits for any number of ranks: sums over a row's entries in their order, and noise."""


def read(results: Path, ranks: int, name: str) -> tuple[list[dict[str, Any]], dict[str, Any], dict[str, Any]]:
    """History, best epoch and arrays of a fit."""
    path = results / str(ranks) / f"fit-{NAMES.index(name)}.npz"
    history, best = json.loads(path.with_suffix(".json").read_text())
    with np.load(path) as arrays:
        return history, best, dict(arrays)


@pytest.mark.parametrize(
    ("name", "ranks"), [(name, 2) for name in NAMES if name != NORMED] + [(n, 4) for n in BY_FOUR if n != NORMED]
)
def test_ranks_train_as_one(results: Path, name: str, ranks: int) -> None:
    alone, alone_best, alone_arrays = read(results, 1, name)
    history, best, arrays = read(results, ranks, name)
    assert [(r["phase"], r["epoch"]) for r in history] == [(r["phase"], r["epoch"]) for r in alone]
    assert (best["phase"], best["epoch"]) == (alone_best["phase"], alone_best["epoch"])
    for mine, theirs in zip(history, alone, strict=True):
        assert mine.keys() == theirs.keys()
        for key, value in theirs.items():
            assert mine[key] == (value if isinstance(value, str) else pytest.approx(value, rel=2e-5, abs=2e-6)), mine
    assert arrays.keys() == alone_arrays.keys()
    for key, value in alone_arrays.items():
        assert arrays[key].shape == value.shape
        assert arrays[key].dtype == value.dtype
        np.testing.assert_allclose(arrays[key], value, rtol=1e-3, atol=2e-4, err_msg=key)


@pytest.mark.parametrize("ranks", [2, 4])
def test_sampled_structures_are_the_same_bits(results: Path, ranks: int) -> None:
    seen = 0
    for name in NAMES if ranks == 2 else BY_FOUR:
        mine, alone = read(results, ranks, name)[2], read(results, 1, name)[2]
        if "samples" in alone:
            assert alone["samples"].any()
            assert not alone["samples"].all()
            assert np.array_equal(mine["samples"], alone["samples"]), name
            seen += len(alone["samples"])
    assert seen > 30


@pytest.mark.parametrize("ranks", [2, 4])
def test_batch_norm_has_the_moments_of_all_nodes(results: Path, ranks: int) -> None:
    """A bias before a norm stays 0: it would have no gradient but rounding, of which Adam makes whole steps."""
    alone, mine = read(results, 1, NORMED)[0], read(results, ranks, NORMED)[0]
    for epoch, theirs in zip(mine, alone, strict=True):
        for key in ("loss", "likelihood", "entropy"):
            assert epoch[key] == pytest.approx(theirs[key], rel=1e-5)
        assert epoch["val_loss"] == pytest.approx(theirs["val_loss"], rel=1e-5)
        assert epoch["val_accuracy"] == theirs["val_accuracy"]


@pytest.mark.parametrize("ranks", [2, 4])
def test_what_ranks_cannot_do_is_told(results: Path, ranks: int) -> None:
    batch, norm, small, other = json.loads((results / str(ranks) / "refusals.json").read_text())
    assert "batch=partition" in batch
    assert "q's is sage" in norm
    assert "4 nodes, too few" in small
    assert "Rank 1 has read another graph than rank 0" in other


@pytest.mark.parametrize("ranks", [2, 4])
def test_a_rank_that_is_not_asked_to_join_fits_alone(results: Path, ranks: int) -> None:
    """Only rank 0 fitted; joining the group would have waited for the others for ever."""
    with np.load(results / "1" / "alone.npz") as alone, np.load(results / str(ranks) / "alone.npz") as mine:
        assert set(mine) == set(alone)
        for name in alone:
            assert mine[name].tobytes() == alone[name].tobytes(), name


def test_a_fit_goes_on_from_rank_0s_checkpoints(results: Path) -> None:
    resumed = json.loads((results / "2" / "resumed.json").read_text())
    history, _, arrays = read(results, 2, "sparse features")
    assert resumed["history"] == history
    assert resumed["done"] == len(history) - 14  # the epoch in which it was ended is done again
    with np.load(results / "2" / "resumed.npz") as found:
        for name, value in found.items():
            assert value.tobytes() == arrays[name].tobytes(), name
    assert list((results / "kept").glob("*/*.checkpoint"))


def test_one_process_goes_on_from_the_checkpoints_of_two_ranks(results: Path) -> None:
    resumed = json.loads((results / "1" / "resumed.json").read_text())
    history = read(results, 1, "sparse features")[0]
    assert resumed["done"] == len(history) - 14
    for mine, theirs in zip(resumed["history"], history, strict=True):
        assert (mine["phase"], mine["epoch"]) == (theirs["phase"], theirs["epoch"])
        assert mine["loss"] == pytest.approx(theirs["loss"], rel=2e-5, abs=2e-6)


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("kind", KINDS)
def test_products_and_gradients_are_those_of_one_process(results: Path, kind: str, ranks: int) -> None:
    with (
        np.load(results / "1" / f"products-{kind}.npz") as alone,
        np.load(results / str(ranks) / f"products-{kind}.npz") as mine,
    ):
        assert set(mine) == set(alone)
        assert len(mine.files) >= 18
        for name in alone:
            assert mine[name].shape == alone[name].shape
            close = 1e-12 if kind.endswith("64") else 1e-5
            np.testing.assert_allclose(mine[name], alone[name], rtol=close, atol=close, err_msg=name)
        for name in SAME_BITS if kind.endswith("32") else ():
            assert mine[name].tobytes() == alone[name].tobytes(), name
