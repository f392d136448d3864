"""The options for a person's files on the command line, the same for every command that reads them."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..data.files import FOLDER, is_path, prepare
from ..data.files.options import AUTO
from ..errors import ConfigError
from ..system.folders import is_parts

if TYPE_CHECKING:
    from ..runs.spec import RunSpec

PANEL = "Own files"


def _option(*names: str, help: str, metavar: str | None = "COLUMN") -> Any:
    return typer.Option(*names, help=help, metavar=metavar, rich_help_panel=PANEL)


def _share(name: str, help: str) -> Any:
    return typer.Option(name, help=help, metavar="SHARE", rich_help_panel=PANEL, min=0, max=1)


Edges = Annotated[
    str | None, _option("--edges", metavar="FILE", help="Table of the edges, beside a table of the nodes.")
]
Label = Annotated[str | None, _option("--label", help="Column of the classes, empty where unknown. Default: label.")]
NodeId = Annotated[str | None, _option("--id", help="Column of the node ids. Default: id, else the first.")]
Features = Annotated[
    str | None,
    _option("--features", metavar="A,B,C", help="Columns of the features, or none. Default: all that are left."),
]
Text = Annotated[str | None, _option("--text", help="Column of a text, which becomes TF-IDF.")]
Weight = Annotated[str | None, _option("--weight", help="Column of the edges' weights. Default: weight, if any.")]
Source = Annotated[str | None, _option("--source", help="Column where edges begin. Default: source, else the first.")]
Target = Annotated[str | None, _option("--target", help="Column where edges end. Default: target, else the second.")]
SplitColumn = Annotated[str | None, _option("--split-column", help="Column that says train, val or test.")]
ValShare = Annotated[float | None, _share("--val-share", "Labelled nodes held out for validation. Default: 0.2.")]
TrainValShare = Annotated[
    float | None,
    _share("--val-share", "Labelled nodes held out for validation. Default: none below 50 labels a class, else 0.2."),
]
TestShare = Annotated[float | None, _share("--test-share", "Labelled nodes held out for a test. Default: 0.")]
Directed = Annotated[
    bool,
    _option("--directed", metavar=None, help="Keep the direction of the edges. Default: they count both ways."),
]


def chosen_options(**values: str | float | bool | None) -> dict[str, Any]:
    """The options that a person chose, by the names of ``Options`` (data/files/options.py).

    None and a flag that is off were not chosen.
    """
    return {name: value for name, value in values.items() if value is not None and value is not False}


def settle(spec: RunSpec, reading: dict[str, Any], *, fresh: bool, keep_few: bool = False) -> RunSpec:
    """The run with whole paths and hashes where it reads files; a named data set takes none of these options.

    Args:
        reading: what :func:`chosen_options` returned.
        fresh: the files were named now, not by an older ``config.toml``.
        keep_few: hold no label out for validation where labels are few and nobody named a share.
    """
    if not is_path(spec.dataset):
        refuse_for_named(spec.dataset, reading)
        return spec
    changed = fresh or "edges" in reading
    chosen = {**spec.options, **reading}
    has_split = spec.dataset.rstrip(os.sep).endswith(FOLDER) or is_parts(spec.dataset)  # as folders of arrays have
    if changed and keep_few and not has_split:
        chosen = {"val_share": AUTO, **chosen}
    dataset, options = prepare(spec.dataset, chosen, fresh=changed)
    return replace(spec, dataset=dataset, options=options)


def refuse_for_named(dataset: str, reading: dict[str, Any]) -> None:
    """Refuse options for files beside the name of a data set."""
    if reading:
        flag = "--" + next(iter(reading)).replace("_", "-")
        raise ConfigError(f"{flag} is for own files; '{dataset}' is taken for the name of a data set.")
