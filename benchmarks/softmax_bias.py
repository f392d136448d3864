"""How far sampled neighbours bend the soft attention: its mean over many draws against all neighbours.

    python benchmarks/softmax_bias.py [--draws 400]

On an sbm of 2,000 nodes with 100 neighbours each and 64 features. The bias is the product of what two halves of the
draws are off by, in which their noise cancels out. Plain sums are there for comparison: they are unbiased.
"""

from __future__ import annotations

import argparse

import numpy as np
import torch

from gdamn.data.named.synthetic import BlockModel, sbm
from gdamn.fit.domains.batched.large import make_large
from gdamn.fit.domains.batched.views import Viewer
from gdamn.kernels import Key, edge_softmax, gram, spmm

FANOUTS = (2, 5, 10, 20, 50)


def aggregate(pattern: object, weights: torch.Tensor, x: torch.Tensor, how: str) -> torch.Tensor:
    """Σ_j α_ij x_j with α the softmax of -cos, or the mean over all neighbours by their degree."""
    if how == "mean":
        return spmm(pattern, weights, x)  # type: ignore[arg-type]
    unit = torch.nn.functional.normalize(x, dim=1)
    return spmm(pattern, edge_softmax(pattern, gram(pattern, unit, -1.0), weights), x)  # type: ignore[arg-type]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=400)
    given = parser.parse_args()
    graph = sbm(BlockModel(2000, 5, 100.0, 0.7, 64))
    problem = make_large(graph, "none", 0.0, torch.device("cpu"))
    viewer, own = Viewer(problem), np.arange(200, dtype=np.int64)
    whole = viewer.halo(np.arange(graph.num_nodes), 0)
    x = torch.as_tensor(graph.features)
    print("fanout  softmax: bias, spread of a draw   sum: bias, spread   (per cent of the exact vector's length)")
    for fanout in FANOUTS:
        cells = []
        for how in ("softmax", "mean"):
            structure = whole.problem.structure
            exact = aggregate(structure.pattern, torch.as_tensor(structure.weights), x, how)[own]
            draws = []
            for at in range(given.draws):
                view = viewer.sampled(own, 1, fanout, Key(1).fold(at))
                structure = view.problem.structure
                weights = torch.as_tensor(structure.weights)
                draws.append(aggregate(structure.pattern, weights, x[view.nodes], how)[view.own])
            found = torch.stack(draws)
            length = exact.norm(dim=1).mean()
            first, second = (part.mean(0) - exact for part in found.chunk(2))
            bias = (first * second).sum(1).mean().clamp_min(0).sqrt() / length  # the draws' own noise cancels out
            spread = (found - exact).norm(dim=2).mean() / length
            cells.append(f"{100 * bias:5.1f} {100 * spread:6.1f}")
        print(f"{fanout:6d}  {'   '.join(cells)}", flush=True)


if __name__ == "__main__":
    main()
