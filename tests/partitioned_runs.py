"""Small graphs in parts, runs on them, and the same numbers on the whole graph for the ordinary functions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from gdamn import Graph, load
from gdamn.data.partition.layout import Layout
from gdamn.data.partition.write import write_parts
from gdamn.graph.order import renumbered
from gdamn.runs.run import run as train
from gdamn.runs.spec import RunSpec
from gdamn.using.partitioned.folder import PartitionedRun

PARTS = 4
SETTINGS = {"pretrain_epochs": 12, "epochs": 12, "em_iterations": 1, "start": "graph", "hidden": 8, "threads": 1}
SETTINGS |= {"kl_weight": 5.0, "kl_per": "edge", "learning_rate": 0.05, "judge_edges": False, "candidates": "em"}


def graphs() -> dict[str, Graph]:
    """Undirected with names, weighted with sparse features, directed."""
    rng = np.random.default_rng(3)
    plain = load("sbm", num_nodes=240, num_classes=3, feature_signal=2.0, noise=0.5, seed=1)
    pairs = np.stack([plain.rows, plain.indices])[:, plain.rows < plain.indices]
    masks = {f"{name}_mask": plain.mask(name) for name in ("train", "val", "test")}
    names = [f"n {at}" for at in range(plain.num_nodes)]
    sparse = sp.csr_array(np.where(rng.random(plain.features.shape) < 0.7, 0, np.asarray(plain.features)))
    weights = rng.uniform(0.5, 2, pairs.shape[1])
    classes = ("a", "b", "c, d")
    more: dict[str, Any] = {**masks, "node_ids": names, "class_names": classes}
    return {
        "plain": Graph.build(pairs, plain.features, plain.labels, **more),
        "weighted": Graph.build(pairs, sparse, plain.labels, weights=weights, **masks),
        "directed": Graph.build(pairs, plain.features, plain.labels, directed=True, **more),
    }


def cut(graph: Graph, folder: Path, seed: int = 4) -> Path:
    """The graph in parts of unequal sizes, its nodes in an order of their own."""
    luck = np.random.default_rng(seed)
    parts = np.minimum(luck.integers(0, PARTS + 1, graph.num_nodes), PARTS - 1).astype(np.int32)
    return write_parts(graph, folder, lambda: Layout.make(parts, None, PARTS, "drawn"))


def trained(parts: Path, out: Path, method: str = "gdamn", **settings: Any) -> PartitionedRun:
    """A run of one seed on a partitioned graph."""
    chosen = settings or (SETTINGS if method == "gdamn" else {"epochs": 12, "threads": 1})
    train(RunSpec(str(parts), method, (0,), 0.0, {}, chosen), out)
    return PartitionedRun(out)


class Whole:
    """What a run on a partitioned graph wrote, on the whole graph, in the order of the parts."""

    def __init__(self, run: PartitionedRun, graph: Graph) -> None:
        parts = run.parts.parts
        self.graph, _ = renumbered(graph, np.concatenate([part.array("nodes") for part in parts]))
        self.probabilities = np.concatenate([run.probabilities(0, part) for part in parts])
        if run.attends(0):
            self.labels = np.concatenate([run.probabilities(0, part, "pseudo_labels") for part in parts])
            tables = [run.edges(0, part, "") for part in parts]
            self.weights = {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}
