"""Comparisons and searches from Python: the functions :func:`compare` and :func:`tune`, and their results as objects.

They are the engines of ``gdamn compare`` and ``gdamn tune`` (docs/compare.md, docs/tune.md), with the same folders.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from .errors import OutputError
from .report.study_results import Comparison, Tuning
from .runs.compare.engine import Fit, Watch, make_specs, method_names
from .runs.compare.engine import compare as run_comparison
from .runs.execution import Execution
from .runs.spec import RunSpec
from .runs.tune import tune as run_search
from .runs.tune_space import Range, make_space

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from .estimators.base import NodeClassifier
    from .graph.graph import Graph

__all__ = ["Comparison", "Range", "Tuning", "compare", "tune"]

Progress = Callable[[int, int], None]
"""Called with how many fits or trials are finished, and how many there are."""


def compare(
    data: str | PathLike[str] | Graph | Data,
    methods: str | type[NodeClassifier] | Sequence[str | type[NodeClassifier]],
    *,
    seeds: int | Sequence[int] = 10,
    noise: float | str = 0.0,
    options: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
    out: str | PathLike[str] | None = None,
    jobs: int = 1,
    threads: int | None = None,
    time_budget: float | None = None,
    data_root: str | PathLike[str] | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> Comparison:
    """Compare methods with the same splits and seeds; paired tests against the highest mean.

    Args:
        data: name of a data set, path of files, a Graph, or a PyTorch Geometric Data. A graph has one split, and no
            preset: every method has its default settings.
        methods: names (``gdamn methods``), ``all``, ``module:Class`` of your own, or classes. A method of your own is
            given a graph that has the labels of training and validation nodes alone.
        seeds: their number, or which ones.
        noise: wrong edges to plant per edge, or KIND:RATE (docs/noise.md).
        options: of the data set (``split=3``), or how files are read (``edges="edges.csv", label="topic"``).
        settings: ``{"epochs": 100}`` for every method that has it, ``{"gcn.hidden": 32}`` for one.
        out: folder that keeps every fit: what is finished in it isn't fitted again. None: nothing is kept.
        jobs, threads: processes that fit side by side, and threads of each; the results stay the same.
        time_budget: seconds after which no further fit begins.
        data_root: folder of the benchmark files.
        force: do again what ``out`` holds with other settings.
        progress: called with how many fits are finished, and how many there are.
    """
    from .report.comparison_files import write_all

    names = method_names(",".join(map(_method_name, [methods] if isinstance(methods, (str, type)) else methods)))
    execution = Execution(jobs, threads, None if data_root is None else Path(data_root), force, time_budget)
    with _study(data, options, out, "comparison") as (dataset, chosen, folder):
        specs = make_specs(dataset, names, _seeds(seeds), noise=noise, options=chosen, settings=settings)
        watch = _counted(progress, sum(len(spec.seeds) for spec in specs))
        outcome = run_comparison(specs, folder, execution, watch=watch)
        if out is None and not isinstance(data, (str, PathLike)):
            outcome.result["dataset"] = _name(data)
        comparison = Comparison(outcome.result, outcome.fits)
        if out is not None:
            write_all(comparison, folder)
    return comparison


def tune(
    data: str | PathLike[str] | Graph | Data,
    method: str | type[NodeClassifier] = "gdamn",
    *,
    space: Mapping[str, Any] | None = None,
    trials: int = 50,
    seeds: int | Sequence[int] = 4,
    noise: float | str = 0.0,
    options: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
    out: str | PathLike[str] | None = None,
    jobs: int = 1,
    threads: int | None = None,
    time_budget: float | None = None,
    data_root: str | PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Tuning:
    """Search a method's settings by its validation score; no test label is read.

    Args:
        data, noise, options, out, threads, data_root: as for :func:`compare`.
        method: a name, ``module:Class``, or a class.
        space: per setting a list of values, or a :class:`Range`; the method's own space when left out.
        trials: finished trials that the search should have in the end; a folder's search goes on.
        seeds: of every trial, which is the mean over them.
        settings: those of every trial; ``{"metric": "macro_f1"}`` is maximised in place of the accuracy.
        jobs: processes that fit the seeds of a trial side by side; the trials stay the same.
        time_budget: seconds after which no further trial begins.
        progress: called with how many trials are finished, and how many there are.
    """
    (name,) = method_names(_method_name(method))
    execution = Execution(jobs, threads, None if data_root is None else Path(data_root), time_budget=time_budget)
    with _study(data, options, out, "search") as (dataset, chosen, folder):
        spec = RunSpec(dataset, name, tuple(_seeds(seeds)), noise, chosen, dict(settings or {}))
        run_search(
            spec,
            folder,
            execution,
            trials=trials,
            space=None if space is None else make_space(space, "The space"),
            report=None if progress is None else lambda done, all_, _: progress(done, all_),
        )
        found = Tuning.open(folder)
    if out is None and not isinstance(data, (str, PathLike)):
        return replace(found, config={k: v for k, v in found.config.items() if k not in ("dataset", "options")})
    return found


@contextmanager
def _study(
    data: Any, options: Mapping[str, Any] | None, out: str | PathLike[str] | None, kind: str
) -> Iterator[tuple[str, dict[str, Any], Path]]:
    """Within the block: the data set's name or path, its options, and the folder, a temporary one without ``out``."""
    from .data.files import is_path, prepare
    from .runs.run import working_in

    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()), "study") if out is None else Path(out)
        stack.enter_context(working_in(folder, kind))
        dataset = str(data) if isinstance(data, (str, PathLike)) else str(_kept_graph(data, folder))
        chosen = dict(options or {})
        if is_path(dataset):
            dataset, chosen = prepare(dataset, chosen, fresh=True)
        yield dataset, chosen, folder


def _kept_graph(data: Graph | Data, folder: Path) -> Path:
    """The graph as files in the folder, which workers and later calls read; another one than was there is refused."""
    import numpy as np

    from .data.files import FOLDER, INDEX
    from .data.files.folder import write_folder
    from .estimators.graph_input import as_graph

    graph = as_graph(data)
    plain = {key: value for key, value in graph.meta.items() if not isinstance(value, np.ndarray)}
    graph, path = replace(graph, meta=plain), folder / f"{_name(graph)}{FOLDER}"
    if not (path / INDEX).is_file():
        return write_folder(graph, path)
    with TemporaryDirectory() as temporary:
        new = write_folder(graph, Path(temporary, path.name))
        if (new / INDEX).read_bytes() != (path / INDEX).read_bytes():
            raise OutputError(f"'{folder}' holds a study of another graph; choose another folder.")
    return path


def _name(data: Any) -> str:
    """What a graph is called in files: its name, as far as a file can have it."""
    return "".join(c if c.isalnum() or c in "_-" else "-" for c in getattr(data, "name", "graph"))[:80] or "graph"


def _method_name(method: str | type) -> str:
    """The name of a method, also of a class."""
    return method if isinstance(method, str) else f"{method.__module__}:{method.__qualname__}"


def _seeds(seeds: int | Sequence[int]) -> list[int]:
    return list(range(seeds)) if isinstance(seeds, int) else list(seeds)


def _counted(progress: Progress | None, total: int) -> Watch:
    """Callbacks that count fits."""
    done = 0

    def ended(*_: object) -> None:
        nonlocal done
        done += 1
        assert progress is not None
        progress(done, total)

    def begin(_: object, known: Mapping[Fit, object]) -> None:
        nonlocal done
        done = len(known)

    return Watch() if progress is None else Watch(start=begin, finished=ended)
