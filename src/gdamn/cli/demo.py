"""``gdamn demo``: in one minute, what the method is for: a noisy graph, and what a model makes of it.

The graph joins images of handwritten digits that look alike; as many edges again are planted between different
digits. GDAMN should cut the planted edges and keep the true ones, a plain GCN has to live with them, and an MLP,
which sees no edges at all, shows what the edges are worth.
"""

from __future__ import annotations

from typing import Any

from ..runs.text import percent
from . import display, progress
from .root import app, reporting

DATASET = "digits"
NOISE = 1.0
METHODS = (
    ("gdamn", "learns which edges to trust"),
    ("gcn", "trusts every edge"),
    ("mlp", "sees no edges"),
)


@app.command(epilog="Example: gdamn demo")
@reporting()
def demo() -> None:
    """Show in a minute how a noisy graph is cleaned; needs no download and writes no files."""
    run_demo()


def run_demo(seed: int = 0, settings: dict[str, dict[str, Any]] | None = None) -> dict[str, Any]:
    """Train the three methods on the same noisy graph and split, and show how they did; writes no files.

    Args:
        seed: seed of the split, of the noise and of the models.
        settings: settings per method, in place of its own.
    """
    with progress.ProgressView(first=f"making the {DATASET} graph"):
        from .. import data
        from ..estimators import registry as methods
        from ..estimators.accuracy import short
        from ..runs import run as runs

        graph = data.load(DATASET, seed=seed, noise=NOISE)
    planted = int(graph.meta["planted"].sum()) // 2
    nodes = int(graph.test_mask.sum())
    display.sentence(
        f"The {DATASET} graph: {graph.num_nodes:,} images of handwritten digits, {int(graph.train_mask.sum())} of "
        f"them labelled for training; {graph.num_edges:,} edges between images, {planted:,} of them planted between "
        "different digits."
    )
    rows: list[tuple[str, ...]] = []
    result: dict[str, Any] = {"accuracy": {}, "nodes": nodes, "noise": None}
    plan = progress.Plan.of(methods.make("gdamn", DATASET, overrides=(settings or {}).get("gdamn")).settings)
    with progress.ProgressView(label="") as view:
        view.expect(len(METHODS), plan)
        for name, what in METHODS:
            model = methods.make(name, DATASET, seed=seed, overrides=(settings or {}).get(name, {}))
            model.fit(graph, progress=_named(view, name))
            accuracy = model.score("test")
            result["accuracy"][name] = accuracy
            rows.append((name, what, short(accuracy, nodes), f"{model.seconds_:.1f}"))
            if model.edge_weights_ is not None and result["noise"] is None:
                result["noise"] = runs.noise_report(graph, model.edge_weights_)
    columns = ("method", "what it does", f"test accuracy, {nodes:,} nodes", "seconds")
    display.show_rows("Three methods on the same noisy graph", columns, rows, right=columns[2:])
    display.sentence(display.INTERVAL)
    if result["noise"]:
        _show_noise(result["noise"], graph.num_edges - planted)
    display.note("Next: gdamn train cora --seeds 5 trains on a benchmark; gdamn data list shows the others.")
    return result


def _named(view: Any, name: str) -> Any:
    """The progress of one method."""
    return lambda phase, epoch, epochs, record: view.update(name, phase, epoch, epochs, record)


def _show_noise(noise: dict[str, float], true: int) -> None:
    """What gdamn did to the edges."""
    planted = noise["planted"]
    rows = [
        ("planted edges that were cut", f"{noise['cut_share'] * planted:,.0f} of {planted:,.0f}"),
        ("true edges that were kept", f"{noise['true_kept_share'] * true:,.0f} of {true:,.0f}"),
        ("edge weight between classes, before", percent(noise["inter_class_weight_before"])),
        ("edge weight between classes, after", percent(noise["inter_class_weight_after"])),
        ("ROC-AUC, true against planted", f"{noise['hard_auc']:.3f}"),
    ]
    display.show_rows("What gdamn did to the edges", ("what", "value"), rows, right=("value",))
