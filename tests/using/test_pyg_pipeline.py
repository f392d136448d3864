"""RefineGraph among PyTorch Geometric's own parts: Compose, loaders, pickle.

NeighborLoader draws with pyg-lib or torch-sparse, which have no wheels for every machine. Its other half, which cuts
the Data down to what was drawn, is PyTorch Geometric's NodeLoader: it runs here with a sampler of a few lines.
"""

from __future__ import annotations

import pickle
import warnings

import pytest
import torch
from torch_geometric import transforms as T
from torch_geometric.data import Data
from torch_geometric.loader import NeighborLoader, NodeLoader
from torch_geometric.nn import GraphSAGE
from torch_geometric.sampler import BaseSampler, NodeSamplerInput, SamplerOutput
from torch_geometric.typing import WITH_PYG_LIB, WITH_TORCH_SPARSE

from gdamn import GDAMN, Graph, RefineGraph
from gdamn.errors import GraphError

pytestmark = pytest.mark.usefixtures("one_thread")


class OneHop(BaseSampler):
    """Draws at most ``count`` edges that end in each of the nodes."""

    def __init__(self, data: Data, count: int) -> None:
        self.edge_index, self.count = data.edge_index, count

    def sample_from_nodes(self, inputs: NodeSamplerInput, **_: object) -> SamplerOutput:
        target = self.edge_index[1]
        edges = torch.cat([torch.nonzero(target == node).view(-1)[: self.count] for node in inputs.node])
        others = torch.unique(self.edge_index[0, edges])
        nodes = torch.cat([inputs.node, others[~torch.isin(others, inputs.node)]])
        number = torch.full((int(self.edge_index.max()) + 1,), -1)
        number[nodes] = torch.arange(len(nodes))
        row, col = number[self.edge_index[:, edges]]
        return SamplerOutput(node=nodes, row=row, col=col, edge=edges, metadata=(inputs.input_id, None))

    def sample_from_edges(self, *_: object, **__: object) -> None:
        raise AssertionError("only nodes are drawn from")


@pytest.fixture
def data(noisy: Graph) -> Data:
    """The graph of the model, its edges in another order, each with its number and the numbers of its ends."""
    made = noisy.to_pyg()
    made.node_ids = torch.arange(300)
    order = torch.randperm(made.num_edges, generator=torch.Generator().manual_seed(0))
    made.edge_index = made.edge_index[:, order]
    made.edge_attr = made.edge_index.T.clone()
    return made


def refined(model: GDAMN, data: Data) -> Data:
    return RefineGraph(model, top=3)(data)


def test_a_loader_gives_batches_whose_attributes_are_those_of_their_edges(model: GDAMN, data: Data) -> None:
    whole = refined(model, data)
    assert whole.validate()
    loader = NodeLoader(whole, OneHop(whole, 2), input_nodes=whole.train_mask, batch_size=16)
    seen = 0
    for batch in loader:
        ends = batch.node_ids[batch.edge_index]
        assert torch.equal(ends.T, batch.edge_attr)
        for name in ("hard", "soft", "stable", "edge_weight"):
            assert torch.equal(batch[name], whole[name][batch.e_id])
        assert batch.train_mask[: batch.batch_size].all()
        seen += batch.batch_size
    assert seen == int(whole.train_mask.sum())


def test_a_neighbor_loader_is_made_of_it(model: GDAMN, data: Data) -> None:
    """Its sampler has the refined edges, by target; it draws where a library for that is installed."""
    whole = refined(model, data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that drawing without pyg-lib is deprecated
        loader = NeighborLoader(whole, num_neighbors=[5, 5], input_nodes=whole.train_mask, batch_size=32)
    sampler = loader.node_sampler
    degrees = torch.bincount(whole.edge_index[1], minlength=300)
    assert torch.equal(sampler.colptr.diff(), degrees)
    assert torch.equal(sampler.row, whole.edge_index[0, sampler.perm])
    if WITH_PYG_LIB or WITH_TORCH_SPARSE:
        for batch in loader:
            assert torch.equal(batch.node_ids[batch.edge_index].T, batch.edge_attr)


def test_a_network_of_pyg_trains_on_batches(model: GDAMN, data: Data) -> None:
    whole = refined(model, data)
    torch.manual_seed(0)
    network = GraphSAGE(whole.num_features, 16, num_layers=1, out_channels=3)
    optimizer = torch.optim.SGD(network.parameters(), 0.5)
    losses = []
    for _ in range(5):
        for batch in NodeLoader(whole, OneHop(whole, 5), input_nodes=whole.train_mask, batch_size=32):
            optimizer.zero_grad()
            logits = network(batch.x, batch.edge_index)[: batch.batch_size]
            loss = torch.nn.functional.cross_entropy(logits, batch.y[: batch.batch_size])
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    assert losses[-1] < losses[0] / 2


def test_it_stands_in_compose(model: GDAMN, data: Data) -> None:
    steps = T.Compose([T.Constant(), RefineGraph(model, top=3), T.AddSelfLoops("edge_weight"), T.ToSparseTensor()])
    made = steps(data)
    whole = refined(model, data)
    loops = torch.eye(300)
    expected = torch.zeros(300, 300).index_put((whole.edge_index[1], whole.edge_index[0]), whole.edge_weight) + loops
    assert torch.allclose(made.adj_t.to_dense(), expected)
    assert "RefineGraph(keep=None, top=3" in repr(steps)
    late = T.Compose([T.ToSparseTensor(), RefineGraph(model)])
    with pytest.raises(GraphError, match=r"put RefineGraph before T\.ToSparseTensor"):
        late(data)
    with pytest.raises(GraphError, match="The model knows 300 nodes"):
        T.Compose([T.RemoveIsolatedNodes(), RefineGraph(model)])(data.subgraph(torch.arange(100)))


def test_other_processes_get_it_whole(model: GDAMN, data: Data) -> None:
    again = pickle.loads(pickle.dumps(RefineGraph(model, top=3)))(data)
    assert torch.equal(again.edge_index, refined(model, data).edge_index)
    assert torch.equal(again.stable, refined(model, data).stable)
