"""Splits of labelled nodes that nobody split: stratified, seeded, and never without a training node of a class."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.bool_]

FIFTH = 0.2
"""The share that is held out for validation where labels are many and nobody says otherwise."""

FEW = 50
"""Labels a class, in the mean, below which none is held out: each teaches more than a few can tell about the epoch."""


def validation_share(share: float | str, train: Mask, labels: NDArray[np.int64], test: float = 0.0) -> float:
    """The share of the training nodes that is held out; of ``auto`` 0 where they are few, else a fifth.

    Args:
        test: the share of them that is held out for a test before.
    """
    if not isinstance(share, str):
        return share
    known = labels[train]
    return 0.0 if len(known) * (1 - test) < FEW * len(np.unique(known)) else FIFTH


def held_out(labels: NDArray[np.int64], val: float, test: float, seed: int) -> tuple[Mask, Mask, Mask]:
    """Training, validation and test nodes among the labelled ones: each class gives about these shares.

    Every class keeps a node for training, so classes with one node give none.
    """
    rng = np.random.default_rng([seed, 0x0117])
    train = labels >= 0
    tested = _drawn(train, labels, test, rng)
    train = train & ~tested
    share = val / (1 - test) if test < 1 else 0.0
    validation = _drawn(train, labels, share, rng)
    return train & ~validation, validation, tested


def validation_from(train: Mask, labels: NDArray[np.int64], share: float, seed: int) -> tuple[Mask, Mask]:
    """Training and validation nodes from a training set."""
    rng = np.random.default_rng([seed, 0x0117])
    validation = _drawn(train, labels, share, rng)
    return train & ~validation, validation


def _drawn(from_: Mask, labels: NDArray[np.int64], share: float, rng: np.random.Generator) -> Mask:
    """A mask of about this share of a set, drawn from each class; the total is rounded once where classes allow it."""
    drawn = np.zeros(len(labels), bool)
    nodes = rng.permutation(np.flatnonzero(from_))
    if share <= 0 or len(nodes) == 0:
        return drawn
    counts = np.unique(labels[nodes], return_counts=True)[1]
    exact = counts * share
    take = np.minimum(np.floor(exact).astype(np.int64), counts - 1)
    total = round(float(exact.sum()))
    for at in np.argsort(take - exact, kind="stable"):  # those that lost most by rounding first
        if take.sum() >= total:
            break
        take[at] += take[at] < counts[at] - 1
    nodes = nodes[np.argsort(labels[nodes], kind="stable")]
    place = np.arange(len(nodes)) - np.repeat(np.cumsum(counts) - counts, counts)
    drawn[nodes[place < np.repeat(take, counts)]] = True
    return drawn
