"""One run: a data set, a method and some seeds, trained, measured and written to a folder.

Seeds are independent of each other: each has its own split (where the data set has no fixed one) and its own
estimator, so they may be trained in any number of processes with the same result.
"""

from __future__ import annotations

import math
import re
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..data.progress import Progress as ReadProgress
from ..data.progress import silent
from ..errors import OutputError
from ..estimators import custom as own_methods
from ..estimators.accuracy import with_nodes
from ..system import folders, io, lock, reading
from ..system.folders import is_parts
from ..system.processor import processor
from ..system.versions import versions
from . import answers, class_scores, failures, pool, seed_records
from .confidence import confidence_warning
from .decided import check_log, keep_log, record_of, with_decisions
from .execution import DEFAULT, Execution
from .partitioned import files as part_files
from .planted import noise_report as noise_report
from .pool import Progress, SeedProgress
from .reference.of_run import known_start, of_run, start_record
from .spec import RunSpec
from .spread import spread as spread
from .store import Store, stoppable

if TYPE_CHECKING:
    from ..estimators.base import NodeClassifier
    from ..fit.domains.ranks.group import Group
    from ..graph.graph import Graph

SEED_FILES = ("model.gdamn", "predictions.csv", "edges.csv", "history.jsonl")
RUN_FILES = ("config.toml", "summary.json", "encoder.json", "report.html")


def run(
    spec: RunSpec,
    out: Path,
    execution: Execution = DEFAULT,
    *,
    progress: Progress | None = None,
    read_progress: ReadProgress = silent,
    group: Group | None = None,
    reference: Mapping[str, Any] | bool = False,
) -> dict[str, Any]:
    """Train every seed of a run, write its folder and return the summary.

    ``summary.json`` is written last: a folder that has one holds a finished run. A finished run of the same
    configuration is written again; one of another configuration is kept unless ``force``. The standard deviations
    are those of a sample (divided by n - 1), and 0 for a single seed. A run that was stopped is resumed: finished
    seeds are kept, the others continue from their checkpoints. The ranks of a ``group`` train each model together.
    The summary of a run with a ``reference`` (reference/) has it, too: one that is known already, or a new one.
    """
    folders.check(out, "run")
    threads = execution.threads_for(len(spec.seeds))
    with pool.thread_variables(threads):  # before the first import of what reads them
        spec = spec.resolved()
        config = spec.to_toml()
        if not execution.force:
            check_unfinished(out, config)
        check_log(spec, out)
        with working_in(out, "run"):
            seed_files = (f"seed-{seed}/{name}" for seed in spec.seeds for name in SEED_FILES)
            Store(out).remove_leftovers([*RUN_FILES, *seed_files])
            results = finished_seeds(spec, out)
            missing = [seed for seed in spec.seeds if seed not in results]
            in_process = min(execution.jobs, len(missing)) <= 1  # a worker process has no view to draw on
            reading_view = read_progress if in_process else silent
            work = partial(run_seed, spec, out, execution, group, read_progress=reading_view)
            with (
                stoppable(results, len(spec.seeds), "seeds"),
                pool.handed_out(work, missing, execution.jobs, threads, progress) as each,
            ):
                for seed, result in each:
                    results[seed] = result()
            remove_stale(out, spec.seeds)
            if reference is True:
                reading_view("simple methods", 0, 1)
                first = spec.seeds[0]
                known = known_start(results[first])
                reference = of_run(lambda: load_graph(spec, execution.data_root, first), first, known)
                reading_view("simple methods", 1, 1)
            summary = summarise(spec, [results[seed] for seed in spec.seeds])
            summary.update({"reference": reference} if reference else {})
            keep_log(spec, out)
            io.write_text(out / "config.toml", config)
            io.write_json(out / "summary.json", summary)
    return summary


@contextmanager
def working_in(out: Path, kind: str) -> Iterator[None]:
    """No other run may write to the folder within the block; when it ends well, nothing of the run is unfinished."""
    folders.check(out, kind)
    with lock.alone_in(out, kind) as outermost:
        yield
        if outermost:
            Store(out).forget()


def finished_seeds(spec: RunSpec, out: Path) -> dict[int, dict[str, Any]]:
    """The results of the seeds that an earlier attempt finished."""
    records = {seed: seed_records.find_seed(out, seed, identity(spec, seed)) for seed in spec.seeds}
    return {seed: result for seed, result in records.items() if result is not None}


def identity(spec: RunSpec, seed: int) -> dict[str, Any]:
    """What must be the same for the result of a seed to be the same."""
    return {"config": replace(spec, seeds=(seed,)).to_toml(), "versions": versions()}


