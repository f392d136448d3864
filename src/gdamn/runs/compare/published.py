"""Fits that published files have: they count as finished, so that a long table can grow over many runs.

A fit is taken over where its settings are the ones that are asked for. What was not published (seconds, memory, scores
beside accuracy) stays unknown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..replicate import read_results_of
from ..spec import RunSpec
from ..store import Store, difference
from .fits import fit_work


def read_published(paths: Sequence[Path]) -> list[dict[str, Any]]:
    """The results of runs, comparisons and tables (:func:`gdamn.runs.replicate.read_results_of`)."""
    return [result for path in paths for result in read_results_of(path)]


def take_over(results: Sequence[Mapping[str, Any]], specs: Sequence[RunSpec], folder: Path) -> int:
    """Keep the published fits that these runs ask for and the folder lacks; returns how many."""
    store, taken = Store(folder), 0
    for spec in (spec.resolved() for spec in specs):
        for result in (result for result in results if result["method"] == spec.method):
            for seed, fit in published_fits(result):
                work = fit_work(spec, seed)
                same = not difference({**result["config"], "seeds": [seed]}, work.config)
                if same and seed in spec.seeds and store.read_record(work.path) is None:
                    versions = result.get("versions", {"gdamn": "published"})
                    store.write(work.path, {"config": work.config, "versions": versions, "result": fit})
                    taken += 1
    return taken


def published_fits(result: Mapping[str, Any]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each seed of a result with what is known of its fit."""
    protocol, seeds = result["protocol"], result["protocol"]["seeds"]
    kind, _, listed = protocol["split"].partition(": ")
    used = listed.split(", ") if listed else []
    unknown = [None] * len(seeds)
    known = {
        "epochs": result.get("epochs_per_seed", unknown),
        "seconds": result.get("seconds_per_seed", unknown),
        "split": used if len(used) == len(seeds) else [kind] * len(seeds),
    }
    for part in ("test", "val"):
        known[f"{part}_accuracy"] = result[f"{part}_accuracy"]["per_seed"]
        known[f"{part}_nodes"] = result[f"{part}_accuracy"].get("nodes", unknown)
    for at, seed in enumerate(seeds):
        fit = {name: values[at] for name, values in known.items()}
        yield seed, {"selection": protocol["selection"], "peak_rss_mb": None, "noise": None, **fit}
