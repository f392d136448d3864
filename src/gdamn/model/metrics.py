"""The scores that can choose an epoch, by their names; model/confusion.py computes them."""

from __future__ import annotations

METRICS = ("accuracy", "balanced_accuracy", "macro_f1")
"""The values of the setting ``metric``."""

NAMES = {"accuracy": "accuracy", "balanced_accuracy": "balanced accuracy", "macro_f1": "macro F1"}
"""The same in words."""


def score_key(metric: str, part: str = "val") -> str:
    """What a score on the nodes of a part is called in records and results: ``val_accuracy``, ``test_macro_f1``."""
    return f"{part}_{metric}"
