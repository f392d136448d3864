"""Features on a scale that networks learn well from: rows by their sum or length, columns standardised, as they are."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..errors import ConfigError

MEASURED = 0.25
"""Share of a dense matrix that isn't 0 from which ``normalize=auto`` takes it for measurements."""

LARGE = 100.0
"""Size of a value that no standardised feature has."""

IDF_POWER = 0.75
"""The power of a word's inverse document frequency that it is weighted by: 0 would be no weight, 1 the whole one."""


class Scale(NamedTuple):
    """What rows of features look like: extremes, how many values aren't 0 of how many, and whether all are 0 or 1.

    The last three are of dense features; sparse ones count nothing.
    """

    least: float = 0.0
    most: float = 0.0
    filled: int = 0
    size: int = 0
    marks: bool = True

    @classmethod
    def of(cls, part: Any) -> Scale:
        """Of some rows, dense or CSR."""
        values = part.data if sp.issparse(part) else part
        least, most = min(0.0, float(values.min(initial=0))), max(0.0, float(values.max(initial=0)))
        if sp.issparse(part):
            return cls(least, most)
        return cls(least, most, int(np.count_nonzero(part)), part.size, bool(((part == 0) | (part == 1)).all()))

    def with_rows(self, other: Scale) -> Scale:
        """Of these rows and others."""
        counts = self.filled + other.filled, self.size + other.size, self.marks and other.marks
        return Scale(min(self.least, other.least), max(self.most, other.most), *counts)

    @property
    def normalisation(self) -> str:
        """What ``normalize=auto`` means for such features: how :func:`normalized` shall treat them.

        Measurements have scales of their own, so their columns are standardised: a dense matrix more than a quarter of
        which isn't 0, with other values than 0 and 1. Where it has negative values and none is large, somebody has
        standardised it or learned it already, and it stays as it is, as does a sparse matrix with negative values.
        Words and other counts are divided by their rows' sums.
        """
        measured = self.filled > MEASURED * self.size and not self.marks
        if measured and (self.least >= 0 or max(self.most, -self.least) > LARGE):
            return "standard"
        return "row" if self.least >= 0 else "none"


def automatic(parts: Iterable[Any]) -> str:
    """What ``normalize=auto`` means for features, given in runs of rows (:attr:`Scale.normalisation`)."""
    return reduce(Scale.with_rows, map(Scale.of, parts), Scale()).normalisation


def normalized(features: Any, how: str, reference: Any | None = None) -> Any:
    """Rows divided by their sum (row), columns standardised, or as they are (none).

    ``binary`` divides rows of 1 where not 0, and ``idf`` rows whose columns weigh the more the fewer rows have them.

    ``auto`` is one of these (:func:`automatic`), and so is ``unit``, but that it divides rows by their Euclidean length
    where auto divides them by their sum: the sum leaves a row of many words with values so small that weight decay
    holds the weights at 0. Rows that sum to 0 stay as they are. Standardising a sparse matrix divides by the spread
    and keeps the zeros.
    What is learned from all nodes (what auto means, means and spreads, how many rows have a column) comes from
    ``reference``: the features of the fit, where others are to be read as it read its own.
    """
    reference = features if reference is None else reference
    if how == "binary":
        present = features != 0
        return normalized(present.astype(np.float32), "row")
    if how == "idf":
        return normalized(scaled_columns(features, rarity(filled_rows(reference), reference.shape[0])), "row")
    size = lengths if how == "unit" else sums
    if how in ("auto", "unit"):
        how = automatic([reference])
    if how == "none" or features.shape[1] == 0:
        return features
    if how == "row":
        return divided_rows(features, size(features))
    return standardised(features, *columns(reference))


def divided_rows(features: Any, sizes: NDArray[np.float32]) -> Any:
    """Each row divided by its size [N]; a row of size 0 stays as it is."""
    scale = 1 / np.where(np.abs(sizes) > 0, sizes, 1)
    if not sp.issparse(features):
        return features * scale[:, None].astype(np.float32)
    scaled = features.copy()
    scaled.data = features.data * np.repeat(scale, np.diff(features.indptr)).astype(np.float32)
    return scaled


def standardised(features: Any, mean: NDArray[np.float32], spread: NDArray[np.float32]) -> Any:
    """Columns minus their means [F], divided by their spreads [F]; a sparse matrix is only divided."""
    if not sp.issparse(features):
        return ((features - mean) / spread).astype(np.float32)
    scaled = features.copy()
    scaled.data = features.data / spread[features.indices]
    return scaled


def filled_rows(features: Any) -> NDArray[np.int64]:
    """[F] how many rows aren't 0 in each column; these add up over runs of rows."""
    if not sp.issparse(features):
        return np.asarray(np.count_nonzero(features, axis=0), np.int64)
    return np.bincount(features.indices[features.data != 0], minlength=features.shape[1]).astype(np.int64)


def rarity(counts: NDArray[np.int64], rows: int) -> NDArray[np.float32]:
    """log(N / n_f)^IDF_POWER of each column: [F], from :func:`filled_rows`."""
    if rows > 1 and counts.any() and np.isin(counts, (0, rows)).all():
        raise ConfigError(
            "normalize=idf weighs a feature by how few nodes have it, but here every node has each of them, so that "
            "none would count; take normalize=standard for measurements, or auto."
        )
    return (np.log(max(rows, 1) / np.maximum(counts, 1)) ** IDF_POWER).astype(np.float32)


def scaled_columns(features: Any, factors: NDArray[np.float32]) -> Any:
    """Each column times its factor [F]."""
    if not sp.issparse(features):
        return features * factors
    scaled = features.copy()
    scaled.data = features.data * factors[features.indices]
    return scaled


def sums(features: Any) -> NDArray[np.float32]:
    """[N] the sum of each row."""
    return np.asarray(features.sum(axis=1), dtype=np.float32).reshape(-1)


def lengths(features: Any) -> NDArray[np.float32]:
    """[N] the Euclidean length of each row."""
    return np.sqrt(sums(features * features))


def columns(features: Any) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Mean and standard deviation of each column, the latter 1 where a column is constant.

    Where the spread is small beside the mean (years, times), their squares' difference has no digits left in single
    precision, and those columns are measured again in double.
    """
    mean = np.asarray(features.mean(axis=0)).reshape(-1)
    square = np.asarray((features * features).mean(axis=0)).reshape(-1)
    spread = np.sqrt(np.maximum(square - mean**2, 0))
    far = np.flatnonzero(spread < 0.01 * np.abs(mean))
    if len(far) and not sp.issparse(features):
        mean[far] = features[:, far].mean(axis=0, dtype=np.float64)
        spread[far] = features[:, far].std(axis=0, dtype=np.float64)
        spread[far[spread[far] < 1e-6 * np.abs(mean[far])]] = 0
    return mean, np.where(spread > 1e-12, spread, 1).astype(np.float32)


def column_powers(features: Any) -> NDArray[np.float64]:
    """[2, F] the sums of the columns and of their squares, which add up over runs of rows."""
    part = features.astype(np.float64)
    sums_of = part, part * part
    return np.stack([np.asarray(each.sum(axis=0)).reshape(-1) for each in sums_of])


def spread_of(powers: NDArray[np.float64], rows: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Mean and standard deviation of each column, as :func:`columns` has them, from :func:`column_powers`."""
    mean, square = powers / max(rows, 1)
    spread = np.sqrt(np.maximum(square - mean**2, 0))
    return mean.astype(np.float32), np.where(spread > 1e-12, spread, 1).astype(np.float32)
