"""Graphs for the tests of parts, and the parts put together again."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from gdamn.data import load
from gdamn.graph.graph import Graph
from gdamn.graph.parts import PartitionedGraph


def graphs() -> dict[str, Graph]:
    """Dense, sparse, weighted, directed; with names, without edges."""
    rng = np.random.default_rng(0)
    digits = load("digits")
    pairs = np.stack([digits.rows, digits.indices])[:, digits.rows < digits.indices]
    weighted = Graph.build(
        pairs,
        digits.features,
        digits.labels,
        weights=rng.uniform(0.5, 2, pairs.shape[1]),
        train_mask=digits.train_mask,
        test_mask=digits.test_mask,
        node_ids=[f"node {at}" for at in range(digits.num_nodes)],
    )
    edges = rng.integers(0, 101, (2, 900))
    labels = rng.integers(-1, 3, 101)
    directed = Graph.build(
        edges, sp.random_array((101, 40), density=0.1, rng=rng), labels, train_mask=labels == 1, directed=True
    )
    few = Graph.build([[0, 5], [5, 9]], np.eye(33, 3), directed=True, weights=[2.0, 3.0])
    return {"karate": load("karate"), "digits": digits, "weighted": weighted, "directed": directed, "few": few}


GRAPHS = graphs()


def together(parts: PartitionedGraph) -> dict[str, Any]:
    """The arrays of the whole graph, in the parts' numbering."""
    names = ("pair", "labels", "train_mask", "val_mask", "test_mask", "node_ids", "nodes")
    whole: dict[str, Any] = {name: np.concatenate([part.array(name) for part in parts.parts]) for name in names}
    pointers = [part.array("indptr")[1:] + part.first_entry for part in parts.parts]
    whole["indptr"] = np.concatenate([np.zeros(1, np.int64), *pointers])
    whole["indices"] = np.concatenate([part.columns(part.array("indices")) for part in parts.parts])
    if parts.weighted:
        whole["weights"] = np.concatenate([part.array("weights") for part in parts.parts])
    rows = []
    for part in parts.parts:
        if parts.is_sparse:
            arrays = [part.array(f"features_{name}") for name in ("data", "indices", "indptr")]
            rows.append(sp.csr_array(tuple(arrays), shape=(part.num_nodes, parts.num_features)).toarray())
        else:
            rows.append(part.array("features"))
    whole["features"] = np.concatenate(rows)
    return whole
