"""``report.html`` of a run on a partitioned graph: what can be counted part after part; no map, no explorer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ConfigError
from ..runs.partitioned.files import KINDS
from ..runs.spec import folder_name
from ..runs.text import percent
from ..system import io
from ..system.scratch import scratch
from ..using.partitioned.folder import PartitionedRun
from ..using.partitioned.suspicious import suspicious
from . import overview, sections
from .attention import cut_table, hard_histogram
from .charts import histogram_chart
from .findings import Finding
from .measures import CUT_BELOW, EdgeCounts
from .page import SCRIPTS, Cell, Chart, Table, cells, render
from .partitioned_counts import BINS, PartitionedFit, count
from .run import commands, files, page_of, quoted_path
from .seed_fit import EVALUATED
from .text import number, visible, whole

DOUBTFUL = 50
"""Edges that the page lists."""


def write_partitioned(
    folder: Path, target: Path | None, data_root: Path | None, seed: int | None, needs_whole: Mapping[str, Any]
) -> Path:
    """Write the page.

    Args:
        needs_whole: what was asked for that would need the whole graph, by the options' names.
    """
    for option, given in needs_whole.items():
        if given:
            raise ConfigError(f"'{folder}' was trained on a partitioned graph, which is not drawn; leave out {option}.")
    run = PartitionedRun(folder, data_root)
    page = page_of(folder, target)
    chosen = run.best_seed(seed)
    fits = []
    with scratch(page.parent) as room:
        for each in run.spec.seeds:
            fits.append(count(run, each, room))
    shown = next(fit for fit in fits if fit.seed == chosen)
    io.write_text(page, make_page(run, fits, shown, page))
    return page


def make_page(run: PartitionedRun, fits: Sequence[PartitionedFit], shown: PartitionedFit, page: Path) -> str:
    """The page as text."""
    results = [fit.result for fit in fits]
    doubtful = doubtful_edges(run, shown.seed) if run.attends(shown.seed) else None
    context = {
        "title": f"{visible(run.spec.method)} on {visible(folder_name(run.spec.dataset))}",
        "findings": findings(run, shown),
        "tiles": sections.tiles(run, results),
        "overview": facts(run, shown),
        "settings": overview.settings(run),
        "seeds": sections.seeds(run),
        "classes": sections.classes(run, results, run.parts.class_names),
        "caveat": sections.caveat(results),
        "evaluated": EVALUATED.get(shown.result.evaluated, ""),
        "confidence": confidence_chart(shown),
        "predicted": predicted_table(run, shown),
        "learning": sections.learning(results, shown),
        "attention": None if shown.result.edges is None else attention(shown.result.edges, results),
        "doubtful": doubtful,
        "ranks": rank_table(run),
        "shown_seed": shown.seed,
        "several_seeds": len(fits) > 1,
        "files": files(run, page),
        "folders": [kind for kind in KINDS if (run.seed_folder(shown.seed) / kind).is_dir()],
        "commands": [*commands(run), *more_commands(run, doubtful is not None)],
    }
    return render("partitioned.html", context, scripts=SCRIPTS)


def findings(run: PartitionedRun, fit: PartitionedFit) -> list[Finding]:
    """What the page says first."""
    found = []
    evaluated, table = fit.result.evaluated, fit.result.confusion
    if evaluated != "train" and table is not None:
        right = percent(float(np.trace(table) / table.sum()))
        nodes = f"{whole(table.sum())} {EVALUATED[evaluated]} nodes, seed {fit.seed}"
        found.append(Finding(f"{right} of the nodes that were held out get their label.", nodes, "accuracy"))
    edges = fit.result.edges
    if edges is not None:
        share = percent(edges.cut / edges.edges) if edges.edges else "–"
        found.append(
            Finding(
                f"The attention cut {share} of the edges.", f"{whole(edges.cut)} of {whole(edges.edges)}", "attention"
            )
        )
    early = run.labels_before_em(fit.seed)
    if early is not None:
        found.append(Finding(early, "", "learning"))
    peaks = [rank["peak_rss_mb"] for rank in run.summary["ranks"]]
    processes = f"{len(peaks)} process{'es' if len(peaks) > 1 else ''}"
    peak = f"Trained by {processes}; none had more than {number(max(peaks) / 1024, 2)} GiB of memory."
    return [*found, Finding(peak, f"{len(run.parts.parts)} parts", "ranks")]


def facts(run: PartitionedRun, fit: PartitionedFit) -> list[tuple[str, str]]:
    """What was trained, on what and how: name and value."""
    graph, summary = run.parts, run.summary
    kind = "directed" if graph.directed else "undirected"
    rows = [
        ("Method", f"{visible(run.spec.method)}{overview.meaning(run)}"),
        ("Data", overview.data_text(run)),
        ("Graph", f"{whole(graph.num_nodes)} nodes, {whole(graph.num_edges)} {kind} edges"),
        (
            "Parts",
            f"{len(graph.parts)} by {visible(graph.partitioner)}; {percent(graph.cut)} of the edges between them",
        ),
        ("Features", f"{whole(graph.num_features)}, {'sparse' if graph.is_sparse else 'dense'}"),
        ("Classes", str(graph.num_classes)),
        ("Training / validation / test nodes", " / ".join(whole(count) for count in fit.splits.values())),
        ("A step sees", visible(summary.get("batch", "full"))),
        ("Epoch chosen by", visible(summary["protocol"]["selection"], 200)),
        ("Seeds", ", ".join(map(str, run.spec.seeds))),
        ("Epochs a seed", whole(float(np.median(summary["epochs_per_seed"])))),
        ("Seconds a seed", number(float(np.median(summary["seconds_per_seed"])), 1)),
        ("Versions", ", ".join(f"{name} {visible(v)}" for name, v in summary["versions"].items())),
    ]
    changed = overview.changed_settings(run)
    return rows if changed is None else [*rows[:2], ("Settings", changed), *rows[2:]]


def confidence_chart(fit: PartitionedFit) -> Chart:
    """How many nodes have which confidence."""
    calibrated = fit.temperature.warning or f"Temperature {fit.temperature.value:.3f}, {fit.temperature.reason}."
    rows: list[list[Cell]] = [
        [*cells(f"{at / BINS:.2f} to {(at + 1) / BINS:.2f}"), (whole(n), int(n))]
        for at, n in enumerate(fit.confidence)
        if n
    ]
    numbers = Table("Nodes by confidence", ("confidence", "nodes"), rows, ("nodes",), False)
    svg = histogram_chart(fit.confidence, "confidence-histogram", "confidence", "nodes")
    return Chart(
        "Confidence of all nodes", svg, f"The calibrated probability of the predicted class. {calibrated}", numbers
    )


def predicted_table(run: PartitionedRun, fit: PartitionedFit) -> Table:
    """How many nodes get each class."""
    rows: list[list[Cell]] = []
    for name, n in zip(run.parts.class_names, fit.predicted.tolist(), strict=True):
        share = n / max(run.parts.num_nodes, 1)
        rows.append([(visible(name), visible(name)), (whole(n), n), (percent(share), share)])
    return Table("Nodes by predicted class", ("predicted", "nodes", "share"), rows, ("nodes", "share"))


def attention(edges: EdgeCounts, results: Sequence[Any]) -> dict[str, Any]:
    """Histograms of the hard attention, and how many edges were cut."""
    rows: list[list[Cell]] = [
        [*cells(f"{at / len(edges.all_edges):.2f} to {(at + 1) / len(edges.all_edges):.2f}"), (whole(n), int(n))]
        for at, n in enumerate(edges.all_edges)
        if n
    ]
    numbers = Table("Edges by hard attention", ("hard attention", "edges"), rows, ("edges",), False)
    svg = histogram_chart(edges.all_edges, "hard-all", "hard attention", "edges", CUT_BELOW)
    charts = [Chart("Hard attention of all edges", svg, "How likely an edge should be there, by the labels.", numbers)]
    if edges.within + edges.between:
        charts.append(hard_histogram(edges))
    return {
        "charts": charts,
        "table": cut_table(results),
        "totals": [whole(edges.edges), whole(edges.within), whole(edges.between)],
        "uncut": edges.cut == 0,
    }


def doubtful_edges(run: PartitionedRun, seed: int) -> Table:
    """The first suspicious edges."""
    table = suspicious(run, seed, DOUBTFUL)
    rows: list[list[Cell]] = []
    for at in range(len(table["source"])):
        row: list[Cell] = []
        for end in ("source", "target"):
            name, label = visible(table[end][at]), visible(table[f"{end}_predicted"][at], 40)
            row += [(name, name), (f"{label} {percent(float(table[f'{end}_confidence'][at]))}", label)]
        row += [(number(float(table[name][at])), float(table[name][at])) for name in ("hard", "suspicion")]
        rows.append(row)
    columns = ("source", "label of source", "target", "label of target", "hard", "suspicion")
    return Table("Edges most likely to be wrong", columns, rows, columns[4:])


def rank_table(run: PartitionedRun) -> Table:
    """Parts, nodes and memory of each process."""
    rows: list[list[Cell]] = []
    for rank, each in enumerate(run.summary["ranks"]):
        row: list[Cell] = [(str(rank), rank)]
        row += [(whole(each[name]), each[name]) for name in ("parts", "nodes", "peak_rss_mb")]
        rows.append(row)
    columns = ("rank", "parts", "nodes", "peak, MiB")
    return Table("Parts, nodes and memory of each process", columns, rows, columns)


def more_commands(run: PartitionedRun, attends: bool) -> list[tuple[str, str]]:
    """What else can be done with the run."""
    folder = quoted_path(str(run.path))
    found = [("All labels as one table", f"gdamn predict {folder} -o labels.parquet")]
    if attends:
        found.append(("The cleaned graph as one table", f"gdamn refine {folder} --keep 'hard>0.5' -o refined.parquet"))
        found.append(("More doubtful edges", f"gdamn edges {folder} --suspicious 1000 -o check.csv"))
    return found
