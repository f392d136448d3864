"""refine --add: pairs that look like edges, judged by the attention; and where they may not be added."""

from __future__ import annotations

import numpy as np
import pytest

from gdamn import GDAMN, GdamnError, Graph, likely_edges, load
from gdamn.fit.field.candidates import among_best
from gdamn.graph.entries import with_edges
from gdamn.using.refine import refine, refine_and_add


@pytest.fixture(scope="module")
def sparse() -> Graph:
    return load("digits", noise="remove:0.5", seed=0)


def test_proposed_pairs_are_new_and_mostly_edges_that_were_removed_or_alike(sparse: Graph):
    i, j = likely_edges(sparse, 3)
    whole = load("digits")
    old = set(zip(sparse.rows.tolist(), sparse.indices.tolist(), strict=True))
    assert not any(pair in old for pair in zip(i.tolist(), j.tolist(), strict=True))
    assert (i < j).all()
    assert (whole.labels[i] == whole.labels[j]).mean() > 0.9
    codes = whole.rows.astype(np.int64) * whole.num_nodes + whole.indices
    by_chance = len(whole.indices) / whole.num_nodes**2
    assert np.isin(i * whole.num_nodes + j, codes).mean() > 20 * by_chance


def test_the_best_of_either_end_stay():
    i, j = np.array([0, 0, 0, 1]), np.array([1, 2, 3, 3])
    scores = np.array([3.0, 2.0, 1.0, 0.0])
    assert among_best(i, j, scores, 1).tolist() == [True, True, True, False]
    assert among_best(i, j, scores, 2).all()


def test_with_edges_marks_what_is_new(sparse: Graph):
    new = likely_edges(sparse, 1)
    larger, added = with_edges(sparse, new)
    assert larger.num_edges == sparse.num_edges + new.shape[1]
    assert added.sum() == 2 * new.shape[1]
    assert (larger.labels == sparse.labels).all()


def test_a_model_keeps_new_edges_that_its_attention_likes(sparse: Graph, one_thread: None):
    model = GDAMN(pretrain_epochs=20, epochs=10, em_iterations=1, candidates="em", start="graph", threads=1).fit(sparse)
    before, after = refine(model, sparse), refine_and_add(model, sparse, 2)
    assert after.added is not None
    facts = after.report()
    assert facts["edges_before"] == sparse.num_edges
    assert 0 < facts["edges_added"] <= after.added.sum() // 2
    assert facts["edges_after"] >= before.report()["edges_after"] + facts["edges_added"] - 5
    assert set(after.weights) == {"hard", "soft", "stable"}
    assert len(after.weights["hard"]) == after.chosen.sum()


def test_a_directed_graph_is_refused(sparse: Graph, one_thread: None):
    from dataclasses import replace

    model = GDAMN(pretrain_epochs=2, epochs=2, em_iterations=1, candidates="em", start="graph", threads=1).fit(sparse)
    with pytest.raises(GdamnError, match="undirected"):
        refine_and_add(model, replace(sparse, directed=True), 2)


def test_a_count_is_at_least_one(sparse: Graph):
    with pytest.raises(GdamnError, match="at least one"):
        likely_edges(sparse, 0)
