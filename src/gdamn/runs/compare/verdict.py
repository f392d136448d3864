"""What a comparison may say of its first method: ahead of the others, or only the highest mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..text import p_equals
from .paired import FEWEST_WILCOXON, SURE

NAMED = 3
"""Methods that are named with their p-values; of the others only their number is given."""


def separated(test: Mapping[str, Any] | None) -> bool:
    """Whether a method differs from the highest mean by more than chance: Holm's p of the t-test is small."""
    p = None if test is None else test["t_p_holm"]
    return p is not None and p < SURE


def verdict(best: str, others: Sequence[str], tests: Mapping[str, Mapping[str, Any]], some_failed: bool) -> str:
    """Who has the highest mean test accuracy, and whom that tells apart, in a sentence.

    Args:
        best: the method of the highest mean.
        others: the other methods, the highest mean first.
        tests: those that could be tested against it.
        some_failed: whether methods that didn't finish every seed stood outside.
    """
    of = " of the methods that finished every seed" if some_failed else ""
    sentence = f"{best} has the highest mean test accuracy{of}"
    unseparated = [name for name in others if not separated(tests.get(name))]
    if not others:
        return f"{best} is the only method."
    if not unseparated:
        largest = max(tests[name]["t_p_holm"] for name in others)
        others_text = "every other method" if len(others) > 1 else others[0]
        return f"{sentence}, separated from {others_text} ({p_equals(largest)}, t-test with Holm's correction)."
    names = [f"{name} ({chance(tests.get(name))})" for name in unseparated[:NAMED]]
    if len(unseparated) > NAMED:
        names.append(f"{len(unseparated) - NAMED} more")
    *first, last = names
    return f"{sentence}, not separated from {', '.join(first)}{' and ' if first else ''}{last}."


def chance(test: Mapping[str, Any] | None) -> str:
    """The p-value that doesn't separate, or why there is none."""
    p = None if test is None else test["t_p_holm"]
    if p is None:
        return "too few seeds for a test" if test is None else "no test"
    return p_equals(p)


def wilcoxon_note(tests: Mapping[str, Mapping[str, Any]]) -> str | None:
    """The footnote of Wilcoxon tests that aren't shown; None where all are."""
    if all(test["wilcoxon_p"] is not None for test in tests.values()):
        return None
    return (
        f"– for Wilcoxon's p: the test needs at least {FEWEST_WILCOXON} seeds on which two methods differ; with n of "
        "them its smallest two-sided p is 2/2ⁿ."
    )


def left_note(result: Mapping[str, Any]) -> str | None:
    """What people should know where the time was over before all was fitted; None where it wasn't."""
    left, there = result.get("left", 0), sum(len(r["protocol"]["seeds"]) for r in result["results"])
    if not left:
        return None
    return f"The time was over after {there} of {there + left + len(result['failed'])} fits; the same command goes on."
