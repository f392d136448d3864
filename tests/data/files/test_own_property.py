"""Random tables: whatever stands in them, there is a graph or one sentence, and never a traceback."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gdamn import Graph
from gdamn.data import files as own
from gdamn.errors import GdamnError
from gdamn.inspect import files as look

CELLS = st.one_of(
    st.sampled_from(
        ["", "a", "b", "1", "2", "-3.5", "nan", "inf", "1e400", "NA", "train", "val", "test", '"', "\ufeff"]
    ),
    st.text(max_size=6),
    st.integers(-5, 5).map(str),
    st.floats(allow_nan=True).map(repr),
)
HEADERS = st.lists(st.sampled_from(["id", "label", "source", "target", "weight", "x", "split", "", "name"]), max_size=5)
ROWS = st.lists(st.lists(CELLS, max_size=5), max_size=12)


def said(work: Callable[[], object]) -> str | None:
    """The sentence that the work ends with; None where it ends well. Any other error falls through."""
    try:
        work()
    except GdamnError as sentence:
        return str(sentence)
    return None


def check_graph(graph: Graph) -> None:
    assert graph.train_mask.any()
    assert np.isfinite(graph.features.data if graph.is_sparse else graph.features).all()


def text(header: list[str], rows: list[list[str]], ragged: bool) -> str:
    width = len(header)
    shown = rows if ragged else [(row + [""] * width)[:width] for row in rows]
    return "\n".join(",".join(row) for row in [header, *shown])


@given(
    nodes=st.tuples(HEADERS, ROWS),
    edges=st.tuples(HEADERS, ROWS),
    ragged=st.booleans(),
    tidy=st.booleans(),
    split=st.booleans(),
)
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
def test_random_tables(
    nodes: tuple[list[str], list[list[str]]],
    edges: tuple[list[str], list[list[str]]],
    ragged: bool,
    tidy: bool,
    split: bool,
) -> None:
    if tidy:  # tables that come further: unique ids, and edges between them
        nodes = (["id", "label", "x"], [[str(i), *row[:2]] for i, row in enumerate(nodes[1])])
        count = max(len(nodes[1]), 1)
        edges = (["source", "target"], [[str(i % count), str((i * 3) % count)] for i in range(len(edges[1]))])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, (header, rows) in (("nodes.csv", nodes), ("edges.csv", edges)):
            content = text(header, rows, ragged).encode("utf-8", "surrogatepass")
            (folder / file).write_bytes(content)
        options = {"edges": str(folder / "edges.csv"), **({"split_column": "split"} if split else {})}
        sentences = [
            said(lambda: check_graph(own.load(folder / "nodes.csv", **options))),
            said(lambda: look.file_facts(folder / "nodes.csv", options)),
        ]
    assert all(sentence is None or sentence.rstrip().endswith(".") for sentence in sentences)


@given(
    content=st.binary(max_size=400),
    suffix=st.sampled_from([".csv", ".tsv", ".parquet", ".npz", ".pt", ".graphml", ".gexf"]),
)
@settings(max_examples=80, deadline=None)
def test_random_bytes(content: bytes, suffix: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / f"graph{suffix}"
        path.write_bytes(content)
        edges = {"edges": str(path)} if suffix in own.TABLES else {}
        sentence = said(lambda: own.load(path, **edges))
    assert sentence is None or sentence.rstrip().endswith(".")
