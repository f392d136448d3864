"""The opinion of few labels: a weighted mean of logistic regressions on multi-hop features, and of propagated labels.

With five labels a class, the one candidate of the highest cross-fitted accuracy is often chosen by luck. All candidates
therefore have a say: candidate k, with prior weight π_k, weighs

    w_k ∝ π_k exp(-τ Σ_i CE(y_i, p_k^(-i)(x_i)))

where p_k^(-i) has not seen the label of node i, and is calibrated by a temperature. The exponent is tempered (τ < 1),
since the nodes' losses are not independent. The prior favours personalised PageRank, which is rarely far from the best.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from ...model.problem import Labelled, Problem
from ...model.temperature import fit_temperature, matching_temperature
from .cross_fitting import cross_fit, held_out_log_probabilities, marks, splits
from .features import Depth, depths
from .labels import propagated_labels
from .logistic import log_probabilities

PENALTIES = (3.0, 1.0, 0.3, 0.1)
"""L2 penalties of the regressions, with their prior weights."""

PENALTY_PRIOR = (0.3, 0.4, 0.2, 0.1)

PRIOR = {"features": 0.2, "hops-1 centred": 0.05, "hops-2 centred": 0.05, "structure": 0.02, "labels": 0.05}
"""Prior weights of the views; personalised PageRanks share the rest."""

TEMPER = 0.5
"""τ, how much of the cross-fitted log-likelihood counts."""

NEGLIGIBLE = 1e-3
"""Candidates of less weight aren't asked about the unlabelled nodes."""


@dataclass(frozen=True, eq=False)
class Opinion:
    """What the candidates say together.

    Attributes:
        probabilities: [N, C] of every node, by models that have seen all labels.
        held_out: [L, C] of the labelled nodes, by models that have not seen the node's label.
        judged: [L] whether there are such models; not where a class would be left with no label at all.
        weights: of every candidate, "features, penalty".
    """

    probabilities: Tensor
    held_out: Tensor
    judged: Tensor
    weights: dict[str, float]

    def accuracy(self, labels: Tensor) -> float:
        """The cross-fitted accuracy on the labelled nodes that were judged; [L] are the classes of all."""
        return float((self.held_out.argmax(1) == labels.cpu())[self.judged].double().mean())

    @property
    def graph(self) -> str:
        """The graph that suits q: every node alone where regressions without edges have most of the weight."""
        alone = sum(weight for candidate, weight in self.weights.items() if candidate.startswith("features"))
        return "features" if alone > 0.5 else "graph"


class Known(NamedTuple):
    """The labelled nodes.

    Attributes:
        targets: [L, C] their labels, one-hot or as distributions.
        rows: [L] their weights.
        left_out: [K, L] those that are left out of each fit.
    """

    targets: Tensor
    rows: Tensor
    left_out: Tensor


@dataclass(frozen=True, eq=False)
class Candidate:
    """A regression on one view.

    Attributes:
        features: the view's name.
        penalty: L2; 0 for propagated labels, which are no regression.
        coefficients: [d + 1, C] from all labels; those of propagated labels leave the view as it is.
        temperature: that calibrates it.
        held_out: [L, C] calibrated log-probabilities by models that have not seen the node's label.
        score: log of its weight, up to a constant.
    """

    features: str
    penalty: float
    coefficients: Tensor
    temperature: float
    held_out: Tensor
    score: float


class Mixture:
    """Candidates, each with the weight that its score gives it."""

    def __init__(self, candidates: list[Candidate]) -> None:
        self.candidates = candidates
        scores = torch.tensor([each.score for each in candidates], dtype=torch.float64)
        self.weights: list[float] = torch.softmax(scores, 0).tolist()

    def add_to(self, total: Tensor, name: str, h: Tensor) -> None:
        """Add to the mean opinion [n, C] what the candidates on features of this name say of nodes, h [n, d]."""
        for each, weight in zip(self.candidates, self.weights, strict=True):
            if each.features == name and weight > NEGLIGIBLE:
                total += weight * F.softmax(log_probabilities(h, each.coefficients) / each.temperature, dim=1)

    def held_out(self) -> Tensor:
        """[L, C] the mean opinion about labelled nodes by models that have not seen the node's label."""
        both = zip(self.candidates, self.weights, strict=True)
        return torch.stack([weight * each.held_out.exp() for each, weight in both]).sum(0)


@torch.no_grad()
def multihop_opinion(
    problem: Problem, row_weights: Tensor | None = None, seed: int = 0, labels: bool = True
) -> Opinion:
    """The opinion about every node; only the labels of training nodes are read.

    Nodes without edges have a mixture of their own: the same regressions, calibrated and weighed by what they say of
    labelled nodes that are treated as if they had no edges either. The features are made twice, once to learn and once
    to predict, since those of all candidates need much memory.

    Args:
        row_weights: [L] of the labelled nodes; None: all the same.
        labels: propagated labels have a say. Where labels are on trial they don't: they carry wrong ones along.
    """
    known = known_nodes(problem, row_weights, seed)
    isolated = torch.from_numpy(np.flatnonzero(problem.structure.isolated)).to(problem.device)
    compared = problem.train if len(isolated) else isolated
    views = partial(depths, problem.structure, problem.x, compared, seed, problem.weighed_by_features().structure)

    pairs: list[tuple[Candidate, Candidate | None]] = []
    for depth in views():
        pairs += regressions(depth, depth.h[problem.train], known)
    reach, unseen = propagated_labels(
        problem.structure, problem.train, known.targets * known.rows[:, None], known.left_out, len(compared)
    )
    pairs += [by_labels(reach, unseen, known)] if labels else []
    every = Mixture([first for first, _ in pairs])
    alone = Mixture([second for _, second in pairs if second is not None])

    total, lonely = torch.zeros_like(problem.labels), torch.zeros_like(problem.labels[isolated])
    for depth in chain(views(), [reach]):
        every.add_to(total, depth.name, depth.h)
        alone.add_to(lonely, depth.name, depth.h[isolated])
    held_out = every.held_out()
    if len(isolated):
        total[isolated] = lonely
        without_edges = torch.isin(problem.train, isolated).cpu()
        held_out[without_edges] = alone.held_out()[without_edges]
    names = [f"{each.features}, {each.penalty:g}" for each in every.candidates]
    weights = dict(zip(names, every.weights, strict=True))
    return Opinion(total / total.sum(1, keepdim=True), held_out, known.left_out.any(0), weights)


