"""An experiment of the paper: what is asked, the units that answer it, and the files that tell what came out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ..errors import ConfigError
from ..runs import pool
from ..runs import run as runs
from ..runs.compare import engine
from ..runs.compare.paired import SURE, paired
from ..runs.execution import DEFAULT, Execution
from ..runs.spec import RunSpec
from ..runs.store import Store, stoppable
from ..runs.text import p_equals
from ..system.versions import versions
from .targets import Target
from .units import Task, Unit, common_config, find_unit

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..graph.graph import Graph

Results = Mapping[Task, Mapping[str, Any]]
"""The results of the units, by name and seed."""

Content = Mapping[str, Any]
"""What the JSON of a target holds."""

KINDS = ("md", "png", "svg", "html", "json")
"""The files of a target."""


@dataclass(frozen=True)
class Ask:
    """What is asked of an experiment: data sets, seeds, and settings in place of the presets'.

    Experiments with ``CHOICES`` let methods, kinds and rates be chosen, too; where these are empty, they have their
    own. ``options`` are those of the data, such as how own files are read.
    """

    datasets: tuple[str, ...]
    seeds: tuple[int, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)
    methods: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    rates: tuple[float, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)

    def specs(self, dataset: str, methods: Sequence[str]) -> dict[str, RunSpec]:
        """Every method with all its settings on a data set."""
        specs_of_methods = engine.make_specs(dataset, methods, self.seeds, options=self.options, settings=self.settings)
        return {spec.method: spec.resolved() for spec in specs_of_methods}


class Experiment(Protocol):
    """What the file of a target has. ``plan`` says what must be done, ``measure`` does one unit in any process,
    ``conclude`` turns all results into numbers and claims, ``table`` and ``draw`` show them. A file may have
    ``summary``, a shorter table that comes before the other one, ``typical``, which of many units tell all settings,
    and ``CHOICES``, where methods, kinds and rates may be chosen (:class:`Ask`).

    Attributes:
        DATASETS: the paper's, in its order.
        METHODS: methods whose settings ``--set`` may change; empty where nothing is fitted.
        LABELS: which labels are read, and when: for the protocol.
        SEEDS: seeds where none are asked for; 0 where nothing is random.
        SERIAL: whether units must not run side by side, because they are timed; they keep no checkpoints, either.
    """

    DATASETS: tuple[str, ...]
    METHODS: tuple[str, ...]
    LABELS: str
    SEEDS: int
    SERIAL: bool

    def plan(self, ask: Ask) -> list[Unit]:
        """The units, in the order in which they should be done."""

    def measure(self, unit: Unit, data_root: Path | None, progress: pool.SeedProgress | None) -> dict[str, Any]:
        """Do one unit; plain data."""

    def conclude(self, ask: Ask, results: Results) -> dict[str, Any]:
        """``numbers``, ``claims`` (see :func:`claim`) and, where something must be said, ``remarks``."""

    def table(self, content: Content) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        """Columns and rows for people."""

    def draw(self, content: Content) -> Figure:
        """The figure."""


@dataclass
class Watch:
    """Callbacks of an experiment; each may be left out."""

    start: Callable[[int, int], None] | None = None
    progress: pool.Progress | None = None
    finished: pool.Finished | None = None


def make_ask(target: Target, datasets: Sequence[str], seeds: int | None, settings: Mapping[str, Any]) -> Ask:
    """Check what is asked for; what is left out is the paper's."""
    experiment = target.experiment()
    if seeds is not None and seeds < 1:
        raise ConfigError(f"--seeds must be 1 or more; got {seeds}.")
    if settings and not experiment.METHODS:
        raise ConfigError(f"{target.name} fits nothing, so there is no setting to change; leave --set out.")
    names = tuple(dict.fromkeys(name.strip().lower().replace("_", "-") for name in datasets))
    count = experiment.SEEDS if seeds is None or experiment.SEEDS == 0 else seeds
    return Ask(names or experiment.DATASETS, tuple(range(max(count, 1))), dict(settings))


def run(
    target: Target,
    ask: Ask,
    out: Path,
    execution: Execution = DEFAULT,
    *,
    watch: Watch | None = None,
) -> dict[str, Any]:
    """Do what isn't done yet in the folder, write the target's files and return the content of its JSON."""
    from .writing import write_all

    experiment = target.experiment()
    if experiment.SERIAL:
        execution = replace(execution, jobs=1, threads=execution.threads or 1)
    threads = execution.threads_for(execution.jobs)
    with runs.working_in(out, "reproduction"):
        with pool.thread_variables(threads):  # before the imports that read them
            units = experiment.plan(ask)
            done = _do_units(target, units, Store(out), replace(execution, threads=threads), watch or Watch())
        versions = engine.merged_versions([record["versions"] for record in done.values()])
        content = {**_head(target, ask, units), "versions": versions}
        content |= experiment.conclude(ask, {task: record["result"] for task, record in done.items()})
        write_all(target, content, out)
    return content


