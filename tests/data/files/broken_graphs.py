"""Broken files that hold a whole graph, made by code: npz archives, PyTorch files, GraphML and GEXF."""

from __future__ import annotations

import io
import os
import pickle
import struct
import zipfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from broken_tables import Case, N, files, zipped


def arrays(**changes: Any) -> dict[str, Any]:
    """The arrays of a good npz, with some of them replaced; None leaves one out."""
    pairs = sorted({(i, (i + 1) % N) for i in range(N)})
    good: dict[str, Any] = {
        "adj_indices": np.array([b for _, b in pairs]),
        "adj_indptr": np.arange(N + 1),
        "adj_shape": np.array([N, N]),
        "features": np.linspace(-1, 1, N * 2, dtype=np.float32).reshape(N, 2),
        "labels": np.arange(N) % 2,
    }
    return {key: value for key, value in {**good, **changes}.items() if value is not None}


def npz(name: str, *said: str, **changes: Any) -> Case:
    def write(where: Path) -> None:
        with (where / "graph.npz").open("wb") as file:
            np.savez(file, **arrays(**changes), allow_pickle=True)  # type: ignore[arg-type]

    return Case(f"npz: {name}", write, ("graph.npz",), ("graph.npz", *said))


def raw(name: str, file: str, data: bytes | Callable[[], bytes], *said: str) -> Case:
    def write(where: Path) -> None:
        (where / file).write_bytes(data if isinstance(data, bytes) else data())

    return Case(f"{file}: {name}", write, (file,), (file, *said))


def good_npz() -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays())
    return buffer.getvalue()


def npy(header: str, data: bytes = b"") -> bytes:
    text = header.encode().ljust(118) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + data


def lying_npz() -> bytes:
    """Says that it holds a terabyte."""
    with io.BytesIO() as buffer:
        np.savez(buffer, **arrays(labels=None))
        with zipfile.ZipFile(buffer, "a") as packed:
            packed.writestr("labels.npy", npy("{'descr': '<i8', 'fortran_order': False, 'shape': (137438953472,), }"))
        return buffer.getvalue()


@cache
def bomb_npz() -> bytes:
    """Packs 300 MB of zeros into 300 kB, and says that they are one row of labels."""
    zeros = npy("{'descr': '<i8', 'fortran_order': False, 'shape': (24,), }", bytes(300 << 20))
    with io.BytesIO() as buffer:
        np.savez(buffer, **arrays(labels=None))
        with zipfile.ZipFile(buffer, "a", zipfile.ZIP_DEFLATED) as packed:
            packed.writestr("labels.npy", zeros)
        return buffer.getvalue()


@cache
def large_npz() -> bytes:
    """A real array of 80 MB of zeros, packed, that no graph of 24 nodes needs."""
    with io.BytesIO() as buffer:
        np.savez_compressed(buffer, **arrays(labels=np.zeros(10_000_000, np.int64)))
        return buffer.getvalue()


