"""A seeded graph with planted classes: a stochastic block model with an exact number of edges."""

from __future__ import annotations

from functools import partial
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import ConfigError
from ...graph.graph import Graph
from ..pairs import Codes, draw_distinct, pair_codes
from ..splits import per_class_split

BLOCK = 1 << 22
"""Edges are drawn and split into their two nodes in runs of this length, so that temporaries stay small."""


def load_sbm(
    name: str, *, data_root: str | PathLike[str] | None = None, seed: int = 0, split: int = 0, **options: Any
) -> Graph:
    """The registry's entry: see :func:`sbm`."""
    return sbm(seed=seed, split=split, name=name, **options)


def sbm(
    num_nodes: int = 1000,
    num_classes: int = 5,
    degree: float = 10.0,
    homophily: float = 0.8,
    num_features: int = 32,
    feature_signal: float = 1.0,
    train_per_class: int = 20,
    val_per_class: int = 30,
    *,
    seed: int = 0,
    split: int | None = None,
    name: str = "sbm",
) -> Graph:
    """A graph of classes of equal size (to one node), with Gaussian features around the class means.

    Args:
        num_nodes: N.
        num_classes: C; node numbers say nothing of the class.
        degree: mean degree: there are exactly ``round(num_nodes * degree / 2)`` undirected edges.
        homophily: share of the edges that join two nodes of the same class, exact to one edge.
        num_features: F.
        feature_signal: length of a class mean, against noise of variance 1 in each feature.
        train_per_class, val_per_class: nodes of each class in the training and the validation set.
        seed: seed of the graph and its features.
        split: seed of the split; ``seed`` when left out.
    """
    if num_nodes < 1 or num_classes < 1 or num_classes > num_nodes or num_features < 0:
        raise ConfigError(
            f"A graph of {num_nodes} nodes with {num_classes} classes and {num_features} features can't be made; "
            "ask for at least one node in each class and no negative number."
        )
    if not (np.isfinite(degree) and degree >= 0 and 0 <= homophily <= 1 and np.isfinite(feature_signal)):
        raise ConfigError(
            f"The degree is {degree}, the homophily {homophily} and the feature signal {feature_signal}; the degree "
            "can't be negative, the homophily must be between 0 and 1, and all must be finite."
        )
    rng = np.random.default_rng([seed, 0x5B3])
    order = rng.permutation(num_nodes).astype(np.int32)
    labels = np.empty(num_nodes, np.int64)
    labels[order] = np.arange(num_nodes, dtype=np.int64) * num_classes // num_nodes
    edges = _edges(order, num_classes, round(num_nodes * degree / 2), homophily, rng)
    masks = per_class_split(labels, train_per_class, val_per_class, seed if split is None else split)
    return Graph.build(
        edges,
        _features(labels, num_classes, num_features, feature_signal, rng),
        labels,
        train_mask=masks[0],
        val_mask=masks[1],
        test_mask=masks[2],
        name=name,
        meta={"split": seed if split is None else split, "homophily": homophily, "degree": degree},
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
    wanted = round(homophily * count)
    for what, asked, most in (("inside", wanted, inside), ("between", count - wanted, across)):
        if asked > most:
            raise ConfigError(
                f"There are only {most} pairs {what} classes for {asked} edges; ask for a lower degree, "
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
    for part, same, most in ((slice(0, wanted), True, inside), (slice(wanted, count), False, across)):
        codes = draw_distinct(part.stop - part.start, most, partial(draw, same=same), none, rng)
        for start in range(0, len(codes), BLOCK):
            a, b = np.divmod(codes[start : start + BLOCK], n)
            to = slice(part.start + start, part.start + start + len(a))
            edges[0, to], edges[1, to] = order[a], order[b]
    return edges


def _partners(size: int, same: bool, bounds: NDArray[np.int64], rng: np.random.Generator) -> Codes:
    """About ``size`` codes of pairs of places in the same class or in two, loops left out."""
    n, num_classes = int(bounds[-1]), len(bounds) - 1
    a = rng.integers(0, n, size)
    of = a * num_classes // n
    low, high = bounds[of], bounds[of + 1]
    room = high - low
    if same:
        b = low + rng.integers(0, np.maximum(room, 1))
    else:
        b = rng.integers(0, np.maximum(n - room, 1))
        b += np.where(b >= low, room, 0)
    keep = (a != b) & (b < n)
    return pair_codes(a[keep], b[keep], n, ordered=False)
