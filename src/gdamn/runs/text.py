"""Numbers for the eye: shares, means with their deviations, differences and p-values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..estimators import accuracy


def accuracy_text(spread: Mapping[str, Any]) -> str:
    """Mean ± standard deviation in per cent; of a single seed its 95 % interval, since it has no deviation."""
    nodes = accuracy.nodes_at(spread, 0) if len(spread["per_seed"]) == 1 else None
    if spread["mean"] is None or not nodes:
        return spread_text(spread)
    return accuracy.short(spread["mean"], nodes).replace(" %", "")


def score_text(spread: Mapping[str, Any] | None) -> str:
    """Any score in per cent, with the sign: mean ± standard deviation, or a single seed's with the interval it has."""
    if spread is None or spread["mean"] is None or len(spread["per_seed"]) > 1:
        return "–" if spread is None else mean_std(spread["mean"], spread["std"])
    return accuracy.with_ends(spread["mean"], (spread.get("interval_95") or [None])[0])


def spread_text(spread: Mapping[str, Any]) -> str:
    """Mean ± standard deviation in per cent, without the sign."""
    return mean_std(spread["mean"], spread["std"]).removesuffix(" %")


def mean_std(mean: float | None, std: float | None) -> str:
    """Mean ± standard deviation in per cent, with the sign."""
    if mean is None or mean != mean:
        return "–"
    return f"{100 * mean:.1f} ± {100 * (std or 0):.1f} %"


def percent(share: float | None) -> str:
    """A fraction in per cent, with the sign."""
    return "–" if share is None or share != share else f"{100 * share:.1f} %"


def nodes_text(result: Mapping[str, Any]) -> str:
    """``22 test and 8 validation nodes`` behind every accuracy of a comparison; empty for fits that don't tell."""
    parts = []
    for key, name in (("test_accuracy", "test"), ("val_accuracy", "validation")):
        counts = [count for r in result["results"] for count in r[key].get("nodes") or []]
        text = accuracy.count_text(counts)
        if text:
            parts.append(text.replace(" node", f" {name} node"))
    return " and ".join(parts)


def signed(points: float, digits: int = 1) -> str:
    """A difference with its sign; none for what rounds to zero."""
    text = f"{points:+.{digits}f}"
    return text[1:] if float(text) == 0 else text


def p_text(p: float | None) -> str:
    """A p-value for the eye."""
    if p is None:
        return "–"
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def p_equals(p: float) -> str:
    """A p-value in a sentence."""
    text = p_text(p)
    return f"p {text.replace('<', '< ')}" if text.startswith("<") else f"p = {text}"
