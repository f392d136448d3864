"""RemoveSpuriousEdges: the edges that go, the attributes that go with them, and what stays as it is."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch_geometric import transforms as T
from torch_geometric.data import Data, HeteroData

from gdamn import GdamnError, Graph, RemoveSpuriousEdges, load, spurious_edges


@pytest.fixture(scope="module")
def noisy() -> Graph:
    return load("digits", noise=0.5, seed=0)


def test_planted_edges_go_with_their_attributes(noisy: Graph):
    data = noisy.to_pyg()
    data.edge_id = torch.arange(data.num_edges)
    data.edge_weight = torch.rand(data.num_edges)
    cleaned = RemoveSpuriousEdges()(data)
    planted = torch.tensor(noisy.meta["planted"])
    kept = torch.zeros(data.num_edges, dtype=torch.bool)
    kept[cleaned.edge_id] = True
    assert kept[planted].float().mean() < 0.1
    assert kept[~planted].float().mean() > 0.9
    assert torch.equal(cleaned.edge_index, data.edge_index[:, cleaned.edge_id])
    assert torch.equal(cleaned.edge_weight, data.edge_weight[cleaned.edge_id])
    assert cleaned.spurious_share == pytest.approx(1 / 3, abs=0.1)
    assert torch.equal(cleaned.train_mask, data.train_mask)
    assert data.num_edges == len(noisy.indices)


def test_it_agrees_with_the_probabilities_whatever_the_order(noisy: Graph):
    cut = spurious_edges(noisy).cut()
    data = noisy.to_pyg()
    order = torch.randperm(data.num_edges, generator=torch.Generator().manual_seed(0))
    shuffled = Data(x=data.x, edge_index=data.edge_index[:, order])
    cleaned = T.Compose([T.AddSelfLoops(), RemoveSpuriousEdges()])(shuffled)
    loops = cleaned.edge_index[0] == cleaned.edge_index[1]
    assert int(loops.sum()) == noisy.num_nodes
    n = noisy.num_nodes
    wanted = {int(t) * n + int(s) for s, t in zip(noisy.indices[~cut], noisy.rows[~cut], strict=True)}
    assert {int(t) * n + int(s) for s, t in cleaned.edge_index[:, ~loops].T} == wanted


def test_clean_and_small_graphs_stay():
    for name in ("digits", "karate"):
        data = load(name).to_pyg()
        assert torch.equal(RemoveSpuriousEdges()(data).edge_index, data.edge_index)


def test_a_graph_without_edges_or_features_has_none():
    lonely = Graph.build(np.empty((2, 0), np.int64), np.eye(5, dtype=np.float32))
    assert spurious_edges(lonely).share == 0
    assert len(spurious_edges(lonely).cut()) == 0


@pytest.mark.parametrize("wrong", [HeteroData(), Data(x=torch.eye(3)), Data(edge_index=torch.zeros(2, 1).long())])
def test_what_has_no_edges_or_features_is_refused_in_a_sentence(wrong: object):
    with pytest.raises(GdamnError, match=r"\.$"):
        RemoveSpuriousEdges()(wrong)


@pytest.mark.parametrize("threshold", [0, -1, 1.5])
def test_a_threshold_is_a_probability(threshold: float):
    with pytest.raises(GdamnError, match="threshold"):
        RemoveSpuriousEdges(threshold=threshold)
