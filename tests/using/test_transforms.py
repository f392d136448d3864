"""RefineGraph and model.refine on people's own Data: their edges, their order, their attributes."""

from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
import pytest
import torch
from after_helpers import CUTTING, SCHEDULE
from torch_geometric import transforms as T
from torch_geometric.data import Data, HeteroData

from gdamn import GDAMN, Graph, RefineGraph
from gdamn.errors import GraphError
from gdamn.estimators.selection import chosen_entries
from gdamn.using.refine import refine, write_refined

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture
def data(noisy: Graph) -> Data:
    """The graph of the model, its edges in another order, with attributes of every kind."""
    made = noisy.to_pyg()
    order = torch.randperm(made.num_edges, generator=torch.Generator().manual_seed(0))
    made.edge_index = made.edge_index[:, order]
    count = made.num_edges
    made.edge_id = torch.arange(count)
    made.edge_time = np.arange(count) * 10
    made.edge_name = [f"e{at}" for at in range(count)]
    made.pair = tuple(range(count))
    made.edge_attr = torch.arange(2.0 * count).reshape(count, 2).requires_grad_()
    made.flow_index = torch.stack([torch.arange(count), -torch.arange(count)])  # by its name [2, E]
    made.edge_label_index = made.edge_index[:, :50]
    made.edge_label = torch.ones(50)
    made.story = "of the data"
    return made


def check_carried(made: Data, data: Data) -> None:
    """Every value stands at the edge it stood at before."""
    assert made.validate()
    ids = made.edge_id
    assert torch.equal(made.edge_index, data.edge_index[:, ids])
    assert bool((ids[1:] > ids[:-1]).all())  # the order is kept
    assert np.array_equal(made.edge_time, data.edge_time[ids.numpy()])
    assert made.edge_name == [data.edge_name[at] for at in ids]
    assert made.pair == tuple(ids.tolist())
    assert torch.equal(made.edge_attr, data.edge_attr[ids])
    assert torch.equal(made.flow_index, data.flow_index[:, ids])
    for name in ("hard", "soft", "stable"):
        assert made[name].shape == ids.shape
    for name in ("edge_label_index", "edge_label", "x", "y", "train_mask"):
        assert made[name] is data[name]
    assert made.story == data.story
    assert made.node_ids == data.node_ids


@pytest.mark.parametrize(
    "choice", [{}, {"top": 2}, {"keep": "hard>0.5"}, {"keep": "hard>2"}, {"top": 1, "weight": None}]
)
def test_every_attribute_of_edges_goes_with_them(model: GDAMN, noisy: Graph, data: Data, choice: dict) -> None:
    before = {key: copy.deepcopy(value) for key, value in data.to_dict().items()}
    for call in (RefineGraph(model, **choice), RefineGraph(model, **choice).forward):
        made = call(data)
        check_carried(made, data)
        assert ("edge_weight" in made) == ("weight" not in choice)
    assert data.to_dict().keys() == before.keys()
    for key, value in before.items():
        same = torch.equal if isinstance(value, torch.Tensor) else np.array_equal
        assert same(data[key], value), key
    kept = {key: choice[key] for key in ("keep", "top") if key in choice}
    index = np.stack([noisy.indices, noisy.rows])
    assert made.num_edges == int(chosen_entries(index, model.edge_weights_, 300, **kept).sum())


def test_weights_are_those_of_the_edge(model: GDAMN, noisy: Graph, data: Data) -> None:
    made = RefineGraph(model)(data)
    place = {(int(s), int(t)): at for at, (s, t) in enumerate(zip(noisy.indices, noisy.rows, strict=True))}
    at = [place[int(s), int(t)] for s, t in made.edge_index.T]
    for name in ("hard", "soft", "stable"):
        assert np.array_equal(made[name].numpy(), model.edge_weights_[name][at])
    assert torch.equal(made.edge_weight, made.stable)


def test_edges_in_one_direction_stay_in_it(model: GDAMN, data: Data) -> None:
    """The fit reads both directions; the data keep what they have, and ToUndirected adds the other."""
    once = data.edge_index[0] < data.edge_index[1]
    half = Data(x=data.x, edge_index=data.edge_index[:, once], edge_id=torch.arange(int(once.sum())))
    made = RefineGraph(model, top=2)(half)
    assert torch.equal(made.edge_index, half.edge_index[:, made.edge_id])
    whole = RefineGraph(model, top=2)(data)
    assert 2 * made.num_edges == whole.num_edges
    assert T.ToUndirected()(made).num_edges == whole.num_edges