def check_unfinished(out: Path, config: str) -> None:
    """Refuse a folder that holds a finished run of another configuration."""
    config_file = out / "config.toml"
    if not (out / "summary.json").exists():
        return
    if not config_file.is_file() or reading.read_bytes(config_file, reading.MOST_TOML) != config.encode():
        raise OutputError(f"'{out}' holds a finished run of another configuration; pass --force or another --out.")


def remove_stale(out: Path, seeds: Sequence[int]) -> None:
    """Remove what an earlier run left for seeds that this one doesn't have; files of other names stay."""
    for folder in out.glob("seed-*"):
        number = re.fullmatch(r"seed-(\d+)", folder.name)
        if number is None or int(number[1]) in seeds or not folder.is_dir() or folder.is_symlink():
            continue
        for name in SEED_FILES:
            (folder / name).unlink(missing_ok=True)
        if not any(folder.iterdir()):
            folder.rmdir()


def run_seed(
    spec: RunSpec,
    out: Path,
    execution: Execution,
    group: Group | None,
    seed: int,
    progress: SeedProgress | None,
    read_progress: ReadProgress = silent,
) -> dict[str, Any]:
    """Train and measure one seed, write its folder and return what the summary needs of it; plain data."""
    from ..fit.checkpoint import keeping
    from .ranks import team

    if is_parts(spec.dataset):
        from .partitioned import run as partitioned

        team.announce(group, seed)
        team.together(lambda: True, group)  # the others' folders can be written
        measured = partitioned.run_seed(spec, out, group, seed, progress, execution.checkpoint_every)
        seed_records.save_seed(out, seed, identity(spec, seed), partitioned.FILES, measured)
        partitioned.finished(out, group, seed)
        return measured
    graph = team.read_together(group, seed, lambda: load_graph(spec, execution.data_root, seed, read_progress))
    kept = keeping(seed_records.checkpoints(out, seed), execution.checkpoint_every)
    with kept, failures.as_training_errors(spec.method):
        estimator = make_estimator(spec, seed)
        ranks: dict[str, Any] = {} if group is None else {"group": group}  # a user's own method may not have it
        estimator.fit(answers.shown_to(spec.method, graph), progress=progress, **ranks)
        measured = measure(graph, estimator)
    write_seed(out / f"seed-{seed}", graph, estimator)
    if "encoder" in graph.meta:  # own files: new ones can be read in the same way
        io.write_json(out / "encoder.json", {**graph.meta["encoder"], "class_names": list(graph.class_names)})
    seed_records.save_seed(out, seed, identity(spec, seed), SEED_FILES, measured)
    return measured


def load_graph(spec: RunSpec, data_root: Path | None, seed: int, read_progress: ReadProgress = silent) -> Graph:
    """The graph that a seed of the run is trained on."""
    from .. import data

    where: dict[str, Any] = {"data_root": data_root, "seed": seed, "progress": read_progress}
    return with_decisions(data.load(spec.dataset, noise=spec.noise, **where, **spec.options), spec)


def make_estimator(spec: RunSpec, seed: int) -> NodeClassifier:
    """The estimator of a seed, not yet fitted."""
    from ..estimators import registry as methods

    own_methods.register(spec.method)
    return methods.make(spec.method, spec.dataset, seed=seed, overrides=dict(spec.settings))


def measure(graph: Graph, estimator: NodeClassifier) -> dict[str, Any]:
    """What a summary tells of a fit; plain data. Test labels are read here and nowhere before.

    The estimator's own graph may lack them (answers.py), and a person's class may score in a way of its own.
    """
    from ..estimators.base import NodeClassifier
    from ..estimators.chosen_epoch import is_before_em
    from ..estimators.remarks import remarks

    weights = estimator.edge_weights_
    notes = {"notes": graph.meta["notes"]} if "notes" in graph.meta else {}
    made = {"noise_made": dict(graph.meta["noise"])} if "noise" in graph.meta else {}
    nodes = {part: int((graph.mask(part) & (graph.labels >= 0)).sum()) for part in ("test", "val")}
    return {
        "split": graph.meta.get("split"),
        "selection": estimator.protocol_["selection"],
        "test_accuracy": NodeClassifier.score_on(estimator, graph, "test") if nodes["test"] else None,
        "val_accuracy": NodeClassifier.score_on(estimator, graph, "val") if nodes["val"] else None,
        "test_nodes": nodes["test"],
        "val_nodes": nodes["val"],
        **start_record(estimator.best_epoch_),
        **class_scores.class_scores(graph, estimator),
        "before_em": is_before_em(estimator),
        "label_noise": estimator.best_epoch_.get("label_noise"),
        "decisions": estimator.protocol_.get("decisions"),
        "remarks": remarks(estimator.best_epoch_, estimator.protocol_),
        "seconds": float(estimator.seconds_),
        "epochs": int(estimator.epochs_),
        "peak_rss_mb": peak_rss_mb(),
        "processor": processor(),
        "noise": None if weights is None else noise_report(graph, weights),
        **made,
        **notes,
    }


