"""``gdamn compare``: which fits are asked for, which are finished, and what all of them say together."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import ConfigError, GdamnError, GraphError, NothingFinishedError, OutputError, TrainingError
from ...estimators import custom as own_methods
from ...system.memory import shortage
from .. import answers, pool
from .. import run as runs
from ..execution import DEFAULT, Execution
from ..failures import describe
from ..spec import RunSpec, seed_advice
from ..store import Store, stoppable
from .fits import check_data, fit_work
from .paired import holm, paired
from .verdict import separated, verdict

if TYPE_CHECKING:
    from ...graph.graph import Graph

Fit = tuple[str, int]
"""A method and a seed."""

FILES = ("compare.md", "compare.csv", "compare.png", "compare.html", "compare.json")

TIMES = ("seconds_per_seed", "peak_rss_mb", "versions")
"""What differs each time a fit is repeated; it stays out of the result, which can be compared byte for byte."""

NO_TEST = "There are no test nodes, so no method is ahead of another; hold some out (own files: --test-share 0.2)."

LEFT_OUT = (*TIMES, "recall")
"""What a summary has and ``compare.json`` doesn't; the recalls of all methods and classes would be most of the file."""


@dataclass
class Watch:
    """Callbacks of a comparison; each may be left out."""

    start: Callable[[Sequence[RunSpec], Mapping[Fit, dict[str, Any]]], None] | None = None
    progress: pool.Progress | None = None
    finished: pool.Finished | None = None


@dataclass(frozen=True)
class Outcome:
    """A finished comparison: its result as plain data, and every fit behind it."""

    result: dict[str, Any]
    fits: dict[Fit, dict[str, Any]] = field(repr=False)


def method_names(text: str) -> list[str]:
    """The methods of ``a,b,c`` or ``all``, each once; an unknown one is an error with similar names."""
    from ...estimators import registry as methods

    names = list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if not names:
        raise ConfigError("No method is named; pass --methods a,b,c or --methods all (see: gdamn methods).")
    if "all" in names:
        names = list(dict.fromkeys([*methods.METHODS, *(name for name in names if name != "all")]))
    for name in names:
        own_methods.register(name)
        methods.method(name)
    return names


