"""One sentence for each thing in a graph that will hurt, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..graph.label_names import alike_notes
from ..graph.normalisation import LARGE

FEW = 5
"""Labelled nodes of a class, below which it is hardly learned."""


def warnings(data: Mapping[str, Any]) -> list[str]:
    """The warnings that the facts call for."""
    return [
        *_edges(data),
        *_labels(data["labels"], data),
        *_between(data["between_classes"]),
        *_spurious(data),
        *_features(data),
    ]


def _edges(data: Mapping[str, Any]) -> Iterator[str]:
    n, alone = data["nodes"], data["isolated_nodes"]
    if data["dangling_edges"]:
        yield f"{data['dangling_edges']:,} edges name a node that isn't there; training refuses them: correct the ids."
    if data["edges"] == 0:
        yield "There is no edge, so a graph adds nothing to the features; a plain classifier will do as well."
    elif alone:
        yield f"{alone:,} nodes ({alone / n:.1%}) have no edge; only their features tell what they are."
    if data["duplicate_edges"]:
        yield f"{data['duplicate_edges']:,} edges are listed more than once; each counts once, by its largest weight."
    if data["self_loops"]:
        yield f"{data['self_loops']:,} edges lead from a node to itself; they are dropped."
    if n > 10 and data["degree"]["largest"] > n / 2:
        share = data["degree"]["largest"] / (n - 1)
        yield f"One node is joined to {share:.0%} of all others; such a hub tells little about them and slows training."
    unreached = data["components"]["without_label"]
    if data["labels"]["known"] and unreached - alone > 0:
        yield f"{unreached:,} nodes stand in parts of the graph without any known label; only features can reach them."


def _labels(labels: Mapping[str, Any], data: Mapping[str, Any]) -> Iterator[str]:
    counts = {name: count for name, count in labels["classes"].items() if count}
    if not counts:
        yield "No label is known; nothing can be trained before some nodes have one (--label COLUMN)."
        return
    if len(counts) == 1:
        yield f"All known labels are '{next(iter(counts))}'; at least two classes are needed."
    yield from alike_notes(list(labels["classes"]))
    few = [name for name, count in counts.items() if count < FEW]
    if few:
        listed = ", ".join(f"'{name}'" for name in few[:5]) + (", …" if len(few) > 5 else "")
        yield f"Fewer than {FEW} nodes are labelled {listed}; label more, or join such classes."
    if labels["balance"] and labels["balance"] > 10:
        yield f"The largest class has {labels['balance']:.0f} times the nodes of the smallest; accuracy will favour it."
    if labels["rate"] < 0.005:
        yield f"Only {labels['rate']:.2%} of the nodes have a label; a few more would help most."
    if not any(data["splits"].values()):
        yield "No split is given; a part of the labelled nodes will be held out for validation, none for a test."


def _between(between: Mapping[str, Any]) -> Iterator[str]:
    if between["share"] is None:
        return
    if between["known_edges"] < 30:
        yield f"Only {between['known_edges']} edges have both labels known; the share between classes is a guess."
    if between["share"] > 0.5:
        yield f"{between['share']:.0%} of the known edges join different classes; averages of neighbours will mislead."
    elif between["low"] > 0.1:
        yield f"About {between['share']:.0%} of the edges join different classes; cutting those is what gdamn is for."


def _spurious(data: Mapping[str, Any]) -> Iterator[str]:
    found = data.get("spurious")
    if found and found["cut"]:
        yield (
            f"About {found['share']:.0%} of the edges look as if they were drawn by lot; a fit without a preset cuts "
            f"{found['cut']:,} of {data['edges']:,}."
        )


def _features(data: Mapping[str, Any]) -> Iterator[str]:
    features = data["features"]
    if features["number"] == 0:
        yield "There are no features; the degree and Laplacian eigenvectors will stand in for them."
        return
    if features["constant"]:
        yield f"{features['constant']:,} of {features['number']:,} features are the same for all nodes; leave them out."
    if features["empty_rows"]:
        yield f"{features['empty_rows']:,} nodes have only zeros as features; only their edges tell what they are."
    if features["largest"] is not None and features["largest"] > LARGE and features["normalize"] == "none":
        yield f"Features go up to {features['largest']:.4g} as they stand; standardise them (--set normalize=standard)."
