"""The command ``gdamn data convert``: a graph as a folder of arrays that is mapped into memory, not read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..data.files import is_path
from . import display, progress
from . import file_options as files
from .data import data_app
from .options import DataRoot
from .root import reporting


@data_app.command(
    "convert",
    epilog="Example: gdamn data convert big.npz big.graph --half\n\n"
    "gdamn data convert nodes.csv big.graph --edges edges.csv --label topic\n\ngdamn train big.graph",
)
@reporting()
def convert(
    graph: Annotated[str, typer.Argument(help="Your graph: a file, or the name of a data set.")],
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
    if not is_path(graph):
        files.refuse_for_named(graph, reading)
    check_apart(folder, [Path(graph)] if is_path(graph) else [])
    check_target(folder)
    with progress.ProgressView() as view:
        loaded = load(graph, data_root=data_root, seed=seed, progress=view.reading, **reading)
        write_folder(loaded, folder, half=half)
    size = sum(path.stat().st_size for path in folder.iterdir())
    display.note(f"{loaded.name}: {loaded.num_nodes:,} nodes, {loaded.num_edges:,} edges, {size / 1e6:,.1f} MB")
    display.note(f"Written to {folder}; train with: gdamn train {folder}")
