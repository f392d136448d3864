"""Digits, wine and cancer: tables bundled with scikit-learn, made into nearest-neighbour graphs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import ConfigError
from ...graph.graph import Graph
from ..fetch import Root
from ..progress import Progress, silent
from ..splits import per_class_split

NEIGHBOURS = 10

_PER_CLASS = {"digits": (20, 30), "wine": (10, 10), "cancer": (10, 20)}
"""Training and validation nodes of each class, close to what work on structure learning uses."""


def load_neighbours(
    name: str,
    *,
    data_root: Root = None,
    seed: int = 0,
    split: int = 0,
    progress: Progress = silent,
    k: int = NEIGHBOURS,
) -> Graph:
    """One of the three tables; rows are joined to their ``k`` nearest ones (and to those they are nearest to).

    Pixels of the digits are scaled to 0 ... 1; the columns of wine and cancer, which have different units, to
    mean 0 and variance 1.
    """
    x, labels, names = _table(name)
    if isinstance(k, bool) or int(k) != k or not 1 <= k < len(x):
        raise ConfigError(f"The number of neighbours k is {k!r}; it must be a whole number from 1 to {len(x) - 1}.")
    train, val, test = per_class_split(labels, *_PER_CLASS[name], split)
    return Graph.build(
        nearest(x, int(k)),
        x,
        labels,
        train_mask=train,
        val_mask=val,
        test_mask=test,
        class_names=names,
        name=name,
        meta={"split": split, "k": int(k)},
    )


def _table(name: str) -> tuple[NDArray[np.float64], NDArray[np.int64], list[str]]:
    """Features, labels and class names."""
    from sklearn import datasets

    readers = {"digits": datasets.load_digits, "wine": datasets.load_wine, "cancer": datasets.load_breast_cancer}
    table: Any = readers[name]()
    x = np.asarray(table.data, dtype=np.float64)
    x = x / 16 if name == "digits" else (x - x.mean(axis=0)) / x.std(axis=0)
    return x, np.asarray(table.target, dtype=np.int64), [str(each) for each in table.target_names]


def nearest(x: NDArray[np.float64], k: int) -> NDArray[np.int64]:
    """[2, N * k] edges from the ``k`` nearest rows of each row to it.

    Distances are summed difference by difference rather than by a matrix product, whose rounding depends on the
    machine, and of rows equally near the one with the smaller number comes first: the graph is the same everywhere.
    """
    from scipy.spatial.distance import cdist

    distances = cdist(x, x, "sqeuclidean")
    np.fill_diagonal(distances, np.inf)
    near = np.argsort(distances, axis=1, kind="stable")[:, :k]
    return np.stack([near.ravel(), np.repeat(np.arange(len(x)), k)])
