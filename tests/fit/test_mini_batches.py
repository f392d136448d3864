"""Batches of nodes, and a batch's loss as an estimate of the loss of all nodes."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from gdamn import GDAMNPlus, Graph
from gdamn.data import load
from gdamn.errors import ConfigError
from gdamn.estimators.registry import make
from gdamn.fit import checkpoint
from gdamn.fit.checkpoint import part_of
from gdamn.fit.mini_batches import Consistency, RowsLoss, Shuffled
from gdamn.fit.training import Steps, decayed, run_epochs
from gdamn.kernels import Key
from gdamn.model.adjacency import gcn_adjacency
from gdamn.model.objectives import agreed, e_step_target, passes_loss
from gdamn.model.problem import make_problem
from gdamn.model.propagators import Pagerank, Walk

pytestmark = pytest.mark.usefixtures("one_thread")
CPU = torch.device("cpu")
FEW = {
    "propagator": "pagerank",
    "start": "graph",
    "layers": 1,
    "batch_norm": True,
    "stable_norm": "row",
    "batches": 3,
    "unlabelled_batch": 20,
    "pretrain_epochs": 4,
    "epochs": 3,
    "em_iterations": 1,
    "clip": 0.1,
    "decay": "every",
    "threads": 1,
}


@pytest.fixture(scope="module")
def graph() -> Graph:
    return load("karate")


def test_every_node_comes_once_in_a_pass():
    nodes, pool = np.arange(10, 21), Shuffled(np.arange(10, 21), 3, Key(1))
    passes = [np.concatenate([pool.batch(3 * number + i) for i in range(3)]) for number in range(4)]
    assert all(len(set(one)) == 9 and set(one) <= set(nodes) for one in passes)
    assert len({tuple(one) for one in passes}) == 4
    assert np.array_equal(Shuffled(nodes, 3, Key(1)).batch(5), passes[1][6:])  # a function of its number
    assert set(Shuffled(nodes, 50, Key(1)).batch(7)) == set(nodes)


def test_a_batch_of_all_nodes_has_the_loss_of_all_nodes(graph):
    problem = make_problem(graph, "none", 0.0, CPU)
    q = Pagerank(problem.x.width, 4, problem.num_classes, 1, 0.0, Walk(3, 0.2, 40, 0.0, 0.5), batch_norm=False)
    q.initialise("xavier", torch.Generator().manual_seed(0))
    matrix = q.walk.matrix(gcn_adjacency(problem.structure, CPU, "row"))
    target = e_step_target(problem, torch.full_like(problem.labels, 1 / problem.num_classes), 0.7, "means")
    known, others = (Shuffled(each.numpy(), 100, Key(0)) for each in (problem.train, problem.rest))
    loss = RowsLoss(q, matrix, problem.x, target, known, others, Consistency(2, 3.0, 0.5, 0.2, 4), 0.3)
    found = loss(1, Key(5))
    passes = [q.rows(matrix, problem.x, np.arange(graph.num_nodes), Key(5).fold(i)) for i in range(2)]
    wanted = passes_loss(passes, target, 0.3, 0.0, 0.5, 0.2, graph.num_nodes)
    torch.testing.assert_close(found["likelihood"], wanted["likelihood"])
    torch.testing.assert_close(found["entropy"], wanted["entropy"])
    total = found["likelihood"] + 0.3 * found["entropy"] + 3.0 * 2 / 4 * found["consistency"]  # the second of 4 batches
    torch.testing.assert_close(found["loss"], total)


def test_gradients_are_cut_to_their_length():
    layer = nn.Linear(3, 2)
    seen = []
    steps = Steps(
        2,
        lambda key: {"loss": 100 * layer(torch.ones(1, 3)).square().sum()},
        lambda *_: seen.append(torch.cat([p.grad.reshape(-1) for p in layer.parameters()]).norm().item()),
        part_of(layer),
        clip=0.25,
    )
    run_epochs(decayed(layer, 0.0, "every"), 0.01, steps, Key(0), None)
    assert seen == pytest.approx([0.25, 0.25], rel=1e-4)


def test_every_parameter_decays():
    net = nn.Sequential(nn.BatchNorm1d(3), nn.Linear(3, 2))
    on, off = decayed(net, 0.1, "every")
    assert (len(on["params"]), len(off["params"])) == (4, 0)
    assert len(decayed(net, 0.1, "all")[0]["params"]) == 1


def test_p_is_asked_where_both_agree(graph):
    problem = make_problem(graph, "none", 0.0, CPU)
    other = problem.rest[:3]
    p, q = (torch.full((graph.num_nodes, problem.num_classes), 0.01) for _ in range(2))
    p[:, 0], q[:, 0] = 0.9, 0.9
    q[other[0], 1] = 0.95
    p[other[1], 0] = 0.5
    q[other[2], 0] = 0.5
    count = agreed(problem, p, q, 0.8)[:, 0]
    assert set(torch.nonzero(count == 0)[:, 0].tolist()) == set(other.tolist())


def test_a_fit_goes_on_where_it_was_ended(graph, tmp_path, monkeypatch):
    """Ended in the midst of an epoch's batches, it has the bits of one that was not; of q and of the baseline."""
    monkeypatch.setattr(checkpoint, "EVERY_SECONDS", 0.0)
    monkeypatch.setattr(checkpoint, "EVERY_EPOCHS", 1)
    for name, settings in (("gdamn-plus", FEW), ("grand-plus", {"epochs": 6, "batches": 3, "threads": 1})):
        plain = make(name, overrides=settings).fit(graph)
        with checkpoint.keeping(tmp_path / name):
            with monkeypatch.context() as patch:
                ended_after(patch, 11)
                with pytest.raises(KeyboardInterrupt):
                    make(name, overrides=settings).fit(graph)
            again = make(name, overrides=settings).fit(graph)
        assert again.history_ == plain.history_
        assert np.array_equal(again.probabilities_, plain.probabilities_)


