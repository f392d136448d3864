"""A made-up graph of three classes of 90, 7 and 3 % of the nodes, for the tests of unequal classes."""

from __future__ import annotations

import numpy as np

from gdamn import Graph

SHARES = {"common": 0.90, "rare": 0.07, "rarest": 0.03}


def unequal_graph(nodes: int = 800, seed: int = 0, signal: float = 2.0, wrong: float = 0.3) -> Graph:
    """Gaussian features around class means of length ``signal``, 6 edges a node of which a share joins any two nodes.

    A quarter of the nodes of each class is for training, a quarter for validation, the rest for the test.
    """
    luck = np.random.default_rng([seed, 937])
    counts = np.round(nodes * np.array(list(SHARES.values()))).astype(int)
    counts[0] += nodes - counts.sum()
    labels = luck.permutation(np.repeat(np.arange(3), counts))
    means = luck.standard_normal((3, 16))
    means *= signal / np.linalg.norm(means, axis=1, keepdims=True)
    features = (means[labels] + luck.standard_normal((nodes, 16))).astype(np.float32)
    source = luck.integers(0, nodes, 3 * nodes)
    of_class = [np.flatnonzero(labels == c) for c in range(3)]
    same = np.array([luck.choice(of_class[labels[node]]) for node in source])
    target = np.where(luck.random(len(source)) < wrong, luck.integers(0, nodes, len(source)), same)
    part = np.empty(nodes, int)
    for members in of_class:
        part[luck.permutation(members)] = np.arange(len(members)) * 4 // len(members)
    return Graph.build(
        [source, target],
        features,
        labels,
        train_mask=part == 0,
        val_mask=part == 1,
        test_mask=part >= 2,
        class_names=list(SHARES),
        name="unequal",
    )
