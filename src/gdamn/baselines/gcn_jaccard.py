"""GCN-Jaccard: edges between nodes that have next to no word in common are cut first (Wu et al., IJCAI 2019)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ..graph.pattern import Pattern
from ..model.inputs import Block
from ..model.problem import Problem
from ..model.settings import setting
from .common import Forward, NetworkSettings
from .gcn import GCNClassifier

WORDS = 0.5
"""Features more than this share of which isn't 0 are measurements, which have no Jaccard similarity."""


@dataclass(frozen=True)
class GCNJaccardSettings(NetworkSettings):
    """GCN's settings, and the threshold of the publication."""

    threshold: float = setting(0.01, "Edges whose ends are less similar than this are cut.", low=0, high=1)


def similarities(x: Block, edges: Pattern) -> Tensor:
    """J_ij = |i ∩ j| / |i ∪ j| on every entry, of the features that i and j have: [E]; 0 where neither has any.

    Measurements that are seldom 0 have cos(x_i, x_j) in its place, as the publication suggests.
    """
    values = x.values if x.dense is None else x.dense
    assert values is not None
    here = (values != 0).float()
    if float(here.sum()) > WORDS * edges.shape[0] * x.width:
        return x.cosines(edges)
    if x.pattern is None:
        present, counts = replace(x, dense=here), here.sum(1)
    else:
        present = replace(x, values=here)
        counts = torch.zeros(edges.shape[0], device=here.device)
        counts.index_add_(0, x.pattern.tensor("rows", here.device), here)
    left, right = (counts[edges.tensor(name, here.device)] for name in ("rows", "indices"))
    common = (present.cosines(edges) * (left * right).sqrt()).round()  # a number of features
    return common / (left + right - common).clamp_min(1e-12)


def without_unlike(problem: Problem, threshold: float) -> Problem:
    """The problem where edges with a similarity below the threshold weigh 0."""
    like: NDArray[np.float32] = (similarities(problem.x, problem.structure.pattern) >= threshold).float().cpu().numpy()
    return replace(problem, structure=problem.structure.weighed(like))


class GCNJaccardClassifier(GCNClassifier):
    """A GCN on A ⊙ [J ≥ threshold]."""

    method = "gcn-jaccard"
    settings_class = GCNJaccardSettings
    settings: GCNJaccardSettings

    def build(self, problem: Problem, generator: torch.Generator) -> tuple[nn.Module, Forward]:
        """A GCN on the edges that are left."""
        return super().build(without_unlike(problem, self.settings.threshold), generator)