def ended_after(patch: pytest.MonkeyPatch, steps: int) -> None:
    done, plain = 0, RowsLoss.__call__

    def call(self, at, step):
        nonlocal done
        done += 1
        if done > steps:
            raise KeyboardInterrupt
        return plain(self, at, step)

    patch.setattr(RowsLoss, "__call__", call)


def test_a_saved_model_says_the_same(graph, tmp_path):
    model = GDAMNPlus(**FEW).fit(graph)
    assert np.array_equal(GDAMNPlus.load(model.save(tmp_path / "m.gdamn")).probabilities_, model.probabilities_)


def test_the_pool_of_test_nodes_needs_some(graph):
    settings = {"epochs": 2, "batches": 2, "unlabelled_batch": 3, "threads": 1, "pool": "test"}
    one, other = (
        make("grand-plus", overrides={**settings, "pool": pool}).fit(graph) for pool in ("test", "unlabelled")
    )
    assert one.history_ != other.history_
    with pytest.raises(ConfigError, match="pool='test' needs test nodes"):
        make("grand-plus", overrides=settings).fit(
            graph.with_masks(graph.train_mask, graph.val_mask, graph.val_mask & False)
        )


@pytest.mark.parametrize(("name", "settings"), [("gdamn-plus", FEW), ("grand-plus", {"epochs": 3, "pool": "test"})])
def test_no_other_label_is_read(graph, name, settings):
    """Scrambled test labels change no bit; scrambled validation labels change which epoch is chosen, and no loss."""
    fits = []
    for keep in (graph.train_mask | True, graph.train_mask | graph.val_mask, graph.train_mask):
        labels = np.where(keep, graph.labels, (graph.labels + 1) % graph.num_classes)
        fits.append(make(name, overrides={**settings, "threads": 1}).fit(graph.with_labels(labels)))
    true, blind, blinder = fits
    assert blind.history_ == true.history_
    assert all(np.array_equal(value, blind.tensors_[key]) for key, value in true.tensors_.items())
    assert [record["loss"] for record in blinder.history_] == [record["loss"] for record in true.history_]
