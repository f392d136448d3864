"""Training steps of PyTorch Geometric's GCN and GAT, as in its examples and OGB's."""

from __future__ import annotations

import statistics
import time
from itertools import pairwise
from typing import Any

import torch
from graphs import load_graph, sizes
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.nn import GATConv, GCNConv
from worker import peak_rss


class GCN(nn.Module):
    """examples/gcn.py: two layers, 16 hidden units, dropout 0.5, normalised adjacency cached."""

    def __init__(self, features: int, classes: int) -> None:
        super().__init__()
        self.conv1 = GCNConv(features, 16, cached=True)
        self.conv2 = GCNConv(16, classes, cached=True)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        x = F.dropout(x, 0.5, self.training)
        x = self.conv1(x, edges).relu()
        x = F.dropout(x, 0.5, self.training)
        return self.conv2(x, edges)


class GAT(nn.Module):
    """examples/gat.py: two layers, 8 heads of 8 units, dropout 0.6."""

    def __init__(self, features: int, classes: int) -> None:
        super().__init__()
        self.conv1 = GATConv(features, 8, heads=8, dropout=0.6)
        self.conv2 = GATConv(64, classes, heads=1, concat=False, dropout=0.6)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        x = F.dropout(x, 0.6, self.training)
        x = F.elu(self.conv1(x, edges))
        x = F.dropout(x, 0.6, self.training)
        return self.conv2(x, edges)


class ArxivGCN(nn.Module):
    """OGB's examples/nodeproppred/arxiv/gnn.py with 128 hidden units: three layers, batch norm, dropout 0.5."""

    def __init__(self, features: int, classes: int) -> None:
        super().__init__()
        widths = [features, 128, 128, classes]
        self.convs = nn.ModuleList([GCNConv(a, b, cached=True) for a, b in pairwise(widths)])
        self.norms = nn.ModuleList([nn.BatchNorm1d(128) for _ in range(2)])

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        for conv, norm in zip(self.convs, self.norms, strict=False):
            x = F.dropout(F.relu(norm(conv(x, edges))), 0.5, self.training)
        return self.convs[-1](x, edges)


MODELS = {"gcn": (GCN, 0.01), "gat": (GAT, 0.005), "arxiv-gcn": (ArxivGCN, 0.01)}
"""Model and learning rate of the examples."""


def steps(
    dataset: str,
    model: str,
    *,
    data_root: str | None = None,
    count: int = 5,
    warm_up: int = 1,
    threads: int = 2,
    sparse_adjacency: bool = False,
    options: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Seconds of full training steps: forward, backward and Adam's step, without any evaluation.

    Args:
        sparse_adjacency: give the graph as a torch CSR matrix (``adj_t``) in place of ``edge_index``.
    """
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    graph = load_graph(dataset, data_root, options)
    data = graph.to_pyg()
    edges = data.edge_index
    if sparse_adjacency:
        import torch_geometric.transforms as T

        edges = T.ToSparseTensor(layout=torch.sparse_csr)(data).adj_t
    made, rate = MODELS[model]
    network = made(graph.num_features, graph.num_classes)
    optimiser = torch.optim.Adam(network.parameters(), lr=rate, weight_decay=0.0 if "arxiv" in model else 5e-4)
    peak_loaded, seconds = peak_rss(), []
    network.train()
    for _ in range(warm_up + count):
        start = time.perf_counter()
        optimiser.zero_grad()
        logits = network(data.x, edges)
        loss = F.cross_entropy(logits[data.train_mask], data.y[data.train_mask])
        loss.backward()
        optimiser.step()
        seconds.append(time.perf_counter() - start)
    timed = seconds[warm_up:]
    return {
        "graph": sizes(graph),
        "threads": {"torch": torch.get_num_threads()},
        "peak_rss_loaded": peak_loaded,
        "steps": {
            "count": count,
            "warm_up": warm_up,
            "mean": statistics.fmean(timed),
            "median": statistics.median(timed),
            "best": min(timed),
        },
    }
