"""``gdamn replicate``: run a published result again from its own file and compare, seed by seed."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import DataError
from ..estimators.accuracy import measured, nodes_at
from .execution import DEFAULT, Execution
from .pool import Progress
from .result_file import check_result, read_json
from .spec import RunSpec


def read_results_of(path: Path) -> list[dict[str, Any]]:
    """The results of a file: one of a ``summary.json``, several of a ``compare.json`` or a table.

    A result has ``config``, ``test_accuracy`` and ``protocol``, as ``gdamn train`` writes it and ``results/`` keeps it.
    """
    return [check_result(result, path) for result in _several(read_json(path), path)]


def _several(content: Any, path: Path) -> list[Any]:
    """The results in a file's content, as its kind tells."""
    kind = content.get("kind") if isinstance(content, dict) else None
    try:
        if kind == "comparison":
            return list(content["results"])
        if kind == "table":
            return [result for compared in content["comparisons"].values() for result in compared["results"]]
    except (KeyError, TypeError, AttributeError):
        raise DataError(f"'{path}' says that it is a {kind}, but has no results as one has.") from None
    return [content]


def is_single(path: Path) -> bool:
    """Whether a file holds one run, and not a comparison or a table."""
    return "kind" not in read_json(path)


def read_result(path: Path, method: str | None = None, dataset: str | None = None) -> dict[str, Any]:
    """One result of a file; method and data set choose where it has several."""
    results = read_results_of(path)
    matching = [r for r in results if method in (None, r["method"]) and dataset in (None, r["dataset"])]
    if len(matching) == 1:
        return matching[0]
    names = ", ".join(f"{r['method']} on {r['dataset']}" for r in (matching or results)[:40])
    raise DataError(f"'{path}' has {names or 'no result'}; choose one with --method and --dataset.")


def replicate(
    path: Path,
    *,
    method: str | None = None,
    dataset: str | None = None,
    most_seeds: int | None = None,
    execution: Execution = DEFAULT,
    progress: Progress | None = None,
) -> list[dict[str, Any]]:
    """Train the result's seeds again (the first ``most_seeds``) and return a row per seed: published and now."""
    from .run import run

    published = read_result(path, method, dataset)
    spec = RunSpec.from_dict(published["config"], str(path)).as_written()
    seeds = spec.seeds[:most_seeds]
    with tempfile.TemporaryDirectory() as folder:
        now = run(replace(spec, seeds=seeds), Path(folder), execution, progress=progress)
    accuracy = now["test_accuracy"]
    return [
        {
            "seed": seed,
            "published": old,
            "now": new,
            "same": old == new,
            **about(new, nodes_at(accuracy, at)),
        }
        for at, (seed, old, new) in enumerate(
            zip(seeds, published["test_accuracy"]["per_seed"], accuracy["per_seed"], strict=False)
        )
    ]


def about(value: float | None, nodes: int | None) -> dict[str, Any]:
    """The nodes and the 95 % interval of an accuracy."""
    return {key: entry for key, entry in measured(value, nodes).items() if key != "accuracy"}
