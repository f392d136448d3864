"""A number over the seeds of a run: its mean, its deviation, and the value of every seed."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any


def spread(values: Sequence[float | None]) -> dict[str, Any]:
    """Mean, standard deviation of the sample (0 for one value) and the values; None where there is nothing."""
    numbers = [value for value in values if value is not None]
    return {
        "mean": statistics.fmean(numbers) if numbers else None,
        "std": (statistics.stdev(numbers) if len(numbers) > 1 else 0.0) if numbers else None,
        "per_seed": list(values),
    }
