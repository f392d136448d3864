"""Table 1: the statistics of the data sets, counted in the files, beside the paper's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import DataError
from ..runs import pool
from .experiment import Ask, Content, Results, claim
from .paper import statistics
from .units import Unit

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DATASETS = ("cora", "citeseer", "pubmed", "coauthor-cs", "coauthor-physics", "ogbn-arxiv")
METHODS: tuple[str, ...] = ()
LABELS = "Nothing is fitted; edges are counted once per undirected pair, without loops and duplicates"
SEEDS = 0
SERIAL = False

COUNTS = {
    "nodes": "nodes",
    "edges": "edges",
    "features": "features",
    "classes": "classes",
    "train": "training nodes",
    "val": "validation nodes",
    "test": "test nodes",
}


def plan(ask: Ask) -> list[Unit]:
    """A count per data set."""
    return [Unit(dataset, 0, None, {"dataset": dataset}) for dataset in ask.datasets]


def measure(unit: Unit, data_root: Path | None, progress: pool.SeedProgress | None) -> dict[str, Any]:
    """Load and count; the reason where the files aren't here."""
    import numpy as np

    from .. import data

    try:
        graph = data.load(unit.name, data_root=data_root)
    except DataError:
        if unit.name not in data.DATASETS:
            raise
        return {"missing": f"gdamn data info {unit.name} says what is needed"}
    degrees = np.diff(graph.indptr)
    return {
        "nodes": graph.num_nodes,
        "edges": graph.num_edges,
        "features": graph.num_features,
        "classes": graph.num_classes,
        **{name: int(graph.mask(name).sum()) for name in ("train", "val", "test")},
        "inter_class_share": graph.inter_class_share(),
        "mean_degree": float(degrees.mean()),
        "isolated": int((degrees == 0).sum()),
    }


def conclude(ask: Ask, results: Results) -> dict[str, Any]:
    """Every count beside the paper's."""
    numbers, claims, remarks = {}, [], []
    for dataset in ask.datasets:
        ours, paper = dict(results[dataset, 0]), statistics(dataset)
        numbers[dataset] = {"ours": ours, "paper": paper}
        if "missing" in ours:
            remarks.append(f"{dataset} is left out, because its files are not here; its column has the paper's counts.")
        elif paper is not None:
            claims.append(same(dataset, ours, paper))
        if dataset == "ogbn-arxiv" and "missing" not in ours:
            remarks.append("The paper counts the edges of ogbn-arxiv with their direction, as its source does.")
    return {"numbers": numbers, "claims": claims, "remarks": remarks}


def same(dataset: str, ours: Content, paper: Content) -> dict[str, Any]:
    """The claim that the counts are these."""
    other = [key for key in COUNTS if ours[key] != paper[key]]
    listed = ", ".join(f"{paper[key]:,} {name}" for key, name in COUNTS.items())
    ours_text = "every count is the same"
    if other:
        differences = ", ".join(f"{ours[key]:,} {COUNTS[key]} in place of {paper[key]:,}" for key in other)
        ours_text = f"there are {differences}; the other counts are the same"
    return claim(f"{dataset} has {listed}", not other, ours_text, dataset=dataset, other=other)


def table(content: Content) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    """A row per count, a column per data set; the paper's in brackets where ours is another one, or missing."""
    numbers = content["numbers"]
    rows = [[name.capitalize(), *(cell(entry, key) for entry in numbers.values())] for key, name in COUNTS.items()]
    rows.append(["Edges between classes, %", *(share(entry["ours"]) for entry in numbers.values())])
    rows.append(["Isolated nodes", *(f"{entry['ours'].get('isolated', '–')}" for entry in numbers.values())])
    return ("", *numbers), rows


def cell(entry: Content, key: str) -> str:
    """Our count, and the paper's in brackets where it differs."""
    ours, paper = entry["ours"].get(key), (entry["paper"] or {}).get(key)
    if ours is None:
        return f"({paper:,})" if paper is not None else "–"
    return f"{ours:,}" if paper in (None, ours) else f"{ours:,} ({paper:,})"


def share(ours: Content) -> str:
    """The share of edges between classes."""
    return f"{100 * ours['inter_class_share']:.1f}" if "missing" not in ours else "–"


def draw(content: Content) -> Figure:
    """What the table doesn't say and the experiments depend on: edges between classes, degree, labels per class."""
    from .style import BLUE, PAGE, panels

    counts = {name: entry["ours"] for name, entry in content["numbers"].items() if "missing" not in entry["ours"]}
    bars = (
        ("edges between classes, %", [100 * ours["inter_class_share"] for ours in counts.values()], ".1f"),
        ("mean degree", [ours["mean_degree"] for ours in counts.values()], ".1f"),
        ("nodes with a training label, %", [100 * ours["train"] / ours["nodes"] for ours in counts.values()], ".2f"),
    )
    figure, all_axes = panels(len(bars), PAGE, 0.7 + 0.24 * len(counts), sharey=True)
    for axes, (title, values, digits) in zip(all_axes, bars, strict=True):
        drawn = axes.barh(range(len(counts)), values, height=0.6, color=BLUE)
        axes.bar_label(drawn, [f"{value:{digits}}" for value in values], padding=2, fontsize=7.5)
        axes.set_title(title)
        axes.set_yticks(range(len(counts)), list(counts))
        axes.set_ylim(len(counts) - 0.5, -0.5)
        axes.set_xlim(0, 1.2 * max([*values, 0.01]))
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="y", visible=False)
    return figure
