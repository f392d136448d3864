"""From which share of non-zeros on dense features beat sparse ones: where graph.SPARSE_BELOW comes from."""

from __future__ import annotations

import statistics
import time
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from gdamn.fit.training import reproducible_threads
from gdamn.kernels import Key
from gdamn.model.inputs import feature_block

DENSITIES = (0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.15, 0.2, 0.3)


def density(nodes: int = 10_000, features: int = 1_000, width: int = 16, rounds: int = 5) -> dict[str, Any]:
    """Seconds of a first layer, dropout(X) W and its gradient on W, with X held sparse and held dense."""
    rows = []
    with reproducible_threads(0):
        for share in DENSITIES:
            x = sp.random_array(
                (nodes, features), density=share, dtype=np.float32, rng=np.random.default_rng(0)
            ).tocsr()
            x.indices, x.indptr = x.indices.astype(np.int32), x.indptr.astype(np.int64)
            blocks = {
                "sparse": feature_block(x, "none", 0.5, torch.device("cpu")),
                "dense": feature_block(x.toarray(), "none", 0.5, torch.device("cpu")),
            }
            times: dict[str, list[float]] = {name: [] for name in blocks}
            for turn in range(rounds + 1):
                for name, block in blocks.items():
                    seconds = _step(block, features, width, turn)
                    if turn:
                        times[name].append(seconds)
            best = {name: min(t) for name, t in times.items()}
            rows.append({"density": share, **best, "median": {n: statistics.median(t) for n, t in times.items()}})
    return {"nodes": nodes, "features": features, "width": width, "rounds": rounds, "densities": rows}


def _step(block: Any, features: int, width: int, turn: int) -> float:
    weight = torch.full((features, width), 0.01, requires_grad=True)
    start = time.perf_counter()
    block.linear(weight, Key(turn)).sum().backward()
    return time.perf_counter() - start
