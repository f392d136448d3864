"""Broken inputs that were once read without a word, or never came back: quotes, labels, masks, types, pipes, width."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from broken_graphs import GRAPHML, HEAD, data, graphml, labelled, npz, pt, raw
from broken_tables import (
    EDGES,
    NODES,
    TRAIN,
    Case,
    N,
    Write,
    edge_rows,
    every_label,
    files,
    node,
    node_rows,
    of_edges,
    of_nodes,
    parquet,
    table,
)

NOTED = ["source", "target", "weight", "note"]


def noted(*cells: tuple[int, str], between: str = ",") -> bytes:
    """The edges with a column of notes that nothing reads."""
    rows = [[*row, "ok"] for row in edge_rows()]
    for at, cell in cells:
        rows[at][3] = cell
    return table(NOTED, rows, between)


def cities(*cells: tuple[int, str], between: str = ",") -> bytes:
    rows = node_rows()
    for at, cell in cells:
        rows[at][3] = cell
    return table(["id", "label", "age", "city"], rows, between)


def quotes() -> Iterator[Case]:
    yield of_edges("two stray quotes", noted((3, '"sic'), (38, '"odd')), "line 5", "35 lines", "'note'")
    yield of_edges("four stray quotes", noted(*((at, '"x') for at in (3, 9, 20, 30))), "line 5", "1 more")
    yield of_edges("three stray quotes", noted((3, '"x'), (9, '"y'), (20, '"z')), "quote in row 5")
    yield of_edges("two mere quotes", noted((3, '"'), (38, '"')), "line 5", "35 lines", "rows of their own")
    yield of_edges("a quote at the begin and one at the end", noted((3, '"x'), (38, 'y"')), "line 5", "35 lines")
    yield of_edges("a stray quote before a proper text", noted((3, '"x'), (9, '"a, b"'), (20, '"y')), "line 5")
    yield of_edges("a stray quote in the header", noted((9, '"x')).replace(b"note", b'"note'), "line 1", "10 lines")
    yield of_nodes("two stray quotes", cities((3, '"X'), (20, '"Y')), "line 5", "17 lines", "'city'")
    yield of_nodes("ditto marks", cities((3, '"'), (4, '"')), "line 5", "1 lines", "'city'")
    crlf = cities((3, '"X'), (20, '"Y')).replace(b"\n", b"\r\n")
    yield of_nodes("two stray quotes, Windows", crlf, "line 5", "17 lines")
    tabs = {"edges__tsv": noted((3, '"sic'), (38, '"odd'), between="\t")}
    said = ("edges.tsv", "line 5", "35 lines")
    yield Case("edges: two stray quotes in a tsv", files(**tabs), (*TRAIN[:2], "edges.tsv", *TRAIN[3:]), said)
    nodes = {"nodes__tsv": cities((3, '"'), (20, '"'), between="\t")}
    said = ("nodes.tsv", "line 5", "17 lines")
    yield Case("nodes: two mere quotes in a tsv", files(**nodes), ("nodes.tsv", *TRAIN[1:]), said)
    long = b'n1,n2,1.5,"' + b"x\n" * (5 << 20) + b'"\n'
    yield of_edges("a text of ten million lines", noted() + long, "edges.csv")


def labels() -> Iterator[Case]:
    for word in ("NA", "nan", "None", "?"):
        missing = every_label(lambda i, word=word: ["a", word][i % 2])
        yield of_nodes(f"{word} beside one class", missing, "only one class", f"'{word}' (12)")
    yield of_nodes("nothing but words for missing", every_label(lambda i: ["-", "N/A", " "][i % 3]), "no label", "24")
    yield npz("words for missing", "no label", "'NA'", labels=np.array(["NA", "-"] * (N // 2)))
    yield raw("words for missing", "graph.graphml", labelled(lambda i: ["NULL", "a"][i % 2]), "one class", "'NULL'")
    large = np.where(np.arange(N) == 5, np.uint64(2**63), np.arange(N, dtype=np.uint64) % 2)
    yield npz("a label of 2^63", "node 5", "too large", labels=large)
    yield npz("a label of 2^64 - 1", "node 0", labels=np.full(N, 2**64 - 1, np.uint64))
    yield npz("a label of 1e300", "node 3", labels=np.where(np.arange(N) == 3, 1e300, np.arange(N) % 2))
    yield npz("a label of 2.5", "node 3", "2.5", labels=np.where(np.arange(N) == 3, 2.5, np.arange(N) % 2))
    yield npz("an infinite label", "node 3", labels=np.where(np.arange(N) == 3, np.inf, np.arange(N) % 2))
    yield pt("a label of 1e30", lambda: data(y=tensor(np.where(np.arange(N) == 3, 1e30, np.arange(N) % 2))), "node 3")


def tensor(values: Any) -> Any:
    import torch

    return torch.as_tensor(values)


def masks() -> Iterator[Case]:
    first = (np.arange(N) < 9).astype(int)
    yield npz("a mask of 0 and 2", "train mask", train_mask=2 * first)
    yield npz("a mask of node numbers twice", "train mask", train_mask=np.array([0, 1, 1, 0]))
    yield npz("a mask without splits", "train mask", train_mask=np.zeros((N, 0), bool))
    yield pt("a mask of node numbers", lambda: data(train_mask=tensor(np.arange(9))), "train mask")
    yield pt("a mask of floats", lambda: data(train_mask=tensor(first.astype("float32"))), "train mask")
    yield pt("a mask of 0 and 2", lambda: data(train_mask=tensor(2 * first)), "train mask")
    yield pt("a mask of complex numbers", lambda: data(train_mask=tensor(first.astype("complex64"))), "train_mask")
    overlap = {"train_mask": tensor(first), "val_mask": tensor(first.astype("uint8"))}
    yield pt("masks of 0 and 1 that overlap", lambda: data(**overlap), "more than one")


def types() -> Iterator[Case]:
    import pyarrow as pa

    ids, y = [f"n{i}" for i in range(N)], ["a", "b"] * (N // 2)
    kinds = {
        "structs": [{"a": i} for i in range(N)],
        "maps": pa.array([[("k", i)] for i in range(N)], pa.map_(pa.string(), pa.int64())),
        "bytes that are no text": pa.array([bytes([255, i]) for i in range(N)], pa.binary()),
        "lists of equal length": pa.array([[i, i] for i in range(N)], pa.list_(pa.float32(), 2)),
        "times with a gap": pa.array([None, *range(N - 1)], pa.int32()).cast(pa.time32("s")),
    }
    for name, column in kinds.items():
        yield parquet(name, lambda column=column: pa.table({"id": ids, "label": y, "x": column}), "'x'")
    back = np.arange(N + 1, dtype=np.uint64)
    back[[3, 4]] = 20, 4
    yield npz("unsigned pointers that go back", "'adj'", adj_indptr=back)
    yield npz("small unsigned pointers that go back", "'adj'", adj_indptr=back.astype(np.uint8))
    yield npz("pointers that end with 0", "'adj'", adj_indptr=np.where(np.arange(N + 1) == 5, 20, 0))
    yield npz("half weights of nan", "weight", adj_data=np.full(N, np.nan, np.float16))


def pipe(name: str, **content: bytes | None) -> Write:
    def write(where: Path) -> None:
        files(**{name.replace(".", "__"): None, **content})(where)
        (where / name).parent.mkdir(exist_ok=True)
        os.mkfifo(where / name)

    return write


def graph_with_pipe(name: str) -> Callable[[Path], None]:
    def write(where: Path) -> None:
        from gdamn import Graph
        from gdamn.data.files.folder import write_folder

        graph = Graph.build([[0, 1], [1, 2]], np.eye(3), [0, 1, 0], train_mask=[True, True, False])
        write_folder(graph, where / "g.graph")
        (where / "g.graph" / name).unlink()
        os.mkfifo(where / "g.graph" / name)

    return write


def pipes() -> Iterator[Case]:
    yield Case("path: edges that are a pipe", pipe("edges.csv"), TRAIN, ("edges.csv", "regular file"))
    for name in ("graph.npz", "data.pt", "graph.graphml", "nodes.parquet"):
        args = (name, *TRAIN[1:3]) if name == "nodes.parquet" else (name,)
        yield Case(f"path: a pipe called {name}", pipe(name), args, (name, "regular file"))
    for name in ("graph.json", "labels.npy", "features.npy"):
        yield Case(f"path: a pipe in a folder, {name}", graph_with_pipe(name), ("g.graph",), (name, "regular file"))


def width() -> Iterator[Case]:
    many = " ".join(f'a{at}="1"' for at in range(300_000))
    good = labelled(lambda i: "ab"[i % 2])
    tag = b'<node id="n3">'
    yield raw("300,000 attributes", "graph.graphml", good.replace(tag, f'<node id="n3" {many}>'.encode()), "line 2")
    some = " ".join(f'a{at}="1"' for at in range(3000))
    yield raw("3,000 attributes", "graph.graphml", good.replace(tag, f'<node id="n3" {some}>'.encode()), "3,001")
    endless = f'{HEAD}{GRAPHML}<node id="'.encode() + b"a " * (2 << 20)
    yield raw("a tag without an end", "graph.graphml", endless, "longer")
    yield raw("a comment without an end", "graph.gexf", b"<gexf><!--" + b"a " * (2 << 20), "longer")
    keys = "".join(f'<key id="k{at}" for="node" attr.name="k{at}" attr.type="int"/>' for at in range(100_001))
    declared = graphml("").replace(b"<graph ", f"{keys}<graph ".encode())
    yield raw("100,001 declared attributes", "graph.graphml", declared, "100,000")
    header = ",".join(["id", "label", *(f"c{at}" for at in range(100_001))]).encode()
    yield of_nodes("too many columns", header + b"\n", "100,003 columns")
    again = b"id,label," + b",".join(b"c%d" % at for at in range(50_000)) + b",c7\n"
    yield of_nodes("a column twice among many", again, "two columns 'c7'")
    yield of_nodes("a missing feature among many", NODES, "'nope'", args=(*TRAIN, "--features", "age,nope"))
    yield of_edges("a weight column of another name", EDGES, "'mass'", args=(*TRAIN, "--weight", "mass"))
    yield of_nodes("a feature that is NA", node(3, 2, "n/a"), "'n/a'", "row 5")


def silent() -> list[Case]:
    return [*quotes(), *labels(), *masks(), *types(), *pipes(), *width()]
