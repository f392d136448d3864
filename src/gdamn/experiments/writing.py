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
    save(lambda: experiment.draw(content), out / target.name)
    io.write_text(out / f"{target.name}.md", markdown(content, *experiment.table(content)))
    write_experiment(content, *experiment.table(content), out)
    io.write_text(out / f"{target.name}.json", compact_json(content))


def markdown(content: Mapping[str, Any], columns: Any, rows: Any) -> str:
    """The page of a target: how it was measured, what the paper says and what we found, the numbers, the figure."""
    name, protocol = content["target"], content["protocol"]
    lines = [f"# {content['title']}", ""]
    lines += [f"**{warning}**\n" for warning in warnings(content)]
    lines += [how_measured(protocol), ""]
    for one in content["claims"]:
        lines += [paragraph(one), ""]
    lines += [f"{remark}\n" for remark in content.get("remarks", ())]
    lines += [f"![{content['title']}]({name}.png)", "", markdown_table(columns, rows)]
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


def paragraph(one: Mapping[str, Any]) -> str:
    """A claim of the paper and ours."""
    return f"The paper says that {one['paper']}. **Our numbers {VERDICTS[one['agrees']]}:** {one['ours']}."
