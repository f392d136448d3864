"""Every kind of noise: exact counts, sound graphs, the same bits from the same seed, and which labels are read."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gdamn.data import Noise, add_noise, load
from gdamn.data.named.synthetic import BlockModel, sbm
from gdamn.data.noise import KINDS, attack, edges
from gdamn.errors import ConfigError, GraphError
from gdamn.graph.graph import Graph
from gdamn.runs.spec import RunSpec

SBM = sbm(BlockModel(90, 3, 6.0, 0.8, 8, train_per_class=5, val_per_class=5), seed=1)
WORDS = replace(SBM, features=sp.csr_array(np.random.default_rng(0).random((90, 30)) < 0.15, dtype=np.float32))


def pairs(graph: Graph) -> set[tuple[int, int]]:
    return set(zip(graph.rows.tolist(), graph.indices.tolist(), strict=True))


def same(first: Graph, second: Graph) -> bool:
    def dense(graph: Graph) -> np.ndarray:
        return graph.features.toarray() if graph.is_sparse else graph.features

    arrays = ("indptr", "indices", "reverse", "labels", "train_mask", "val_mask", "test_mask")
    equal = all(np.array_equal(getattr(first, name), getattr(second, name)) for name in arrays)
    return equal and np.array_equal(dense(first), dense(second))


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Small graphs, directed or not, weighted or not, some of whose labels are unknown."""
    n, rng = draw(st.integers(6, 30)), np.random.default_rng(draw(st.integers(0, 99)))
    ends = rng.integers(0, n, (2, draw(st.integers(1, 2 * n))))
    weights = rng.choice([0.5, 1.0, 3.0], ends.shape[1]) if draw(st.booleans()) else None
    labels = rng.integers(-1, 3, n)
    return Graph.build(ends, None, labels, num_nodes=n, weights=weights, directed=draw(st.booleans()))


# --- names ------------------------------------------------------------------------------------------------------------


@settings(max_examples=50)
@given(
    kind=st.sampled_from(sorted(KINDS)),
    rate=st.floats(0, 1, allow_subnormal=False),
    seed=st.none() | st.integers(0, 2**32 - 1),
)
def test_noise_is_read_as_it_is_written(kind: str, rate: float, seed: int | None) -> None:
    noise = Noise(kind, rate, seed)
    again = Noise.parse(noise.value)
    assert again.value == noise.value
    assert again == (noise if rate else Noise())
    spec = RunSpec("karate", noise=noise.value)
    assert RunSpec.from_dict(spec.as_dict(), "here") == spec


