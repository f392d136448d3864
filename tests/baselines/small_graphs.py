"""A small graph with edges of all kinds, for the methods that learn other edges."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import torch

from gdamn import Graph
from gdamn.model.problem import Problem, make_problem
from gdamn.model.propagators import GCN

CPU = torch.device("cpu")
N, WIDTH, C, HIDDEN = 24, 10, 3, 5
CLOSE = {"rtol": 1e-4, "atol": 1e-5}


def build(weighted: bool = False, directed: bool = False) -> Graph:
    rng = np.random.default_rng(0)
    edges = rng.integers(0, N - 1, (2, 50))  # the last node is isolated
    x = (rng.random((N, WIDTH)) < 0.3).astype(np.float32)
    x[3] = 0
    weights = rng.uniform(0.1, 2, 50) if weighted else None
    masks = {"train_mask": np.arange(N) < 9, "val_mask": np.arange(N) >= 18}
    return Graph.build(edges, x, np.arange(N) % C, weights=weights, directed=directed, **masks)


def problem_of(graph: Graph) -> Problem:
    return make_problem(graph, "none", 0.0, CPU)


def dense(graph: Graph) -> np.ndarray:
    return graph.features.toarray() if sp.issparse(graph.features) else np.array(graph.features)


def matrix(pattern, values) -> torch.Tensor:
    return torch.as_tensor(sp.csr_array((np.asarray(values), pattern.indices, pattern.indptr), pattern.shape).toarray())


def new_gcn(width: int = WIDTH) -> GCN:
    gcn = GCN([width], HIDDEN, C, 2, 0.5)
    gcn.initialise("xavier", torch.Generator().manual_seed(1))
    return gcn
