"""STABLE, against its formulas on dense matrices, and the graphs with other edges that it works on."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from small_graphs import CLOSE, CPU, WIDTH, C, N, build, dense, matrix, problem_of
from torch.nn import functional as F

from gdamn.baselines import stable
from gdamn.baselines.rewired import edges_of, structure_of
from gdamn.baselines.simp_gcn import extremes
from gdamn.baselines.stable import Encoder, StableSettings
from gdamn.estimators.registry import make
from gdamn.fit import checkpoint
from gdamn.kernels import Key
from gdamn.model.adjacency import gcn_adjacency
from gdamn.model.inputs import feature_block

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.mark.parametrize("kind", [{}, {"weighted": True}, {"directed": True}], ids=["plain", "weighted", "directed"])
def test_a_graph_comes_back_from_its_edges(kind):
    wanted = build(**kind).structure
    found = structure_of(edges_of(wanted))
    for name in ("indptr", "indices"):
        assert np.array_equal(getattr(found.pattern, name), getattr(wanted.pattern, name))
    assert np.array_equal(found.weights, wanted.weights)
    assert np.array_equal(found.loop, wanted.loop)
    if not kind.get("directed"):
        same = wanted.pair[:, None] == wanted.pair
        assert np.array_equal(found.pair[:, None] == found.pair, same)


def test_similar_nodes_among_some():
    x = np.random.default_rng(0).standard_normal((N, WIDTH)).astype(np.float32)
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    among = np.arange(N) % 2 == 0
    (near, cosines), _ = extremes(feature_block(x, "none", 0.0, CPU), 3, 1, among)
    for i in range(N):
        order = [j for j in np.argsort(-(unit @ unit[i])) if j != i and among[j]]
        assert set(near[i]) == set(order[:3])
    np.testing.assert_allclose(cosines, np.take_along_axis(unit @ unit.T, near, 1), atol=1e-5)


def test_some_of_the_cut_edges_come_back_in_both_directions(monkeypatch):
    monkeypatch.setattr(stable, "RECOVERED", 0.5)
    graph = build()
    structure, problem = graph.structure, problem_of(graph)
    clean = stable.clean_weights(problem, 0.2)
    x = dense(graph).astype(float)
    common, sizes = x @ x.T, x.sum(1)
    jaccard = common / (sizes[:, None] + sizes - common).clip(1e-9)
    assert np.array_equal(clean == 1, jaccard[structure.pattern.rows, structure.pattern.indices] >= 0.2)
    back = stable.recovered(structure, clean, Key(1))
    cut, again = (matrix(structure.pattern, (w == 0) & structure.free).numpy() for w in (clean, back))
    assert np.array_equal(again, again.T)
    assert (again <= cut).all()
    assert cut.sum() // 2 - again.sum() // 2 == int(0.5 * (cut.sum() // 2)) > 0
    assert np.array_equal(back, stable.recovered(structure, clean, Key(1)))
    assert not np.array_equal(back, stable.recovered(structure, clean, Key(2)))


@torch.no_grad()
def test_the_contrast_by_dense_matrices():
    graph, key = build(), Key(3)
    encoder = Encoder(WIDTH, 4)
    encoder.initialise(torch.Generator().manual_seed(1))
    encoder.offset[0].fill_(0.3)
    structure, x = graph.structure, torch.as_tensor(dense(graph))
    clean = stable.clean_weights(problem_of(graph), 0.2)
    factors = [clean, *(stable.recovered(structure, clean, Key(i)) for i in range(2))]
    adjacencies = [stable.looped(structure.weighed(f), 2.0, CPU) for f in factors]
    smooth = []
    for f in factors:
        a = matrix(structure.pattern, np.where(structure.loop, 0, f)) + 2 * torch.eye(N)
        d = a.sum(1).rsqrt()
        smooth.append((d[:, None] * a * d).float())

    def encoded(s: torch.Tensor, features: torch.Tensor) -> torch.Tensor:
        h = s @ features @ encoder.weight[0]
        return torch.where(h > 0, h, 0.25 * h)

    order = torch.randperm(N, generator=stable.make_generator(key))
    true, false = encoded(smooth[0], x), encoded(smooth[0], x[order])
    scores = torch.zeros(2 * N)
    for view in smooth[1:]:
        c = torch.sigmoid(encoded(view, x).mean(0)).expand(2 * N, -1)
        scores += F.bilinear(torch.cat([true, false]), c.contiguous(), encoder.agreement[0][None])[:, 0] + 0.3
    wanted = -(torch.cat([scores[:N].sigmoid(), 1 - scores[N:].sigmoid()]).log()).mean()
    found = encoder.contrast(stable.Views(adjacencies[0], tuple(adjacencies[1:])), problem_of(graph).x, key)
    torch.testing.assert_close(found, wanted, **CLOSE)


@pytest.mark.parametrize("alpha", [-0.5, -0.3, 0.0, 0.6])
def test_neighbours_weigh_by_their_degree(alpha):
    structure = build(weighted=True).structure
    a = matrix(structure.pattern, structure.weights)
    d = a.sum(1)
    wanted = d[:, None] ** alpha * a * d**alpha
    if alpha == -0.5:
        torch.testing.assert_close(wanted, matrix(structure.pattern, gcn_adjacency(structure, CPU).values), **CLOSE)
    else:
        wanted = wanted / wanted.sum(1, keepdim=True)
    found = stable.weighed_by_degree(structure, alpha, CPU)
    torch.testing.assert_close(matrix(structure.pattern, found.values), wanted, **CLOSE)


def test_edges_are_cut_and_added_by_representations():
    graph = build()
    h = torch.randn(N, 3, generator=torch.Generator().manual_seed(0))
    cosines = F.cosine_similarity(h[:, None], h[None], dim=2).numpy()
    a = graph.to_scipy().toarray()
    kept = a * (cosines > 0.1)
    trusted = (kept > 0).sum(1) > 1
    wanted = kept.copy()
    for i in range(N):
        order = [j for j in np.argsort(-cosines[i]) if j != i and trusted[j]]
        wanted[i, order[:2]] = 1
    found = edges_of(stable.refined(graph.structure, h, StableSettings(cosine=0.1, neighbours=2))).toarray()
    assert np.array_equal(found, wanted)
    assert 0 < np.count_nonzero(kept) < np.count_nonzero(a)
    alone = edges_of(stable.refined(graph.structure, h, StableSettings(cosine=0.1, neighbours=0)))
    assert np.array_equal(alone.toarray(), kept)
    nothing = stable.refined(graph.structure, h, StableSettings(cosine=1.0, neighbours=2))
    assert edges_of(nothing).nnz == 0


FEW = {"epochs": 3, "projection": 4, "threads": 1}


def test_representations_know_no_label_and_are_those_of_the_lowest_loss(monkeypatch):
    monkeypatch.setattr(stable, "RATE", 0.3)  # so large that the loss rises again
    monkeypatch.setattr(stable, "PATIENCE", 4)
    graph = build()
    other = graph.with_labels((graph.labels + 1) % C)
    fits = [make("stable", overrides={**FEW, "pretrain_epochs": 40}).fit(g) for g in (graph, other)]
    losses = [[r["loss"] for r in model.history_ if r["phase"] == "represent"] for model in fits]
    assert losses[0] == losses[1]
    lowest = int(np.argmin(losses[0]))
    assert lowest + 1 + stable.PATIENCE == len(losses[0]) < 40
    short = make("stable", overrides={**FEW, "pretrain_epochs": lowest + 1}).fit(graph)
    for name in fits[0].tensors_:
        if "encoder" in name:
            assert np.array_equal(fits[0].tensors_[name], fits[1].tensors_[name])
            assert np.array_equal(fits[0].tensors_[name], short.tensors_[name])


def test_a_fit_that_was_killed_when_its_representations_were_done_goes_on_with_the_gcn(tmp_path, monkeypatch):
    for name, value in {"EVERY_EPOCHS": 1, "EVERY_SECONDS": 0.0, "PHASE_SECONDS": 0.0}.items():
        monkeypatch.setattr(checkpoint, name, value)
    monkeypatch.setattr(stable, "RATE", 0.3)
    monkeypatch.setattr(stable, "PATIENCE", 4)
    model, graph = make("stable", overrides={**FEW, "pretrain_epochs": 40}), build()
    whole = model.fit(graph)
    last = sum(r["phase"] == "represent" for r in whole.history_) - 1

    def killed(phase, epoch, *_):
        if (phase, epoch) == ("train", 0):
            raise KeyboardInterrupt

    with checkpoint.keeping(tmp_path):
        with pytest.raises(KeyboardInterrupt):
            make("stable", overrides={**FEW, "pretrain_epochs": 40}).fit(graph, progress=killed)
        seen = []
        again = make("stable", overrides={**FEW, "pretrain_epochs": 40}).fit(
            graph, progress=lambda *record: seen.append(record)
        )
    assert last < 39
    assert [(phase, epoch) for phase, epoch, *_ in seen] == [("train", 0), ("train", 1), ("train", 2)]
    assert again.history_ == whole.history_
    assert np.array_equal(again.probabilities_, whole.probabilities_)
