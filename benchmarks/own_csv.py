"""How long a CSV of a million nodes and ten million edges takes to load, and how much memory.

    python benchmarks/own_csv.py [--nodes N] [--edges E] [--folder FOLDER]

The files are made first, in a process of their own, so that the peak is that of loading alone.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import sys
import tempfile
import time
from pathlib import Path

COLUMNS = 8


def make(folder: Path, nodes: int, edges: int) -> None:
    """Write nodes.csv (texts as ids, a class on a tenth of them, numbers, a category) and edges.csv."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.csv

    rng = np.random.default_rng(0)
    ids = pc.binary_join_element_wise("user-", pc.cast(pa.array(np.arange(nodes)), pa.string()), "")
    classes = rng.integers(0, 5, nodes)
    known = rng.random(nodes) < 0.1
    label = pa.array(np.where(known, np.array(list("ABCDE"))[classes], ""))
    columns = {"id": ids, "label": label, "place": pa.array(np.array(["north", "south", "east"])[classes % 3])}
    for at in range(COLUMNS):
        columns[f"x{at}"] = pa.array((rng.standard_normal(nodes) + classes).round(4))
    pa.csv.write_csv(pa.table(columns), folder / "nodes.csv")
    with pa.csv.CSVWriter(folder / "edges.csv", pa.schema([("source", pa.string()), ("target", pa.string())])) as out:
        for start in range(0, edges, 1_000_000):
            size = min(1_000_000, edges - start)
            ends = [ids.take(pa.array(rng.integers(0, nodes, size))) for _ in range(2)]
            out.write_table(pa.table({"source": ends[0], "target": ends[1]}))


def load(folder: Path) -> None:
    """Load the files as ``gdamn train`` does, with its progress bar, and say what it took."""
    from gdamn.cli.display import ProgressView
    from gdamn.data import files, progress

    start, busy = time.perf_counter(), time.process_time()
    with ProgressView() as view, progress.listening(view.reading):
        graph = files.load(folder / "nodes.csv", edges=str(folder / "edges.csv"), label="label")
    seconds, busy = time.perf_counter() - start, time.process_time() - busy
    unit = 2**30 if sys.platform == "darwin" else 2**20
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
    sizes = ", ".join(f"{path.name} {path.stat().st_size / 1e6:.0f} MB" for path in sorted(folder.glob("*.csv")))
    print(f"{graph.num_nodes:,} nodes, {graph.num_edges:,} edges, {graph.num_features} features ({sizes})")
    print(f"loaded in {seconds:.1f} s ({busy:.1f} s of CPU) with a peak of {peak:.2f} GiB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--edges", type=int, default=10_000_000)
    parser.add_argument("--folder", type=Path, help="keep the files here")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        maker = multiprocessing.get_context("spawn").Process(target=make, args=(folder, given.nodes, given.edges))
        maker.start()
        maker.join()
        if maker.exitcode != 0:
            sys.exit("the files could not be made")
        load(folder)


if __name__ == "__main__":
    main()