def make_specs(
    dataset: str,
    names: Sequence[str],
    seeds: Sequence[int],
    *,
    noise: float | str = 0.0,
    options: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> list[RunSpec]:
    """One run per method, on the same data and seeds.

    A setting goes to every method that has it, and ``method.setting`` to that method alone.
    """
    from ...estimators import registry as methods

    settings_of = {name: set(methods.method(name).estimator().settings_class.names()) for name in names}
    changes: dict[str, dict[str, Any]] = {name: {} for name in names}
    for key, value in (settings or {}).items():
        takers, name = _takers(key, value, settings_of)
        for taker in takers:
            changes[taker][name] = value
    common = {"dataset": dataset, "seeds": list(seeds), "noise": noise, "options": dict(options or {})}
    return [
        RunSpec.from_dict({**common, "method": name, "settings": changes[name]}, "the command line") for name in names
    ]


def _takers(key: str, value: Any, settings_of: Mapping[str, set[str]]) -> tuple[list[str], str]:
    """The methods that a setting is meant for, and its name."""
    method, dot, name = key.rpartition(".")
    if name in ("seed", "random_state"):
        raise ConfigError(seed_advice(value))
    if dot and method not in settings_of:
        raise ConfigError(f"--set {key} names a method that isn't compared; there are {', '.join(settings_of)}.")
    known = settings_of[method] if dot else set().union(*settings_of.values())
    if name not in known:
        close = difflib.get_close_matches(name, sorted(known), n=3)
        hint = f"; did you mean {' or '.join(close)}?" if close else "."
        raise ConfigError(f"{method or 'None of the methods'} has{' no' if dot else ' a'} setting '{name}'{hint}")
    return ([method] if dot else [m for m in settings_of if name in settings_of[m]]), name


def compare(
    specs: Sequence[RunSpec],
    out: Path,
    execution: Execution = DEFAULT,
    *,
    watch: Watch | None = None,
) -> Outcome:
    """Fit what isn't finished yet in the folder, and return what all fits say together.

    Every fit is kept as soon as it ends, and an unfinished one resumes from its checkpoints. A fit that can't be done
    (see :func:`failure`) stands in the result with its reason and is tried again next time; it doesn't stop the others.
    """
    store, watch = Store(out), watch or Watch()
    data_root, jobs = execution.data_root, execution.jobs
    # The variables are set before the imports that read them.
    with runs.working_in(out, "comparison"), pool.thread_variables(execution.threads_for(len(specs))):
        specs = [spec.resolved() for spec in specs]
        check_data(store, specs[0])
        store.remove_leftovers([*FILES, *(fit_work(spec, seed).path for spec in specs for seed in spec.seeds)])
        records = find_finished(store, specs, execution.force)
        missing = [fit for fit in in_order(specs) if fit not in records]
        threads = execution.threads_for(len(missing))
        if missing:
            cached_graph(specs[0], data_root, missing[0][1])  # an error in the data comes before anything else
        if jobs > 1:
            _graph.cache_clear()  # the workers load their own
        if watch.start is not None:
            watch.start(specs, {fit: record["result"] for fit, record in records.items()})
        by_name = {spec.method: spec for spec in specs}
        done, failed = set(records), dict[Fit, str]()

        work = partial(fit_one, out, by_name, data_root)
        with (
            stoppable(done, len(records) + len(missing), f"fits on {specs[0].dataset}"),
            pool.handed_out(work, missing, jobs, threads, watch.progress, pool.after(execution.time_budget)) as each,
        ):
            for fit, fitted in each:
                result = fitted()
                if "failed" in result:
                    failed[fit] = result["failed"]
                else:
                    store.save(fit_work(by_name[fit[0]], fit[1]), result)
                    done.add(fit)
                if watch.finished is not None:
                    watch.finished(fit, result)
    left = [fit for fit in missing if fit not in done and fit not in failed]
    return summarise(specs, find_finished(store, specs, force=True), failed, len(left))


def in_order(specs: Sequence[RunSpec]) -> list[Fit]:
    """All fits, the first seed of every method before the second of any, so that the table soon has every row."""
    most = max(len(spec.seeds) for spec in specs)
    return [(spec.method, spec.seeds[at]) for at in range(most) for spec in specs if at < len(spec.seeds)]


def find_finished(store: Store, specs: Sequence[RunSpec], force: bool) -> dict[Fit, dict[str, Any]]:
    """The records of the fits that the folder already has."""
    records = {(spec.method, seed): store.find(fit_work(spec, seed), force) for spec in specs for seed in spec.seeds}
    return {fit: record for fit, record in records.items() if record is not None}


def fit_one(
    out: Path, specs: Mapping[str, RunSpec], data_root: Path | None, fit: Fit, progress: pool.SeedProgress | None
) -> dict[str, Any]:
    """Fit and measure a method with a seed; the reason as ``failed`` where the method can't do it.

    The fit resumes from the checkpoints of an earlier attempt, where there are some.
    """
    from ...fit.checkpoint import keeping

    method, seed = fit
    spec = specs[method]
    graph = cached_graph(spec, data_root, seed)
    try:
        with keeping(Store(out).checkpoints(fit_work(spec, seed).config)):
            seen = answers.shown_to(method, graph)
            return runs.measure(graph, runs.make_estimator(spec, seed).fit(seen, progress=progress))
    except Exception as problem:
        return {"failed": failure(method, problem)}


def failure(method: str, problem: Exception) -> str:
    """Why a method can't do a fit; raises what isn't the method's fault: memory, disk, settings, data.

    The reason has the type and the place of what isn't an error of gdamn's, for the method's author.
    """
    if isinstance(problem, OutputError) or shortage(problem) is not None:
        raise problem
    if isinstance(problem, (TrainingError, GraphError)):
        return str(problem)
    if isinstance(problem, GdamnError) and not own_methods.is_own(method):
        raise problem
    return describe(problem)


def cached_graph(spec: RunSpec, data_root: Path | None, seed: int) -> Graph:
    """The graph of a seed; the last one is kept, since the methods are fitted on it one after the other."""
    return _graph(spec.dataset, spec.noise, json.dumps(dict(spec.options)), data_root, seed)


@lru_cache(maxsize=1)
def _graph(dataset: str, noise: float | str, options: str, data_root: Path | None, seed: int) -> Graph:
    return runs.load_graph(RunSpec(dataset, noise=noise, options=json.loads(options)), data_root, seed)


def summarise(
    specs: Sequence[RunSpec],
    records: Mapping[Fit, dict[str, Any]],
    failed: Mapping[Fit, str] | None = None,
    left: int = 0,
) -> Outcome:
    """The content of ``compare.json`` from the finished fits: the methods by mean test accuracy, the best first.

    Args:
        left: how many fits were not begun, because the time was over. A method with fewer seeds than others is then
            no candidate for the highest mean, as one that failed isn't.
    """
    failed = failed or {}
    if not records:
        reason = "the time was over" if left else "none was asked for"
        raise NothingFinishedError(f"No fit could be finished: {next(iter(failed.values()), reason)}")
    fits = {fit: record["result"] for fit, record in records.items()}
    results = []
    for spec in specs:
        seeds = tuple(seed for seed in spec.seeds if (spec.method, seed) in fits)
        if seeds:
            whole = runs.summarise(replace(spec, seeds=seeds), [fits[spec.method, seed] for seed in seeds])
            results.append({key: value for key, value in whole.items() if key not in LEFT_OUT})
    results.sort(key=lambda r: (r["test_accuracy"]["mean"] is None, -(r["test_accuracy"]["mean"] or 0), r["method"]))
    first, most = specs[0], max(len(r["protocol"]["seeds"]) for r in results)
    behind = {r["method"] for r in results if left and len(r["protocol"]["seeds"]) < most}
    content = {
        "kind": "comparison",
        "dataset": first.dataset,
        "noise": first.noise,
        "options": dict(first.options),
        **against_best(results, {method for method, _ in failed} | behind),
        "results": results,
        "failed": [{"method": method, "seed": seed, "reason": why} for (method, seed), why in sorted(failed.items())],
        **({"left": left} if left else {}),
        "versions": merged_versions([record["versions"] for record in records.values()]),
    }
    return Outcome(content, fits)


def against_best(results: Sequence[dict[str, Any]], incomplete: set[str]) -> dict[str, Any]:
    """The method of the highest mean (of those that finished every seed), and how sure that is.

    Each other one has a paired test against it, and is ``separated`` where Holm's p of the t-test is below 0.05.
    """
    ranked = [r for r in results if r["test_accuracy"]["mean"] is not None]
    best = next((r for r in ranked if r["method"] not in incomplete), None)
    if best is None:
        why = "No method finished every seed." if ranked else NO_TEST
        return {"best": None, "verdict": why, "tests": {}}
    others = [r for r in ranked if r is not best]
    paired_tests = {r["method"]: paired(by_seed(r), by_seed(best)) for r in others}
    tests = {name: test for name, test in paired_tests.items() if test is not None}
    for test, p in zip(tests.values(), holm([test["t_p"] for test in tests.values()]), strict=True):
        test["t_p_holm"] = p
        test["separated"] = separated(test)
    sentence = verdict(best["method"], [r["method"] for r in others], tests, bool(incomplete))
    return {"best": best["method"], "verdict": sentence, "tests": tests}


def by_seed(result: Mapping[str, Any]) -> dict[int, float | None]:
    """Test accuracy by seed."""
    return dict(zip(result["protocol"]["seeds"], result["test_accuracy"]["per_seed"], strict=True))


def merged_versions(versions: Sequence[Mapping[str, str | None]]) -> dict[str, str]:
    """The versions that the fits were made with; several where a comparison went on after an upgrade."""
    names = dict.fromkeys(name for each in versions for name in each)
    return {name: ", ".join(sorted({str(each.get(name)) for each in versions})) for name in names}
