"""Fuzz targets for a person's own graphs: tables, npz, PyTorch files, GraphML and GEXF."""

from __future__ import annotations

import io
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from fuzz_kinds import Target

from gdamn.data import files as own
from gdamn.data.files import INDEX
from gdamn.data.files import reader as files
from gdamn.errors import GdamnError
from gdamn.inspect import files as look

N = 8
NODES = "id,label,x,text\n" + "".join(f"n{i},{'ab'[i % 2]},{i / 2},some words {i}\n" for i in range(N))
EDGES = "source,target,weight\n" + "".join(f"n{i},n{(i + 1) % N},{1 + i}\n" for i in range(N))
TABLE_WORDS = ("id", "label", "split", "train", "source", "target", "weight", "nan", "1e400", '"', "\\x00", "\\xff")


def load(path: Path, **options: Any) -> None:
    """Train's reader, then that of ``gdamn inspect``, which forgives more; the first error is kept for the end."""
    files._latest.clear()  # two inputs within a tick of the clock look the same to it
    refused = None
    try:
        own.load(path, **options)
    except GdamnError as problem:
        refused = problem
    look.file_facts(path, options)
    if refused is not None:
        raise refused


def nodes_reader(suffix: str, **options: Any) -> Callable[[Path, bytes], None]:
    def read(folder: Path, content: bytes) -> None:
        (folder / "edges.csv").write_text(EDGES, encoding="utf-8")
        (folder / f"nodes{suffix}").write_bytes(content)
        load(folder / f"nodes{suffix}", edges=str(folder / "edges.csv"), **options)

    return read


def edges_reader(suffix: str) -> Callable[[Path, bytes], None]:
    def read(folder: Path, content: bytes) -> None:
        (folder / "nodes.csv").write_text(NODES, encoding="utf-8")
        (folder / f"edges{suffix}").write_bytes(content)
        load(folder / "nodes.csv", edges=str(folder / f"edges{suffix}"))

    return read


def graph_reader(suffix: str, **options: Any) -> Callable[[Path, bytes], None]:
    def read(folder: Path, content: bytes) -> None:
        (folder / f"graph{suffix}").write_bytes(content)
        load(folder / f"graph{suffix}", **options)

    return read


def texts(text: str) -> Callable[[], Sequence[bytes]]:
    split = "id,label,split\n" + "".join(f'"n{i}",{"ab"[i % 2]},{("train", "val", "")[i % 3]}\n' for i in range(N))
    split = split.replace(",", "\t") if "\t" in text else split
    return lambda: [text.encode(), b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode(), split.encode()]


def parquet(text: str) -> Callable[[], Sequence[bytes]]:
    def seeds() -> list[bytes]:
        import pyarrow as pa
        import pyarrow.csv
        import pyarrow.parquet

        table = pa.csv.read_csv(io.BytesIO(text.encode()))
        made = []
        for options in ({"compression": "none", "use_dictionary": False}, {"compression": "snappy"}):
            out = io.BytesIO()
            pa.parquet.write_table(table, out, store_schema=False, **options)
            made.append(out.getvalue())
        return made

    return seeds


ARRAYS: dict[str, Any] = {
    "adj_shape": np.array([N, N]),
    "adj_indices": (np.arange(N) + 1) % N,
    "adj_indptr": np.arange(N + 1),
    "adj_data": np.ones(N, np.float32),
    "attr_data": np.ones(N, np.float32),
    "attr_indices": np.arange(N) % 3,
    "attr_indptr": np.arange(N + 1),
    "attr_shape": np.array([N, 3]),
    "labels": np.arange(N) % 2,
    "train_mask": np.arange(N) < 4,
    "val_mask": np.arange(N) == 4,
    "test_mask": np.arange(N) > 5,
    "node_ids": np.array([f"n{i}" for i in range(N)]),
    "class_names": np.array(["a", "b"]),
}
MAGIC = b"\x93NUMPY"


def saved(arrays: dict[str, Any]) -> bytes:
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


def plain_arrays(arrays: dict[str, Any]) -> bytes:
    """The arrays as their files stand in an archive, one after the other."""
    with zipfile.ZipFile(io.BytesIO(saved(arrays))) as packed:
        return b"".join(packed.read(f"{name}.npy") for name in arrays)


