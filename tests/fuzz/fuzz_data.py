"""Fuzz targets for the files of benchmarks: Planetoid's pickles, npz archives, ogbn-arxiv's folder, and archives."""

from __future__ import annotations

import gzip
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from fuzz_kinds import Target
from fuzz_own import ARRAYS, packed_arrays, plain_arrays, saved

from gdamn.data.named import arxiv, coauthor, heterophily, planetoid, poisoned

KEYS = ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index")
RAW = Path("Planetoid/Cora/raw")


def pickles() -> dict[str, bytes]:
    """A Cora of nine nodes: one for training, two for validation, three for the test."""
    values: dict[str, Any] = {
        "x": sp.csr_matrix(np.eye(1, 4, dtype=np.float32)),
        "tx": sp.csr_matrix(np.eye(3, 4, dtype=np.float32)),
        "allx": sp.csr_matrix(np.eye(6, 4, dtype=np.float32)),
        "y": np.eye(2, dtype=np.int32)[[0]],
        "ty": np.eye(2, dtype=np.int32)[[0, 1, 0]],
        "ally": np.eye(2, dtype=np.int32)[[0, 1, 0, 1, 0, 1]],
        "graph": {i: [(i + 1) % 9] for i in range(9)},
    }
    return {**{key: pickle.dumps(value, protocol=4) for key, value in values.items()}, "test.index": b"7\n6\n8\n"}


GOOD = pickles()


def read_planetoid(folder: Path, content: bytes) -> None:
    """The first byte says which of the files the others are."""
    planetoid.VALIDATION = 2
    (folder / RAW).mkdir(parents=True, exist_ok=True)
    chosen = KEYS[content[0] % len(KEYS)] if content else KEYS[0]
    for key, good in GOOD.items():
        (folder / RAW / f"ind.cora.{key}").write_bytes(content[1:] if key == chosen else good)
    planetoid.load_planetoid("cora", data_root=folder)


BENCHMARK = {name: value for name, value in ARRAYS.items() if name not in ("node_ids", "class_names", "adj_data")}
TEN = {name: np.repeat(value[:, None], 10, 1) for name, value in BENCHMARK.items() if name.endswith("_mask")}
YEARS = {"test_mask_2021plus": BENCHMARK["test_mask"]}


def read_benchmarks(folder: Path, content: bytes, archive: bytes | None = None) -> None:
    """The first byte says which of the four kinds of archive the others are."""
    coauthor.TRAIN = coauthor.VAL = 1
    archive = content[1:] if archive is None else archive
    kind = content[0] % 4 if content else 0
    name, load, called = (
        ("Coauthor/CS/raw/ms_academic_cs.npz", coauthor.load_coauthor, "coauthor-cs"),
        ("heterophily/chameleon_filtered.npz", heterophily.load_heterophily, "chameleon"),
        ("arxiv/arxiv_2023.npz", arxiv.load_arxiv_2023, "arxiv-2023"),
        ("poisoned/cora-meta-0.00.npz", poisoned.load_poisoned, "cora-meta"),
    )[kind]
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(archive)
    load(called, data_root=folder)


def read_benchmark_arrays(folder: Path, content: bytes) -> None:
    read_benchmarks(folder, content, packed_arrays(content[1:], [*BENCHMARK, *YEARS]))


TEXTS = (
    "".join(f"{i},{(i + 1) % 6}\n" for i in range(6)),
    "".join(f"{i}.5,-1e-3\n" for i in range(6)),
    "0\n1\n0\n1\n0\n1\n",
    "0\n1\n",
    "2\n3\n",
    "4\n5\n",
)


def ogb_folder(folder: Path, chosen: int, content: bytes) -> None:
    for at, (name, text) in enumerate(zip(arxiv._OGB_FILES, TEXTS, strict=True)):
        path = folder / "ogbn_arxiv" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if at == chosen else gzip.compress(text.encode(), mtime=0))
    arxiv.load_ogbn_arxiv("ogbn-arxiv", data_root=folder)


def read_ogb_text(folder: Path, content: bytes) -> None:
    chosen = content[0] % len(TEXTS) if content else 0
    ogb_folder(folder, chosen, gzip.compress(content[1:], 1, mtime=0))


def read_ogb_packed(folder: Path, content: bytes) -> None:
    ogb_folder(folder, content[0] % len(TEXTS) if content else 0, content[1:])


def names_below(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


FILE = b"the published file"


PICKLE_WORDS = ("numpy", "ndarray", "_reconstruct", "scipy.sparse._csr", "csr_matrix", "collections", "defaultdict")
HEADER_WORDS = ("'<U2'", "'|O'", "'<f4'", "True", "'<i8'", "fortran_order")

TARGETS = [
    Target("planetoid", read_planetoid, lambda: [bytes([at]) + GOOD[key] for at, key in enumerate(KEYS)], PICKLE_WORDS),
    Target(
        "benchmark-npz",
        read_benchmarks,
        lambda: [
            b"\0" + saved(BENCHMARK),
            b"\1" + saved({**BENCHMARK, **TEN}),
            b"\2" + saved({**BENCHMARK, **YEARS}),
            b"\3" + saved(BENCHMARK),
        ],
        tuple(ARRAYS),
    ),
    Target(
        "benchmark-arrays",
        read_benchmark_arrays,
        lambda: [
            b"\0" + plain_arrays(BENCHMARK),
            b"\1" + plain_arrays({**BENCHMARK, **TEN}),
            b"\2" + plain_arrays({**BENCHMARK, **YEARS}),
            b"\3" + plain_arrays(BENCHMARK),
        ],
        HEADER_WORDS,
    ),
    Target("ogb-text", read_ogb_text, lambda: [bytes([at]) + text.encode() for at, text in enumerate(TEXTS)]),
    Target(
        "ogb-packed",
        read_ogb_packed,
        lambda: [bytes([at]) + gzip.compress(text.encode(), mtime=0) for at, text in enumerate(TEXTS)],
    ),
]
