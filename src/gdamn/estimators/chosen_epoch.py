"""Which epoch a fit chose: by what rule, and whether the edge weights come from another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..model.metrics import NAMES
from ..model.settings import BaseSettings

if TYPE_CHECKING:
    from .base import NodeClassifier

SELECTION = {
    "accuracy": "highest validation accuracy; a tie goes to the lower validation loss, then the earlier epoch",
    "loss": "lowest validation loss; a tie goes to the higher validation accuracy, then the earlier epoch",
    "smoothed": "highest validation accuracy, as a mean over the last 20 epochs of the phase; a tie goes to the lower "
    "validation loss, then the earlier epoch",
    "last": "last epoch, whatever validation says",
}
"""What the setting ``selection`` means; methods without it choose by accuracy."""


def selection_rule(settings: BaseSettings) -> str:
    """How a fit chooses its epoch, in words; a ``metric`` other than accuracy takes the place of ``selection``."""
    rule = getattr(settings, "selection", "accuracy")
    if settings.metric == "accuracy" or rule == "last":
        return SELECTION[rule]
    return SELECTION["smoothed" if rule == "smoothed" else "accuracy"].replace("accuracy", NAMES[settings.metric], 1)


def selection_of(settings: BaseSettings, best: Mapping[str, Any], validated: bool) -> str:
    """How the epoch of a fit was chosen, in words.

    Args:
        best: the record of the chosen epoch.
        validated: whether there were validation nodes.
    """
    undone = best.get("undone")
    if validated:
        return selection_rule(settings) + (f", before what was undone ({undone})" if undone else "")
    if undone:
        return f"last epoch before what was undone ({undone}); no validation nodes"
    return "last epoch (no validation nodes)"


def chosen_epoch(history: Sequence[Mapping[str, Any]], best: Mapping[str, Any]) -> int | None:
    """The place of the chosen epoch among all epochs; None where it isn't recorded."""
    marks = ("phase", "iteration", "epoch")
    places = [at for at, record in enumerate(history) if best and all(record.get(m) == best.get(m) for m in marks)]
    return places[0] if places else None


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
