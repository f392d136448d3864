"""The labels most likely to be wrong, for a person to check: those that cross-fitted predictions contradict.

The ranking is confident learning's self-confidence (Northcutt, Jiang, Chuang 2021): the probability of the label by
models that have not seen it, the lowest first. Those models are the regressions of fit/multihop, whatever method was
fitted: training them takes seconds, and a fit per fold would take minutes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ConfigError, GraphError
from ..fit.label_noise import LabelNoise, enough, fit_label_noise
from ..fit.multihop import multihop_opinion
from ..fit.multihop.cross_fitting import splits
from ..fit.training import reproducible_threads
from ..graph.graph import Graph
from ..model.problem import choose_device, make_problem
from ..model.settings import BaseSettings

SETS = ("train", "val")
"""Whose labels can be judged. Test labels are never read."""


@dataclass(frozen=True, eq=False)
class JudgedLabels:
    """The labels of one set of nodes, and what models say that have not seen them.

    Attributes:
        graph: the graph of the nodes.
        split: train or val.
        nodes: [L] their numbers.
        probabilities: [L, C].
        noise: the estimated share of wrong labels among the training nodes.
    """

    graph: Graph
    split: str
    nodes: NDArray[np.int64]
    probabilities: NDArray[np.float64]
    noise: LabelNoise

    @property
    def labels(self) -> NDArray[np.int64]:
        """[L] the labels of the nodes."""
        labels: NDArray[np.int64] = self.graph.labels[self.nodes].astype(np.int64)
        return labels

    @property
    def self_confidence(self) -> NDArray[np.float64]:
        """[L] the probability of the label."""
        return np.take_along_axis(self.probabilities, self.labels[:, None], axis=1)[:, 0]

    def ranking(self) -> NDArray[np.int64]:
        """[L] positions of the nodes, the least credible label first; of equal ones the earlier."""
        return np.argsort(self.self_confidence, kind="stable")

    def contradicted(self) -> NDArray[np.int64]:
        """The same without the labels that the models agree with."""
        order = self.ranking()
        differs: NDArray[np.bool_] = self.probabilities.argmax(axis=1) != self.labels
        return order[differs[order]]

    def table(self, count: int | None = None) -> dict[str, NDArray[Any]]:
        """At most so many contradicted labels, the most suspicious first: equally long columns.

        Args:
            count: None: all of them.
        """
        if count is not None and (isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 1):
            raise ConfigError(f"The number of labels must be 1 or more; got {count!r}.")
        at = self.contradicted()[:count]
        names = np.array(self.graph.class_names, dtype=object)
        suggested = self.probabilities[at].argmax(axis=1)
        return {
            "node": self.graph.node_ids[self.nodes[at]],
            "split": np.full(len(at), self.split),
            "label": names[self.labels[at]],
            "label_probability": self.self_confidence[at],
            "suggested": names[suggested],
            "suggested_probability": self.probabilities[at, suggested],
        }

    def summary(self) -> str:
        """How many labels are contradicted, and whether that is more than hard nodes explain, in a sentence."""
        contradicted, judged = len(self.contradicted()), len(self.nodes)
        counts = f"{contradicted:,} of {judged:,} {_NAMES[self.split]} labels are contradicted"
        if not enough(*self.noise.classes.shape):
            return f"{counts}. There are too few training labels to tell wrong ones from hard ones."
        if not self.noise.claimed:
            return f"{counts}, no more than hard nodes explain: there is no evidence that training labels are wrong."
        return f"{counts}; about {self.noise.rate:.0%} of the training labels seem to be wrong."


_NAMES = {"train": "training", "val": "validation"}


def labels_of_fit(graph: Graph | None, split: str, s: BaseSettings) -> JudgedLabels:
    """Judge the labels of the graph that a model was fitted on, with that fit's settings."""
    if graph is None:
        raise GraphError("A loaded model doesn't hold the graph's labels; give the graph of the fit, too.")
    with reproducible_threads(s.threads):
        return judged_labels(graph, split, getattr(s, "normalize", "auto"), s.seed)


def judged_labels(graph: Graph, split: str = "train", normalize: str = "auto", seed: int = 0) -> JudgedLabels:
    """Judge the labels of a graph's training nodes, or of its validation nodes; no other label is read.

    Training nodes are judged by models that have seen the other training labels, in turn; validation nodes by
    models that have seen all training labels.

    Args:
        split: train or val.
        normalize: how features are scaled, a setting of the methods.
        seed: of the folds and the random projection.
    """
    if split not in SETS:
        raise ConfigError(f"Labels of the set '{split}' can't be judged; choose {' or '.join(SETS)}.")
    nodes = np.flatnonzero(graph.mask(split))
    if len(nodes) == 0:
        raise GraphError(f"Graph '{graph.name}' has no {_NAMES[split]} nodes, so there are no labels to judge.")
    problem = make_problem(graph, normalize, 0.0, choose_device("cpu"))
    labels = graph.labels[graph.train_mask].astype(np.int64)
    if next(splits(labels, seed), None) is None:
        raise GraphError(f"Graph '{graph.name}' has too few training labels to judge them by one another.")
    opinion = multihop_opinion(problem, seed=seed, labels=False)
    held_out = opinion.held_out.double().numpy()
    probabilities = held_out if split == "train" else opinion.probabilities.double().numpy()[nodes]
    return JudgedLabels(graph, split, nodes, probabilities, fit_label_noise(held_out, labels))
