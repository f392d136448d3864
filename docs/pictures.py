"""The pictures of the README and of the guides, drawn from fits on the digits that come with scikit-learn.

python docs/pictures.py        # three minutes of one core; writes docs/pictures
"""

from __future__ import annotations

import io
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from PIL import Image
from sklearn.manifold import TSNE

from gdamn import load
from gdamn.colours import CLASSES, CUT, EDGE, STYLE
from gdamn.estimators import registry

RIVAL = "best of seven simple methods"
FOLDER = Path(__file__).parent / "pictures"


def main() -> None:
    """Fit once as ``gdamn demo`` does, and draw."""
    graph = load("digits", seed=0, noise=1.0)
    model = registry.make("gdamn", "digits", seed=0, overrides={}).fit(graph)
    weights = model.edge_weights_
    assert weights is not None
    FOLDER.mkdir(exist_ok=True)
    by_command()
    with matplotlib.rc_context({**STYLE, "font.size": 11}):
        save(before_after(graph, *undirected(graph, weights)), "before-after")
        save(attention(graph, *undirected(graph, weights)), "hard-attention")
        save(few_labels(), "few-labels")
        save(label_next(), "label-next")


def by_command() -> None:
    """The pictures that commands draw, made smaller."""
    with tempfile.TemporaryDirectory() as folder:
        run, made = Path(folder) / "digits", Path(folder) / "made.png"
        gdamn = [sys.executable, "-m", "gdamn"]
        subprocess.run([*gdamn, "train", "digits", "--noise", "1", "--out", run], check=True, capture_output=True)
        for name, command in {"explain": ["explain", run, "1553"], "inspect": ["inspect", "digits"]}.items():
            subprocess.run([*gdamn, *command, "--plot", made, "--force"], check=True, capture_output=True)
            image = Image.open(made).convert("RGB")
            small(image.resize((880, round(image.height * 880 / image.width))), name)


def undirected(graph: Any, weights: Any) -> tuple[Any, Any]:
    """The ends [2, E] of each edge once, and the mean hard attention of its directions."""
    once = graph.rows < graph.indices
    hard = (weights["hard"] + weights["hard"][graph.reverse]) / 2
    return np.stack([graph.rows[once], graph.indices[once]]), hard[once]


def before_after(graph: Any, ends: Any, hard: Any) -> Figure:
    """The graph as it was given, and the edges that were kept; nodes lie by the likeness of their images."""
    place = TSNE(random_state=0, init="pca").fit_transform(np.asarray(graph.features))
    wrong = graph.labels[ends[0]] != graph.labels[ends[1]]
    kept = hard >= 0.5
    figure = Figure(figsize=(10, 5.4), layout="constrained")
    for axes, shown, title in zip(figure.subplots(1, 2), (np.ones_like(kept), kept), ("Given", "Kept"), strict=True):
        for chosen, colour, alpha in ((shown & ~wrong, EDGE, 0.25), (shown & wrong, CUT, 0.05 if shown.all() else 0.4)):
            lines = place[ends[:, chosen]].transpose(1, 0, 2)
            axes.add_collection(LineCollection(lines, colors=colour, alpha=alpha, linewidths=0.4))
        colours = [CLASSES[label % len(CLASSES)] for label in graph.labels]
        axes.scatter(*place.T, c=colours, s=5, linewidths=0, zorder=3)
        for label in range(graph.num_classes):
            middle = np.median(place[graph.labels == label], axis=0)
            box = {"boxstyle": "circle,pad=0.15", "fc": "white", "ec": "none", "alpha": 0.85}
            axes.text(*middle, graph.class_names[label], ha="center", va="center", weight="bold", bbox=box, zorder=4)
        count = f"{int((shown & wrong).sum()):,} of {int(shown.sum()):,} edges join different digits"
        axes.set_title(f"{title}: {count}", fontsize=11)
        axes.set_axis_off()
        axes.autoscale_view()
    return figure


def attention(graph: Any, ends: Any, hard: Any) -> Figure:
    """How the hard attention tells edges within a class from those between classes."""
    wrong = graph.labels[ends[0]] != graph.labels[ends[1]]
    figure = Figure(figsize=(7, 2.8), layout="constrained")
    axes = figure.subplots()
    bins = np.linspace(0, 1, 21)
    axes.hist([hard[~wrong], hard[wrong]], bins, color=[EDGE, CUT], label=["same digit", "different digits"])
    axes.axvline(0.5, color="black", lw=1, ls="--")
    axes.set(xlabel="hard attention: the probability that the edge should be there", ylabel="edges", yscale="log")
    axes.legend(title="the edge joins", loc="upper center", bbox_to_anchor=(0.68, 1))
    return figure


def rows(page: str, head: str) -> list[list[str]]:
    """The cells of a table of the evidence, so that a figure has the numbers that stand there."""
    text = (FOLDER.parent / "evidence" / page).read_text(encoding="utf-8")
    lines = text[text.index(head) :].split("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def few_labels() -> Figure:
    """Ours beside the best rival, a row per graph: 5 labels a class, and 20."""
    found = rows("few-labels.md", "| graph | ours at 5 / 10 / 20 labels")
    figure = Figure(figsize=(8, 3), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    for axes, at, title in zip(panels, (0, -1), ("5 labels a class", "20 labels a class"), strict=True):
        for place, (_, ours, rivals, _) in enumerate(found):
            own, best = float(ours.split(" / ")[at]), float(rivals.split(", ")[at].split()[-1])
            axes.plot([best, own], [place, place], color=EDGE, lw=2, zorder=1)
            axes.scatter([best], [place], color="white", edgecolors=EDGE, s=45, label=None if place else RIVAL)
            axes.scatter([own], [place], color=CLASSES[0], s=45, zorder=3, label=None if place else "gdamn")
        axes.set(title=title, xlabel="accuracy, %")
        axes.grid(axis="x")
    panels[0].set_yticks(range(len(found)), [row[0].partition(" (")[0].partition(" with ")[0] for row in found])
    panels[0].invert_yaxis()
    panels[0].legend(fontsize=9)
    return figure


def label_next() -> Figure:
    """Accuracy as labels are added, by who chose them."""
    found = [row for row in rows("label-next.md", "| data (seeds)") if row[0].startswith(("Cora", "Pubmed"))]
    looks = {"random": (EDGE, "o"), "uncertainty": (CLASSES[1], "s"), "diverse": (CLASSES[0], "D")}
    figure = Figure(figsize=(8, 3), layout="constrained")
    for axes, data in zip(figure.subplots(1, 2), ("Cora", "Pubmed"), strict=True):
        for name, rule, *values in found:
            if name.startswith(data) and rule in looks:
                colour, marker = looks[rule]
                axes.plot(range(0, 70, 10), [float(v) for v in values[:7]], color=colour, marker=marker, label=rule)
        axes.set(title=data, xlabel="labels added", ylabel="accuracy, %")
        axes.grid()
    axes.legend()
    return figure


def save(figure: Figure, name: str) -> None:
    """Write a PNG, which is small and the same each time."""
    drawn = io.BytesIO()
    figure.savefig(drawn, dpi=110)
    small(Image.open(drawn).convert("RGB"), name)


def small(image: Image.Image, name: str) -> None:
    """Keep 64 colours."""
    image.quantize(64).save(FOLDER / f"{name}.png", optimize=True)


if __name__ == "__main__":
    main()
