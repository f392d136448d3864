"""The graphs of the benchmarks, as gdamn Graphs. Imported in worker processes only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

ARXIV = "arxiv-graph"
ARXIV_FEATURES = 128


def load_graph(dataset: str, data_root: str | None, options: dict[str, Any] | None = None) -> Any:
    """A named data set of gdamn, or ``arxiv-graph``: ogbn-arxiv's real graph with random features."""
    if dataset == ARXIV:
        return arxiv_graph(data_root)
    from gdamn.data import load

    return load(dataset, data_root=data_root, seed=0, **(options or {}))


def arxiv_graph(data_root: str | None) -> Any:
    """Real edges, labels and split of ogbn-arxiv; 128 standard normal features in place of its own.

    The time of an epoch doesn't depend on the values of dense features, so random ones do for a benchmark.
    """
    from gdamn import Graph

    if data_root is None:
        raise SystemExit("arxiv needs --data-root (or GDAMN_DATA) with arxiv/ogbn_arxiv_graph.npz in it")
    with np.load(Path(data_root) / "arxiv" / "ogbn_arxiv_graph.npz", allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    rows = np.repeat(np.arange(len(arrays["labels"])), np.diff(arrays["adj_indptr"]))
    features = np.random.default_rng(0).standard_normal((len(arrays["labels"]), ARXIV_FEATURES), dtype=np.float32)
    return Graph.build(
        np.stack([rows, arrays["adj_indices"]]),
        features,
        arrays["labels"].astype(np.int64),
        train_mask=arrays["train_mask"],
        val_mask=arrays["val_mask"],
        test_mask=arrays["test_mask"],
        name=ARXIV,
    )


def sizes(graph: Any) -> dict[str, Any]:
    """What a reader needs to know of a graph."""
    return {
        "nodes": graph.num_nodes,
        "edges": graph.num_edges,
        "features": graph.num_features,
        "classes": graph.num_classes,
        "sparse_features": graph.is_sparse,
    }