def test_duplicates_stay_and_loops_go(model: GDAMN, data: Data) -> None:
    loops = torch.tensor([[7, 5, 7], [7, 5, 7]])
    odd = Data(x=data.x, edge_index=torch.cat([loops, data.edge_index[:, :4], data.edge_index], dim=1))
    odd.edge_id = torch.arange(odd.num_edges) + 100
    odd.edge_name = [str(at) for at in range(odd.num_edges)]
    odd.edge_time = np.arange(odd.num_edges)
    made = RefineGraph(model)(odd)
    assert made.num_edges == data.num_edges + 4
    assert torch.equal(made.edge_id, odd.edge_id[3:])
    assert torch.equal(made.stable[:4], made.stable[4:8])
    with_loops = RefineGraph(model, loops=True)(odd)
    assert with_loops.validate()
    own = with_loops.edge_id[made.num_edges :]
    assert {at: int(own[at]) for at in range(300) if own[at]} == {7: 100, 5: 101}  # 0 where the data have no loop
    assert with_loops.edge_name[made.num_edges + 5 :][:3] == ["1", None, "0"]
    assert with_loops.edge_time[made.num_edges :].tolist() == [{5: 1, 7: 0}.get(at, 0) for at in range(300)]
    assert torch.equal(with_loops.stable[made.num_edges :], torch.as_tensor(model.tensors_["loop.stable"]))


def test_as_many_edges_as_nodes() -> None:
    """PyTorch Geometric then takes an attribute for one of edges where its name says so."""
    ring = torch.stack([torch.arange(8), (torch.arange(8) + 1) % 8])
    parts = {"y": torch.arange(8) % 2, "train_mask": torch.ones(8, dtype=torch.bool)}
    both = Data(x=torch.rand(8, 3), edge_index=torch.cat([ring, ring.flip(0)], dim=1), **parts)
    model = GDAMN(**{**SCHEDULE, **CUTTING, "pretrain_epochs": 3, "epochs": 3}).fit(both)
    data = Data(x=both.x, edge_index=ring, edge_id=torch.arange(8), age=torch.arange(8), **parts)
    data.node_ids, data.edge_names = [f"n{at}" for at in range(8)], [f"e{at}" for at in range(8)]
    made = RefineGraph(model, top=1)(data)
    assert 4 <= made.num_edges <= 8
    assert torch.equal(made.edge_index, ring[:, made.edge_id])
    assert made.edge_names == [f"e{at}" for at in made.edge_id]
    none = RefineGraph(model, keep="hard>2")(data)
    assert (none.num_edges, len(none.edge_id), none.edge_names) == (0, 0, [])
    for each in (made, none):
        assert torch.equal(each.age, data.age)
        assert torch.equal(each.y, data.y)
        assert each.node_ids == data.node_ids


def test_model_refine_takes_the_same_care(model: GDAMN, noisy: Graph, data: Data) -> None:
    made = model.refine(data)
    check_carried(made, data)
    assert made.loop_weight.shape == (300,)
    mine = model.refine(noisy)
    assert torch.equal(mine.edge_index, torch.as_tensor(np.stack([noisy.indices, noisy.rows]).astype(np.int64)))
    assert torch.equal(mine.edge_weight, mine.stable)
    assert set(mine.edge_weight.tolist()) == set(made.edge_weight.tolist())
    other = Graph.build([[0, 1], [1, 2]], None, num_nodes=300)
    with pytest.raises(GraphError, match="other edges"):
        model.refine(other)


def test_three_doors_say_the_same(model: GDAMN, noisy: Graph, tmp_path: Path) -> None:
    """A file leaves out what has a weight of 0; all else is the same."""
    files = refine(model, noisy)
    write_refined(tmp_path / "r.pt", files, None)  # type: ignore[arg-type]  # the predictions are for GraphML
    data = noisy.to_pyg()
    made = [RefineGraph(model)(data), RefineGraph(model, weight=None)(data), model.refine(), model.refine(data)]
    written = torch.load(tmp_path / "r.pt", weights_only=False)
    assert written.num_edges == files.index.shape[1] == int((made[0].stable > 0).sum()) < made[0].num_edges
    for each in made:
        there = each.stable > 0
        assert torch.equal(each.edge_index, data.edge_index)
        assert torch.equal(each.edge_index[:, there], written.edge_index)
        for name in ("hard", "soft", "stable"):
            assert torch.equal(each[name][there], written[name])


def test_a_directed_model_keeps_directions(data: Data) -> None:
    source, target = torch.arange(10), (torch.arange(10) + 1) % 10
    graph = Graph.build(
        torch.stack([source, target]), np.eye(10, 4, dtype=np.float32) + 1, np.arange(10) % 2, train_mask=range(6),
        directed=True,
    )  # fmt: skip
    model = GDAMN(**{**SCHEDULE, "pretrain_epochs": 3, "epochs": 3}).fit(graph)
    made = RefineGraph(model, keep="hard>0")(graph.to_pyg())
    assert torch.equal(made.edge_index, graph.to_pyg().edge_index)


def test_other_things_are_refused(model: GDAMN, data: Data, noisy: Graph) -> None:
    transform = RefineGraph(model)
    with pytest.raises(GraphError, match=r"not HeteroData; .*to_homogeneous"):
        transform(HeteroData())
    with pytest.raises(GraphError, match="Expected a PyTorch Geometric Data, not Graph"):
        transform(noisy)
    with pytest.raises(GraphError, match="no edge_index"):
        transform(Data(x=data.x))
    twice = copy.copy(data)
    twice.adj_t = torch.eye(300).to_sparse_csr()
    with pytest.raises(GraphError, match="edge_index and as adj_t"):
        transform(twice)
    wrong = copy.copy(data)
    wrong.edge_index = data.edge_index.float()
    with pytest.raises(GraphError, match="integer array"):
        transform(wrong)