def archives() -> Iterator[Case]:
    yield raw("0 bytes", "graph.npz", b"", "empty")
    yield raw("not a zip", "graph.npz", b"hello" * 100, "npz archive")
    yield raw("cut off", "graph.npz", lambda: good_npz()[:600], "damaged")
    yield raw("a byte flipped", "graph.npz", lambda: flipped(good_npz()), "damaged")
    yield raw("no arrays", "graph.npz", zipped(), "adj_indices")
    yield raw("a zip bomb", "graph.npz", bomb_npz, "'labels'")
    yield raw("labels of millions for 24 nodes", "graph.npz", large_npz, "'labels'", "24 nodes")
    yield raw("a terabyte by its header", "graph.npz", lying_npz, "unpack", "'labels'")
    yield raw("a member that is no array", "graph.npz", zipped(**{"adj_indices.npy": b"not an array"}), "damaged")
    yield npz("no adjacency", "adj_indptr", adj_indptr=None)
    yield npz("not square", "square", adj_shape=np.array([N, N + 1]))
    yield npz("negative shape", "nodes", adj_shape=np.array([-1, -1]))
    yield npz("no nodes", "nodes", adj_shape=np.array([0, 0]))
    yield npz("too many nodes", "too many", adj_shape=np.array([2**40, 2**40]))
    yield npz("a shape of three", "two numbers", adj_shape=np.array([N, N, N]))
    yield npz("a short indptr", "adj_indptr", adj_indptr=np.arange(N))
    yield npz("indptr that goes back", "'adj'", adj_indptr=np.arange(N + 1)[::-1].copy())
    yield npz("indices out of range", "'adj'", adj_indices=np.full(N, 99))
    yield npz("negative indices", "'adj'", adj_indices=np.full(N, -1))
    yield npz("indices that are floats", "adj_indices", adj_indices=np.zeros(N))
    yield npz("indices in two dimensions", "adj_indices", adj_indices=np.zeros((N, 1), int))
    yield npz("values that don't fit", "'adj'", adj_data=np.ones(3))
    yield npz("negative weights", "weight", adj_data=-np.ones(N))
    yield npz("weights of nan", "weight", adj_data=np.full(N, np.nan))
    yield npz("object labels", "labels", "objects", labels=np.array(["a", None] * (N // 2), dtype=object))
    yield npz("object features", "features", "objects", features=np.array([[None]] * N, dtype=object))
    yield npz("labels that don't fit", "labels", labels=np.arange(5))
    yield npz("labels that aren't whole", "0.5", labels=np.full(N, 0.5))
    yield npz("complex labels", "labels", labels=np.zeros(N, complex))
    yield npz("one class", "one class", labels=np.zeros(N, int))
    yield npz("no labels", "no label", labels=None)
    yield npz("labels unknown", "no label", labels=np.full(N, -1))
    yield npz("features that don't fit", "rows", features=np.zeros((5, 2)))
    yield npz("features in three dimensions", "shape", features=np.zeros((N, 2, 2)))
    yield npz("features of nan", "node 3", features=np.where(np.arange(N * 2).reshape(N, 2) == 7, np.nan, 0.5))
    yield npz("features of infinity", "finite", features=np.full((N, 2), np.inf))
    yield npz("features of texts", "features", features=np.full((N, 2), "x"))
    yield npz("half of the attributes", "attr_", attr_indices=np.zeros(3, int))
    yield npz("a mask too short", "train mask", train_mask=np.ones(5, bool))
    yield npz("a mask of floats", "train mask", train_mask=np.ones(N))
    yield npz("a mask of node numbers", "val mask", train_mask=np.arange(N) < 9, val_mask=np.arange(N))
    yield npz("masks that overlap", "more than one", train_mask=np.ones(N, bool), test_mask=np.ones(N, bool))
    yield npz("an empty training mask", "no training node", train_mask=np.zeros(N, bool))
    wide = {"train_mask": np.ones((N, 3), bool), "val_mask": np.zeros((N, 2), bool)}
    yield npz("masks of other widths", "agree", **wide)
    yield npz("a mask in three dimensions", "train mask", train_mask=np.ones((N, 1, 1), bool))
    yield npz("too few class names", "class names", class_names=np.array(["a"]))
    yield npz("an id twice", "twice", node_ids=np.zeros(N, int))
    yield npz("too few ids", "ids", node_ids=np.arange(3))


def flipped(data: bytes) -> bytes:
    """One bit of the first array's numbers changed, so that its check sum is wrong."""
    at = data.index(b"NUMPY") + 150
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


class Bomb:
    """Would make a file, were the pickle run."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("touch exploded",)


def torch_bytes(value: Any) -> bytes:
    import torch

    buffer = io.BytesIO()
    torch.save(value, buffer)
    return buffer.getvalue()


def data(**changes: Any) -> bytes:
    """A PyG Data as a file, with some of its tensors replaced; None leaves one out."""
    import torch
    from torch_geometric.data import Data

    ring = torch.stack([torch.arange(N), (torch.arange(N) + 1) % N])
    good: dict[str, Any] = {"x": torch.randn(N, 2), "edge_index": ring, "y": torch.arange(N) % 2, **changes}
    return torch_bytes(Data(**{key: value for key, value in good.items() if value is not None}))


def pt(name: str, make: Callable[[], bytes], *said: str) -> Case:
    return raw(name, "data.pt", make, *said)


def tuple_bomb() -> bytes:
    """A dictionary whose key is a tuple nested in itself 60 times: its hash would take 2^60 steps."""
    nested: tuple[Any, ...] = ()
    for _ in range(60):
        nested = (nested, nested)
    content = io.BytesIO()
    pickler = pickle.Pickler(content, protocol=2)
    pickler.dump([nested])
    return zipped_as_torch(content.getvalue())


def zipped_as_torch(content: bytes, how: int = zipfile.ZIP_STORED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", how) as packed:
        packed.writestr("archive/data.pkl", content)
        packed.writestr("archive/version", "3\n")
    return buffer.getvalue()


def torch_files() -> Iterator[Case]:
    import torch

    yield pt("0 bytes", lambda: b"", "empty")
    yield pt("not torch", lambda: b"hello " * 100, "data.pt")
    yield pt("a pickle bomb", lambda: pickle.dumps(Bomb()), "safely")
    yield pt("a pickle bomb in an archive", lambda: zipped_as_torch(pickle.dumps(Bomb(), 2)), "safely")
    yield pt("a torch file with code", lambda: torch_bytes({"edge_index": Bomb()}), "safely")
    yield pt("tuples nested in themselves", tuple_bomb, "tuples")
    yield pt("a packed archive", lambda: zipped_as_torch(bytes(100), zipfile.ZIP_DEFLATED), "packed")
    yield pt("cut off", lambda: data()[:700], "data.pt")
    yield pt("an empty archive", lambda: zipped_as_torch(b""), "data.pt")
    yield pt("a tensor alone", lambda: torch_bytes(torch.zeros(3)), "Tensor")
    yield pt("a list", lambda: torch_bytes([1, 2]), "list")
    yield pt("no edges given", lambda: data(edge_index=None), "edge_index")
    yield pt("edges that are floats", lambda: data(edge_index=torch.zeros(2, 3)), "edge_index")
    yield pt("edges of a wrong shape", lambda: data(edge_index=torch.zeros(3, 2, dtype=torch.long)), "edge_index")
    yield pt("edges out of range", lambda: data(edge_index=torch.full((2, 3), 99)), "Edge 0")
    yield pt("negative edges", lambda: data(edge_index=torch.full((2, 3), -1)), "Edge 0")
    yield pt("labels that don't fit", lambda: data(y=torch.arange(3)), "labels")
    yield pt("one class", lambda: data(y=torch.zeros(N, dtype=torch.long)), "one class")
    yield pt("no labels", lambda: data(y=None), "no label")
    yield pt("features of nan", lambda: data(x=torch.full((N, 2), torch.nan)), "finite")
    yield pt("complex features", lambda: data(x=torch.zeros(N, 2, dtype=torch.complex64)), "real numbers")
    yield pt("features that don't fit", lambda: data(x=torch.zeros(5, 2), num_nodes=N), "rows")
    yield pt(
        "x that is no tensor", lambda: torch_bytes({"edge_index": torch.zeros(2, 1).long(), "x": "text"}), "tensor"
    )
    yield pt("weights that don't fit", lambda: data(edge_weight=torch.ones(3)), "edge_weight")
    yield pt("negative weights", lambda: data(edge_weight=-torch.ones(N)), "weight")
    yield pt("a mask too short", lambda: data(train_mask=torch.ones(3, dtype=torch.bool)), "train mask")
    yield pt("too many nodes", lambda: data(x=None, y=None, num_nodes=2**40), "too many")
    yield pt("a terabyte that is one number", lambda: data(x=torch.zeros(1).expand(N, 10**11)), "unpack")
    yield pt("ids that don't fit", lambda: data(node_ids=["a", "b"]), "ids")


HEAD = '<?xml version="1.0"?>\n'
GRAPHML = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
KEYS = '<key id="d0" for="node" attr.name="label" attr.type="string"/>'
LAUGHS = (
    '<!DOCTYPE lolz [<!ENTITY a "ha">'
    + "".join(f'<!ENTITY {chr(98 + i)} "{f"&{chr(97 + i)};" * 10}">' for i in range(12))
    + "]>"
)


def graphml(inside: str, before: str = HEAD) -> bytes:
    return f'{before}{GRAPHML}{KEYS}<graph edgedefault="undirected">{inside}</graph></graphml>'.encode()


def labelled(label: Callable[[int], str], edges: str = "") -> bytes:
    nodes = "".join(f'<node id="n{i}"><data key="d0">{label(i)}</data></node>' for i in range(N))
    return graphml(nodes + edges)


def xml_files() -> Iterator[Case]:
    ring = "".join(f'<edge source="n{i}" target="n{(i + 1) % N}"/>' for i in range(N))
    good = labelled(lambda i: "ab"[i % 2], ring)
    yield raw("0 bytes", "graph.graphml", b"", "empty")
    yield raw("not XML", "graph.graphml", b"hello", "well-formed")
    yield raw("cut off", "graph.graphml", good[:500], "well-formed")
    yield raw("other XML", "graph.graphml", b"<html><body/></html>", "graphml")
    yield raw("a billion laughs", "graph.graphml", graphml("&m;", HEAD + LAUGHS), "DOCTYPE")
    yield raw(
        "an outer entity", "graph.graphml", graphml("&x;", '<!DOCTYPE x [<!ENTITY x SYSTEM "/etc/hosts">]>'), "DOCTYPE"
    )
    yield raw("endless nesting", "graph.graphml", b"<a>" * 100_000, "deep")
    yield raw("no nodes", "graph.graphml", graphml(""), "no nodes")
    yield raw("one class", "graph.graphml", labelled(lambda i: "a", ring), "one class")
    yield raw("no labels", "graph.graphml", labelled(lambda i: "", ring), "no label")
    yield raw(
        "a key that isn't there", "graph.graphml", graphml('<node id="1"><data key="zz">x</data></node>'), "graphml"
    )
    yield raw("a number that is a word", "graph.graphml", good.replace(b'"string"', b'"int"'), "graphml")
    weight = b'<key id="w" for="edge" attr.name="weight" attr.type="double"/><graph '
    negative = good.replace(b"<graph ", weight).replace(b'target="n1"/>', b'target="n1"><data key="w">-1</data></edge>')
    yield raw("a negative weight", "graph.graphml", negative, "greater than 0")
    yield raw("a wrong encoding", "graph.graphml", good.replace(b'"1.0"', b'"1.0" encoding="klingon"'), "graph.graphml")
    yield raw("GEXF that isn't", "graph.gexf", good, "gexf")
    yield raw("GEXF laughs", "graph.gexf", (HEAD + LAUGHS + "<gexf>&m;</gexf>").encode(), "DOCTYPE")
    yield Case(
        "graph.graphml: with edges beside it",
        lambda where: files(graph__graphml=good)(where),
        ("graph.graphml", "--edges", "edges.csv"),
        ("graph.graphml", "whole graph"),
    )
