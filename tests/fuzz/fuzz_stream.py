"""Fuzz targets for what large graphs are made of: tables that are read in a stream, and graphs in parts."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

from fuzz_kinds import Target
from fuzz_own import ARRAYS, EDGES, NODES, TABLE_WORDS, parquet, saved

from gdamn.data import files as own
from gdamn.data.files.options import Options
from gdamn.data.stream.convert import convert
from gdamn.graph.parts import read_parts
from gdamn.system.folders import PARTS

SETTINGS = {"pretrain_epochs": 1, "epochs": 1, "em_iterations": 1, "hidden": 2, "projection": 2, "candidates": "em"}
PLAIN = NODES.replace(",text\n", ",city\n").replace("some words ", "city ")


def nodes_stream(suffix: str) -> Callable[[Path, bytes], None]:
    def read(folder: Path, content: bytes) -> None:
        (folder / "edges.csv").write_text(EDGES, encoding="utf-8")
        (folder / f"nodes{suffix}").write_bytes(content)
        options = Options.make({"edges": str(folder / "edges.csv")})
        convert(str(folder / f"nodes{suffix}"), folder / "fuzz.graph", options)

    return read


def edges_stream(suffix: str) -> Callable[[Path, bytes], None]:
    def read(folder: Path, content: bytes) -> None:
        (folder / "nodes.csv").write_text(PLAIN, encoding="utf-8")
        (folder / f"edges{suffix}").write_bytes(content)
        options = Options.make({"edges": str(folder / f"edges{suffix}")})
        convert(str(folder / "nodes.csv"), folder / "fuzz.graph", options)

    return read


@cache
def part_files() -> dict[str, bytes]:
    """The files of a small graph in two parts."""
    from gdamn.data.partition.choose import choose
    from gdamn.data.partition.write import write_parts

    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "graph.npz").write_bytes(saved(ARRAYS))
        graph = own.load(Path(name) / "graph.npz")
        made = write_parts(graph, Path(name) / "parts", lambda: choose(graph, 2, "order")[0])
        files = [path for path in sorted(made.rglob("*")) if path.is_file()]
        return {str(path.relative_to(made)): path.read_bytes() for path in files}


def read_partitioned(folder: Path, content: bytes) -> None:
    """The first byte says which of the files the others are."""
    good = part_files()
    chosen = sorted(good)[content[0] % len(good)] if content else PARTS
    for name, whole in good.items():
        (folder / "parts" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "parts" / name).write_bytes(content[1:] if name == chosen else whole)
    for part in read_parts(folder / "parts").parts:
        part.check()


@cache
def run_files() -> dict[str, bytes]:
    """What a run on this graph wrote of its seed."""
    from gdamn.runs.run import run as train
    from gdamn.runs.spec import RunSpec

    with tempfile.TemporaryDirectory() as name:
        write_good(Path(name) / "parts")
        train(RunSpec(str(Path(name) / "parts"), "gdamn", (0,), 0.0, {}, SETTINGS), Path(name) / "run")
        seed = Path(name) / "run" / "seed-0"
        files = [path for path in sorted(seed.rglob("*")) if path.is_file()]
        return {str(path.relative_to(seed)): path.read_bytes() for path in files}


def write_good(parts: Path) -> None:
    """The small graph in two parts."""
    for name, whole in part_files().items():
        (parts / name).parent.mkdir(parents=True, exist_ok=True)
        (parts / name).write_bytes(whole)


def read_run(folder: Path, content: bytes) -> None:
    """The first byte says which of the files the others are."""
    from gdamn.runs.spec import RunSpec
    from gdamn.using.partitioned.folder import PartitionedRun
    from gdamn.using.partitioned.infer import infer
    from gdamn.using.partitioned.predict import predict
    from gdamn.using.partitioned.refine import refine
    from gdamn.using.partitioned.suspicious import suspicious

    good = run_files()
    chosen = sorted(good)[content[0] % len(good)] if content else "networks.safetensors"
    write_good(folder / "parts")
    for name, whole in good.items():
        (folder / "run" / "seed-0" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "run" / "seed-0" / name).write_bytes(content[1:] if name == chosen else whole)
    spec = RunSpec(str(folder / "parts"), "gdamn", (0,), 0.0, {}, SETTINGS)
    (folder / "run" / "config.toml").write_text(spec.to_toml(), encoding="utf-8")
    run = PartitionedRun(folder / "run")
    predict(run, 0, folder / "labels.csv")
    refine(run, 0, folder / "refined.csv", top=1)
    assert len(suspicious(run, 0, 5)["suspicion"]) <= 5
    infer(run, 0, folder / "again.csv", folder / "parts")


TARGETS = [
    Target("stream-nodes-csv", nodes_stream(".csv"), lambda: [PLAIN.encode()], TABLE_WORDS),
    Target("stream-nodes-parquet", nodes_stream(".parquet"), parquet(PLAIN), TABLE_WORDS),
    Target("stream-edges-csv", edges_stream(".csv"), lambda: [EDGES.encode()], TABLE_WORDS),
    Target("stream-edges-parquet", edges_stream(".parquet"), parquet(EDGES), TABLE_WORDS),
    Target(
        "parts",
        read_partitioned,
        lambda: [bytes([at]) + part_files()[name] for at, name in enumerate(sorted(part_files()))],
        ("sha256", "first_node", "format", "null", "'<i8'", "'|O'"),
    ),
    Target(
        "partitioned-run",
        read_run,
        lambda: [bytes([at]) + run_files()[name] for at, name in enumerate(sorted(run_files()))],
        ("best_epoch", "temperature", "iteration", "F32", "null", "'<f4'", "PAR1"),
    ),
]
