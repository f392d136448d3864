"""docs/evidence/performance.png: epochs by data set, growth with the number of edges, and the kernels.

python benchmarks/plot.py      # draws it again from results.json
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import matplotlib as mpl
import summary
from matplotlib.axes import Axes

mpl.use("Agg")
from matplotlib import pyplot as plt

from gdamn.colours import BLUE, GREEN, ORANGE, PINK, SOFT, STYLE

SERIES = (
    ("gdamn", "GDAMN, mean epoch (ours)", BLUE, "o"),
    ("gmnn", "GMNN, mean epoch (ours)", GREEN, "s"),
    ("pyg-gcn", "PyG GCN, step", PINK, "^"),
    ("pyg-gat", "PyG GAT, step", ORANGE, "D"),
    ("pyg-gcn-csr", "PyG GCN, step, torch CSR", SOFT, "v"),
)
DATASETS = ("cora", "citeseer", "pubmed", "coauthor-cs", "coauthor-physics", "arxiv")


def draw(results: dict[str, Any], path: Path) -> None:
    """Four panels, one quantity each; one without measurements says so."""
    plt.rcParams.update({**STYLE, "font.size": 10})
    figure, axes = plt.subplots(2, 2, figsize=(12, 9.6), layout="constrained")
    for axis, panel in zip(axes.flat, (epochs, products, scaling, memory), strict=True):
        if not panel(results, axis):
            axis.text(0.5, 0.5, "not measured", ha="center", va="center", transform=axis.transAxes, color=SOFT)
    temporary = path.with_name(f".{path.name}")
    figure.savefig(temporary, dpi=100, format="png", metadata={"Software": ""})
    temporary.replace(path)
    plt.close(figure)


def epochs(results: dict[str, Any], axis: Axes) -> bool:
    """A dot per method, on a scale of powers of ten: equal distances are equal ratios."""
    names = [name for name in DATASETS if summary.runs(results, name)]
    axis.set_title("One epoch of ours, one training step of theirs")
    for label, title, colour, mark in SERIES:
        measure = summary.step_seconds if label.startswith("pyg") else summary.epoch_seconds
        points = [(measure(results, name, label), at) for at, name in enumerate(names)]
        points = [(seconds, at) for seconds, at in points if seconds is not None]
        if points:
            axis.scatter(*zip(*points, strict=True), color=colour, marker=mark, s=60, label=title, zorder=3)
    if not names:
        return False
    axis.set_xscale("log")
    axis.set_yticks(range(len(names)), names)
    axis.set_ylim(len(names) - 0.5, -0.5)
    axis.set_xlabel("seconds (less is better)")
    axis.grid(axis="x", which="both", color="#e4e4e4", zorder=0)
    axis.hlines(range(len(names)), *axis.get_xlim(), color="#eeeeee", zorder=0)
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncol=2, frameon=False)
    return True


def scaling(results: dict[str, Any], axis: Axes) -> bool:
    """Epoch time over edges with its fitted power law."""
    axis.set_title("Growing graphs: time of GDAMN")
    points = summary.sbm_points(results)
    if not points:
        return False
    edges, seconds = zip(*points, strict=True)
    axis.plot(edges, seconds, "o", color=BLUE, markersize=8, label="mean epoch")
    law = summary.power_law(points)
    if law:
        fitted = [law[1] * e ** law[0] for e in edges]
        axis.plot(edges, fitted, "-", color=BLUE, alpha=0.5, label=f"fit: edges^{law[0]:.2f}")
    growing(axis, "seconds of an epoch")
    axis.legend(frameon=False)
    return True


def memory(results: dict[str, Any], axis: Axes) -> bool:
    """Peak memory over edges."""
    axis.set_title("Growing graphs: memory of GDAMN")
    edges = [edges for edges, _ in summary.sbm_points(results)]
    if not edges:
        return False
    labels = sorted({r["label"] for r in summary.runs(results, "sbm")}, key=int)
    peaks = [(summary.peak(results, "sbm", label) or 0) / 1e9 for label in labels]
    axis.plot(edges, peaks, "D--", color=ORANGE)
    growing(axis, "peak memory, GB")
    return True


def growing(axis: Axes, what: str) -> None:
    """Both axes in powers of ten."""
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xlabel("undirected edges")
    axis.set_ylabel(what)
    axis.grid(which="major")


def products(results: dict[str, Any], axis: Axes) -> bool:
    """Each product: ours, torch's two ways, and the bytes at copy speed as two lines to reach."""
    axis.set_title("Sparse products")
    found, speed = summary.runs(results, "kernels"), summary.copy_speed(results)
    if not found or speed is None:
        return False
    axis.set_title(f"Sparse products, {found[0]['entries']:,} entries × {found[0]['width']} columns")
    names = ("spmm", "spmm_t", "sddmm")
    ways = (
        ("", "ours", BLUE, ""),
        (" torch csr", "torch CSR", GREEN, "//"),
        (" index_add", "torch gather", ORANGE, ".."),
    )
    for shift, (suffix, title, colour, hatch) in enumerate(ways):
        keys = [f"{n}{' gather' if n == 'sddmm' and suffix == ' index_add' else suffix}" for n in names]
        bars = [(at, summary.product_seconds(results, k)) for at, k in enumerate(keys) if k in found[0]["seconds"]]
        places = [at + (shift - 1) * 0.26 for at, _ in bars]
        heights = [s for _, s in bars]
        axis.bar(places, heights, 0.25, color=colour, hatch=hatch, edgecolor="white", label=title)
    for count, style in (("gathered", "-"), ("compulsory", ":")):
        levels = [found[0]["bytes"][n][count] / speed[0] for n in names]
        starts = [at - 0.42 for at in range(len(names))]
        ends = [at + 0.42 for at in range(len(names))]
        axis.hlines(levels, starts, ends, color="black", linestyle=style, label=f"{count} bytes at copy speed")
    axis.set_yscale("log")
    axis.set_ylabel("seconds (less is better)")
    axis.set_xticks(range(len(names)), ["A X (spmm)", "gradient on X\n(transposed)", "gradient on A\n(sddmm)"])
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncol=2, frameon=False)
    return True


if __name__ == "__main__":
    here = Path(__file__).parent
    found = json.loads((here / "results.json").read_text(encoding="utf-8"))["benchmarks"]
    draw(found, here.parent / "docs/evidence/performance.png")
