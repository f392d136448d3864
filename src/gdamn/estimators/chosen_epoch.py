"""Which epoch the labels come from, where it isn't the one that the edge weights come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .base import NodeClassifier


def before_em(best: Mapping[str, Any], history: Sequence[Mapping[str, Any]], attention: bool) -> bool:
    """Whether an epoch of pre-training was chosen, although EM went on after it and weighed the edges.

    Args:
        best: the record of the chosen epoch.
        history: the records of all epochs.
        attention: whether the model has edge weights.
    """
    return attention and best.get("iteration") == 0 and any(record.get("iteration") or 0 for record in history)


def is_before_em(model: NodeClassifier) -> bool:
    """Whether the labels of a fitted model come from before EM."""
    return before_em(model.best_epoch_, model.history_, model.edge_weights_ is not None)


def before_em_sentence(seeds: Sequence[int], number: int) -> str | None:
    """What people should know of these seeds' labels, in a sentence; None where there are no such seeds.

    Args:
        seeds: those whose labels come from before EM.
        number: how many seeds the run has.
    """
    if not seeds:
        return None
    *first, last = map(str, seeds)
    named = f"seeds {', '.join(first)} and {last}" if first else f"seed {last}"
    which = f"of {named} " if number > 1 else ""
    return (
        f"The labels {which}come from before EM: an epoch of pre-training was chosen, while the edge weights "
        "are p's after the last EM iteration."
    )


def sentence_of(model: NodeClassifier) -> str | None:
    """The sentence for one fitted model."""
    return before_em_sentence([0] if is_before_em(model) else [], 1)
