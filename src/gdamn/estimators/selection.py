"""Which edges of a weighed graph stay: a condition on one of the weights, or the best few of each node."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ConfigError
from ..graph.graph import reverse_map
from ..model.fitted_state import ATTENTION

_CONDITION = re.compile(r"\s*([a-z]+)\s*(>=|<=|>|<)\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*")
_COMPARE = {">": np.greater, ">=": np.greater_equal, "<": np.less, "<=": np.less_equal}


@dataclass(frozen=True)
class Condition:
    """A weight compared with a number, such as hard > 0.5."""

    weight: str
    sign: str
    number: float

    @classmethod
    def parse(cls, text: str) -> Condition:
        """Read ``hard>0.5``: hard, soft or stable; >, >=, < or <=; a number. Nothing else is understood."""
        match = _CONDITION.fullmatch(text)
        if match is None or match[1] not in ATTENTION or not math.isfinite(float(match[3])):
            raise ConfigError(
                f"The condition {text!r} can't be read; write hard, soft or stable, one of > >= < <=, and a number, "
                "such as 'hard>0.5'."
            )
        return cls(match[1], match[2], float(match[3]))

    def holds(self, weights: Mapping[str, NDArray[Any]]) -> NDArray[np.bool_]:
        """[E] where it is true."""
        mask: NDArray[np.bool_] = _COMPARE[self.sign](weights[self.weight], self.number)
        return mask


def chosen_entries(
    index: NDArray[Any],
    weights: Mapping[str, NDArray[Any]],
    num_nodes: int,
    keep: str | None = None,
    top: int | None = None,
    directed: bool = False,
) -> NDArray[np.bool_]:
    """[E] the entries that stay; all of them without ``keep`` and ``top``.

    An undirected edge stays in both directions where at least one of its ends keeps it.

    Args:
        index: [2, E] sources and targets, sorted by target and then source, as a graph's CSR has them.
        weights: ``hard``, ``soft`` and ``stable`` [E].
        num_nodes: N.
        keep: a condition, see :meth:`Condition.parse`.
        top: each node keeps this many of the entries it hears from: those with the highest stable weight.
        directed: judge each direction by itself.
    """
    if keep is not None and top is not None:
        raise ConfigError("Edges are kept by a condition (keep) or by their rank (top); give only one of the two.")
    if keep is not None and not isinstance(keep, str):
        raise ConfigError(f"keep is {keep!r}; write a condition, such as 'hard>0.5'.")
    if top is not None and (isinstance(top, bool) or not isinstance(top, (int, np.integer))):
        raise ConfigError(f"top is {top!r}; it must be a whole number.")
    if top is not None and top < 1:
        raise ConfigError(f"top is {top}; each node keeps at least 1 edge.")
    if keep is None and top is None:
        return np.ones(index.shape[1], dtype=bool)
    chosen = own_choice(index[1], weights, keep, top)
    return chosen if directed else either_way(chosen, index, num_nodes)


def own_choice(
    rows: NDArray[Any], weights: Mapping[str, NDArray[Any]], keep: str | None, top: int | None
) -> NDArray[np.bool_]:
    """[E] the entries that their own row keeps, by ``keep`` or by ``top``; all without both.

    Args:
        rows: [E] the row of each entry; entries of a row stand together.
    """
    if keep is not None:
        return Condition.parse(keep).holds(weights)
    return np.ones(len(rows), dtype=bool) if top is None else highest(rows, weights["stable"], top)


def highest(rows: NDArray[Any], values: NDArray[Any], count: int) -> NDArray[np.bool_]:
    """[E] the entries that are among the ``count`` highest of their row; of equal ones the earlier."""
    order = np.lexsort((-values, rows))
    ordered = rows[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])) if len(rows) else np.zeros(0, int)
    lengths = np.diff(np.append(starts, len(rows)))
    chosen = np.zeros(len(rows), dtype=bool)
    chosen[order] = np.arange(len(rows)) - np.repeat(starts, lengths) < count
    return chosen


def either_way(chosen: NDArray[np.bool_], index: NDArray[Any], num_nodes: int) -> NDArray[np.bool_]:
    """[E] an entry where it or its reverse is chosen."""
    reverse = reversed_entries(index, num_nodes)
    return chosen | np.where(reverse >= 0, chosen[reverse], False)


def reversed_entries(index: NDArray[Any], num_nodes: int) -> NDArray[np.int32]:
    """[E] where the other direction of each entry is, -1 where it isn't."""
    indptr = np.zeros(num_nodes + 1, np.int64)
    np.cumsum(np.bincount(index[1], minlength=num_nodes), out=indptr[1:])
    return reverse_map(indptr, index[0].astype(np.int32))
