"""What the confidence of a run rests on, and whether it can be called calibrated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def confidence_warning(summary: Mapping[str, Any]) -> str | None:
    """That the confidence is uncalibrated, in a sentence; None where enough nodes calibrate it, or nobody knows.

    It rests on validation nodes, or on labels that were held out in turn; the seed with the fewest decides.
    """
    from ..model.temperature import warning

    counts = [nodes for nodes in summary["val_accuracy"].get("nodes") or [] if nodes is not None]  # published: unknown
    if any(counts) or "cross_fitted_accuracy" not in summary:
        return warning(min(counts)) if counts else None
    known = summary["cross_fitted_accuracy"]
    seeds = sorted(zip(known.get("nodes") or [], known["per_seed"], strict=False), key=lambda seed: seed[0])
    said = (warning(nodes, "labelled", accuracy) for nodes, accuracy in seeds)
    return next((text for text in said if text is not None), None)
