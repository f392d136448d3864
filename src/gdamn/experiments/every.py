"""One target of the paper or all of them, and the overview of what agrees with the paper."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..errors import ConfigError, DataError
from ..report.comparison_files import compact_json, markdown_table
from ..runs.compare import engine
from ..runs.execution import DEFAULT, Execution
from ..system import io
from . import experiment, paper, tables
from .experiment import Ask
from .targets import TARGETS, Target
from .writing import VERDICTS

LARGE = "ogbn-arxiv"
"""The data set that may be missing without stopping ``all``."""


@dataclass(frozen=True)
class Options:
    """The options of the command line."""

    datasets: Sequence[str] = ()
    methods: Sequence[str] = ("paper",)
    seeds: int | None = None
    coauthor_seeds: int | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    kinds: Sequence[str] = ()
    rates: Sequence[float] = ()
    finished: bool = False
    published: tuple[Path, ...] = ()
    execution: Execution = DEFAULT


def ask_for(target: Target, options: Options) -> Ask:
    """What is asked of an experiment; options that it doesn't have are refused."""
    choices = getattr(target.experiment(), "CHOICES", False)
    methods = () if tuple(options.methods) == ("paper",) else tuple(options.methods)
    of_tables = options.coauthor_seeds is not None or options.finished or bool(options.published)
    if of_tables or (methods and not choices):
        others = f"{target.name} has none" if not choices else f"{target.name} has --methods alone"
        names = "--methods, --coauthor-seeds, --finished and --published"
        raise ConfigError(f"{names} are options of table2 and table3; {others}.")
    if (options.kinds or options.rates) and not choices:
        raise ConfigError(f"--kinds and --rates are options of noise; {target.name} has none.")
    ask = experiment.make_ask(target, options.datasets, options.seeds, options.settings)
    if not choices:
        return ask
    return replace(ask, methods=chosen_methods(methods), kinds=tuple(options.kinds), rates=tuple(options.rates))


def chosen_methods(names: Sequence[str]) -> tuple[str, ...]:
    """The methods that are named, all of which must be there; none where the experiment's own are meant."""
    return tuple(engine.method_names(",".join(names))) if names else ()


def run_table(
    target: Target, options: Options, out: Path, watch: Callable[[], engine.Watch] | None = None
) -> dict[str, Any]:
    """Run a table cell by cell."""
    seeds = tables.SEEDS if options.seeds is None else options.seeds
    plan = tables.make_plan(paper.table(target.name), options.datasets, options.methods, seeds, options.coauthor_seeds)
    plan = replace(plan, settings=options.settings, published=options.published)
    return tables.reproduce(plan, out, options.execution, finished=options.finished, watch=watch)


def plan_all(options: Options) -> tuple[list[tuple[Target, Options]], dict[str, str]]:
    """Every target with its options, and the reasons for those that are left out.

    A setting goes to the targets that have it; one that none has is an error. All is checked before anything is run.
    """
    if options.kinds or options.rates:
        raise ConfigError("--kinds and --rates are options of noise, which is no part of all: the paper hasn't got it.")
    if options.datasets:
        raise ConfigError("all takes the paper's data sets; name --datasets with a single target.")
    reason = missing(options.execution.data_root)
    todo, left_out, taken = [], {}, set()
    for target in (target for target in TARGETS.values() if target.of_paper):
        if target.name == "table3" and reason:
            left_out[target.name] = reason
            continue
        known = settings_of(target, options)
        taken |= set(known)
        of_target = replace(options, settings=known)
        if not target.is_table:
            of_target = replace(of_target, methods=("paper",), coauthor_seeds=None)
            ask_for(target, of_target)
        todo.append((target, of_target))
    for key in options.settings:
        if key not in taken:
            raise ConfigError(
                f"No target has a method with the setting '{key}'; see gdamn/model/settings.py for the names."
            )
    return todo, left_out


def settings_of(target: Target, options: Options) -> dict[str, Any]:
    """Those of the settings that a method of the target has."""
    from ..estimators.registry import METHODS

    if target.is_table:
        names = [row.method for row in paper.table(target.name).rows if row.method in METHODS]
    else:
        names = list(target.experiment().METHODS)
    has = {name: set(METHODS[name].estimator().settings_class.names()) for name in names}

    def takes(key: str) -> bool:
        method, _, name = key.rpartition(".")
        return name in has.get(method, set()) if method else any(key in known for known in has.values())

    return {key: value for key, value in options.settings.items() if takes(key)}


def missing(data_root: Path | None) -> str | None:
    """Why the large data set can't be used; None where it can."""
    from .. import data

    try:
        data.load(LARGE, data_root=data_root)
    except DataError:  # its sentence names folders of this machine, which don't belong into files that are published
        return f"the files of {LARGE} are neither here nor downloadable; gdamn data info {LARGE} says what is needed."
    return None


def overview_rows(done: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, str, str]]:
    """A row per statement: target, verdict, ours."""
    rows = []
    for name, content in done.items():
        if content["kind"] == "table":
            rows.append((name, "see the table", cells_text(content)))
        rows += [(name, VERDICTS[one["agrees"]], one["ours"]) for one in content.get("claims", ())]
    return rows


def cells_text(table: Mapping[str, Any]) -> str:
    """How many cells of a table are within a point of the paper's."""
    compared = [cell for row in table["rows"] for cell in row["cells"].values() if "difference" in cell]
    fair = [cell for cell in compared if cell["paper"]["comparable"]]
    near = sum(bool(cell["near"]) for cell in fair)
    return f"{near} of {len(fair)} cells whose protocol is ours are within {tables.NEAR:g} point of the paper's"


def write_overview(done: Mapping[str, Mapping[str, Any]], left_out: Mapping[str, str], out: Path) -> None:
    """Write ``all.md`` and ``all.json``: every statement of the paper and whether our numbers agree."""
    claims = [
        {"target": name, **one} for name, content in done.items() for one in content.get("claims", ()) if "paper" in one
    ]
    rows = [(f"[{n}]({n}/{n}.md)", verdict, ours.replace("|", r"\|")) for n, verdict, ours in overview_rows(done)]
    lines = ["# The paper's experiments, run again", ""]
    agree, differ = (sum(one["agrees"] is verdict for one in claims) for verdict in (True, False))
    lines += [
        f"Of {len(claims)} statements of the paper our numbers agree with {agree} and differ from {differ}; the others "
        "they don't decide, because a difference is within the luck of the seeds.",
        "",
    ]
    lines += [f"{name} is left out: {reason}\n" for name, reason in left_out.items()]
    lines += [markdown_table(("target", "our numbers", "what they say"), rows)]
    io.write_text(out / "all.md", "\n".join(lines) + "\n")
    content = {"kind": "experiments", "done": list(done), "left_out": dict(left_out), "claims": claims}
    io.write_text(out / "all.json", compact_json(content))
