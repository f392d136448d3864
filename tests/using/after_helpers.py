"""What the tests of this folder share: short schedules, and parts of graphs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gdamn import Graph, load

SCHEDULE = {"pretrain_epochs": 40, "epochs": 30, "em_iterations": 1, "threads": 1, "judge_edges": False}
CUTTING = {"kl_weight": 5.0, "kl_per": "edge", "learning_rate": 0.05, "candidates": "em"}
"""So few epochs need this for the hard attention to cut edges."""


def part(graph: Graph, nodes: np.ndarray) -> Graph:
    """The graph of some of the nodes, and the edges between them."""
    number = np.full(graph.num_nodes, -1)
    number[nodes] = np.arange(len(nodes))
    edges = number[np.stack([graph.indices, graph.rows])]
    masks = {f"{name}_mask": graph.mask(name)[nodes] for name in ("train", "val", "test")}
    return Graph.build(
        edges[:, (edges >= 0).all(axis=0)],
        graph.features[nodes],
        graph.labels[nodes],
        node_ids=graph.node_ids[nodes],
        class_names=graph.class_names,
        **masks,
    )


def named(graph: Graph) -> Graph:
    return replace(graph, node_ids=np.array([f"n{i}" for i in range(graph.num_nodes)]))


def digits(count: int, noise: float, seed: int) -> Graph:
    """Some of the digits, with planted noise."""
    from gdamn.data.noise import plant

    whole = load("digits", seed=seed, split=seed)
    chosen = np.random.default_rng(seed).permutation(np.flatnonzero(whole.test_mask))
    nodes = np.sort(np.concatenate([np.flatnonzero(~whole.test_mask), chosen])[:count])
    return plant(named(part(whole, nodes)), noise, seed)
