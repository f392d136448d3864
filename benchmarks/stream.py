"""Time and peak memory of a large graph end to end: convert in a stream, partition, train on ranks, predict.

    python benchmarks/stream.py [--edges 10000000] [--parts 16] [--kind csv.gz] [--ranks 2] [--folder /big/disk]

What the folder holds is not made again. Training has a short schedule (ranks.py), one thread a rank, batch=auto.

The graph has a tenth as many nodes as edges, 16 columns of numbers and 5 classes. Half of the ids are texts; neighbours
are near each other on a ring (within 1,000 nodes), but ids and rows are shuffled, so that nothing is sorted by luck.
Tables are drawn and written a million rows at a time, as eight files each. Every command is a process of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

FEATURES, CLASSES, NEAR, FILES, ROWS = 16, 5, 1000, 8, 1 << 20


def names(numbers: np.ndarray[Any, Any], n: int) -> pa.Array:
    """The id of each node: a number or a text, in an order of its own."""
    mixed = (numbers * 2_654_435_761 + 12_345) % n  # n is prime to the factor
    texts = pa.array(mixed).cast(pa.string())
    return pa.compute.if_else(pa.array(mixed % 2 == 0), texts, pa.compute.binary_join_element_wise("user", texts, "-"))


def write(folder: Path, kind: str, tables: Any) -> None:
    """Tables one after another into several files."""
    folder.mkdir(parents=True)
    for at, table in enumerate(tables):
        path = folder / f"{at:05d}.{kind}"
        if kind == "parquet":
            pa.parquet.write_table(table, path)
            continue
        with pa.output_stream(str(path), compression="gzip" if kind.endswith("gz") else None) as file:
            pa.csv.write_csv(table, file, pa.csv.WriteOptions(quoting_style="none"))


def node_tables(n: int) -> Any:
    """Shuffled nodes with their features and, for a tenth of them, their class."""
    rng = np.random.default_rng(0)
    means = rng.standard_normal((CLASSES, FEATURES))
    for begin in range(0, n, max(ROWS, -(-n // FILES))):
        numbers = rng.permutation(np.arange(begin, min(begin + max(ROWS, -(-n // FILES)), n)))
        classes = numbers * CLASSES // n
        known = pa.array(np.char.add("class ", classes.astype(str)), mask=rng.random(len(numbers)) > 0.1)
        x = np.round(means[classes] + rng.standard_normal((len(numbers), FEATURES)), 4)
        yield pa.table({"id": names(numbers, n), "topic": known, **{f"x{at}": x[:, at] for at in range(FEATURES)}})


def edge_tables(n: int, edges: int) -> Any:
    """Edges between nodes that are near each other on a ring."""
    rng = np.random.default_rng(1)
    size = -(-edges // max(FILES, edges // (8 * ROWS)))
    for begin in range(0, edges, size):
        first = rng.integers(0, n, min(size, edges - begin))
        second = (first + rng.integers(1, NEAR, len(first))) % n
        yield pa.table({"source": names(first, n), "target": names(second, n)})


def measured(*arguments: str) -> dict[str, float]:
    """Seconds and peak memory of a command."""
    begun = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", "gdamn", *arguments], stdout=subprocess.PIPE, text=True)
    told, _ = process.stdout.read() if process.stdout else "", None
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"gdamn {' '.join(arguments)} failed.")
    print(told, flush=True)
    return {"seconds": round(time.perf_counter() - begun, 1), "peak_gb": round(used.ru_maxrss * 1024 / 1e9, 2)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--edges", type=int, default=10_000_000)
    parser.add_argument("--parts", type=int, default=16)
    parser.add_argument("--kind", default="csv.gz", help="csv, csv.gz or parquet")
    parser.add_argument("--ranks", type=int, default=2, help="ranks that train; 0: none")
    parser.add_argument("--folder", type=Path, help="where tables and graphs are kept; a temporary one without it")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("stream.json"))
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        place = (given.folder or Path(temporary)) / f"{given.edges}-{given.kind}"
        nodes, edges, graph = place / "nodes", place / "edges", place / "big.graph"
        if not edges.exists():
            write(nodes, given.kind, node_tables(given.edges // 10 + 1))
            write(edges, given.kind, edge_tables(given.edges // 10 + 1, given.edges))
        size = sum(path.stat().st_size for path in place.rglob("*") if path.is_file() and path.parent in (nodes, edges))
        files = ["--edges", str(edges), "--label", "topic"]
        kept = json.loads(given.out.read_text()) if given.out.exists() else {}
        row: dict[str, Any] = kept.setdefault(f"{given.edges}, {given.kind}, {given.parts} parts", {})
        row["tables_gb"] = round(size / 1e9, 2)
        parts, out = place / "parts", place / "run"
        steps = {
            "convert": (graph / "graph.json", ("data", "convert", str(nodes), str(graph), *files)),
            "partition": (
                parts / "parts.json",
                ("data", "partition", str(graph), str(parts), "--parts", str(given.parts)),
            ),
            "train": (out / "summary.json", train_command(parts, out, given.ranks)),
            "predict": (place / "predictions.parquet", ("predict", str(out), "-o", str(place / "predictions.parquet"))),
        }
        for name, (result, command) in steps.items():
            if result.exists() or (not given.ranks and name in ("train", "predict")):
                continue
            row[name] = measured(*command)
            if name == "train":
                summary = json.loads(result.read_text())
                row[name] |= {"epoch_seconds": summary["epoch_seconds"], "batch": summary["batch"]}
                row[name]["ranks_gb"] = [round(rank["peak_rss_mb"] * 2**20 / 1e9, 2) for rank in summary["ranks"]]
                row[name]["test"] = summary["test_accuracy"]["mean"]
            given.out.write_text(json.dumps(kept, indent=2) + "\n")
        print(json.dumps(row))


def train_command(parts: Path, out: Path, ranks: int) -> tuple[str, ...]:
    """A short schedule over ranks."""
    from ranks import SETTINGS

    chosen = {**SETTINGS, "epochs": 2, "pretrain_epochs": 2, "memory": 12}  # GB a rank, whatever else runs
    settings = [word for name, value in chosen.items() for word in ("--set", f"{name}={str(value).lower()}")]
    command = ["train", str(parts), "--workers", str(ranks), "--threads", "1", "--timeout", "1800", "--out", str(out)]
    return (*command, *settings)


if __name__ == "__main__":
    main()
