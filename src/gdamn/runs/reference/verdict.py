"""Paired tests on held-out labels, and what they say in a sentence."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ..compare.paired import SURE, holm
from ..text import p_equals, percent
from .judging import Judged

TITLES = {
    "majority": "the most frequent class",
    "logreg": "logistic regression on features",
    "lpa": "label propagation",
    "sgc-2": "SGC, two hops",
    "sgc-4": "SGC, four hops",
    "gcn": "GCN",
    "start": "gdamn's start",
}
"""The methods in the order of the table, and how they are called."""

SIMPLE: dict[str, tuple[str, dict[str, Any]]] = {
    "logreg": ("logreg", {}),
    "lpa": ("lpa", {}),
    "sgc-2": ("sgc", {"steps": 2}),
    "sgc-4": ("sgc", {"steps": 4}),
    "gcn": ("gcn", {}),
}
"""The methods that gdamn must not be behind: what each is called on the command line, and its settings."""


def paired(first: Judged, second: Judged) -> dict[str, Any]:
    """Two methods on the nodes that both were asked about; the p-value is that of McNemar's exact test.

    Only nodes that one method has right and the other wrong tell them apart. If both were equally good, either would
    be as likely: n coins, of which k or fewer fall on one side with probability p, counted for both sides.
    """
    both = first.judged & second.judged
    only_first = int((first.right & ~second.right & both).sum())
    only_second = int((second.right & ~first.right & both).sum())
    n, k = only_first + only_second, min(only_first, only_second)
    p = min(1.0, 2 * sum(math.comb(n, each) for each in range(k + 1)) / 2**n)
    nodes = int(both.sum())
    return {
        "nodes": nodes,
        "accuracies": [float(method.right[both].mean()) if nodes else None for method in (first, second)],
        "right_alone": [only_first, only_second],
        "p": p,
    }


def edges_verdict(rows: Mapping[str, Judged], structural: bool) -> dict[str, Any]:
    """Whether the graph is worth it: features with edges (the better SGC) against features alone.

    Args:
        structural: the features themselves were made from the edges.
    """
    if structural:
        sentence = "The features are made from the edges, so the folds can't tell what the edges are worth."
        return {"verdict": "not asked", "sentence": sentence}
    name, test = best({name: paired(rows[name], rows["logreg"]) for name in ("sgc-2", "sgc-4")})
    verdict = direction(test, "help", "hurt")
    shares = f"with them ({TITLES[name]}) {share(test, 0)} are right, on features alone {share(test, 1)}"
    why = evidence(test, "with edges", "without")
    opening = {
        "help": "The edges help",
        "hurt": "The edges hurt",
        "unclear": f"Whether the edges help can't be told with {test['nodes']:,} labels",
    }[verdict]
    return {"method": name, **test, "verdict": verdict, "sentence": f"{opening}: {shares} ({why})."}


def gdamn_verdict(rows: Mapping[str, Judged]) -> dict[str, Any]:
    """Whether gdamn is worth it: what it starts from against the best of the simple methods."""
    if "start" not in rows:
        sentence = (
            "The folds don't judge the method of this run, only what gdamn starts from where it has no validation "
            "nodes; gdamn compare sets methods side by side on held-out nodes."
        )
        return {"verdict": "not asked", "sentence": sentence}
    name, test = best({name: paired(rows[name], rows["start"]) for name in SIMPLE if name in rows})
    verdict = direction(test, "behind", "ahead")
    shares = f"{share(test, 0)} are right by {TITLES[name]}, {share(test, 1)} by gdamn's start"
    why = evidence(test, "by the first", "by the second")
    opening = {
        "behind": "A simple method is better than gdamn here",
        "ahead": "gdamn is ahead of the best simple method",
        "unclear": f"gdamn and the best simple method can't be told apart with {test['nodes']:,} labels",
    }[verdict]
    return {"method": name, **test, "verdict": verdict, "sentence": f"{opening}: {shares} ({why})."}


def best(tests: dict[str, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    """The method furthest ahead in its test, and that test; p-values are raised for the number of tests (Holm) before.

    A method of a smaller share that is clearly ahead comes before one that may be so by luck.
    """
    for name, p in zip(tests, holm([test["p"] for test in tests.values()]), strict=True):
        tests[name]["p"] = p

    def lead(entry: tuple[str, dict[str, Any]]) -> tuple[bool, float]:
        test = entry[1]
        mine, other = test["right_alone"]
        return mine > other and test["p"] < SURE, (mine - other) / max(test["nodes"], 1)

    return max(tests.items(), key=lead)


def direction(test: Mapping[str, Any], first: str, second: str) -> str:
    """Which of the two methods is better beyond noise; ``unclear`` where neither."""
    if test["p"] >= SURE:
        return "unclear"
    return first if test["right_alone"][0] > test["right_alone"][1] else second


def share(test: Mapping[str, Any], at: int) -> str:
    """The accuracy of one of two methods."""
    return percent(test["accuracies"][at])


def evidence(test: Mapping[str, Any], first: str, second: str) -> str:
    """The nodes behind a paired test of two methods, and its p-value."""
    a, b = test["right_alone"]
    return (
        f"{test['nodes']:,} labels, held out in turn; {a} right only {first}, {b} only {second}, {p_equals(test['p'])}"
    )


def taken(reference: Mapping[str, Any]) -> tuple[str, dict[str, Any]] | None:
    """The method that is better than gdamn beyond noise, with its settings; None where there is none."""
    verdict = reference.get("gdamn", {})
    return SIMPLE.get(verdict.get("method")) if verdict.get("verdict") == "behind" else None


def taken_text(method: tuple[str, dict[str, Any]]) -> str:
    """The options of the command line that train a method."""
    name, settings = method
    return f"--method {name}" + "".join(f" --set {key}={value}" for key, value in settings.items())
