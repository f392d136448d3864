"""What each method says of labels that it has not seen, on folds that all methods share."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .rows import labelled_rows

if TYPE_CHECKING:
    from ...graph.graph import Graph

Bools = NDArray[np.bool_]

PENALTY = 0.3
"""L2 penalty of the regressions, on rows of length 1."""

REGRESSIONS = {0: "logreg", 2: "sgc-2", 4: "sgc-4"}
"""The regression on features after so many hops."""


@dataclass(frozen=True, eq=False)
class Judged:
    """The held-out predictions of a method.

    Attributes:
        right: [L] whether the prediction is the label.
        judged: [L] the labelled nodes that were held out from it.
    """

    right: Bools
    judged: Bools


def drawn_labels(graph: Graph, most: int, seed: int) -> Graph:
    """The graph with its training labels and no others; of more than ``most``, so many from all classes alike."""
    train = np.random.default_rng([seed, 0x4EF]).permutation(np.flatnonzero(graph.train_mask))
    classes = graph.labels[train]
    place = np.empty(len(train))  # of a node among those of its class, from 0 to 1
    for each in np.unique(classes):
        members = np.flatnonzero(classes == each)
        place[members] = (np.arange(len(members)) + 0.5) / len(members)
    return with_labels(graph, train[np.argsort(place, kind="stable")[:most]])


def with_labels(graph: Graph, nodes: NDArray[np.int64]) -> Graph:
    """The graph where only these nodes have their labels, to train on."""
    none = np.zeros(graph.num_nodes, bool)
    train = none.copy()
    train[nodes] = True
    labels = np.where(train, graph.labels, -1)
    return replace(graph, labels=labels, train_mask=train, val_mask=none, test_mask=none)


def folds(graph: Graph, seed: int) -> Bools:
    """[K, L] which labelled nodes are left out, fold by fold, as gdamn's start has them."""
    from ...fit.multihop.cross_fitting import splits

    classes = graph.labels[graph.train_mask]
    masks = list(splits(classes, seed)) if len(np.unique(classes)) > 1 else []
    return np.stack(masks) if masks else np.zeros((0, len(classes)), bool)


def asked(left_out: Bools) -> Bools:
    """[L] the labelled nodes that some fold [K, L] leaves out."""
    return np.asarray(left_out.any(axis=0))


def majority(graph: Graph, left_out: Bools) -> Judged:
    """The most frequent class of all labels: without the fold, classes of equal size would never be the largest."""
    classes = graph.labels[graph.train_mask]
    return Judged(classes == np.bincount(classes).argmax(), asked(left_out))


def regressions(graph: Graph, left_out: Bools) -> dict[str, Judged]:
    """Logistic regression on the features, and on features smoothed over two and four hops."""
    import torch

    from ...fit.multihop.cross_fitting import cross_fit

    classes = graph.labels[graph.train_mask]
    targets = torch.from_numpy(np.eye(graph.num_classes)[classes])
    weights, masks = torch.ones(len(classes), dtype=torch.float64), torch.from_numpy(left_out)
    judged = {}
    for hops, x in labelled_rows(graph):
        unseen = cross_fit(torch.from_numpy(x), targets, weights, PENALTY, masks, None)[1]
        judged[REGRESSIONS[hops]] = Judged(unseen.argmax(1).numpy() == classes, asked(left_out))
    return judged


def estimator(name: str, graph: Graph, left_out: Bools, seed: int) -> Judged:
    """A method of the registry, fitted without each fold; its probabilities are averaged over the rounds."""
    from ...estimators import registry

    train = np.flatnonzero(graph.train_mask)
    classes = graph.labels[train]
    total = np.zeros((len(train), graph.num_classes))
    for mask in left_out:
        fitted = registry.make(name, seed=seed).fit(with_labels(graph, train[~mask]))
        total[mask] += fitted.predict_proba()[train[mask]]
    return Judged(total.argmax(axis=1) == classes, asked(left_out))


def start(graph: Graph, left_out: Bools, seed: int, known: bool | str = True) -> Judged:
    """The regressions on multi-hop features that gdamn starts from, where it has no validation nodes.

    Args:
        known: the marks of a fit on the same labels, which are taken as they are.
    """
    if isinstance(known, str) and len(known) == int(graph.train_mask.sum()):
        return Judged(np.array([mark == "1" for mark in known]), asked(left_out))
    import torch

    from ...fit.multihop import multihop_opinion
    from ...graph.order import local_order, renumbered
    from ...model.problem import make_problem

    order = local_order(graph)  # as a fit has it
    moved = graph if order is None else renumbered(graph, order)[0]
    problem = make_problem(moved, "auto", 0.0, torch.device("cpu"))
    right = (multihop_opinion(problem, seed=seed).held_out.argmax(1) == problem.train_labels.cpu()).numpy()
    if order is not None:
        nodes = order[problem.train.cpu().numpy()]
        right = right[np.argsort(nodes)]
    return Judged(right, asked(left_out))
