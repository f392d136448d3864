"""Broken tables and paths, made by code: CSV, TSV and Parquet."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from own_tables import EDGES, NODES, N, Write, edge_rows, files, node_rows, table


class Case(NamedTuple):
    """A broken input: what writes it, the arguments behind ``gdamn train``, and words that the sentence must have."""

    name: str
    write: Write
    args: tuple[str, ...]
    said: tuple[str, ...]


TRAIN = ("nodes.csv", "--edges", "edges.csv", "--label", "label")


def changed(rows: list[list[str]], row: int, column: int, value: str) -> list[list[str]]:
    made = [list(each) for each in rows]
    made[row][column] = value
    return made


def node(row: int, column: int, value: str) -> bytes:
    return table(["id", "label", "age", "city"], changed(node_rows(), row, column, value))


def edge(row: int, column: int, value: str) -> bytes:
    return table(["source", "target", "weight"], changed(edge_rows(), row, column, value))


def every_label(value: Callable[[int], str]) -> bytes:
    rows = [[row[0], value(i), *row[2:]] for i, row in enumerate(node_rows())]
    return table(["id", "label", "age", "city"], rows)


def of_nodes(name: str, data: bytes, *said: str, args: tuple[str, ...] = TRAIN) -> Case:
    return Case(f"nodes: {name}", files(nodes__csv=data), args, ("nodes.csv", *said))


def of_edges(name: str, data: bytes, *said: str, args: tuple[str, ...] = TRAIN) -> Case:
    return Case(f"edges: {name}", files(edges__csv=data), args, ("edges.csv", *said))


def tables() -> Iterator[Case]:
    """CSV and TSV: encodings, headers, rows, cells."""
    latin = NODES.replace(b"X", "Zürich".encode("latin-1"))
    yield of_nodes("latin-1", latin, "not UTF-8", "row 2")
    yield of_nodes("utf-16", NODES.decode().encode("utf-16"), "UTF-16")
    yield of_nodes("utf-16 without mark", NODES.decode().encode("utf-16-le"), "NUL")
    yield of_nodes("a late wrong byte", NODES + b"n99,a,1,\xff\n", "not UTF-8", "row 26")
    yield of_nodes("0 bytes", b"", "empty")
    yield of_nodes("only a newline", b"\n", "no header")
    yield of_nodes("only spaces", b"   \n", "header")
    yield of_nodes("only a header", b"id,label,age\n", "no rows")
    yield of_nodes("NUL in the header", b"id,la\0bel\n1,a\n", "NUL")
    yield of_nodes("NUL in a cell", NODES.replace(b"n3,b", b"n3,b\0"), "NUL", "row 5")
    yield of_nodes("a row too short", NODES + b"n99,a\n", "2 cells", "4")
    yield of_nodes("a row too long", NODES + b"n99,a,1,X,5,6\n", "6 cells", "4")
    yield of_nodes("a quote never closed", NODES + b'n99,a,1,"X\n', "quote in row 26")
    yield of_nodes("a quote that swallows rows", NODES.replace(b"n3,b", b'n3,"b'), "quote in row 5")
    yield of_nodes("semicolons", NODES.replace(b",", b";"), "separated by ';'")
    yield of_nodes("a column twice", NODES.replace(b"age", b"city"), "two columns 'city'")
    yield of_nodes("a column without a name", NODES.replace(b"age", b""), "Column 3", "no name")
    yield of_nodes("a zip called csv", zipped(), "zip")
    yield of_nodes("a gzip called csv", b"\x1f\x8b\x08\0" + bytes(40), "gzip")
    yield of_nodes("random bytes", bytes(range(1, 256)) * 4, "not UTF-8")
    yield of_nodes("an id twice", node(5, 0, "n2"), "'n2'", "twice", "rows 4 and 7")
    yield of_nodes("an empty id", node(5, 0, ""), "row 7", "empty")
    yield of_nodes("a huge id", node(5, 0, "x" * 100_000), "100,000 characters", "row 7")
    yield of_nodes("nan in a feature", node(3, 2, "nan"), "'age'", "row 5", "nan")
    yield of_nodes("NaN written as NA", node(3, 2, "NA"), "'NA'", "'age'", "row 5")
    yield of_nodes("infinity in a feature", node(3, 2, "inf"), "'age'", "row 5", "inf")
    yield of_nodes("minus infinity in a feature", node(3, 2, "-inf"), "'age'", "row 5", "inf")
    yield of_nodes("a number too large", node(3, 2, "1e300"), "'age'", "row 5", "1e+300")
    yield of_nodes("an empty number", node(3, 2, ""), "'age'", "row 5", "empty")
    yield of_nodes("mixed types", node(3, 2, "old"), "'old'", "'age'", "row 5")
    yield of_nodes("a decimal comma", node(3, 2, '"1,5"'), "'1,5'", "row 5")
    yield of_nodes("no label at all", every_label(lambda i: ""), "no label", "'label'")
    yield of_nodes("one class", every_label(lambda i: "a"), "only one class", "'a'")
    yield of_nodes("one labelled node", every_label(lambda i: "a" if i == 0 else ""), "only one class")
    yield of_nodes("every label another", every_label(lambda i: f"c{i}"), "different")
    yield Case(
        "nodes: one row", files(nodes__csv=b"id,label\nn0,a\n", edges__csv=b"a,b\nn0,n0\n"), TRAIN, ("one class",)
    )
    yield of_nodes("a missing label column", NODES, "'topic'", "its columns are", args=(*TRAIN[:4], "topic"))
    yield of_nodes("no label column named", NODES.replace(b"label", b"topic"), "--label", args=TRAIN[:3])
    yield of_nodes("a missing id column", NODES, "'key'", args=(*TRAIN, "--id", "key"))
    yield of_nodes("a missing feature column", NODES, "'size'", args=(*TRAIN, "--features", "age,size"))
    yield of_nodes("a missing text column", NODES, "'abstract'", args=(*TRAIN, "--text", "abstract"))
    yield of_nodes("a missing split column", NODES, "'split'", args=(*TRAIN, "--split-column", "split"))
    yield of_nodes("the label as a feature", NODES, "no feature", args=(*TRAIN, "--features", "age,label"))
    yield of_nodes("the id as the label", NODES, "at once", args=(*TRAIN[:4], "id"))
    yield of_nodes("the label as the split", NODES, "at once", args=(*TRAIN, "--split-column", "label"))
    dots = NODES.replace(b"X", b".").replace(b"Y", b".").replace(b"Z", b"?")
    yield of_nodes("a text of no words", dots, "no words", args=(*TRAIN, "--text", "city"))
    yield of_nodes("a strange split", NODES, "'x'", "row 2", args=(*TRAIN, "--split-column", "city"))
    yield of_nodes("train without a label", split_column(lambda i: "train"), "'n16'", "no label", args=SPLIT)
    yield of_nodes("validation without a label", split_column(lambda i: "val" if i > 4 else "train"), "val", args=SPLIT)
    yield of_nodes("no training node", split_column(lambda i: "test"), "no training node", args=SPLIT)
    yield of_nodes("an empty split", split_column(lambda i: ""), "no training node", args=SPLIT)
    many = table(["id", "label", "code"], [[f"n{i}", "ab"[i % 2], f"k{i}"] for i in range(1500)])
    yield of_nodes("too many categories", many, "'code'", "1,500 different", args=(*TRAIN, "--features", "code"))
    yield of_nodes("an endless row", b"id,label\n" + b'n0,"' + b"x" * (20 << 20), "quote")


SPLIT = (*TRAIN, "--split-column", "set")


def split_column(value: Callable[[int], str]) -> bytes:
    return table(["id", "label", "set"], [[row[0], row[1], value(i)] for i, row in enumerate(node_rows())])


def edge_tables() -> Iterator[Case]:
    yield of_edges("0 bytes", b"", "empty")
    yield of_edges("latin-1", EDGES + "nö,n1,1\n".encode("latin-1"), "not UTF-8")
    yield of_edges("one column", b"source\nn1\n", "two columns")
    yield of_edges("no header", b"0,1\n1,2\n", "looks like an edge", "header")
    yield of_edges("unknown ids", edge(4, 1, "nobody"), "row 6", "'nobody'", "'target'")
    yield of_edges("all ids unknown", EDGES.replace(b"n", b"m"), "row 2", "more")
    yield of_edges("ids with blanks", EDGES.replace(b"n1,", b" n1,"), "' n1'")
    yield of_edges("an empty end", edge(4, 0, ""), "row 6", "empty", "'source'")
    yield of_edges("a negative weight", edge(4, 2, "-1"), "row 6", "-1", "greater than 0")
    yield of_edges("a weight of 0", edge(4, 2, "0"), "row 6", "greater than 0")
    yield of_edges("a weight of nan", edge(4, 2, "nan"), "row 6", "'weight'")
    yield of_edges("an infinite weight", edge(4, 2, "inf"), "row 6", "'weight'")
    yield of_edges("an empty weight", edge(4, 2, ""), "row 6", "'weight'")
    yield of_edges("a weight that is a word", edge(4, 2, "heavy"), "'heavy'", "row 6")
    yield of_edges("weights that are words", EDGES.replace(b"1.5", b"much"), "numbers", "'weight'")
    yield of_edges("ragged rows", EDGES + b"n1,n2\n", "2 cells")
    yield of_edges("no source column", EDGES, "'from'", args=(*TRAIN, "--source", "from"))
    yield of_edges("no target column", EDGES, "'to'", args=(*TRAIN, "--target", "to"))
    yield of_edges("no weight column", EDGES, "'w'", args=(*TRAIN, "--weight", "w"))
    yield of_edges("twice the same end", EDGES, "same column", args=(*TRAIN, "--target", "source"))
    yield of_edges("an end as the weight", EDGES, "'target'", args=(*TRAIN, "--weight", "target"))
    yield of_edges("tabs in a csv", EDGES.replace(b",", b"\t"), "two columns")
    yield Case("edges: commas in a tsv", files(edges__tsv=EDGES), put_edges("edges.tsv"), ("edges.tsv", "','"))
    yield Case("edges: missing", files(edges__csv=None), TRAIN, ("edges.csv", "no file"))
    yield Case("edges: not given", files(), TRAIN[:1], ("nodes.csv", "--edges"))
    yield Case("edges: a folder", folder("edges.csv"), TRAIN, ("edges.csv", "folder"))
    yield Case("edges: another kind", files(edges__json=b"{}"), put_edges("edges.json"), ("edges.json", "end in"))
    yield Case("edges: an npz", files(edges__npz=b"x"), put_edges("edges.npz"), ("edges.npz", "table of edges"))


def put_edges(name: str) -> tuple[str, ...]:
    return ("nodes.csv", "--edges", name, "--label", "label")


def folder(name: str) -> Write:
    def write(where: Path) -> None:
        files(**{name.replace(".", "__"): None})(where)
        (where / name).mkdir()

    return write


def dangling_link(where: Path) -> None:
    files(nodes__csv=None)(where)
    (where / "nodes.csv").symlink_to(where / "nowhere.csv")


def fifo(where: Path) -> None:
    files(nodes__csv=None)(where)
    os.mkfifo(where / "nodes.csv")


def paths() -> Iterator[Case]:
    yield Case("path: missing", files(nodes__csv=None), TRAIN, ("nodes.csv", "no file"))
    yield Case("path: a folder", folder("nodes.csv"), TRAIN, ("nodes.csv", "folder"))
    yield Case("path: a folder without a suffix", files(), ("./",), ("folder",))
    yield Case("path: a link to nothing", dangling_link, TRAIN, ("nodes.csv", "no file"))
    yield Case("path: a pipe", fifo, TRAIN, ("nodes.csv", "regular file"))
    yield Case("path: another suffix", files(nodes__txt=NODES), ("nodes.txt", *TRAIN[1:]), ("nodes.txt", ".csv"))
    yield Case("path: an endless name", files(), ("x" * 5000 + ".csv", *TRAIN[1:]), ("too long",))
    yield Case("option: for a named data set", files(), ("karate", "--label", "x"), ("--label", "karate"))
    yield Case("option: no features named", files(), (*TRAIN, "--features", ","), ("--features",))
    yield Case("option: a share above 1", files(), (*TRAIN, "--val-share", "1.5"), ("--val-share",))
    yield Case("option: a negative share", files(), (*TRAIN, "--test-share", "-0.1"), ("--test-share",))
    yield Case("option: shares of 1 together", files(), (*TRAIN, "--val-share", ".5", "--test-share", ".5"), ("share",))
    yield Case("option: unknown", files(), (*TRAIN, "--option", "colour=red"), ("colour",))
    yield Case("option: of a wrong type", files(), (*TRAIN, "--option", "val_share=many"), ("val_share",))


def zipped(**members: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, data in (members or {"x": b"y"}).items():
            packed.writestr(name, data)
    return buffer.getvalue()


def parquet(name: str, make: Callable[[], Any], *said: str) -> Case:
    def write(where: Path) -> None:
        import pyarrow.parquet as pq

        files()(where)
        pq.write_table(make(), where / "nodes.parquet")

    args = ("nodes.parquet", "--edges", "edges.csv", "--label", "label")
    return Case(f"parquet: {name}", write, args, ("nodes.parquet", *said))


def parquet_files() -> Iterator[Case]:
    import pyarrow as pa

    ids = [f"n{i}" for i in range(N)]
    labels = ["a", "b"] * (N // 2)
    args = ("nodes.parquet", "--edges", "edges.csv", "--label", "label")
    yield Case("parquet: 0 bytes", files(nodes__parquet=b""), args, ("nodes.parquet", "empty"))
    yield Case("parquet: not one", files(nodes__parquet=b"x" * 99), args, ("nodes.parquet", "not a Parquet file"))
    yield Case("parquet: cut off", files(nodes__parquet=b"PAR1" + bytes(50)), args, ("nodes.parquet", "Parquet"))
    yield parquet(
        "no rows", lambda: pa.table({"id": pa.array([], pa.string()), "label": pa.array([], pa.string())}), "no rows"
    )
    yield parquet("ids that are lists", lambda: pa.table({"id": [[i] for i in ids], "label": labels}), "'id'", "list")
    yield parquet("labels that are lists", lambda: pa.table({"id": ids, "label": [[y] for y in labels]}), "'label'")
    yield parquet("a null id", lambda: pa.table({"id": [None, *ids[1:]], "label": labels}), "row 1", "empty")
    nan = [float("nan"), *([1.0] * (N - 1))]
    yield parquet("nan in a feature", lambda: pa.table({"id": ids, "label": labels, "x": nan}), "'x'", "row 1")
    gap = [None, *range(N - 1)]
    yield parquet("a null in a feature", lambda: pa.table({"id": ids, "label": labels, "x": gap}), "'x'", "row 1")
    yield parquet("a text that unpacks to gigabytes", unpacking_text, "unpack", "'bio'")
    yield parquet("features that are lists", lambda: pa.table({"id": ids, "label": labels, "x": [[1.0]] * N}), "'x'")


def unpacking_text() -> Any:
    """A text of 4 MB that 3,000 rows share: little in the file, 12 GB when written out."""
    import pyarrow as pa

    rows = 3000
    text = pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), pa.array(["word " * 800_000]))
    labels = ["a", "b"] * (rows // 2)
    return pa.table({"id": [f"n{i}" for i in range(rows)], "label": labels, "bio": text})


MOST_CELLS = 40_000_000
"""The limit that the tests set, lest the file below take long to write."""


def too_many_rows() -> Case:
    """A Parquet file that says nothing 50 million times in a few kilobytes."""

    def write(where: Path) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        files()(where)
        block = pa.table({name: pa.nulls(1_000_000, pa.null()) for name in ("id", "label", *"abcdefgh")})
        with pq.ParquetWriter(where / "nodes.parquet", block.schema) as writer:
            for _ in range(5):
                writer.write_table(block)

    args = ("nodes.parquet", "--edges", "edges.csv", "--label", "label")
    return Case("parquet: millions of nothing", write, args, ("nodes.parquet", "too many"))
