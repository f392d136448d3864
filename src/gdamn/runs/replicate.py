"""``gdamn replicate``: run a published result again from its own file and compare, seed by seed."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import DataError
from ..estimators.accuracy import measured, nodes_at
from ..system.processor import processor
from .compare.paired import SURE, paired
from .execution import DEFAULT, Execution
from .pool import Progress
from .result_file import check_result, read_json
from .spec import RunSpec
from .text import p_equals, percent, signed


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


def agreement(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Whether the seeds agree in the mean where their bits don't; None where there are too few to tell.

    Returns:
        The means ``published`` and ``now``, and :func:`~gdamn.runs.compare.paired.paired` of now and published, with
        the ``standard_error`` of its difference.
    """
    now, published = ({row["seed"]: row[when] for row in rows} for when in ("now", "published"))
    test = paired(now, published)
    if test is None:
        return None
    both = [(now[s], published[s]) for s in now if now[s] is not None and published[s] is not None]
    new, old = (list(values) for values in zip(*both, strict=True))
    spread = statistics.stdev(a - b for a, b in both) / len(both) ** 0.5
    return {**test, "now": statistics.fmean(new), "published": statistics.fmean(old), "standard_error": spread}


def verdict(rows: Sequence[Mapping[str, Any]], published_on: Sequence[str] = ()) -> str:
    """What it means that some seeds differ, in words: the means, whether they agree, and the processors."""
    same = sum(row["same"] for row in rows)
    sentences = [f"{same} of {len(rows)} seeds {'is' if same == 1 else 'are'} the same."]
    found = agreement(rows)
    if found is not None:
        points = f"{signed(100 * found['difference'], 2)} ± {100 * found['standard_error']:.2f} points"
        sentences += [
            f"Mean of {found['seeds']} seeds: {percent(found['published'])} published, {percent(found['now'])} now.",
            f"The difference, {points}, {luck(found['t_p'])}.",
        ]
    here = processor()
    if published_on and here not in published_on:
        known = "; ".join(published_on)
        sentences.append(f"It was published from another processor ({known}; here {here}), so the last bits differ.")
    elif not published_on:
        sentences.append(f"The file names no processor; on another kind than this ({here}) the last bits differ.")
    return " ".join(sentences)


def luck(p: float | None) -> str:
    """What a paired t-test says of a difference; None where it is the same in all seeds."""
    if p is None:
        return "is the same in all seeds, so that no test can tell whether it is luck"
    return f"is {'within' if p >= SURE else 'more than'} the luck of the seeds (paired t-test, {p_equals(p)})"


def about(value: float | None, nodes: int | None) -> dict[str, Any]:
    """The nodes and the 95 % interval of an accuracy."""
    return {key: entry for key, entry in measured(value, nodes).items() if key != "accuracy"}
