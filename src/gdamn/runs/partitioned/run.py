"""One seed of a run on a partitioned graph, by every rank alike; what all nodes decide comes by collectives.

Every rank writes the files of its parts (files.py), rank 0 the history and the networks.
"""

from __future__ import annotations

import shutil
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from ...data.files.reader import load_parts
from ...graph.parts import PartitionedGraph
from ...system import folders, io
from .. import failures, seed_records
from ..spec import RunSpec
from .files import NETWORKS, forget

if TYPE_CHECKING:
    from ...estimators.base import NodeClassifier
    from ...fit.domains.ranks.group import Group
    from ...fit.domains.ranks.parts import PartsFit
    from ...fit.training import Watch
    from ..pool import SeedProgress

FILES = ("history.jsonl", NETWORKS)
"""What rank 0 writes of a seed."""


def run_seed(
    spec: RunSpec,
    out: Path,
    group: Group | None,
    seed: int,
    progress: SeedProgress | None = None,
    checkpoint_every: float | None = None,
) -> dict[str, Any]:
    """Train, measure and write a seed; the same on every rank. Returns what the summary needs of it."""
    from ...fit.checkpoint import keeping, seconds_before
    from ..ranks import team
    from ..run import make_estimator

    graph = team.together(lambda: load_graph(spec, group), group)
    estimator = make_estimator(spec, seed)
    started = time.perf_counter()
    with (
        keeping(seed_records.checkpoints(out, seed), checkpoint_every),
        failures.as_training_errors(spec.method),
        estimator.fit_parts(graph, progress, group) as fit,
    ):
        seconds = time.perf_counter() - started + seconds_before()
        measured = _measured(graph, estimator, fit, seconds)
        _write(out / f"seed-{seed}", graph, estimator, fit)
    return measured


def follow_parts(spec: RunSpec, out: Path, group: Group, seed: int) -> None:
    """The part of a rank that doesn't lead: its files lie in a folder of the same name, perhaps on another disk."""
    from ..ranks import team

    def prepared() -> bool:
        folders.check(out, "run")
        folders.mark(io.make_folder(out), "run")
        return True

    team.together(prepared, group)
    run_seed(spec, out, group, seed)
    finished(out, group, seed)


def finished(out: Path, group: Group | None, seed: int) -> None:
    """All ranks have written their files, and rank 0 its record: nobody needs the checkpoints any more."""
    if group is not None:
        group.total(torch.zeros(1))
        kept = seed_records.checkpoints(out, seed)
        shutil.rmtree(kept, ignore_errors=True)
        with suppress(OSError):  # rank 0's record of the seed lies there where the disk is shared
            kept.parent.rmdir()


def load_graph(spec: RunSpec, group: Group | None) -> PartitionedGraph:
    """The graph, with the parts of this rank checked."""
    from ...fit.domains.ranks.parts import part_bounds

    graph = load_parts(spec.dataset, spec.options)
    rank, size = (0, 1) if group is None else (group.rank, group.size)
    bounds = part_bounds(graph, size)
    for part in graph.parts[int(bounds[rank]) : int(bounds[rank + 1])]:
        part.check()
    return graph


def _measured(graph: PartitionedGraph, estimator: NodeClassifier, fit: PartsFit, seconds: float) -> dict[str, Any]:
    """What a summary tells of a fit; plain data, the same on every rank. Test labels are read here alone."""
    from ...estimators.chosen_epoch import before_em, selection_of
    from ...estimators.remarks import remarks
    from ..run import peak_rss_mb
    from .measure import class_tables, scores_of

    watch, share = fit.watch, fit.problem.share
    assert share is not None
    best = watch.best or {}
    tables = class_tables(fit.problem, graph, fit.probabilities.argmax(1).cpu().numpy())
    ranks = share.group.ask_all([peak_rss_mb(), len(fit.problem.parts), int(fit.problem.num_nodes)])
    return {
        "split": graph.meta.get("split"),
        "selection": selection_of(estimator.settings, best, share.counts.val > 0),
        **scores_of(tables, graph.class_names),
        "before_em": before_em(best, watch.history, "posterior" in fit.state),
        "remarks": remarks(best, {}),
        "seconds": seconds,
        "epochs": len(watch.history),
        "peak_rss_mb": max(peak for peak, *_ in ranks),
        "ranks": [{"peak_rss_mb": peak, "parts": parts, "nodes": nodes} for peak, parts, nodes in ranks],
        "batch": fit.mode,
        "epoch_seconds": _epoch_seconds(watch),
        "label_noise": None,
        "noise": None,
    }


def _epoch_seconds(watch: Watch) -> dict[str, float]:
    """The shortest epoch of each phase."""
    seconds: dict[str, float] = {}
    for record, took in zip(watch.history, watch.timings, strict=True):
        seconds[record["phase"]] = min(took, seconds.get(record["phase"], took))
    return seconds


def _write(folder: Path, graph: PartitionedGraph, estimator: NodeClassifier, fit: PartsFit) -> None:
    """Every rank writes the tables of its parts, rank 0 the history and the networks; all have done so at the end."""
    import dataclasses
    import json

    from safetensors.numpy import save

    from .writing import temperature_of_all, write_edges, write_nodes

    share = fit.problem.share
    assert share is not None
    temperature = temperature_of_all(fit)
    there = {"pseudo_labels": fit.pseudo_labels is not None, "edges": fit.weighs_edges}
    kinds = ["predictions", "probabilities", *(kind for kind, known in there.items() if known)]
    (folder.parent / "summary.json").unlink(missing_ok=True)  # from now on it tells of other files
    forget(folder, len(graph.parts), kinds)
    write_nodes(folder, graph, fit, temperature.value)
    write_edges(folder, graph, fit)
    if share.group.leads:
        for name in ("model.gdamn", "predictions.csv", "edges.csv"):
            (folder / name).unlink(missing_ok=True)  # of a run on a whole graph
        networks = {name: value.cpu().numpy() for name, value in fit.networks.items()}
        head = {
            "method": estimator.method,
            "settings": dataclasses.asdict(estimator.settings),
            "class_names": list(graph.class_names),
            "best_epoch": fit.watch.best,
            "temperature": dataclasses.asdict(temperature),
            "digest": graph.digest,
        }
        io.write_bytes(folder / NETWORKS, save(networks, metadata={"gdamn": json.dumps(head)}))
        io.write_jsonl(folder / "history.jsonl", fit.watch.history)
    share.group.total(torch.zeros(1))  # nobody goes on before all have written
