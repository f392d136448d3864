"""The files of a target: ``TARGET.json``, ``TARGET.html``, ``TARGET.md``, ``TARGET.png`` and ``TARGET.svg``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..report.comparison_files import compact_json, markdown_table, ranges
from ..system import io
from .targets import Target

VERDICTS = {True: "agree", False: "differ", None: "don't decide it"}


def write_all(target: Target, content: Mapping[str, Any], out: Path) -> None:
    """Write the files; the JSON comes last and tells that the others are whole."""
    from .page import write as write_experiment
    from .style import save

    experiment = target.experiment()
    columns, rows = experiment.table(content)
    short = summary_of(target, content)
    save(lambda: experiment.draw(content), out / target.name)
    io.write_text(out / f"{target.name}.md", markdown(content, columns, rows, short))
    write_experiment(content, columns, rows, out, short)
    io.write_text(out / f"{target.name}.json", compact_json(content))


def summary_of(target: Target, content: Mapping[str, Any]) -> Any | None:
    """Columns and rows of the shorter table of an experiment; None where it has none."""
    summary = getattr(target.experiment(), "summary", None)
    return None if summary is None else summary(content)


def markdown(content: Mapping[str, Any], columns: Any, rows: Any, short: Any | None = None) -> str:
    """The page of a target: how it was measured, what the paper says and what we found, the numbers, the figure."""
    name, protocol = content["target"], content["protocol"]
    lines = [f"# {content['title']}", ""]
    lines += [f"**{warning}**\n" for warning in warnings(content)]
    lines += [how_measured(protocol), ""]
    for one in content["claims"]:
        lines += [paragraph(one, content), ""]
    lines += [f"{remark}\n" for remark in remarks(content)]
    lines += [f"![{content['title']}]({name}.png)", ""]
    lines += [] if short is None else [markdown_table(*short), ""]
    lines += [markdown_table(columns, rows)]
    return "\n".join(lines).rstrip() + "\n"


def warnings(content: Mapping[str, Any]) -> list[str]:
    """What keeps the numbers from being compared with the paper's."""
    lines = []
    others = content["protocol"]["not_in_the_paper"]
    if others:
        lines.append(f"On {', '.join(others)}, which the paper doesn't use here: its statements are about other data.")
    if content["changed_settings"]:
        changed = ", ".join(f"{key} = {value}" for key, value in content["changed_settings"].items())
        lines.append(f"Not with the presets: {changed}.")
    return lines


def how_measured(protocol: Mapping[str, Any]) -> str:
    """Data, splits, seeds and labels in a few sentences."""
    splits = protocol["split"]
    data = ", ".join(f"{name} ({splits[name]} split)" if name in splits else name for name in protocol["datasets"])
    seeds = protocol["seeds"]
    parts = [f"Measured on {data}" if data else "Measured on made-up graphs"]
    if seeds:
        parts[0] += f" with {len(seeds)} seed{'s' if len(seeds) > 1 else ''} ({ranges(seeds)})"
    if protocol["selection"]:
        parts.append(f"Epoch: {protocol['selection']}")
    return ". ".join([*parts, protocol["labels"]]) + "."


def remarks(content: Mapping[str, Any]) -> list[str]:
    """What must be said beside the claims, and what couldn't be measured."""
    return [*content.get("remarks", ()), *content.get("left_out", ())]


def whose(content: Mapping[str, Any]) -> str:
    """Whose claims are judged: the paper's, or what is expected where it has no such experiment."""
    return "The paper says" if content.get("of_paper", True) else "One expects"


def paragraph(one: Mapping[str, Any], content: Mapping[str, Any]) -> str:
    """A claim of the paper and ours."""
    return f"{whose(content)} that {one['paper']}. **Our numbers {VERDICTS[one['agrees']]}:** {one['ours']}."
