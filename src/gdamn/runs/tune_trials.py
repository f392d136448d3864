"""The trials of a search: settings are proposed, fitted with every seed, and told to the study."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import TrainingError
from ..model.metrics import NAMES, score_key
from ..system import io
from . import answers, pool
from .execution import Execution
from .failures import as_training_errors
from .spec import RunSpec
from .store import Store
from .tune_space import Space, suggest
from .tune_study import FAILED, STARTUP, ask, failed_in_a_row, finished, keep_value, kept_value

if TYPE_CHECKING:
    import optuna

    from ..graph.graph import Graph

BEHIND = 0.012
"""A trial whose first two seeds are this far behind the best mean is not finished."""

HOPELESS = 5
"""So many trials in a row that can't be trained end a search."""

Fits = Callable[[dict[str, Any], Sequence[int]], Iterable[float]]
"""The validation scores of settings for some seeds."""


@dataclass(frozen=True)
class Search:
    """What every trial of a search has in common: the run with the settings that all share, and where it is kept."""

    spec: RunSpec
    out: Path
    space: Space
    data_root: Path | None = None

    @property
    def metric(self) -> str:
        """The validation score that is maximised."""
        return str(self.spec.settings.get("metric", "accuracy"))

    @cached_property
    def graphs(self) -> dict[int, Graph]:
        """The graph of each seed, read once in a process."""
        return load_graphs(self.spec, self.data_root)


def run_trial(search: Search, study: optuna.Study, sampler_seed: int, fits: Fits) -> None:
    """Propose settings, measure them and report the result to the study, a failure too."""
    import optuna
    from optuna.trial import TrialState

    trial = ask(study, sampler_seed)
    settings = {name: suggest(trial, name, values) for name, values in search.space.items()}
    try:
        study.tell(trial, validation_score(search, settings, trial, study, fits))
    except optuna.TrialPruned:
        study.tell(trial, state=TrialState.PRUNED)
    except TrainingError as problem:
        trial.set_user_attr(FAILED, str(problem))
        study.tell(trial, state=TrialState.FAIL)
        if failed_in_a_row(study) >= HOPELESS:
            raise TrainingError(f"{HOPELESS} trials in a row could not be trained; the last: {problem}") from None
    Store(search.out).forget()


def load_graphs(spec: RunSpec, data_root: Path | None) -> dict[int, Graph]:
    """The graph of each seed; one object for all seeds where nothing of it depends on the seed."""
    import numpy as np

    from .run import load_graph

    graphs = {seed: load_graph(spec, data_root, seed) for seed in spec.seeds}
    first = graphs[spec.seeds[0]]
    arrays = ("indptr", "indices", "labels", "train_mask", "val_mask")
    same = all(np.array_equal(getattr(g, name), getattr(first, name)) for g in graphs.values() for name in arrays)
    return dict.fromkeys(spec.seeds, first) if same else graphs


def validation_score(
    search: Search, settings: dict[str, Any], trial: optuna.Trial, study: optuna.Study, fits: Fits
) -> float:
    """Mean validation score of the chosen epochs over the seeds; a hopeless trial ends after two."""
    import optuna

    seeds, accuracies = search.spec.seeds, list[float]()
    judged = len(seeds) > 2 and len(finished(study)) >= STARTUP
    for part in (seeds[:2], seeds[2:]) if judged else (seeds,):
        for value in fits(settings, part):
            accuracies.append(value)
            trial.report(sum(accuracies) / len(accuracies), len(accuracies))
        if judged and len(accuracies) == 2 and sum(accuracies) / 2 < study.best_value - BEHIND:
            raise optuna.TrialPruned
    trial.set_user_attr("per_seed", accuracies)
    return sum(accuracies) / len(accuracies)


@contextmanager
def fitting(search: Search, execution: Execution) -> Iterator[Fits]:
    """Within the block: a call that gives the scores of settings for some seeds, in the order of the seeds."""
    jobs = min(execution.jobs, len(search.spec.seeds))
    if jobs <= 1:
        yield lambda settings, seeds: (fitted(search, settings, seed) for seed in seeds)
        return
    work = partial(fit_in_worker, replace(search))  # a copy without the graphs, which each worker reads
    with pool.kept_workers(work, jobs, execution.threads_for(jobs)) as done_by_workers:

        def fits(settings: dict[str, Any], seeds: Sequence[int]) -> Iterator[float]:
            tasks = [(json.dumps(settings), seed) for seed in seeds]
            results = done_by_workers(tasks)
            for task in tasks:
                if "failed" in results[task]:
                    raise TrainingError(results[task]["failed"])
                yield results[task]["value"]

        yield fits


def fit_in_worker(search: Search, task: tuple[str, int], _: object) -> dict[str, Any]:
    """The validation score of one fit as ``value``; the reason as ``failed`` where it can't be trained."""
    settings, seed = task
    try:
        return {"value": fitted(search, json.loads(settings), seed)}
    except TrainingError as problem:
        return {"failed": str(problem)}


def fitted(search: Search, settings: dict[str, Any], seed: int) -> float:
    """Validation score of one fit: kept from an attempt that was ended, or by fitting, from its checkpoints."""
    from ..fit.checkpoint import keeping
    from ..system.versions import versions
    from .run import make_estimator

    spec = replace(search.spec, settings={**search.spec.settings, **settings})
    data: dict[str, Any] = {"dataset": spec.dataset, "noise": spec.noise, "seed": seed}
    data |= {"options": dict(spec.options)} if spec.options else {}
    config = {**data, "method": spec.method, "settings": spec.settings, "versions": versions()}
    key = score_key(search.metric)
    value = kept_value(search.out, config, key)
    if value is None:
        with keeping(Store(search.out).checkpoints(config)), as_training_errors(spec.method):
            graph = search.graphs[seed]
            model = make_estimator(spec, seed).fit(answers.shown_to(spec.method, graph))
            value = answers.validation_score(spec.method, model, graph, search.metric)
        keep_value(search.out, config, value, key)
    return value


def write_results(study: optuna.Study, search: Search, out: Path) -> dict[str, Any]:
    """trials.jsonl, best first, and best.toml, which ``gdamn train --config`` takes."""
    import tomli_w

    spec, key = search.spec, score_key(search.metric)
    rows: list[dict[str, Any]] = [
        {"trial": at, key: t.value, "per_seed": t.user_attrs.get("per_seed"), "settings": t.params}
        for at, t in enumerate(finished(study))
    ]
    rows.sort(key=lambda row: -(row[key] or 0))
    io.write_text(out / "trials.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    best = rows[0]
    settings = {**spec.settings, **best["settings"]}
    config: dict[str, Any] = {"dataset": spec.dataset, "method": spec.method, "seeds": list(spec.seeds)}
    config |= {"noise": spec.noise} if spec.noise else {}
    config |= {"options": dict(spec.options)} if spec.options else {}
    config |= {"settings": settings}
    name = f"mean validation {NAMES[search.metric]}"
    summary = f"{len(rows)} trials by {name} over {len(spec.seeds)} seeds: {best[key]:.4f}"
    io.write_text(out / "best.toml", f"# Best of {summary}\n" + tomli_w.dumps(config))
    return {"trials": len(rows), **best}
