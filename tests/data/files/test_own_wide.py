"""Tables and XML of very many columns: time grows with their number and no faster, and what is too much is told."""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from broken_graphs import labelled
from broken_tables import EDGES, N, node_rows, table
from typer.testing import CliRunner

from gdamn import Graph
from gdamn.cli import inspect as cli_inspect
from gdamn.cli import root as cli
from gdamn.data import files as own
from gdamn.data.files import graphml as xml_graph
from gdamn.errors import GdamnError

assert cli_inspect.app is cli.app


def wide(columns: int, word: bool = False) -> bytes:
    cells = [["XYZ"[(row + at) % 3] if word else str((row * 7 + at) % 13) for at in range(columns)] for row in range(N)]
    header = ["id", "label", *(f"c{at}" for at in range(columns))]
    return table(header, [[*row[:2], *more] for row, more in zip(node_rows(), cells, strict=True)])


@pytest.mark.parametrize(("columns", "word"), [(8000, False), (4000, True)])
def test_thousands_of_columns_are_looked_at_in_time(
    columns: int, word: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It took minutes when each column searched all the others."""
    (tmp_path / "nodes.csv").write_bytes(wide(columns, word))
    (tmp_path / "edges.csv").write_bytes(EDGES)
    monkeypatch.chdir(tmp_path)
    start = time.perf_counter()
    done = CliRunner().invoke(cli.app, ["inspect", "nodes.csv", "edges.csv", "--json"])
    assert time.perf_counter() - start < 25
    assert done.exit_code == 0, done.stderr
    facts = json.loads(done.stdout)
    assert facts["features"]["number"] == (12000 if word else 8000)
    assert len(facts["notes"]) < 100


def test_categories_stand_where_they_stood() -> None:
    """One matrix for all columns is the same as one beside the other."""
    words = {"u": ["a", "b", None, "a"], "v": ["x", None, "y", "z"]}
    nodes = pa.table({"id": list("pqrs"), "size": [1.0, 2.0, 3.0, 4.0], **words})
    graph = Graph.from_tables(nodes, pa.table({"a": ["p"], "b": ["q"]}), features=["size", "u", "v"])
    x = graph.features.toarray() if graph.is_sparse else graph.features
    expected = [[1, 0, 1, 0, 0], [0, 1, 0, 0, 0], [0, 0, 0, 1, 0], [1, 0, 0, 0, 1]]
    assert np.array_equal(x[:, 1:], expected)


def with_attributes(number: int) -> bytes:
    many = " ".join(f'a{at}="1"' for at in range(number))
    return labelled(lambda i: "ab"[i % 2]).replace(b'<node id="n3">', f'<node id="n3" {many}>'.encode())


def test_attributes_of_an_element_are_bounded_before_they_are_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "g.graphml"
    path.write_bytes(with_attributes(300_000))
    monkeypatch.setattr(xml_graph, "MOST_ATTRIBUTES", 10**9)  # the parser must not have got that far
    with pytest.raises(GdamnError, match=r"in line 2 of '.*' is longer than 1,048,576 bytes"):
        own.load(path)
    path.write_bytes(with_attributes(2000))
    monkeypatch.setattr(xml_graph, "MOST_ATTRIBUTES", 1000)
    with pytest.raises(GdamnError, match=r"element 'node' in .* has 2,001 XML attributes"):
        own.load(path)
    path.write_bytes(with_attributes(0))
    assert own.load(path).num_nodes == N


def test_long_texts_in_xml_are_no_long_tags(tmp_path: Path) -> None:
    path = tmp_path / "g.graphml"
    words = "a word and another " * 120_000
    path.write_bytes(labelled(lambda i: "ab"[i % 2]).replace(b"</graph>", f"<desc>{words}</desc></graph>".encode()))
    assert own.load(path).num_nodes == N


def test_declared_attributes_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xml_graph, "MOST_COLUMNS", 30)
    keys = "".join(f'<key id="k{at}" for="node" attr.name="k{at}" attr.type="int"/>' for at in range(40))
    path = tmp_path / "g.graphml"
    path.write_bytes(labelled(lambda i: "ab"[i % 2]).replace(b"<graph ", f"{keys}<graph ".encode()))
    with pytest.raises(GdamnError, match="declares more than 30 attributes"):
        own.load(path)
