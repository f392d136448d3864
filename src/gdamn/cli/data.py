"""The commands ``gdamn data list``, ``info`` and ``get``; ``convert.py`` and ``partition.py`` add two more."""

from __future__ import annotations

from typing import Annotated

import typer

from . import display
from .options import DataRoot
from .parsing import App
from .root import app, reporting

data_app = App(help="List, describe and fetch data sets.", epilog="Example: gdamn data list", no_args_is_help=True)
app.add_typer(data_app, name="data")


@data_app.command("list", epilog="Example: gdamn data list")
@reporting()
def data_list() -> None:
    """List the data sets."""
    from ..data import DATASETS

    rows = [
        (info.name, _count(info.nodes), _count(info.edges), info.split, info.description) for info in DATASETS.values()
    ]
    columns = ("name", "nodes", "edges", "split", "description")
    display.show_rows("Data sets", columns, rows, right=("nodes", "edges"))


def _count(number: int | None) -> str:
    return "any" if number is None else f"{number:,}"


@data_app.command("info", epilog="Example: gdamn data info digits")
@reporting()
def data_info(
    name: Annotated[str, typer.Argument(help="Data set; see: gdamn data list.")], data_root: DataRoot = None
) -> None:
    """Load a data set and show its facts."""
    from ..data import load
    from ..runs.run import split_text

    graph = load(name, data_root=data_root)
    display.show_graph(graph, split_text(graph.meta["dataset"], [graph.meta.get("split")]))


@data_app.command("get", epilog="Example: gdamn data get cora")
@reporting()
def data_get(
    name: Annotated[str, typer.Argument(help="Data set; see: gdamn data list.")], data_root: DataRoot = None
) -> None:
    """Fetch and check the files of a data set, so that later runs need no network."""
    from ..data import load

    graph = load(name, data_root=data_root)
    display.note(f"{graph.name} is ready: {graph.num_nodes:,} nodes, {graph.num_edges:,} edges.")