def test_a_plain_number_means_what_it_did() -> None:
    assert Noise.parse(0.5) == Noise.parse("0.5") == Noise.parse("inter:0.5") == Noise("inter", 0.5)
    assert RunSpec("karate", noise="inter:0.50").as_dict()["noise"] == 0.5
    assert RunSpec("karate", noise="remove:0.50").as_dict()["noise"] == "remove:0.5"
    assert pairs(load("karate", noise=0.5, seed=3)) == pairs(load("karate", noise="inter:0.5", seed=3))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("remove", "has no rate; write remove:0.2"),
        ("remoev:0.1", "did you mean remove"),
        ("zzz:0.1", "there are inter, random"),
        ("remove:2", "a share of the edges, from 0 to 1; got 2"),
        ("remove:-1", "0 or more"),
        ("remove:x", "'x' is neither a number nor KIND:RATE"),
        ("remove:0.1:2:3", "KIND:RATE:SEED"),
        ("remove:0.1:-2", "KIND:RATE:SEED"),
        ("remove:0.1:4294967296", "seed of the noise"),
        ("metattack:0.1", "cora-meta"),
        ("much", "'much' is neither a number"),
        (10**400, "too large"),
    ],
)
def test_mistakes_are_told(text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        Noise.parse(text)


# --- edges ------------------------------------------------------------------------------------------------------------


@settings(max_examples=40)
@given(graph=graphs(), rate=st.floats(0.05, 1), seed=st.integers(0, 9), listed=st.sampled_from([0, edges.LISTED]))
@pytest.mark.parametrize("kind", ["random", "remove", "rewire"])
def test_edges_are_counted_exactly(kind: str, graph: Graph, rate: float, seed: int, listed: int) -> None:
    old, count = pairs(graph), round(rate * graph.num_edges)
    free = graph.num_nodes * (graph.num_nodes - 1) // (1 if graph.directed else 2) - graph.num_edges
    assume(kind == "remove" or free >= 3 * count)  # dense graphs have tests of their own
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(edges, "LISTED", listed)
        noisy = add_noise(graph, Noise(kind, rate), seed)
        assert same(noisy, add_noise(graph, Noise(kind, rate), seed))
    new = pairs(noisy)
    both = 1 if graph.directed else 2
    assert len(noisy.indices) == len(new)  # no duplicates
    assert all(a != b for a, b in new)
    assert graph.directed or new == {(b, a) for a, b in new}
    assert len(new - old) == (0 if kind == "remove" else both * count)
    assert len(old - new) == (0 if kind == "random" else both * count)
    planted = noisy.meta["planted"]
    assert new - old == set(zip(noisy.rows[planted].tolist(), noisy.indices[planted].tolist(), strict=True))
    record = {"kind": kind, "rate": rate, "seed": seed}
    record |= {} if kind == "remove" else {"planted": count}
    assert noisy.meta["noise"] == record | ({} if kind == "random" else {"removed": count})
    if graph.weights is not None:
        weights = np.ones(len(noisy.indices)) if noisy.weights is None else noisy.weights
        assert set(weights.tolist()) <= {0.5, 1.0, 3.0}
        assert graph.directed or (weights == weights[noisy.reverse]).all()
        assert kind != "rewire" or sorted(weights) == sorted(graph.weights)
    rest = replace(noisy, indptr=graph.indptr, indices=graph.indices, reverse=graph.reverse)
    assert same(rest, graph)


def test_a_rewired_edge_keeps_one_end() -> None:
    graph = Graph.build([[0], [1]], None, None, num_nodes=50)
    for seed in range(20):
        (new,) = {tuple(sorted(pair)) for pair in pairs(add_noise(graph, "rewire:1", seed))}
        assert len({0, 1} & set(new)) == 1


def test_a_star_is_rewired_at_its_leaves() -> None:
    star = Graph.build(np.stack([np.zeros(39, int), np.arange(1, 40)]), None, None, num_nodes=40)
    noisy = add_noise(star, "rewire:0.5", 0)
    assert noisy.num_edges == 39
    assert len(pairs(star) - pairs(noisy)) == 2 * round(0.5 * 39)


def test_the_whole_graph_can_be_filled_but_no_more() -> None:
    graph = Graph.build([[0, 0], [1, 2]], None, None, num_nodes=4)
    assert add_noise(graph, "random:2", 0).num_edges == 6
    with pytest.raises(GraphError, match="Only 4 pairs of nodes are not joined yet; 5 edges"):
        add_noise(graph, "random:2.5", 0)
    full = add_noise(graph, "random:2", 0)
    with pytest.raises(GraphError, match="lower noise rate"):
        add_noise(full, "rewire:0.5", 0)


# --- features and labels ----------------------------------------------------------------------------------------------


@settings(max_examples=20)
@given(rate=st.floats(0, 1, exclude_min=True), seed=st.integers(0, 9))
@pytest.mark.parametrize("graph", [SBM, WORDS], ids=["dense", "sparse"])
def test_masked_features(graph: Graph, rate: float, seed: int) -> None:
    def dense(graph: Graph) -> np.ndarray:
        return graph.features.toarray() if graph.is_sparse else graph.features

    before, noisy = dense(graph), add_noise(graph, Noise("mask", rate), seed)
    after, count = dense(noisy), round(rate * np.count_nonzero(before))
    assert noisy.is_sparse == graph.is_sparse
    assert noisy.meta["noise"]["masked"] == count == np.count_nonzero(before) - np.count_nonzero(after)
    assert (after[after != 0] == before[after != 0]).all()


@settings(max_examples=20)
@given(rate=st.floats(0, 0.8, exclude_min=True), seed=st.integers(0, 9))
def test_exchanged_words(rate: float, seed: int) -> None:
    noisy = add_noise(WORDS, Noise("features", rate), seed)
    before, after = WORDS.features.toarray(), noisy.features.toarray()
    count = round(rate * np.count_nonzero(before))
    assert noisy.meta["noise"]["moved"] == count
    assert ((before != 0) & (after == 0)).sum() == ((before == 0) & (after != 0)).sum() == count
    np.testing.assert_array_equal(before.sum(axis=1), after.sum(axis=1))
    assert noisy.features.has_sorted_indices


def test_words_that_fill_a_row_can_t_be_exchanged() -> None:
    features = sp.csr_array(np.eye(40, dtype=np.float32) + np.outer(np.arange(40) == 0, np.ones(40)), dtype=np.float32)
    graph = Graph.build([[0], [1]], features, None)
    with pytest.raises(GraphError, match="too many words"):
        add_noise(graph, "features:0.9", 0)
    with pytest.raises(GraphError, match="share from 0 to 1; got 2"):
        add_noise(graph, "features:2", 0)


def test_measurements_get_noise_of_their_own_spread() -> None:
    x = np.random.default_rng(0).standard_normal((4000, 3)).astype(np.float32) * [1, 10, 0] + [0, 5, 7]
    noisy = add_noise(Graph.build([[0], [1]], x.astype(np.float32), None), "features:0.5", 2)
    change = noisy.features - x
    np.testing.assert_allclose(change.std(axis=0)[:2] / x.std(axis=0)[:2], 0.5, rtol=0.05)
    assert (change[:, 2] == 0).all()
    assert noisy.meta["noise"]["disturbed"] == 8000


@settings(max_examples=20)
@given(rate=st.floats(0, 1, exclude_min=True), seed=st.integers(0, 9))
def test_flipped_labels(rate: float, seed: int) -> None:
    noisy = add_noise(SBM, Noise("labels", rate), seed)
    changed = noisy.labels != SBM.labels
    assert changed.sum() == noisy.meta["noise"]["flipped"] == round(rate * SBM.train_mask.sum())
    assert (SBM.train_mask | ~changed).all()
    np.testing.assert_array_equal(noisy.meta["flipped"], changed)
    assert same(replace(noisy, labels=SBM.labels), SBM)


def test_labels_of_one_class_can_t_be_flipped() -> None:
    graph = Graph.build([[0], [1]], None, [0, 0, 1], num_nodes=3, train_mask=[0, 1])
    with pytest.raises(GraphError, match="two classes"):
        add_noise(graph, "labels:0.5", 0)


# --- seeds, and who reads which label ---------------------------------------------------------------------------------


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """An attack of few steps."""
    monkeypatch.setattr(attack, "STEPS", 6)
    monkeypatch.setattr(attack, "BLOCK", 1000)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_only_edges_between_classes_depend_on_labels_that_aren_t_training_labels(kind: str) -> None:
    other = SBM.labels.copy()
    other[~SBM.train_mask] = (other[~SBM.train_mask] + 1) % 3
    unknown = np.where(SBM.train_mask, SBM.labels, -1)
    bare = replace(SBM, labels=unknown, val_mask=SBM.val_mask & False, test_mask=SBM.test_mask & False)
    noisy = [add_noise(graph, f"{kind}:0.2", 4) for graph in (SBM, replace(SBM, labels=other), bare)]
    first, *others = [replace(g, labels=SBM.labels, val_mask=SBM.val_mask, test_mask=SBM.test_mask) for g in noisy]
    assert all(same(first, each) for each in others) == (kind != "inter")
    assert all((each.labels[SBM.train_mask] == noisy[0].labels[SBM.train_mask]).all() for each in noisy)
    assert KINDS[kind].labels.startswith("all, test labels too") == (kind == "inter")


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_the_seed_decides_and_a_seed_of_its_own_stands_above_the_run_s(kind: str) -> None:
    first, again, other = (add_noise(SBM, f"{kind}:0.2", seed) for seed in (0, 0, 1))
    assert same(first, again)
    assert not same(first, other)
    assert same(other, add_noise(SBM, f"{kind}:0.2:1", 0))
    assert add_noise(SBM, f"{kind}:0.2:1", 0).meta["noise"]["seed"] == 1
    assert add_noise(SBM, f"{kind}:0", 0) is SBM


def test_edges_of_a_noise_with_its_own_seed_are_those_of_every_split() -> None:
    one, two = (load("karate", seed=seed, noise="remove:0.3:7") for seed in (1, 2))
    assert pairs(one) == pairs(two)
    assert (one.val_mask != two.val_mask).any()
    assert pairs(load("karate", seed=1, noise="remove:0.3")) != pairs(load("karate", seed=2, noise="remove:0.3"))
