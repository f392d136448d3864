"""What a page says first: findings in plain sentences, each with its evidence, and alerts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..estimators import accuracy
from ..estimators.chosen_epoch import before_em_sentence
from ..runs.text import mean_std, percent
from . import sections
from .judged_edges import FIRST
from .measures import degrees
from .seed_fit import EVALUATED
from .text import visible, whole

if TYPE_CHECKING:
    from ..estimators.suspicious_labels import JudgedLabels
    from ..using.run_folder import RunFolder
    from .judged_edges import JudgedEdges
    from .run import SeedResult
    from .seed_fit import SeedFit

WARNING, NOTE = "warning", "note"
"""How much an alert matters."""

HELD_OUT = "training labels, held out in turn,"
"""What the accuracy is measured on where there is no other node."""

ENOUGH_KNOWN = 20
"""Edges among the first ones whose labels are known, from which their share of wrong ones is measured."""

HARDLY_FOUND, FEW_OF_CLASS = 0.5, 10
"""A class of so many nodes, of which a smaller share is found, gets an alert."""

UNEQUAL = 10
"""How many times the nodes of the smallest class the largest has, where it gets an alert."""

BADLY_CALIBRATED = 0.1
"""A calibration error that gets an alert."""


@dataclass(frozen=True)
class Finding:
    """An answer.

    Attributes:
        text: the sentence.
        evidence: nodes, interval, where the number comes from.
        link: id of the part of the page that has the evidence.
    """

    text: str
    evidence: str
    link: str


@dataclass(frozen=True)
class Alert:
    """What people should know before they trust a page: how much it matters, a sentence, where its evidence is."""

    level: str
    text: str
    link: str


@dataclass(frozen=True)
class Judged:
    """What the shown seed says of edges and training labels.

    Attributes:
        labels: None where the training labels were not judged; ``why_not`` says why.
    """

    edges: JudgedEdges
    labels: JudgedLabels | None
    why_not: str = ""


def findings(run: RunFolder, results: Sequence[SeedResult], fit: SeedFit, judged: Judged) -> list[Finding]:
    """The answers, the most asked-for first."""
    found = (
        *how_accurate(run, results),
        *wrong_edges(results, fit, judged.edges),
        *worst_confusion(results, fit),
        *training_labels(judged),
        *beside_simple_methods(run),
        *calibrated_or_not(results),
    )
    return list(found)


def how_accurate(run: RunFolder, results: Sequence[SeedResult]) -> Iterator[Finding]:
    """The accuracy on test nodes, else on validation nodes, else the cross-fitted one."""
    name, spread = "test nodes", run.summary["test_accuracy"]
    if spread["mean"] is None:
        name, spread = sections.judged(run, "validation nodes", HELD_OUT)
    if spread["mean"] is None:
        yield Finding("No labelled node was held out, so the accuracy is not known.", "", "accuracy")
        return
    nodes = accuracy.nodes_at(spread, 0)
    whose = " By the regressions that it starts from, as no node validates." if name == HELD_OUT else ""
    if len(results) > 1:
        text = f"{mean_std(spread['mean'], spread['std'])} of the {name} are predicted right."
        seeds = f"Mean ± standard deviation over {len(results)} seeds, {accuracy.spread_nodes(spread)}."
        yield Finding(text, seeds + whose, "accuracy")
        return
    told = f"{whole(spread['mean'] * nodes)} of {whole(nodes)} nodes, {ends(spread['mean'], nodes)}." if nodes else ""
    yield Finding(f"{percent(spread['mean'])} of the {name} are predicted right.", told + whose, "accuracy")


def ends(share: float, n: int) -> str:
    """``95 % interval 66.7–95.3`` of a share of n."""
    low, high = accuracy.interval(share, n)
    return f"95 % interval {100 * low:.1f}–{100 * high:.1f}"


def wrong_edges(results: Sequence[SeedResult], fit: SeedFit, edges: JudgedEdges) -> Iterator[Finding]:
    """How many edges look wrong, and what becomes of the first ones."""
    total, count = len(edges.at), int(edges.looks_wrong.sum())
    if not total:
        return
    first = min(FIRST, total)
    how = f"{whole(count)} of {whole(total)} edges look wrong"
    expected = float(edges.probability[:first].mean())
    which = edges.known[:first]
    if not which.all():
        which = which & ~edges.seen[:first]  # the answers that the model was given say nothing of the others
    known, bad = int(which.sum()), int((which & edges.wrong[:first]).sum())
    rests = calibration_of_edges(edges)
    if known >= ENOUGH_KNOWN:
        whose = "" if known == first else f"{known} known ones among the "
        told = f"{bad} of {whose or 'the '}first {first} are"
        evidence = (
            f"Measured on known labels ({ends(bad / known, known)}); expected were {100 * expected:.0f} %. {rests}"
        )
    else:
        told = f"about {round(first * expected)} of the first {first} should be"
        evidence = f"Expected, not measured: the mean probability of the first {first}. {rests}"
    counts = next((result.edges for result in results if result.seed == fit.seed), None)
    cut = "" if counts is None else f" {whole(counts.cut)} edges were cut."
    yield Finding(f"{how}; {told}.", f"{evidence} Wrong means: the ends are of two classes.{cut}", "doubtful-edges")


def calibration_of_edges(edges: JudgedEdges) -> str:
    """What the probabilities of the edges rest on."""
    if edges.calibrated_on:
        return f"The probabilities are calibrated on {whole(edges.calibrated_on)} edges at validation nodes."
    return (
        "Too few edges at validation nodes calibrate the probabilities: they are the model's own, and often too high."
    )


def worst_confusion(results: Sequence[SeedResult], fit: SeedFit) -> Iterator[Finding]:
    """The class that is most surely taken for another: the pair whose interval begins highest."""
    tables = [r.confusion for r in results if r.confusion is not None and r.evaluated != "train"]
    if not tables:
        return
    table = np.mean(tables, axis=0)
    support = table.sum(axis=1)
    pairs = [(i, j) for i, j in np.argwhere(table > 0).tolist() if i != j and support[i] >= 1]
    if not pairs:
        yield Finding(f"No {EVALUATED[fit.evaluated]} node was taken for another class.", "", "confusion")
        return
    i, j = max(
        pairs, key=lambda pair: accuracy.interval(table[pair] / support[pair[0]], max(1, round(support[pair[0]])))[0]
    )
    share, n = table[i, j] / support[i], max(1, round(support[i]))
    a, b = (visible(fit.graph.class_names[c], 40) for c in (i, j))
    counted = (
        f"{whole(table[i, j])} of {whole(support[i])} {EVALUATED[fit.evaluated]} nodes of class {a}, {ends(share, n)}"
    )
    mean = f"; mean over {len(tables)} seeds" if len(tables) > 1 else ""
    yield Finding(
        f"{100 * share:.0f} % of class {a} are called {b}.", f"The surest confusion: {counted}{mean}.", "confusion"
    )


def training_labels(judged: Judged) -> Iterator[Finding]:
    """How many training labels models contradict that have not seen them."""
    if judged.labels is not None:
        evidence = "By models that have not seen the label they judge, as gdamn labels lists them."
        yield Finding(judged.labels.summary(), evidence, "suspicious-labels")


def beside_simple_methods(run: RunFolder) -> Iterator[Finding]:
    """What the reference says of the edges and of gdamn."""
    known = run.summary.get("reference") or {}
    for what in ("gdamn", "edges"):
        verdict = known.get(what)
        if verdict and verdict.get("verdict") != "not asked":
            opening, _, rest = visible(verdict["sentence"], 600).partition(": ")
            yield Finding(f"{opening}.", rest[:1].upper() + rest[1:], "reference")


def calibrated_or_not(results: Sequence[SeedResult]) -> Iterator[Finding]:
    """How far confidence and accuracy are apart."""
    bins = sections.pooled(results)
    if bins is None:
        return
    n = float(bins.count.sum())
    sure, right = float(bins.confidence.sum() / n), float(bins.right.sum() / n)
    if sure > right + 0.02:
        opening = "The confidence is too high"
    elif sure < right - 0.02:
        opening = "The confidence is too low"
    else:
        opening = "The confidence means what it says"
    text = f"{opening}: {percent(sure)} on average, and {percent(right)} are right."
    evidence = (
        f"The mean distance by confidence (calibration error) is {percent(bins.error)}, {sections.pooled_nodes(bins)}."
    )
    yield Finding(text, evidence, "calibration")


def alerts(run: RunFolder, results: Sequence[SeedResult], fit: SeedFit, judged: Judged) -> list[Alert]:
    """Warnings first, then notes."""
    found = [
        *about_confidence(results),
        *about_classes(results, fit),
        *about_reference(run),
        *about_training(run, results, judged),
        *about_graph(fit, judged),
    ]
    return sorted(found, key=lambda alert: alert.level != WARNING)


def about_confidence(results: Sequence[SeedResult]) -> Iterator[Alert]:
    """Too few validation nodes, or confidence that is far from accuracy."""
    text = sections.caveat(results)
    if text is not None:
        yield Alert(WARNING, text, "calibration")
    bins = sections.pooled(results)
    if bins is not None and bins.error > BADLY_CALIBRATED:
        yield Alert(WARNING, f"The confidence is off by {percent(bins.error)} on average.", "calibration")


def about_classes(results: Sequence[SeedResult], fit: SeedFit) -> Iterator[Alert]:
    """Classes that are never predicted or hardly found, and classes of very unequal size."""
    names = fit.graph.class_names
    never = [c for c in range(len(names)) if not (fit.probabilities.argmax(axis=1) == c).any()]
    if never:
        yield Alert(WARNING, f"Never predicted: {listed(names, never)}.", "classes")
    tables = [r.confusion for r in results if r.confusion is not None and r.evaluated != "train"]
    if tables:
        table = np.mean(tables, axis=0)
        support = table.sum(axis=1)
        lost = [
            c
            for c in np.flatnonzero(support >= FEW_OF_CLASS).tolist()
            if c not in never and table[c, c] / support[c] < HARDLY_FOUND
        ]
        if lost:
            yield Alert(WARNING, f"Fewer than half of their nodes are found: {listed(names, lost)}.", "classes")
    counts = np.bincount(fit.graph.labels[fit.graph.train_mask], minlength=len(names))
    counts = counts[counts > 0]
    if len(counts) > 1 and counts.max() > UNEQUAL * counts.min():
        times = counts.max() / counts.min()
        yield Alert(NOTE, f"The largest class has {times:.0f} times the training nodes of the smallest.", "classes")


def listed(names: Sequence[str], at: Sequence[int]) -> str:
    """The first few names."""
    return ", ".join(visible(names[c], 40) for c in at[:5]) + (f" and {len(at) - 5} more" if len(at) > 5 else "")


def about_reference(run: RunFolder) -> Iterator[Alert]:
    """A simple method that does better, or edges that hurt."""
    known: Mapping[str, Any] = run.summary.get("reference") or {}
    for what, verdict in (("gdamn", "behind"), ("edges", "hurt")):
        if known.get(what, {}).get("verdict") == verdict:
            yield Alert(WARNING, visible(known[what]["sentence"], 600), "reference")


def about_training(run: RunFolder, results: Sequence[SeedResult], judged: Judged) -> Iterator[Alert]:
    """Wrong training labels, labels from before EM, and what the run itself remarks."""
    if judged.labels is not None and judged.labels.noise.claimed:
        text = f"About {judged.labels.noise.rate:.0%} of the training labels seem to be wrong."
        yield Alert(WARNING, text, "suspicious-labels")
    early = before_em_sentence([result.seed for result in results if result.before_em], len(results))
    if early is not None:
        yield Alert(NOTE, early, "learning")
    for text in run.summary.get("remarks", ()):
        yield Alert(NOTE, visible(text, 300), "overview")


def about_graph(fit: SeedFit, judged: Judged) -> Iterator[Alert]:
    """Nodes without edges, and edges whose probabilities nothing calibrates."""
    alone = int((degrees(fit.graph) == 0).sum())
    if alone:
        have = "1 node has" if alone == 1 else f"{whole(alone)} nodes have"
        yield Alert(NOTE, f"{have} no edge; only features tell what they are.", "overview")
    if len(judged.edges.at) and not judged.edges.calibrated_on:
        text = "How likely an edge is wrong is the model's own guess here: too few known edges calibrate it."
        yield Alert(NOTE, text, "doubtful-edges")