def _do_units(
    target: Target,
    units: Sequence[Unit],
    store: Store,
    execution: Execution,
    watch: Watch,
) -> dict[Task, dict[str, Any]]:
    """The records of all units, in their order: of the finished ones as they were kept, of the others by doing them."""
    store.remove_leftovers([*(f"{target.name}.{kind}" for kind in KINDS), *(unit.work.path for unit in units)])
    results = {unit.task: find_unit(store, unit, execution.force) for unit in units}
    done = {task: record for task, record in results.items() if record is not None}
    missing = {unit.task: unit for unit in units if unit.task not in done}
    if watch.start is not None:
        watch.start(len(done), len(units))

    work = partial(_resume, store.folder, target, missing, execution.data_root)
    with (
        stoppable(done, len(units), f"units of {target.name}"),
        pool.handed_out(work, list(missing), execution.jobs, execution.threads or 1, watch.progress) as each,
    ):
        for task, measured in each:
            result = measured()
            done[task] = {"result": result, "versions": versions()}
            if "missing" not in result:  # data that isn't here today may be tomorrow
                store.save(missing[task].work, result)
            if watch.finished is not None:
                watch.finished(task, result)
    return {unit.task: done[unit.task] for unit in units}


def _resume(
    out: Path,
    target: Target,
    units: Mapping[Task, Unit],
    data_root: Path | None,
    task: Task,
    progress: pool.SeedProgress | None,
) -> dict[str, Any]:
    """One unit, from the checkpoints of an earlier attempt where there are some; a timed one is done in one go."""
    from ..fit.checkpoint import keeping

    experiment = target.experiment()
    with nullcontext() if experiment.SERIAL else keeping(Store(out).checkpoints(units[task].config)):
        return experiment.measure(units[task], data_root, progress)


def _head(target: Target, ask: Ask, units: list[Unit]) -> dict[str, Any]:
    """What was asked, on what, and how."""
    from ..data import DATASETS
    from ..estimators.base import SELECTION

    experiment = target.experiment()
    fitted = bool(experiment.METHODS)
    told = getattr(experiment, "typical", list)([unit for unit in units if unit.seed == units[0].seed])
    return {
        "kind": "experiment",
        "target": target.name,
        "title": target.title,
        "of_paper": target.of_paper,
        "protocol": {
            "datasets": list(ask.datasets),
            "not_in_the_paper": [n for n in ask.datasets if target.of_paper and n not in experiment.DATASETS],
            "split": {name: DATASETS[name].split for name in ask.datasets if name in DATASETS},
            "seeds": list(ask.seeds) if experiment.SEEDS else [],
            "selection": SELECTION["accuracy"] if fitted else None,
            "labels": experiment.LABELS,
        },
        "changed_settings": dict(ask.settings),
        "config": common_config(told),
    }


def load(unit: Unit, data_root: Path | None) -> Graph:
    """The graph of a unit with a method."""
    assert unit.spec is not None
    return engine.cached_graph(unit.spec, data_root, unit.seed)


def fit(unit: Unit, data_root: Path | None, progress: pool.SeedProgress | None) -> dict[str, Any]:
    """A plain fit, measured as ``gdamn compare`` does it."""
    assert unit.spec is not None
    graph = load(unit, data_root)
    return runs.measure(graph, runs.make_estimator(unit.spec, unit.seed).fit(graph, progress=progress))


def spread(results: Results, name: str, seeds: Sequence[int], key: str = "test_accuracy") -> dict[str, Any]:
    """Mean, standard deviation and values of a unit over the seeds."""
    return runs.spread([results[name, seed][key] for seed in seeds])


def compared(
    results: Results, first: str, second: str, seeds: Sequence[int], key: str = "test_accuracy", unit: float = 100
) -> dict[str, Any]:
    """Two units over the same seeds: the mean difference (in points), and p of the paired t-test (None: can't tell)."""
    a, b = ({seed: results[name, seed][key] for seed in seeds} for name in (first, second))
    test = paired(a, b)
    if test is not None:
        return {"difference": unit * test["difference"], "p": test["t_p"], "seeds": test["seeds"]}
    return {"difference": unit * (a[seeds[0]] - b[seeds[0]]), "p": None, "seeds": len(seeds)}


def ahead(test: Mapping[str, Any]) -> bool | None:
    """Whether the first of two is ahead by more than chance (True), behind by more than chance (False), or neither."""
    if test["p"] is None or test["p"] >= SURE:
        return None
    return bool(test["difference"] > 0)


def claim(paper: str, agrees: bool | None, ours: str, **numbers: Any) -> dict[str, Any]:
    """What the paper says, whether our numbers say the same (None: they don't decide it), and what they say.

    ``numbers`` are those behind the verdict.
    """
    return {"paper": paper, "agrees": agrees, "ours": ours, "numbers": numbers}


def significance(test: Mapping[str, Any]) -> str:
    """How sure a difference is, in brackets."""
    if test["p"] is None:
        return f"{test['seeds']} seed{'s' if test['seeds'] != 1 else ''}, no test"
    p = p_equals(test["p"])
    return p if test["p"] < SURE else f"{p}, within the luck of {test['seeds']} seeds"