def packed_arrays(content: bytes, names: Sequence[str]) -> bytes:
    """An archive whose checksums are right, of whatever the arrays have become."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as packed:
        for name, part in zip(names, content.split(MAGIC)[1:], strict=False):
            packed.writestr(f"{name}.npy", MAGIC + part)
    return out.getvalue()


def read_arrays(folder: Path, content: bytes) -> None:
    graph_reader(".npz")(folder, packed_arrays(content, list(ARRAYS)))


def torch_seeds() -> list[bytes]:
    import torch
    from torch_geometric.data import Data

    edges = torch.tensor([list(range(N)), [(i + 1) % N for i in range(N)]])
    parts = {"x": torch.ones(N, 2), "edge_index": edges, "y": torch.arange(N) % 2, "train_mask": torch.arange(N) < 4}
    made = []
    for value, zipped in ((Data(**parts), True), (dict(parts, node_ids=list(range(N))), True), (parts, False)):
        out = io.BytesIO()
        torch.save(value, out, _use_new_zipfile_serialization=zipped)
        made.append(out.getvalue())
    return made


def pickle_seeds() -> list[bytes]:
    """What stands beside the tensors of a file of torch.save."""
    made = []
    for content in torch_seeds()[:2]:
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            made.append(packed.read(next(name for name in packed.namelist() if name.endswith("data.pkl"))))
    return made


def read_torch_pickle(folder: Path, content: bytes) -> None:
    """The pickle in an archive whose other parts are good."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(torch_seeds()[0])) as good, zipfile.ZipFile(out, "w") as packed:
        for member in good.namelist():
            packed.writestr(member, content if member.endswith("data.pkl") else good.read(member))
    graph_reader(".pt")(folder, out.getvalue())


def xml_seeds(suffix: str) -> Callable[[], Sequence[bytes]]:
    def seeds() -> list[bytes]:
        import networkx as nx

        made = []
        for graph in (nx.cycle_graph(N), nx.cycle_graph(N, create_using=nx.DiGraph)):
            for i in graph.nodes:
                graph.nodes[i].update(kind="ab"[i % 2], x=i / 2)
            nx.set_edge_attributes(graph, 1.5, "weight")
            write = nx.generate_gexf if suffix == ".gexf" else nx.generate_graphml
            made.append("\n".join(write(graph)).encode())
        return made

    return seeds


@cache
def folder_files() -> dict[str, bytes]:
    """The files of a small graph that ``gdamn data convert`` would write."""
    from gdamn.data.files.folder import write_folder

    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "graph.npz").write_bytes(saved(ARRAYS))
        made = write_folder(own.load(Path(name) / "graph.npz"), Path(name) / "small.graph")
        return {path.name: path.read_bytes() for path in sorted(made.iterdir())}


def read_folder(folder: Path, content: bytes) -> None:
    """The first byte says which of the files the others are."""
    where = folder / "small.graph"
    where.mkdir(exist_ok=True)
    good = folder_files()
    chosen = sorted(good)[content[0] % len(good)] if content else INDEX
    for name, whole in good.items():
        (where / name).write_bytes(content[1:] if name == chosen else whole)
    own.load(where)


PICKLE_WORDS = ("torch._utils", "_rebuild_tensor_v2", "collections", "OrderedDict", "torch", "FloatStorage", "storage")
XML_WORDS = ("<!DOCTYPE", "<node id=", "<edge ", "attr.type=", "boolean", "double", "<data key=", "for=", "&#0;")

TARGETS = [
    Target("nodes-csv", nodes_reader(".csv"), texts(NODES), TABLE_WORDS),
    Target("nodes-text", nodes_reader(".csv", text="text"), lambda: [NODES.encode()], TABLE_WORDS),
    Target("nodes-tsv", nodes_reader(".tsv"), texts(NODES.replace(",", "\t")), TABLE_WORDS),
    Target("nodes-parquet", nodes_reader(".parquet"), parquet(NODES), TABLE_WORDS),
    Target("edges-csv", edges_reader(".csv"), lambda: [EDGES.encode()], TABLE_WORDS),
    Target("edges-parquet", edges_reader(".parquet"), parquet(EDGES), TABLE_WORDS),
    Target("npz", graph_reader(".npz"), lambda: [saved(ARRAYS)], tuple(ARRAYS)),
    Target("npz-arrays", read_arrays, lambda: [plain_arrays(ARRAYS)], ("'<U2'", "'|O'", "'<f4'", "True", "'<i8'")),
    Target(
        "graph-folder",
        read_folder,
        lambda: [bytes([at]) + folder_files()[name] for at, name in enumerate(sorted(folder_files()))],
        ("sha256", "shape", "format", "null", "'<i8'", "'|O'"),
    ),
    Target("torch", graph_reader(".pt"), torch_seeds, PICKLE_WORDS),
    Target("torch-pickle", read_torch_pickle, pickle_seeds, PICKLE_WORDS),
    Target("graphml", graph_reader(".graphml", label="kind"), xml_seeds(".graphml"), XML_WORDS),
    Target("gexf", graph_reader(".gexf", label="kind"), xml_seeds(".gexf"), XML_WORDS),
]
