"""A seeded graph with planted classes: a stochastic block model with an exact number of edges."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import ConfigError
from ...graph.graph import Graph
from ..fetch import Root
from ..pairs import Codes, draw_distinct, pair_codes
from ..progress import Progress, silent
from ..splits import per_class_split

BLOCK = 1 << 22
"""Edges are drawn and split into their two nodes in runs of this length, so that temporaries stay small."""


@dataclass(frozen=True)
class BlockModel:
    """The sizes and shares of a graph with planted classes.

    Attributes:
        num_nodes: N.
        num_classes: C; node numbers say nothing of the class.
        degree: mean degree: there are exactly ``round(num_nodes * degree / 2)`` undirected edges.
        homophily: share of the edges that join two nodes of the same class, exact to one edge.
        num_features: F.
        feature_signal: length of a class mean, against noise of variance 1 in each feature.
        train_per_class, val_per_class: nodes of each class in the training and the validation set.
    """

    num_nodes: int = 1000
    num_classes: int = 5
    degree: float = 10.0
    homophily: float = 0.8
    num_features: int = 32
    feature_signal: float = 1.0
    train_per_class: int = 20
    val_per_class: int = 30

    def __post_init__(self) -> None:
        n, classes, features = self.num_nodes, self.num_classes, self.num_features
        if n < 1 or classes < 1 or classes > n or features < 0:
            raise ConfigError(
                f"A graph of {n} nodes with {classes} classes and {features} features can't be made; "
                "ask for at least one node in each class and no negative number."
            )
        degree, homophily, signal = self.degree, self.homophily, self.feature_signal
        if not (np.isfinite(degree) and degree >= 0 and 0 <= homophily <= 1 and np.isfinite(signal)):
            raise ConfigError(
                f"The degree is {degree}, the homophily {homophily} and the feature signal {signal}; the degree "
                "can't be negative, the homophily must be between 0 and 1, and all must be finite."
            )


def load_sbm(
    name: str,
    *,
    data_root: Root = None,
    seed: int = 0,
    split: int = 0,
    progress: Progress = silent,
    **options: Any,
) -> Graph:
    """The registry's entry: see :func:`sbm`; the options are the attributes of :class:`BlockModel`."""
    return sbm(BlockModel(**options), seed=seed, split=split, name=name)


def sbm(model: BlockModel, *, seed: int = 0, split: int | None = None, name: str = "sbm") -> Graph:
    """A graph of classes of equal size (to one node), with Gaussian features around the class means.

    Args:
        model: how many nodes, classes, edges and features.
        seed: seed of the graph and its features.
        split: seed of the split; ``seed`` when left out.
    """
    n, classes = model.num_nodes, model.num_classes
    rng = np.random.default_rng([seed, 0x5B3])
    order = rng.permutation(n).astype(np.int32)
    labels = np.empty(n, np.int64)
    labels[order] = np.arange(n, dtype=np.int64) * classes // n
    edges = _edges(order, classes, round(n * model.degree / 2), model.homophily, rng)
    number = seed if split is None else split
    masks = per_class_split(labels, model.train_per_class, model.val_per_class, number)
    return Graph.build(
        edges,
        _features(labels, classes, model.num_features, model.feature_signal, rng),
        labels,
        train_mask=masks[0],
        val_mask=masks[1],
        test_mask=masks[2],
        name=name,
        meta={"split": number, "homophily": model.homophily, "degree": model.degree},
    )


def _features(
    labels: NDArray[np.int64], num_classes: int, num_features: int, signal: float, rng: np.random.Generator
) -> NDArray[np.float32]:
    """[N, F] noise of variance 1 around class means of length ``signal`` in random directions."""
    means = rng.standard_normal((num_classes, num_features), dtype=np.float32)
    means *= signal / np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-12)
    x = rng.standard_normal((len(labels), num_features), dtype=np.float32)
    for start in range(0, len(labels), BLOCK):
        x[start : start + BLOCK] += means[labels[start : start + BLOCK]]
    return x


def _edges(
    order: NDArray[np.int32], num_classes: int, count: int, homophily: float, rng: np.random.Generator
) -> NDArray[np.int32]:
    """[2, count] distinct undirected edges, ``homophily`` of them inside a class.

    Nodes are drawn as places in ``order``, in which each class is one run, so that a partner of the same class
    or of another one is a place in a known range.
    """
    n = len(order)
    bounds = -(-np.arange(num_classes + 1, dtype=np.int64) * n // num_classes)
    sizes = np.diff(bounds)
    inside = int((sizes * (sizes - 1) // 2).sum())
    across = n * (n - 1) // 2 - inside
    within = round(homophily * count)
    for what, needed, most in (("inside", within, inside), ("between", count - within, across)):
        if needed > most:
            raise ConfigError(
                f"There are only {most} pairs {what} classes for {needed} edges; ask for a lower degree, "
                "more nodes or another homophily."
            )

    def draw(size: int, same: bool) -> Codes:
        codes = np.empty(size, np.int64)
        filled = 0
        for start in range(0, size, BLOCK):
            part = _partners(min(BLOCK, size - start), same, bounds, rng)
            codes[filled : filled + len(part)] = part
            filled += len(part)
        return codes[:filled]

    none = np.empty(0, np.int64)
    edges = np.empty((2, count), np.int32)
    for part, same, most in ((slice(0, within), True, inside), (slice(within, count), False, across)):
        codes = draw_distinct(part.stop - part.start, most, partial(draw, same=same), none, rng)
        for start in range(0, len(codes), BLOCK):
            a, b = np.divmod(codes[start : start + BLOCK], n)
            columns = slice(part.start + start, part.start + start + len(a))
            edges[0, columns], edges[1, columns] = order[a], order[b]
    return edges


def _partners(size: int, same: bool, bounds: NDArray[np.int64], rng: np.random.Generator) -> Codes:
    """About ``size`` codes of pairs of places in the same class or in two, loops left out."""
    n, num_classes = int(bounds[-1]), len(bounds) - 1
    a = rng.integers(0, n, size)
    classes = a * num_classes // n
    low, high = bounds[classes], bounds[classes + 1]
    sizes = high - low
    if same:
        b = low + rng.integers(0, np.maximum(sizes, 1))
    else:
        b = rng.integers(0, np.maximum(n - sizes, 1))
        b += np.where(b >= low, sizes, 0)
    keep = (a != b) & (b < n)
    return pair_codes(a[keep], b[keep], n, ordered=False)
