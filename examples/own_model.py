"""A model of one's own: features guess the labels, and GDAMNConv cuts edges by that guess.

python examples/own_model.py
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv

from gdamn import load
from gdamn.nn import GDAMNConv


class GuessThenCut(nn.Module):
    """Ŷ = softmax(MLP(x)), known labels put in; then two layers that cut and weigh edges."""

    def __init__(self, features: int, classes: int, hidden: int = 32) -> None:
        super().__init__()
        self.guess = nn.Sequential(nn.Linear(features, hidden), nn.ReLU(), nn.Linear(hidden, classes))
        self.first = GDAMNConv(features, hidden, classes)
        self.second = GDAMNConv(hidden, classes, classes)

    def forward(self, x: Tensor, edge_index: Tensor, known: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Logits [N, C] of the guess and of the answer, and the KL of the cut to its prior.

        ``known`` [N, C] is one-hot on training nodes and 0 elsewhere.
        """
        guess = self.guess(x)
        labels = torch.where(known.any(dim=1, keepdim=True), known, guess.softmax(dim=1).detach())
        h = F.dropout(F.relu(self.first(x, edge_index, labels)), 0.5, self.training)
        return guess, self.second(h, edge_index, labels), self.first.kl(edge_index, labels)


class Plain(nn.Module):
    """Two layers of GCNConv."""

    def __init__(self, features: int, classes: int, hidden: int = 32) -> None:
        super().__init__()
        self.first, self.second = GCNConv(features, hidden), GCNConv(hidden, classes)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """Logits [N, C]."""
        return self.second(F.dropout(F.relu(self.first(x, edge_index)), 0.5, self.training), edge_index)


def accuracy(network: nn.Module, data: Data, epochs: int) -> float:
    """Train, and give the accuracy on the test nodes after the last epoch."""
    train, y = data.train_mask, data.y
    more = (F.one_hot(y) * train[:, None].float(),) if isinstance(network, GuessThenCut) else ()
    optimizer = torch.optim.Adam(network.parameters(), lr=0.02, weight_decay=5e-4)
    for _ in range(epochs):
        network.train()
        optimizer.zero_grad()
        out = network(data.x, data.edge_index, *more)
        guess, logits, kl = out if more else (out, out, torch.zeros(()))
        loss = F.cross_entropy(logits[train], y[train]) + F.cross_entropy(guess[train], y[train]) + kl
        loss.backward()
        optimizer.step()
    network.eval()
    with torch.no_grad():
        out = network(data.x, data.edge_index, *more)
    predicted = (out[1] if more else out).argmax(dim=1)
    return (predicted == y)[data.test_mask].float().mean().item()


def main(epochs: int = 60) -> tuple[float, float]:
    """Accuracy of both networks on a graph with two wrong edges per right one."""
    graph = load("sbm", num_nodes=600, num_classes=4, feature_signal=2.0, noise=2.0, seed=0)
    data, sizes = graph.to_pyg(), (graph.num_features, graph.num_classes)
    torch.manual_seed(0)
    plain, own = accuracy(Plain(*sizes), data, epochs), accuracy(GuessThenCut(*sizes), data, epochs)
    print(f"GCNConv: {plain:.1%}; a model with GDAMNConv: {own:.1%}")
    return plain, own


if __name__ == "__main__":
    main()