@torch.no_grad()
def features_opinion(problem: Problem, seed: int = 0) -> Tensor:
    """[N, C] what regressions on the features alone say of every node, calibrated and weighed by cross-fitting."""
    known, nobody = known_nodes(problem, None, seed), torch.empty(0, dtype=torch.int64, device=problem.device)
    depth = next(depths(problem.structure, problem.x, nobody, seed))
    mixture = Mixture([first for first, _ in regressions(depth, depth.h[problem.train], known)])
    total = torch.zeros_like(problem.labels)
    mixture.add_to(total, depth.name, depth.h)
    return total / total.sum(1, keepdim=True)


def known_nodes(problem: Problem, row_weights: Tensor | None, seed: int) -> Known:
    """The labels of the training nodes, their weights and their folds."""
    targets = problem.labels[problem.train].double().cpu()
    rows = torch.ones(len(targets), dtype=torch.float64) if row_weights is None else row_weights.double().cpu()
    if (weights := problem.known_weights()) is not None:
        rows = rows * weights.double().cpu()
    masks = list(splits(targets.argmax(1).numpy(), seed))
    return Known(targets, rows, torch.from_numpy(np.array(masks, dtype=bool).reshape(len(masks), len(targets))))


def regressions(depth: Depth, h: Tensor, known: Known) -> Iterator[tuple[Candidate, Candidate | None]]:
    """The candidates on features h [L, d] of the labelled nodes, one per penalty: as it is, and as if without edges.

    The second is None where the depth has no rows ``alone``.
    """
    x, own, w = h.double().cpu(), depth.alone.double().cpu(), None
    for number, penalty in enumerate(PENALTIES):
        w, unseen = cross_fit(x, known.targets, known.rows, penalty, known.left_out, w)
        first = judged(depth.name, number, w[-1], unseen, known)
        second = None
        if len(own):
            unseen = held_out_log_probabilities(own, w, known.left_out)
            second = judged(depth.name, number, w[-1], unseen, known)
        yield first, second


def by_labels(reach: Depth, unseen: Tensor, known: Known) -> tuple[Candidate, Candidate | None]:
    """Propagated labels as a candidate: as they are, and for nodes without edges, of which they know nothing."""
    classes = unseen.shape[1]
    identity = F.pad(torch.eye(classes, dtype=torch.float64), (0, 0, 0, 1))
    first = judged(reach.name, None, identity, unseen, known)
    if not len(reach.alone):
        return first, None
    uniform = torch.full_like(unseen, -float(np.log(classes)))
    return first, judged(reach.name, None, identity, uniform, known)


def judged(name: str, number: int | None, w: Tensor, unseen: Tensor, known: Known) -> Candidate:
    """A candidate with the temperature and the score that its held-out log-probabilities [L, C] give it.

    Args:
        number: of the penalty; None for what is no regression.
    """
    classes, judged = known.targets.argmax(1).numpy(), known.left_out.any(0).numpy()
    t = fit_temperature(unseen.exp().numpy()[judged], classes[judged]).value  # 1 where none is judged
    calibrated = F.log_softmax(unseen / t, dim=1)
    score = np.log(prior(name, number)) + TEMPER * float(known.rows @ (known.targets * calibrated).sum(1))
    return Candidate(name, 0.0 if number is None else PENALTIES[number], w, t, calibrated, score)


def prior(name: str, penalty: int | None) -> float:
    """π of a candidate."""
    others = (1 - sum(PRIOR.values())) / 6
    return PRIOR.get(name, others) * (1.0 if penalty is None else PENALTY_PRIOR[penalty])


def describe(opinion: Opinion, problem: Labelled, logits: Tensor) -> dict[str, Any]:
    """What cross-fitting says of a fit that started from the opinion: its accuracy, and the temperature of q.

    The temperature makes q as sure of the other nodes, on average, as the calibrated opinion is.

    Args:
        logits: [N, C] of q.
    """
    if not opinion.judged.any():
        return {}
    rest = problem.rest
    probabilities = F.softmax(logits[rest], dim=1).cpu().numpy()
    confidence = opinion.probabilities[rest].amax(1).mean().item() if len(rest) else 1.0
    return {
        "cross_fitted": {
            "accuracy": opinion.accuracy(problem.train_labels),
            "nodes": int(opinion.judged.sum()),
            **marks(opinion.held_out, problem.train_labels),
        },
        "temperature": matching_temperature(probabilities, confidence),
        "start_graph": opinion.graph,
    }
