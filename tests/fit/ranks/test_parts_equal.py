"""A partitioned graph trains as the whole one does, by 1, 2 and 4 ranks, step for step, from any of its checkpoints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from parts_at_work import CASES, PARTS
from ranks_at_work import graphs

from gdamn import GDAMN
from gdamn.graph.order import renumbered
from gdamn.graph.parts import read_parts

NAMES = list(CASES)
WHOLE = ("dense", "dense, fused", "directed and weighted", "weighted, fused")
"""The cases that a fit on the whole graph does, too: with one start, no batches and no drawn labels."""


def read(results: Path, ranks: int, name: str) -> tuple[list[dict[str, Any]], dict[str, Any], int, dict[str, Any]]:
    """History, best epoch, epochs that were done, and arrays."""
    path = results / str(ranks) / (f"parts-{NAMES.index(name)}.npz" if name in NAMES else f"{name}.npz")
    history, best, done = json.loads(path.with_suffix(".json").read_text())
    with np.load(path) as arrays:
        return history, best, done, dict(arrays)


def same_losses(mine: list[dict[str, Any]], theirs: list[dict[str, Any]]) -> None:
    for one, other in zip(mine, theirs, strict=True):
        for key, value in other.items():
            wanted = value if isinstance(value, str) or value is None else pytest.approx(value, rel=2e-5, abs=2e-6)
            assert one[key] == wanted, (one, other)


@pytest.mark.parametrize(
    ("name", "ranks"), [(name, ranks) for name in NAMES for ranks in (2, 4) if (name, ranks) != ("batches", 4)]
)
def test_ranks_train_as_one(results: Path, name: str, ranks: int) -> None:
    history, best, _, arrays = read(results, ranks, name)
    alone, alone_best, _, alone_arrays = read(results, 1, name)
    same_losses(history, alone)
    assert (best["phase"], best["epoch"]) == (alone_best["phase"], alone_best["epoch"])
    assert arrays.keys() == alone_arrays.keys()
    for key, value in alone_arrays.items():
        np.testing.assert_allclose(arrays[key], value, rtol=1e-3, atol=2e-4, err_msg=key)
    if "samples" in alone_arrays:
        assert arrays["samples"].tobytes() == alone_arrays["samples"].tobytes()
        assert 0 < arrays["samples"].mean() < 1


@pytest.mark.parametrize("name", [name for name in NAMES if name in WHOLE])
def test_parts_are_the_whole_graph_renumbered(results: Path, name: str) -> None:
    graph, settings = CASES[name]
    parts = read_parts(results / "parts" / graph)
    moved, _ = renumbered(graphs()[graph], np.concatenate([part.array("nodes") for part in parts.parts]))
    model = GDAMN(**settings, judge_edges=False, isolated="count").fit(moved)
    history, _, _, arrays = read(results, 1, name)
    same_losses(history, model.history_)
    np.testing.assert_allclose(arrays["posterior"], model.predict_proba("p"), rtol=1e-3, atol=2e-4)
    for kind in ("hard", "soft", "stable"):
        mine = arrays[kind][moved.structure.free]
        np.testing.assert_allclose(mine, model.edge_weights_[kind], rtol=1e-3, atol=2e-4, err_msg=kind)


def test_a_rank_needs_a_part_of_each_batch(results: Path) -> None:
    assert "A rank has 1 parts, and there are 2 batches" in (results / "4" / "refused.txt").read_text()


def test_batches_make_several_steps_an_epoch(results: Path) -> None:
    """Twice as many as the whole graph in one: it learns faster, and forgets the edges between parts."""
    batches, whole = read(results, 1, "batches")[0], read(results, 1, "dense")[0]
    assert len([r for r in batches if r.get("start", "graph") == "graph"]) >= len(whole) - 3
    assert batches[2]["loss"] < whole[2]["loss"]


def test_a_fit_goes_on_from_shards_with_the_same_bits(results: Path) -> None:
    history, _, _, arrays = read(results, 2, "sparse, fused")
    again, _, done, resumed = read(results, 2, "resumed-again")
    assert again == history
    assert done == len(history) - 14  # the epoch in which it was ended is done again
    for name, value in resumed.items():
        assert value.tobytes() == arrays[name].tobytes(), name


def test_shards_of_two_ranks_serve_one(results: Path) -> None:
    history, _, done, _ = read(results, 1, "resumed-one")
    assert done == len(history) - 14
    same_losses(history, read(results, 1, "sparse, fused")[0])
    files = {path.name.partition(".")[2] for path in (results / "kept-parts" / "one").glob("*/*")}
    assert files == {"checkpoint", *(f"part-{number:05d}" for number in range(PARTS))}


def test_a_damaged_shard_is_passed_over(results: Path) -> None:
    history, _, done, _ = read(results, 2, "resumed-damaged")
    assert done == len(history) - 13  # one epoch more: the checkpoint before the damaged one
    assert history == read(results, 2, "sparse, fused")[0]
