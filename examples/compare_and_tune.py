"""Search the settings of a method, then compare it with others and with one of one's own.

python examples/compare_and_tune.py
"""

import numpy as np

from gdamn import Graph, compare, load, tune
from gdamn.estimators.base import NodeClassifier
from gdamn.studies import Range


class Majority(NodeClassifier):
    """Every node gets the class shares of the training nodes."""

    method = "majority"

    def _fit(self, graph: Graph, progress: object) -> None:
        counts = np.bincount(graph.labels[graph.train_mask], minlength=graph.num_classes)
        self.tensors_ = {"probabilities": np.tile(np.float32(counts / counts.sum()), (graph.num_nodes, 1))}
        self.best_epoch_ = {}


def main(trials: int = 10, seeds: int = 5) -> None:
    """A search and a comparison on one graph; nothing is kept."""
    graph = load("sbm", num_nodes=300, num_classes=3, noise=1.0, seed=0)
    space = {"hidden": [8, 16, 32], "learning_rate": Range(0.003, 0.1, log=True)}
    search = tune(graph, "gcn", space=space, trials=trials, seeds=2, settings={"epochs": 30}, time_budget=60)
    print(search)
    settings = {"epochs": 30, **{f"gcn.{name}": value for name, value in search.best_settings.items()}}
    comparison = compare(graph, ["gcn", "mlp", Majority], seeds=seeds, settings=settings)
    print(comparison.frame().round(3).to_string(index=False))
    print(comparison.verdict)


if __name__ == "__main__":
    main()
