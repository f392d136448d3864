"""PyTorch Geometric's GraphSAGE on a noisy graph, and on the same graph cleaned by GDAMN.

python examples/pyg_graphsage.py
"""

import torch
from torch.nn import functional as F
from torch_geometric.data import Data
from torch_geometric.nn import GraphSAGE

from gdamn import GDAMN, RefineGraph, load


def accuracy(data: Data, epochs: int) -> float:
    """Train GraphSAGE on the training nodes; its accuracy on the test nodes after the last epoch."""
    torch.manual_seed(0)
    network = GraphSAGE(data.num_features, 32, num_layers=2, out_channels=int(data.y.max()) + 1, dropout=0.5)
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01, weight_decay=5e-4)
    for _ in range(epochs):
        network.train()
        optimizer.zero_grad()
        logits = network(data.x, data.edge_index)
        F.cross_entropy(logits[data.train_mask], data.y[data.train_mask]).backward()
        optimizer.step()
    network.eval()
    with torch.no_grad():
        predicted = network(data.x, data.edge_index).argmax(dim=1)
    return (predicted == data.y)[data.test_mask].float().mean().item()


def main(epochs: int = 60) -> tuple[float, float]:
    """Accuracy on the noisy graph and on the cleaned one."""
    graph = load("sbm", num_nodes=600, num_classes=4, feature_signal=2.0, noise=2.0, seed=0)
    data = graph.to_pyg()
    model = GDAMN(pretrain_epochs=40, epochs=30, em_iterations=1, kl_weight=5.0, learning_rate=0.05, seed=0).fit(graph)
    noisy, cleaned = accuracy(data, epochs), accuracy(RefineGraph(model, keep="hard>0.5")(data), epochs)
    print(f"GraphSAGE on the noisy graph: {noisy:.1%}; cleaned by GDAMN: {cleaned:.1%}")
    return noisy, cleaned


if __name__ == "__main__":
    main()
