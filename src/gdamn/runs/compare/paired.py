"""Paired tests: two methods over the same seeds, difference by difference."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

FEWEST = 2
"""Seeds that a test needs."""

FEWEST_WILCOXON = 6
"""Seeds with a difference that Wilcoxon's test needs to be able to reach :data:`SURE`: its smallest two-sided p is
2/2ⁿ, 0.0625 for 5 and 0.03125 for 6."""

SURE = 0.05
"""A difference with a smaller p-value is called more than chance."""


def paired(first: Mapping[int, float | None], second: Mapping[int, float | None]) -> dict[str, Any] | None:
    """Compare two methods on the seeds that both have; None where there are fewer than two.

    Args:
        first, second: accuracy by seed.

    Returns:
        ``difference`` (mean of first - second), ``seeds``, how often first is ``higher`` or ``lower``, and the
        two-sided p-values of the paired t-test (``t_p``) and of Wilcoxon's signed-rank test (``wilcoxon_p``; None where
        fewer than six seeds differ, since then it can't be below 0.05 whatever the numbers are).
    """
    seeds = [s for s in first if s in second and first[s] is not None and second[s] is not None]
    if len(seeds) < FEWEST:
        return None
    a, b = ([float(values[s] or 0.0) for s in seeds] for values in (first, second))
    differences = [x - y for x, y in zip(a, b, strict=True)]
    return {
        "difference": statistics.fmean(differences),
        "seeds": len(seeds),
        "higher": sum(d > 0 for d in differences),
        "lower": sum(d < 0 for d in differences),
        **_p_values(a, b),
    }


def _p_values(a: Sequence[float], b: Sequence[float]) -> dict[str, float | None]:
    """Both p-values: 1 where no pair differs; no t-test where all differ by the same amount, no hopeless Wilcoxon."""
    from scipy.stats import ttest_rel, wilcoxon

    differences = [x - y for x, y in zip(a, b, strict=True)]
    if not any(differences):
        return {"t_p": 1.0, "wilcoxon_p": 1.0 if len(differences) >= FEWEST_WILCOXON else None}
    different = sum(d != 0 for d in differences)  # the test leaves out the others
    constant = math.isclose(min(differences), max(differences), rel_tol=1e-9)
    return {
        "t_p": None if constant else float(ttest_rel(a, b).pvalue),
        "wilcoxon_p": float(wilcoxon(a, b).pvalue) if different >= FEWEST_WILCOXON else None,
    }


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's correction: the same p-values, raised for the number of tests; what is None stays None."""
    order = sorted((p, at) for at, p in enumerate(p_values) if p is not None)
    corrected: list[float | None] = [None] * len(p_values)
    highest = 0.0
    for rank, (p, at) in enumerate(order):
        highest = max(highest, min(1.0, (len(order) - rank) * p))
        corrected[at] = highest
    return corrected