def write_seed(folder: Path, graph: Graph, estimator: NodeClassifier) -> None:
    """Write the model, its predictions, its edge weights and its history.

    All of them are written before any takes its place, so that a full disk leaves an older run whole. Its
    ``summary.json`` goes in between, because from then on the folder doesn't hold what it tells of.
    """
    from ..estimators.predictions import of_fit

    columns = of_fit(estimator, graph).short_columns()
    weights = estimator.edge_weights_
    with ExitStack() as stack:
        names = [name for name in SEED_FILES if name != "edges.csv" or weights is not None]
        paths = {name: stack.enter_context(io.replacing(folder / name)) for name in names}
        estimator.save(paths["model.gdamn"])
        io.write_csv(paths["predictions.csv"], columns)
        if weights is not None:
            ends = {"source": graph.node_ids[graph.indices], "target": graph.node_ids[graph.rows]}
            attention = {name: weights[name] for name in ("hard", "soft", "stable")}
            io.write_csv(paths["edges.csv"], {**ends, **attention})
        io.write_jsonl(paths["history.jsonl"], estimator.history_)
        (folder.parent / "summary.json").unlink(missing_ok=True)
    if weights is None:
        (folder / "edges.csv").unlink(missing_ok=True)
    part_files.forget(folder)
    (folder / part_files.NETWORKS).unlink(missing_ok=True)


def summarise(spec: RunSpec, results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The content of ``summary.json``; accuracies are fractions."""
    summary = {
        "dataset": spec.dataset,
        "method": spec.method,
        "protocol": {
            "split": split_text(spec.dataset, [result["split"] for result in results]),
            "selection": results[0]["selection"],
            "seeds": list(spec.seeds),
        },
        "test_accuracy": spread_of(results, "test"),
        "val_accuracy": spread_of(results, "val"),
        **cross_fitted(results),
        **class_scores.over_seeds(results),
        **record_of(results),
        "seconds_per_seed": [result["seconds"] for result in results],
        "epochs_per_seed": [result["epochs"] for result in results],
        "peak_rss_mb": max((mb for result in results if (mb := result["peak_rss_mb"]) is not None), default=None),
        "config": spec.as_dict(),
        "versions": versions(),
    }
    kinds = sorted({result["processor"] for result in results if result.get("processor")})
    if kinds:
        summary["processors"] = kinds
    uncalibrated = confidence_warning(summary)
    if uncalibrated is not None:
        summary["confidence_warning"] = uncalibrated
    reports = [result["noise"] for result in results if result["noise"] is not None]
    if results[0].get("noise_made"):
        summary["noise_made"] = [result.get("noise_made") for result in results]
    if results[0].get("notes"):
        summary["notes"] = results[0]["notes"]
    early = [seed for seed, result in zip(spec.seeds, results, strict=True) if result.get("before_em")]
    if early:
        summary["labels_before_em"] = early
    said = [
        f"Seed {seed}: {text}"
        for seed, result in zip(spec.seeds, results, strict=True)
        for text in result.get("remarks", ())
    ]
    if said:
        summary["remarks"] = said
    judged = [result.get("label_noise") for result in results]
    if any(judged):
        summary["label_noise"] = judged
    if results[0].get("ranks"):
        summary.update({name: results[0][name] for name in ("ranks", "batch", "epoch_seconds")})
    if reports:
        summary["noise"] = {key: statistics.fmean(report[key] for report in reports) for key in reports[0]}
    return summary


def split_text(dataset: str, splits: Sequence[object]) -> str:
    """The kind of split, and which ones were used where there are several."""
    from .. import data

    kind = data.DATASETS[dataset].split if dataset in data.DATASETS else "own files"
    if dataset in data.DATASETS and splits and splits[0] in data.DATASETS[dataset].splits:
        return str(splits[0])
    used = [str(split) for split in dict.fromkeys(splits) if split is not None and split != kind]
    return f"{kind}: {', '.join(used)}" if used else kind


def spread_of(results: Sequence[Mapping[str, Any]], part: str) -> dict[str, Any]:
    """Accuracies on ``test`` or ``val`` nodes over the seeds, each with its nodes and its 95 % interval."""
    values, nodes = ([result.get(f"{part}_{what}") for result in results] for what in ("accuracy", "nodes"))
    return with_nodes(spread(values), nodes)


def cross_fitted(results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The accuracy on labels that were held out in turn, of what the fits started from; nothing for other fits."""
    if all(result.get("cross_fitted_accuracy") is None for result in results):
        return {}
    return {"cross_fitted_accuracy": spread_of(results, "cross_fitted")}


def peak_rss_mb() -> float:
    """The most memory this process has had at once, in MiB; nan where the system doesn't tell."""
    try:
        import resource
    except ImportError:  # Windows
        return math.nan
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20
