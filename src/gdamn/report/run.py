"""``report.html``: the page of a run, from the folder that ``gdamn train`` wrote."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import OutputError
from ..estimators.calibration import Calibration
from ..model.temperature import ENOUGH
from ..runs.partitioned.files import is_partitioned
from ..runs.spec import folder_name
from ..system import io
from ..system.extras import need
from ..using.run_folder import RunFolder
from . import attention, check_next, findings, measures, overview, sections
from . import reference as simple_methods
from .explorer import Budget, Shown, explorer, select
from .graph_map import make_map
from .map_picture import check_suffix, write_picture
from .node_names import node_names
from .page import LIMIT, RUN_SCRIPTS, render
from .seed_fit import EVALUATED, SeedFit, read_seed
from .text import link, visible

Watch = Callable[[int, int], None]
"""Called with the seeds that were read, and how many there are."""


@dataclass(frozen=True)
class SeedResult:
    """What a page keeps of every seed; its graph isn't among it.

    Attributes:
        validation: how many nodes calibrated its confidence; their kind, and their accuracy if cross-fitted.
        calibration: None where too few nodes tell it.
    """

    seed: int
    evaluated: str
    validation: int
    before_em: bool
    confusion: measures.Ints | None
    calibration: Calibration | None
    edges: measures.EdgeCounts | None
    history: list[dict[str, Any]]
    kind: str = "validation"
    accuracy: float | None = None


def write_run(
    folder: Path,
    target: Path | None = None,
    *,
    data_root: Path | None = None,
    seed: int | None = None,
    nodes: Sequence[str] = (),
    name: str | None = None,
    pictures: Sequence[Path] = (),
    watch: Watch | None = None,
) -> Path:
    """Write ``report.html`` of a finished run.

    Args:
        target: the page; ``report.html`` in the run's folder when left out.
        seed: the seed whose graph is shown; that of the highest validation accuracy when left out.
        nodes: ids that the explorer must have, where the graph is too large for all.
        name: column of the table of nodes with their names or texts.
        pictures: PNG or SVG files of the map, to be written as well.
    """
    need("A page", "matplotlib")
    if is_partitioned(folder):
        from .partitioned import write_partitioned

        return write_partitioned(folder, target, data_root, seed, {"--node": nodes, "--name": name, "--map": pictures})
    for path in pictures:
        check_suffix(path)
    run = RunFolder(folder, data_root)
    page = page_of(folder, target)
    explored_seed = run.best_seed(seed)
    names = node_names(run, name)
    explored: SeedFit | None = None
    results = []
    for fit in read_seeds(run, watch):
        results.append(measure(fit))
        if fit.seed == explored_seed:
            explored = fit
    assert explored is not None
    judged = check_next.judge(run, explored)
    shown = Shown(explored, judged, check_next.to_check(explored, judged), names)
    io.write_text(page, make_page(run, results, shown, page, nodes))
    for path in pictures:
        write_picture(path, shown, make_map(explored, select(shown, Budget(), ())))
    return page


def page_of(folder: Path, target: Path | None) -> Path:
    """Where the page goes."""
    page = target or folder / "report.html"
    if page.is_dir():
        raise OutputError(f"Can't write '{page}': a folder of that name stands there; choose another -o.")
    return page


def read_seeds(run: RunFolder, watch: Watch | None) -> Iterator[SeedFit]:
    """One seed after the other, since all graphs at once may not fit into memory."""
    for at, seed in enumerate(run.spec.seeds):
        yield read_seed(run, seed)
        if watch is not None:
            watch(at + 1, len(run.spec.seeds))


def measure(fit: SeedFit) -> SeedResult:
    """The numbers of a seed."""
    table = bins = None
    if fit.evaluated:
        chosen = fit.graph.mask(fit.evaluated) & (fit.graph.labels >= 0)
        labels, probabilities = fit.graph.labels[chosen], fit.probabilities[chosen]
        table = measures.confusion(labels, probabilities.argmax(axis=1), fit.graph.num_classes)
        seen = fit.evaluated == "train"  # of labels that the model has learned, the confidence tells nothing
        if not seen and min(len(labels), fit.temperature.nodes) >= ENOUGH:
            bins = Calibration.of(probabilities, labels)
    edges = None if fit.weights is None else measures.EdgeCounts.of(fit.graph, fit.weights["hard"])
    t = fit.temperature
    shown = fit.seed, fit.evaluated, t.nodes, fit.before_em
    return SeedResult(*shown, table, bins, edges, fit.history, t.kind, t.accuracy)


def make_page(run: RunFolder, results: Sequence[SeedResult], shown: Shown, page: Path, nodes: Sequence[str]) -> str:
    """The page as text; where it would be too large, the explorer knows fewer nodes."""
    fit = shown.fit
    context = {
        "title": f"{visible(run.spec.method)} on {visible(folder_name(run.spec.dataset))}",
        "findings": findings.findings(run, results, fit, shown.judged),
        "alerts": findings.alerts(run, results, fit, shown.judged),
        "check": check_next.words(shown.judged, shown.lists),
        "tiles": sections.tiles(run, results),
        "overview": overview.overview(run, fit),
        "settings": overview.settings(run),
        "seeds": sections.seeds(run),
        "classes": sections.classes(run, results, fit.graph.class_names),
        "reference": simple_methods.reference(run),
        "caveat": sections.caveat(results),
        "evaluated": EVALUATED.get(fit.evaluated, ""),
        "learning": sections.learning(results, fit),
        "attention": attention.attention(run, results, fit),
        "shown_seed": fit.seed,
        "several_seeds": len(results) > 1,
        "files": files(run, page),
        "commands": commands(run),
    }
    budget = Budget()
    while True:
        data = explorer(shown, budget, nodes)
        text = render("run.html", {**context, "explorer": data}, data, RUN_SCRIPTS)
        if len(text.encode("utf-8", "replace")) <= LIMIT or budget.nodes < 100:
            return text
        budget = budget.half()


def files(run: RunFolder, page: Path) -> dict[str, Any]:
    """Address, name and meaning of the files of the run, and those of each seed."""
    meanings = {
        "summary.json": "results of all seeds",
        "config.toml": "everything that decides the run",
        "encoder.json": "how the columns of your files became features",
    }

    def linked(seed: int | None = None) -> list[tuple[str, str, str]]:
        return [(link(path, page), visible(path.name), meanings.get(path.name, "")) for path in run.files(seed)]

    return {"run": linked(), "seeds": [(seed, linked(seed)) for seed in run.spec.seeds]}


def commands(run: RunFolder) -> list[tuple[str, str]]:
    """What a command does, and the command."""
    folder = str(run.path)
    return [
        ("Repeat the run", f"gdamn train --config {quoted_path(folder + '/config.toml')}"),
        ("Make this page again", f"gdamn report {quoted_path(folder)}"),
    ]


def quoted_path(path: str) -> str:
    """A path as a shell takes it."""
    return visible(shlex.quote(path), 400)
