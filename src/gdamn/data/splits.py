"""Random splits with the same number of nodes from every class."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ConfigError, GraphError

Masks = tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]


def per_class_split(labels: ArrayLike, train_per_class: int, val_per_class: int, seed: int) -> Masks:
    """Draw a training and a validation set with so many nodes of each class; the other labelled nodes are the test set.

    A class with no node at all is passed over (label numbers may have gaps). A class that has nodes, but fewer
    than both sets need, raises a GraphError: a set quietly smaller than asked would make results incomparable.
    Nodes without a label are in no set. The draw depends only on the labels, the counts and the seed.

    Args:
        labels: [N] class numbers, negative where unknown.
        train_per_class, val_per_class: nodes of each class in the training and the validation set.
        seed: seed of the draw; each number is another split.

    Returns:
        Three disjoint [N] masks: train, val, test.
    """
    y = np.asarray(labels)
    if y.ndim != 1:
        raise GraphError(f"Labels must be one number per node; these have shape {y.shape}.")
    if train_per_class < 0 or val_per_class < 0:
        raise ConfigError(f"A split can't take {min(train_per_class, val_per_class)} nodes of each class.")
    needed = train_per_class + val_per_class
    classes, counts = np.unique(y[y >= 0], return_counts=True)
    if len(classes) and counts.min() < needed:
        at = int(counts.argmin())
        raise GraphError(
            f"Class {classes[at]} has {counts[at]} nodes, but the split needs {train_per_class} for training "
            f"and {val_per_class} for validation of each class; ask for fewer."
        )
    rng = np.random.default_rng([seed, 0x5B11])
    order = rng.permutation(len(y))
    order = order[np.argsort(y[order], kind="stable")]
    start = np.concatenate([[0], np.cumsum(counts)[:-1]]) + int((y < 0).sum()) if len(classes) else np.empty(0, int)
    train, val = np.zeros(len(y), bool), np.zeros(len(y), bool)
    train[order[_runs(start, 0, train_per_class)]] = True
    val[order[_runs(start, train_per_class, val_per_class)]] = True
    return train, val, (y >= 0) & ~train & ~val


def _runs(start: NDArray[np.int64], offset: int, length: int) -> NDArray[np.int64]:
    """Positions start + offset ... start + offset + length - 1 for every start."""
    return (start[:, None] + offset + np.arange(length)).ravel().astype(np.int64)
