"""The cleaned graph: every file read back, the transform, and a plain GCN that gains from it."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import torch
from after_helpers import SCHEDULE, digits
from torch.nn import functional as F
from torch_geometric.data import Data
from torch_geometric.data.data import DataEdgeAttr, DataTensorAttr
from torch_geometric.data.storage import GlobalStorage
from torch_geometric.nn import GCNConv

import gdamn
from gdamn import GDAMN, Graph, RefineGraph
from gdamn.errors import ConfigError, GraphError
from gdamn.estimators.predictions import Predictions, split_names
from gdamn.model.temperature import Temperature
from gdamn.using.refine import Refined, refine, write_refined

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def refined(model: GDAMN, noisy: Graph) -> Refined:
    return refine(model, noisy, keep="hard>0.5")


@pytest.fixture(scope="module")
def predictions(model: GDAMN, noisy: Graph) -> Predictions:
    raw = model.predict_proba().astype(float)
    return Predictions(noisy, raw, split_names(noisy), Temperature(1.0, False, ""), {})


def entries(refined: Refined) -> dict[tuple[str, str], tuple[float, ...]]:
    ids, w = refined.graph.node_ids, refined.weights
    values = zip(w["hard"], w["soft"], w["stable"], strict=True)
    ends = zip(ids[refined.sources], ids[refined.targets], strict=True)
    return dict(zip(ends, values, strict=True))


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_tables_come_back(suffix: str, refined: Refined, predictions: Predictions, tmp_path: Path) -> None:
    path = tmp_path / f"refined{suffix}"
    write_refined(path, refined, predictions)
    table = pd.read_csv(path) if suffix == ".csv" else pd.read_parquet(path)
    wanted = entries(refined)
    assert len(table) == len(wanted) == int(refined.chosen.sum())
    for row in table.itertuples():
        assert (row.hard, row.soft, row.stable) == pytest.approx(wanted[row.source, row.target], rel=1e-5)
    assert (table.hard > 0.5).all()


@pytest.mark.parametrize("name", ["refined.npz", "refined.pt"])
def test_files_of_graphs_are_read_by_our_own_reader(
    name: str, refined: Refined, predictions: Predictions, tmp_path: Path
) -> None:
    from gdamn.data import files as own

    write_refined(tmp_path / name, refined, predictions)
    graph = own.load(tmp_path / name)
    assert graph.num_edges == refined.report()["edges_after"]
    assert np.array_equal(graph.labels, refined.graph.labels)
    assert np.allclose(graph.features, refined.graph.features)
    assert graph.node_ids.tolist() == refined.graph.node_ids.tolist()
    assert np.array_equal(graph.train_mask, refined.graph.train_mask)
    wanted = entries(refined)
    larger = [max(wanted[a, b][2], wanted[b, a][2]) for a, b in wanted]
    assert np.allclose(graph.weights, larger)


def test_pt_opens_without_trust(refined: Refined, predictions: Predictions, tmp_path: Path) -> None:
    """With weights_only and the four names that every saved Data needs; nothing of gdamn is in it."""
    write_refined(tmp_path / "refined.pt", refined, predictions)
    with torch.serialization.safe_globals([Data, DataEdgeAttr, DataTensorAttr, GlobalStorage]):
        data = torch.load(tmp_path / "refined.pt", weights_only=True)
    assert data.edge_index.shape[1] == int(refined.chosen.sum())
    assert torch.equal(data.edge_weight, data.stable)
    assert data.class_names == list(refined.graph.class_names)


def test_graphml_has_each_edge_once(refined: Refined, predictions: Predictions, tmp_path: Path) -> None:
    write_refined(tmp_path / "refined.graphml", refined, predictions)
    graph = nx.read_graphml(tmp_path / "refined.graphml")
    assert graph.number_of_nodes() == 300
    assert graph.number_of_edges() == refined.report()["edges_after"]
    wanted = entries(refined)
    for a, b, told in graph.edges(data=True):
        both = np.mean([wanted[a, b], wanted[b, a]], axis=0)
        assert (told["hard"], told["soft"], told["stable"]) == pytest.approx(tuple(both), rel=1e-5)
        assert told["weight"] == told["stable"]
    assert graph.nodes["n3"]["predicted"] == refined.graph.class_names[predictions.predicted[3]]


def test_a_weight_of_0_is_no_edge(model: GDAMN, noisy: Graph, predictions: Predictions, tmp_path: Path) -> None:
    from gdamn.data import files as own

    doubted = copy.copy(model)
    doubted.tensors_ = {**model.tensors_, "edge.stable": model.tensors_["edge.stable"].copy()}
    entry = int(noisy.indptr[7])
    doubted.tensors_["edge.stable"][[entry, noisy.reverse[entry]]] = 0
    found = refine(doubted, noisy)
    assert found.report()["edges_after"] == int((found.all_weights["stable"] > 0).sum()) // 2 < noisy.num_edges
    for name in ("r.npz", "r.pt"):
        write_refined(tmp_path / name, found, predictions)
        assert own.load(tmp_path / name).num_edges == found.report()["edges_after"]


def test_xml_cannot_hold_everything(refined: Refined, predictions: Predictions, tmp_path: Path) -> None:
    ids = refined.graph.node_ids.astype(object)
    ids[4] = "\x1b[31m"
    strange = replace(refined, graph=replace(refined.graph, node_ids=ids))
    with pytest.raises(GraphError, match=r"'\\x1b\[31m'"):
        write_refined(tmp_path / "refined.graphml", strange, predictions)
    assert not list(tmp_path.iterdir())
    write_refined(tmp_path / "refined.npz", strange, predictions)


def test_the_transform_and_the_model_say_the_same(model: GDAMN, noisy: Graph) -> None:
    assert gdamn.RefineGraph is RefineGraph
    data, mine = noisy.to_pyg(), model.refine()
    made = RefineGraph(model)(data)
    assert torch.equal(data.edge_index, noisy.to_pyg().edge_index)  # the caller's stays
    assert torch.equal(made.edge_index, mine.edge_index)
    assert torch.equal(made.edge_weight, mine.edge_weight)
    cut = RefineGraph(model, keep="hard>0.5", weight="hard", loops=True)(data)
    kept = int((model.edge_weights_["hard"] > 0.5).sum())
    assert cut.edge_index.shape[1] == kept + 300
    assert (cut.edge_weight > 0.5).all()
    assert torch.equal(cut.edge_index[:, kept:], torch.arange(300).repeat(2, 1))
    assert torch.equal(cut.stable[kept:], mine.loop_weight)
    assert "edge_weight" not in RefineGraph(model, top=2, weight=None)(data)


def test_the_transform_refuses_other_graphs(model: GDAMN, noisy: Graph) -> None:
    data = noisy.to_pyg()
    data.edge_index = data.edge_index[:, :100]
    with pytest.raises(GraphError, match="other edges"):
        RefineGraph(model)(data)
    with pytest.raises(GraphError, match="have 3"):
        RefineGraph(model)(Data(x=torch.ones(3, 2), edge_index=torch.tensor([[0], [1]])))
    with pytest.raises(ConfigError, match="weight"):
        RefineGraph(model, weight="used")
    plain = GDAMN(pretrain_epochs=2, em_iterations=0, threads=1).fit(noisy)
    with pytest.raises(GraphError, match="no attention"):
        RefineGraph(plain)


class PlainGCN(torch.nn.Module):
    def __init__(self, features: int, classes: int) -> None:
        super().__init__()
        self.first, self.second = GCNConv(features, 32), GCNConv(32, classes)

    def forward(self, data: Data) -> torch.Tensor:
        h = self.first(data.x, data.edge_index, data.edge_weight).relu()
        return self.second(F.dropout(h, 0.5, self.training), data.edge_index, data.edge_weight)


def accuracy(data: Data, seed: int) -> float:
    """Test accuracy of PyTorch Geometric's GCN after a fixed number of epochs."""
    torch.manual_seed(seed)
    network = PlainGCN(data.x.shape[1], 10)
    optimiser = torch.optim.Adam(network.parameters(), lr=0.02, weight_decay=5e-4)
    for _ in range(50):
        optimiser.zero_grad()
        F.cross_entropy(network(data)[data.train_mask], data.y[data.train_mask]).backward()
        optimiser.step()
    right = network.eval()(data).argmax(1) == data.y
    return float(right[data.test_mask].float().mean())


def test_a_plain_gcn_gains_from_the_refined_graph() -> None:
    """Three wrong edges per right one. The kept edges have no weights: what counts is which ones were cut."""
    for seed in (0, 1):
        graph = digits(900, 3.0, seed)
        settings = {**SCHEDULE, "start": "features", "seed": seed}
        model = GDAMN.preset("digits", **settings).fit(graph)
        data = graph.to_pyg()
        before = accuracy(data.clone(), seed)
        after = accuracy(RefineGraph(model, keep="hard>0.5", weight=None)(data), seed)
        assert after > before + 0.05, (seed, before, after)
