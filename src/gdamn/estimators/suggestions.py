"""Which nodes to label next: a batch that is uncertain, stands for many others, and has no two nodes alike.

Similarity is the cosine of personalised PageRank features (fit/multihop/features.py), so that nodes are alike where
their neighbourhoods are. With S the suggested nodes and L the labelled ones, a batch maximises, node by node,

    F(S) = Σ_i w_i max_{s ∈ S ∪ L} max(cos(h_i, h_s), 0)

over the unlabelled nodes i: facility location. ``diverse`` weighs a node by its expected error, w_i = 1 - confidence,
so that a batch lies where mistakes are likely and many; ``coverage`` weighs all nodes alike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from ..errors import ConfigError, GraphError
from ..fit.multihop.features import multihop_features
from ..fit.training import reproducible_threads
from ..model.inputs import feature_block
from ..text import safe

if TYPE_CHECKING:
    from ..graph.graph import Graph
    from .predictions import Predictions

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

RULES = {
    "diverse": "uncertain nodes that stand for many others, no two alike",
    "coverage": "nodes that stand for many others, no two alike; the model has no say",
    "uncertainty": "nodes whose two leading classes are closest",
}
"""The rules by name; the first is the default, as measured in docs/evidence/label-next.md."""

CANDIDATES = 2_000
"""Unlabelled nodes that a batch is chosen from; more where it is large. A random part of larger graphs."""

POINTS = 4_000
"""Unlabelled nodes, and labelled ones, that are compared with the candidates; a random part of larger graphs."""

SPACE, WITHOUT_FEATURES = "ppr-0.1 centred", "structure"
"""The depth whose rows are compared, and that of a graph without features."""


def suggest(predictions: Predictions, count: int, rule: str = "diverse") -> dict[str, NDArray[Any]]:
    """A table of at most ``count`` nodes to label next, the most useful first, with the reasons for each.

    Suggested are nodes outside the training, validation and test sets. No class of any node is read here.

    Args:
        predictions: of a fitted model; their probabilities [N, C] are calibrated.
        rule: one of :data:`RULES`.

    Returns:
        ``node``; ``predicted`` and ``confidence``; ``second`` and ``second_probability``, the class that comes next;
        ``entropy`` of the probabilities, 0 (sure) to 1 (all classes alike); ``stands_for``, how many unlabelled nodes
        are more like this node than like any other that is suggested or labelled.
    """
    graph, p = predictions.graph, predictions.probabilities
    check(count, rule)
    unlabelled = np.flatnonzero(~(graph.train_mask | graph.val_mask | graph.test_mask))
    if not len(unlabelled):
        raise GraphError(
            f"Every node of '{safe(graph.name)}' is in the training, validation or test set; there is none to label."
        )
    generator = np.random.default_rng(0)
    h = compared_rows(graph)
    points = part(unlabelled, POINTS, generator)
    labelled = part(np.flatnonzero(graph.train_mask | graph.val_mask), POINTS, generator)
    if rule == "uncertainty":
        chosen = unlabelled[np.argsort(margins(p[unlabelled]), kind="stable")[:count]]
    else:
        candidates = part(unlabelled, max(CANDIDATES, 4 * count), generator)
        weights = 1 - p[points].max(axis=1) if rule == "diverse" else np.ones(len(points))
        covered = similarities(h[points], h[labelled]).max(axis=1, initial=0)
        chosen = candidates[greedy(similarities(h[candidates], h[points]), weights, covered, count)]
    names = np.array(graph.class_names, dtype=object)
    order = np.argsort(-p[chosen], axis=1, kind="stable")
    return {
        "node": graph.node_ids[chosen],
        "predicted": names[order[:, 0]],
        "confidence": np.take_along_axis(p[chosen], order[:, :1], axis=1)[:, 0],
        "second": names[order[:, 1]],
        "second_probability": np.take_along_axis(p[chosen], order[:, 1:2], axis=1)[:, 0],
        "entropy": entropies(p[chosen]),
        "stands_for": stands_for(h, chosen, labelled, points, len(unlabelled)),
    }


def check(count: int, rule: str) -> None:
    """Refuse what isn't a number of nodes, or a rule."""
    if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 1:
        raise ConfigError(f"The number of nodes to suggest must be a whole number of 1 or more; got {safe(count)}.")
    if rule not in RULES:
        raise ConfigError(f"There is no rule '{safe(rule)}' to suggest nodes by; choose {', '.join(RULES)}.")


def part(nodes: Ints, most: int, generator: np.random.Generator) -> Ints:
    """All nodes, or a random part of them, in order."""
    return nodes if len(nodes) <= most else np.sort(generator.choice(nodes, most, replace=False))


def compared_rows(graph: Graph) -> NDArray[np.float32]:
    """[N, d] what nodes and their neighbourhoods look like; rows of length 1, or 0."""
    cpu, wanted = torch.device("cpu"), SPACE if graph.num_features else WITHOUT_FEATURES
    with reproducible_threads(0):
        x = feature_block(graph.features, "none", 0.0, cpu)
        depths = multihop_features(graph.structure, x, cpu, seed=0)
        rows: NDArray[np.float32] = next(h for name, h in depths if name == wanted).numpy()
    return rows


def similarities(a: NDArray[np.float32], b: NDArray[np.float32]) -> NDArray[np.float32]:
    """[A, B] max(cos, 0) of rows of length 1."""
    positive: NDArray[np.float32] = np.maximum(a @ b.T, 0)
    return positive


def greedy(similarity: NDArray[Any], weights: Floats, covered: NDArray[Any], count: int) -> Ints:
    """The candidates that maximise F one after the other: positions, at most ``count``, none twice.

    What a candidate adds never grows, so that a sum of earlier rounds bounds it: only candidates that may still be the
    best are summed again.

    Args:
        similarity: [K, M] of candidates and points.
        weights: [M] of the points.
        covered: [M] their similarity to what is labelled.
    """
    weights, covered = weights.astype(np.float32), covered.astype(np.float32)
    gains = np.array([weights @ np.maximum(row - covered, 0) for row in similarity])
    chosen: list[int] = []
    while len(chosen) < min(count, len(similarity)):
        at = int(gains.argmax())
        gains[at] = weights @ np.maximum(similarity[at] - covered, 0)
        if int(gains.argmax()) == at:
            chosen.append(at)
            covered = np.maximum(covered, similarity[at])
            gains[at] = -np.inf
    return np.array(chosen, np.int64)


def margins(probabilities: Floats) -> Floats:
    """[n] how far the likeliest class leads."""
    leading = np.sort(probabilities, axis=1)[:, -2:]
    lead: Floats = leading[:, 1] - leading[:, 0]
    return lead


def entropies(probabilities: Floats) -> Floats:
    """[n] entropy over its highest value, log C."""
    logs = np.log(np.maximum(probabilities, 1e-30))
    entropy: Floats = -(probabilities * logs).sum(axis=1) / np.log(probabilities.shape[1])
    return entropy


def stands_for(h: NDArray[np.float32], chosen: Ints, labelled: Ints, points: Ints, unlabelled: int) -> Ints:
    """[S] how many of the ``unlabelled`` nodes are likest to each chosen node, by the share of the points."""
    anchors = np.concatenate([chosen, labelled])
    alike = similarities(h[points], h[anchors])
    likest = np.where(alike.max(axis=1) > 0, alike.argmax(axis=1), len(anchors))
    counts = np.bincount(likest, minlength=len(anchors) + 1)[: len(chosen)]
    nodes: Ints = np.maximum(np.rint(counts * (unlabelled / len(points))).astype(np.int64), 1)
    return nodes
