"""The command ``gdamn data convert``: a graph as a folder of arrays that is mapped into memory, not read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..data.files import FOLDER, is_path
from ..errors import ConfigError
from . import display, progress
from . import file_options as files
from .data import data_app
from .options import DataRoot
from .root import reporting

if TYPE_CHECKING:
    from ..graph.graph import Graph


@data_app.command(
    "convert",
    epilog="Example: gdamn data convert big.npz big.graph --half\n\n"
    "gdamn data convert nodes.csv big.graph --edges edges.csv --label topic\n\n"
    "gdamn data convert 'nodes/*.parquet' big.graph --edges 'edges/*.csv.gz' --label topic\n\ngdamn train big.graph",
)
@reporting()
def convert(
    graph: Annotated[
        str, typer.Argument(help="Your graph: a file, a folder or glob of tables, or the name of a data set.")
    ],
    folder: Annotated[Path, typer.Argument(help="The folder to write; its name must end in .graph.")],
    half: Annotated[bool, typer.Option("--half", help="Keep dense features as float16: half the size.")] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the split, where one is made.")] = 0,
    edges: files.Edges = None,
    label: files.Label = None,
    node_id: files.NodeId = None,
    features: files.Features = None,
    text: files.Text = None,
    weight: files.Weight = None,
    source: files.Source = None,
    target: files.Target = None,
    split_column: files.SplitColumn = None,
    val_share: files.ValShare = None,
    test_share: files.TestShare = None,
    directed: files.Directed = False,
    stream: Annotated[
        bool, typer.Option("--stream", help="Read tables in batches; folders, globs and large files are anyway.")
    ] = False,
    data_root: DataRoot = None,
) -> None:
    """Write a graph, with its split, as a folder that train maps into memory: for graphs larger than that."""
    from ..data import load
    from ..data.files.folder import check_target, write_folder
    from ..runs.outputs import check_apart

    reading = files.chosen_options(
        edges=edges,
        label=label,
        id=node_id,
        features=features,
        text=text,
        weight=weight,
        source=source,
        target=target,
        split_column=split_column,
        val_share=val_share,
        test_share=test_share,
        directed=directed,
    )
    streamed = stream or _is_streamed(graph, reading)
    if not is_path(graph) and not streamed:
        files.refuse_for_named(graph, reading)
    check_apart(folder, [Path(each) for each in (graph, edges) if each is not None and (streamed or is_path(each))])
    check_target(folder)
    with progress.ProgressView() as view:
        if streamed:
            loaded = _streamed(graph, folder, reading, seed, half, view)
        else:
            loaded = load(graph, data_root=data_root, seed=seed, progress=view.reading, **reading)
            write_folder(loaded, folder, half=half)
    size = sum(path.stat().st_size for path in folder.iterdir() if path.is_file())
    display.note(f"{loaded.name}: {loaded.num_nodes:,} nodes, {loaded.num_edges:,} edges, {size / 1e6:,.1f} MB")
    display.note(f"Written to {folder}; train with: gdamn train {folder}")


def _is_streamed(graph: str, reading: dict[str, Any]) -> bool:
    """Whether the tables are read in a stream: because nothing else can, or because they are large and it can."""
    from ..data.stream import sources

    edges = reading.get("edges")
    if edges is None or Path(graph).suffix == FOLDER:
        return False
    if sources.needs_stream(edges) or sources.needs_stream(graph):
        return True
    if not (sources.is_large(edges) or sources.is_large(graph)):
        return False
    from ..data.files.options import Options
    from ..data.stream.convert import can_stream

    return can_stream(graph, Options.make(reading))


def _streamed(
    graph: str, folder: Path, reading: dict[str, Any], seed: int, half: bool, view: progress.ProgressView
) -> Graph:
    """The graph of tables that are read in batches."""
    from ..data.files.options import Options
    from ..data.stream.convert import convert as convert_stream

    if reading.get("edges") is None:
        raise ConfigError(f"'{graph}' is a table of nodes; pass the table of the edges, too: --edges FILE.")
    options = Options.make(reading)
    return convert_stream(graph, folder, options, seed=seed, half=half, progress=view.reading)
