"""The command ``gdamn data partition``: a graph in parts on disk, of which each process maps its own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..data.files import FOLDER, INDEX, TABLES, is_path
from ..errors import ConfigError
from ..runs.text import percent
from . import display, progress
from .data import data_app
from .options import DataRoot
from .root import reporting

if TYPE_CHECKING:
    from ..data.partition.layout import Layout


@data_app.command(
    "partition",
    epilog="Example: gdamn data convert big.npz big.graph\n\ngdamn data partition big.graph parts/ --parts 64",
)
@reporting()
def partition(
    graph: Annotated[str, typer.Argument(help="The graph: a .graph folder, or the name of a data set.")],
    folder: Annotated[Path, typer.Argument(help="The folder to write.")],
    parts: Annotated[int, typer.Option(min=1, help="Number of parts; as many ranks at most can share them.")],
    partitioner: Annotated[
        str, typer.Option(help="auto, metis, order, rcm or stream; auto takes the smallest cut.")
    ] = "auto",
    half: Annotated[bool, typer.Option("--half", help="Keep dense features as float16: half the size.")] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of metis, and of the split of a named data set.")] = 0,
    data_root: DataRoot = None,
) -> None:
    """Cut a graph into parts, once: nodes renumbered, each part with its rows, halo, features and labels."""
    from ..data import load
    from ..data.partition.choose import check_partitioner, choose
    from ..data.partition.write import check_target, write_parts
    from ..graph.parts import read_parts
    from ..runs.outputs import check_apart
    from ..system.reading import sha256

    source = Path(graph)
    if is_path(graph) and source.suffix.lower() in TABLES:
        raise ConfigError(f"'{graph}' is a table; make a graph of it first: gdamn data convert {graph} big{FOLDER}.")
    check_apart(folder, [source] if is_path(graph) else [])
    check_target(folder)
    check_partitioner(partitioner)
    with progress.ProgressView() as view:
        loaded = load(graph, data_root=data_root, seed=seed, progress=view.reading)
        index = sha256(source / INDEX) if source.suffix == FOLDER else None
        asked = {"graph": index, "parts": parts, "partitioner": partitioner, "half": half, "seed": seed}
        tried = []

        def layout() -> Layout:
            chosen, measured = choose(loaded, parts, partitioner, seed, view.reading)
            tried.extend(measured)
            return chosen

        write_parts(loaded, folder, layout, identity=asked if index else None, half=half, progress=view.reading)
    written = read_parts(folder)
    if tried:
        rows = [(name, percent(each.cut), f"{each.largest_halo:,}") for name, each in tried]
        display.show_rows("Tried", ("partitioner", "cut", "largest halo"), rows, right=("cut", "largest halo"))
    size = sum(path.stat().st_size for path in folder.rglob("*.npy"))
    halo = max(part.num_halo for part in written.parts)
    display.note(
        f"{written.name}: {written.num_nodes:,} nodes, {written.num_edges:,} edges in {parts:,} parts by "
        f"{written.partitioner}, {size / 1e6:,.1f} MB; {percent(written.cut)} of the edges are cut, the largest halo "
        f"has {halo:,} nodes."
    )
    display.note(f"Written to {folder}; train with: gdamn train {folder}/")
