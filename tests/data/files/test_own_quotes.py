"""Quotes that swallow rows are refused with their line; texts that go on over line breaks are read as they are."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest
from broken_tables import EDGES, NODES, N, edge_rows, files, node_rows, table

from gdamn.data import files as own
from gdamn.errors import GdamnError


def load(folder: Path, monkeypatch: pytest.MonkeyPatch, **content: Any) -> Any:
    files(**content)(folder)
    monkeypatch.chdir(folder)
    return own.load("nodes.csv", edges="edges.csv", label="label", features=["age"])


def noted(*cells: tuple[int, str], between: str = ",") -> bytes:
    """The edges with a column of notes that nobody asks for."""
    rows = [[*row, "ok"] for row in edge_rows()]
    for at, cell in cells:
        rows[at][3] = cell
    return table(["source", "target", "weight", "note"], rows, between)


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        (((3, '"sic'), (38, '"odd')), ("line 5", "35 lines", "'note'", "line 40")),
        (((3, '"'), (38, '"')), ("line 5", "35 lines", "look like rows")),
        (((3, '"sic'), (38, 'odd"')), ("line 5", "35 lines", "look like rows")),
        (((0, '"'), (47, '"')), ("line 2", "47 lines", "look like rows")),
        (((3, '"a'), (4, '"b'), (9, '"c'), (12, '"d')), ("line 5", "1 more")),
        (((3, '"x'), (5, '"y, z"'), (20, '"x'), (30, "x")), ("line 5", "line 7")),
    ],
)
def test_an_even_number_of_stray_quotes_in_the_edges(
    cells: Any, said: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(GdamnError) as caught:
        load(tmp_path, monkeypatch, edges__csv=noted(*cells))
    for words in ("edges.csv", "twice", *said):
        assert words in str(caught.value)


def test_ditto_marks_in_the_nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = node_rows()
    rows[4][3] = rows[5][3] = '"'
    nodes = table(["id", "label", "age", "city"], rows)
    with pytest.raises(GdamnError, match=r"line 6 of 'nodes.csv' \(column 'city'\) swallows the next 1 lines"):
        load(tmp_path, monkeypatch, nodes__csv=nodes)


def test_windows_line_ends_and_blank_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spaced = EDGES.replace(b"\n", b"\r\n").replace(b"n3,n4,1.5\r\n", b"\r\nn3,n4,1.5\r\n\r\n")
    assert load(tmp_path, monkeypatch, edges__csv=spaced).num_edges == 48
    quoted = spaced.replace(b"1.5", b'"1.5"')
    assert load(tmp_path, monkeypatch, edges__csv=quoted).num_edges == 48
    with pytest.raises(GdamnError, match="swallows the next 35 lines"):
        load(tmp_path, monkeypatch, edges__csv=noted((3, '"sic'), (38, '"odd')).replace(b"\n", b"\r\n"))


def written(texts: list[str], first: bool = False, **how: Any) -> bytes:
    """The nodes with a text, as Python's csv and so every spreadsheet writes it."""
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, **how)
    rows = [[*row, text] for row, text in zip(node_rows(), texts, strict=True)]
    for row in [["id", "label", "age", "city", "text"], *rows]:
        writer.writerow([row[-1], *row[:-1]] if first else row)
    return buffer.getvalue().encode()


TEXTS = {
    "two lines": ["first\nsecond"] * N,
    "commas": ["apples, pears\nplums, figs, dates, nuts, rice\nbread"] * N,
    "as many commas as columns": ["one\ntwo, three, four, five, six\nseven"] * N,
    "some rows": ["plain", "one\ntwo, three, four, five, six"] * (N // 2),
    "quotes in it": ['he said "go"\nand, well, "went", or "not"'] * N,
    "blank lines": ["a\n\n\nb", "c"] * (N // 2),
    "carriage returns": ["a\r\nb, c, d, e, f", "c\rd"] * (N // 2),
    "it ends with one": ["a\n", "\nb"] * (N // 2),
    "strange separators": ["a\u2028b\x0bc", "\x85"] * (N // 2),
    "a line that could be a row among others": ["one\nn99,a,5,X,y", *["one\ntwo words here"] * (N - 1)],
    "many lines": ["\n".join(f"line {i}, and so on" for i in range(200))] * N,
}


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("quoting", [csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
@pytest.mark.parametrize("texts", TEXTS.values(), ids=TEXTS)
def test_texts_over_lines_are_read(
    texts: list[str], quoting: Any, first: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gdamn.data.files.reader import read_table

    graph = load(tmp_path, monkeypatch, nodes__csv=written(texts, first, quoting=quoting))
    assert (graph.num_nodes, graph.num_edges) == (N, 48)
    read = read_table(Path("nodes.csv"))
    assert read.data["text"].to_pylist() == texts
    over = sum("\n" in text or "\r" in text for text in texts)
    assert any(f"{over} cells in quotes go on over line breaks" in note for note in graph.meta["notes"]) == (over > 0)


def test_a_header_over_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert load(tmp_path, monkeypatch, nodes__csv=NODES.replace(b"city", b'"city\n(home)"')).num_nodes == N
    with pytest.raises(GdamnError, match="swallows the next 3 lines"):
        load(tmp_path, monkeypatch, edges__csv=noted((2, '"x')).replace(b"note", b'"note'))
