"""Tables converted in a stream: the folder is that of the ordinary way, byte for byte."""

from __future__ import annotations

import bz2
import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

from gdamn.cli import app
from gdamn.data import load
from gdamn.data.files.folder import read_folder, write_folder
from gdamn.data.files.options import Options
from gdamn.data.stream import arrays, edges, ids, sources
from gdamn.data.stream.convert import UNFINISHED, convert
from gdamn.errors import DataError

DIGITS = load("digits")


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything that is done piece by piece is done in several pieces."""
    monkeypatch.setattr(arrays, "LEAF", 256)
    monkeypatch.setattr("gdamn.data.stream.nodes.LEAF", 256)
    monkeypatch.setattr(edges, "BUCKET", 3000)
    monkeypatch.setattr(edges, "RUN", 1000)
    monkeypatch.setattr(sources, "BATCH_ROWS", 500)
    monkeypatch.setattr("gdamn.data.files.csv_table.BLOCK", 16_000)


def node_table(id_of: Any, names: bool = True) -> pa.Table:
    """Digits with numbers, names, a constant, a column that is left out, and labels of which some are unknown."""
    rng = np.random.default_rng(0)
    n = DIGITS.num_nodes
    unknown = rng.random(n) < 0.3
    words = ["?", "NA", ""]
    labels = [words[at % 3] if unknown[at] else f"digit {label}" for at, label in enumerate(DIGITS.labels)]
    columns: dict[str, Any] = {"node": [id_of(at) for at in range(n)], "topic": labels}
    columns |= {f"x{at}": DIGITS.features[:, at].astype(np.float64) * 1.1 for at in (10, 20, 30)}
    columns |= {"constant": np.full(n, 3)}
    if names:
        columns |= {"city": [f"city {at}" if at < 9 else None for at in rng.integers(0, 10, n)]}
        columns |= {"comment": [f"text {at % 700}" for at in range(n)]}
    return pa.table(columns)


def edge_table(id_of: Any, weighted: bool) -> pa.Table:
    """Some edges in both directions, some twice, some from a node to itself."""
    rng = np.random.default_rng(1)
    pairs = np.stack([DIGITS.rows, DIGITS.indices], 1)[::2]
    pairs = np.concatenate([pairs, pairs[:400], pairs[:300, ::-1], np.repeat(np.arange(7), 2).reshape(-1, 2)])
    pairs = rng.permutation(pairs)
    columns: dict[str, Any] = {"source": [id_of(i) for i in pairs[:, 0]], "target": [id_of(j) for j in pairs[:, 1]]}
    return pa.table(columns | ({"weight": rng.integers(1, 9, len(pairs)) / 4} if weighted else {}))


def write(table: pa.Table, path: Path, pieces: int = 1) -> str:
    """Write a table as the name of the file asks for; as a folder of several files where it has none."""
    endings = path.suffixes
    if not endings:
        path.mkdir()
        for at in range(pieces):
            size = -(-table.num_rows // pieces)
            write(table.slice(at * size, size), path / f"part-{at}.{('csv', 'csv.gz')[at % 2]}")
        return str(path)
    if endings[-1] == ".parquet":
        pa.parquet.write_table(table, path, row_group_size=700)
        return str(path)
    sink = pa.BufferOutputStream()
    pa.csv.write_csv(
        table, sink, pa.csv.WriteOptions(quoting_style="needed", delimiter="," if ".csv" in endings else "\t")
    )
    pack = {".gz": gzip.compress, ".bz2": bz2.compress}.get(endings[-1], lambda content: content)
    path.write_bytes(pack(sink.getvalue().to_pybytes()))
    return str(path)


def compare(plain: Path, streamed: Path) -> None:
    """Every array of both folders, byte for byte, and what is remembered."""
    heads = [json.loads((folder / "graph.json").read_text(encoding="utf-8")) for folder in (plain, streamed)]
    for name in ("features_indptr", "features_indices"):  # SciPy is free to hold them in 32 or 64 bits
        found = [head["arrays"].pop(name, None) for head in heads]
        if found[0]:
            np.testing.assert_array_equal(np.load(plain / f"{name}.npy"), np.load(streamed / f"{name}.npy"))
    assert heads[0]["arrays"] == heads[1]["arrays"]
    for key in ("class_names", "directed", "width"):
        assert heads[0][key] == heads[1][key]
    one, other = (head["meta"] for head in heads)
    assert list(one["encoder"].pop("left_out")) == list(other["encoder"].pop("left_out"))  # told in other words
    for key in ("encoder", "reading", "split", "dropped_self_loops", "merged_duplicates", "seed"):
        assert one[key] == other[key], key
    told = [[note for note in meta["notes"] if "of '" not in note and "Left out" not in note] for meta in (one, other)]
    assert told[0] == told[1]
    assert not (streamed / UNFINISHED).exists()
    read_folder(streamed)  # which checks all of it


def name_of(at: int) -> str:
    return f"n°{at:04d}" if at % 3 else f"a rather long name {at}"


CASES = [
    ("nodes.csv", "edges.csv", str, {}, False),
    ("nodes.csv.gz", "edges.csv.bz2", name_of, {"directed": True}, True),
    ("nodes.csv", "edges.csv", int, {"directed": True}, False),
    ("nodes.tsv", "edges.tsv.gz", lambda at: f"{at:05d}", {"val_share": 0.1, "test_share": 0.3}, False),
    ("nodes.parquet", "edges.parquet", int, {"features": ["x10", "city", "x30"]}, True),
    ("nodes.parquet", "edges.parquet", name_of, {"features": ["city"]}, False),
    ("nodes", "edges", int, {"features": ["x10", "x20"]}, True),
    ("nodes.csv", "edges.csv", int, {"features": ["x10", "comment", "constant"]}, False),
]


@pytest.mark.parametrize(("nodes", "links", "id_of", "chosen", "weighted"), CASES)
def test_the_folder_is_that_of_the_ordinary_way(
    nodes: str, links: str, id_of: Any, chosen: dict[str, Any], weighted: bool, tmp_path: Path
) -> None:
    tables = node_table(id_of), edge_table(id_of, weighted)
    ending = ".parquet" if "parquet" in nodes else ".csv"
    plain = [write(table, tmp_path / f"plain-{at}{ending}") for at, table in enumerate(tables)]
    options = {"label": "topic", **chosen}
    ordinary = write_folder(load(plain[0], edges=plain[1], **options), tmp_path / "plain.graph")
    given = [write(table, tmp_path / name, 3) for table, name in zip(tables, (nodes, links), strict=True)]
    convert(given[0], tmp_path / "stream.graph", Options.make({"edges": given[1], **options}))
    compare(ordinary, tmp_path / "stream.graph")


def test_ids_in_several_rounds_and_a_glob(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edges, "MOST_IDS", 600)
    tables = node_table(name_of, names=False), edge_table(name_of, True)
    plain = [write(table, tmp_path / f"plain-{at}.csv") for at, table in enumerate(tables)]
    options = {"label": "topic"}
    ordinary = write_folder(load(plain[0], edges=plain[1], **options), tmp_path / "plain.graph", half=True)
    for table, name in zip(tables, ("nodes", "edges"), strict=True):
        write(table, tmp_path / name, 4)
    chosen = Options.make({"edges": str(tmp_path / "edges" / "*"), **options})
    graph = convert(str(tmp_path / "nodes" / "part-*"), tmp_path / "stream.graph", chosen, half=True)
    compare(ordinary, tmp_path / "stream.graph")
    assert graph.name == "nodes"


def test_labels_and_ids_that_parquet_has_as_floats(tmp_path: Path) -> None:
    """Pandas makes floats of whole numbers where one is missing."""
    n = DIGITS.num_nodes
    labels = np.where(np.arange(n) % 5 == 0, np.nan, DIGITS.labels.astype(float))
    nodes = pa.table({"id": np.arange(n) * 1.0, "label": labels, "x": DIGITS.features[:, 20]})
    plain = write(nodes, tmp_path / "nodes.parquet"), write(edge_table(int, False), tmp_path / "edges.parquet")
    ordinary = write_folder(load(plain[0], edges=plain[1]), tmp_path / "plain.graph")
    convert(plain[0], tmp_path / "stream.graph", Options.make({"edges": plain[1]}))
    compare(ordinary, tmp_path / "stream.graph")


def test_a_split_column(tmp_path: Path) -> None:
    split = np.array(["train", "Val", "test", ""])[np.random.default_rng(2).integers(0, 4, DIGITS.num_nodes)]
    nodes = node_table(int).append_column("part", pa.array(split)).set_column(1, "topic", pa.array(DIGITS.labels))
    plain = write(nodes, tmp_path / "nodes.csv"), write(edge_table(int, False), tmp_path / "edges.csv")
    options = {"label": "topic", "split_column": "part", "edges": plain[1]}
    ordinary = write_folder(load(plain[0], **options), tmp_path / "plain.graph")
    convert(plain[0], tmp_path / "stream.graph", Options.make(options))
    compare(ordinary, tmp_path / "stream.graph")


def test_moments_have_the_bits_of_numpy(tmp_path: Path) -> None:
    numbers = np.random.default_rng(0).lognormal(3, 2, 10_007)
    spill = arrays.Spill(tmp_path / "numbers", np.float64)
    for piece in np.array_split(numbers, 5):
        spill.append(piece)
    assert arrays.moments(spill) == (numbers.mean(), numbers.std())


def test_hashes_tell_ids_apart() -> None:
    texts = [f"{at}" for at in range(40_000)] + ["a" * at for at in range(300)] + ["\x00", "\x00\x00", "ü", "u"]
    seeds = np.frombuffer(np.random.default_rng(3).bytes(16), np.uint64)
    keys = ids.hash_texts(pa.array(texts, pa.large_string()), seeds)
    assert len(np.unique(keys[:, 0])) == len(np.unique(keys[:, 1])) == len(set(texts))
    sliced = ids.hash_texts(pa.array(texts, pa.large_string()).slice(7, 100), seeds)
    np.testing.assert_array_equal(sliced, keys[7:107])
    table = ids.IdTable(keys[:1000], first=5)
    assert table.repeated == -1
    np.testing.assert_array_equal(table.numbers(keys[::100])[:10], np.arange(0, 1000, 100) + 5)
    assert (table.numbers(keys[1000:]) == -1).all()
    assert ids.IdTable(keys[[3, 4, 5, 4, 3]]).repeated == 3


BAD = [
    (
        "id,label,x\na,1,1\nb,2,2\n",
        "source,target\na,b\nb,c\n",
        {},
        "row 3 of .*edges.csv' names 'c' in column 'target'",
    ),
    ("id,label,x\na,1,1\nb,2,2\n", "source,target\na,\n", {}, "column 'target' in row 2 of .*edges.csv' is empty"),
    ("id,label,x\na,1,1\nb,2,2\na,2,2\n", "source,target\na,b\n", {}, "'a' stands twice in .*rows 2 and 4"),
    ("id,label,x\na,1,1\n,2,2\n", "source,target\na,b\n", {}, "id of column 'id' in row 3 .* is empty"),
    ("id,label,x\na,1,1\nb,2,\n", "source,target\na,b\n", {}, "column 'x' in row 3 of .*nodes.csv' is empty"),
    ("id,label,x\na,1,1\nb,2,inf\n", "source,target\na,b\n", {}, "column 'x' in row 3 .*not finite"),
    ("id,label,x\na,1,1\nb,1,2\n", "source,target\na,b\n", {}, "only one class"),
    ("id,label,x\na,1,1\nb,2,2,3\n", "source,target\na,b\n", {}, "row 3 has 4 cells"),
    ("id,label,x\na,1,1\nb,2,2\n", "source,target,weight\na,b,-1\n", {}, "weight in column 'weight' in row 2 .* is -1"),
    ("id,label,x\na,1,1\nb,2,2\n", "source,target\na,b\n", {"text": "x"}, "can't be read as a text in a stream"),
    ("id,label\na,1\nb,2\n", "source,target\na,b\n", {}, "no column for features"),
    ("id,label,x\na,1,1\nb,2,2\n", "source,target\na,b\n", {"features": "none"}, "no column for features"),
    ('id,label,x\na,1,1\nb,2,"2\n', "source,target\na,b\n", {}, "quote"),
    ("id,label,x\n" + "a,1,7\n" * 0, "source,target\na,b\n", {}, "has no rows"),
]


@pytest.mark.parametrize(("nodes", "links", "chosen", "said"), BAD)
def test_bad_tables_are_refused_with_file_and_row(
    nodes: str, links: str, chosen: dict[str, Any], said: str, tmp_path: Path
) -> None:
    (tmp_path / "nodes.csv").write_text(nodes)
    (tmp_path / "edges.csv").write_text(links)
    options = Options.make({"edges": str(tmp_path / "edges.csv"), **chosen})
    with pytest.raises(DataError, match=said):
        convert(str(tmp_path / "nodes.csv"), tmp_path / "g.graph", options)
    assert not (tmp_path / "g.graph").exists()


def test_the_same_id_in_two_files_is_refused_with_both_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "nodes").mkdir()
    (tmp_path / "nodes" / "1.csv").write_text("id,label,x\na,1,1\nb,2,2\n")
    (tmp_path / "nodes" / "2.csv").write_text("id,label,x\nc,1,1\nb,2,2\n")
    (tmp_path / "edges.csv").write_text("source,target\na,b\n")
    for most in (100, 3):
        monkeypatch.setattr(edges, "MOST_IDS", most)
        with pytest.raises(DataError, match=r"row 3 of '.*1.csv' and in row 3 of '.*2.csv'; ids must be unique"):
            convert(str(tmp_path / "nodes"), tmp_path / "g.graph", Options.make({"edges": str(tmp_path / "edges.csv")}))


def test_files_that_are_not_alike_are_refused(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("source,target\n1,2\n")
    options = Options.make({"edges": str(tmp_path / "edges.csv")})
    (tmp_path / "a").mkdir()
    with pytest.raises(DataError, match="no table in"):
        convert(str(tmp_path / "a"), tmp_path / "g.graph", options)
    (tmp_path / "a" / "1.csv").write_text("id,label,x\n1,1,1\n")
    (tmp_path / "a" / "2.csv").write_text("id,label,y\n2,2,1\n")
    with pytest.raises(DataError, match="different columns, such as 'x'"):
        convert(str(tmp_path / "a"), tmp_path / "g.graph", options)
    (tmp_path / "b").mkdir()
    for at, x in enumerate(([1, 2], ["1", "2"])):
        table = pa.table({"id": [2 * at, 2 * at + 1], "label": [0, 1], "x": x})
        pa.parquet.write_table(table, tmp_path / "b" / f"{at}.parquet")
    with pytest.raises(DataError, match=r"Column 'x' of '.*1.parquet' holds string, and int64 in the files before"):
        convert(str(tmp_path / "b"), tmp_path / "g.graph", options)
    (tmp_path / "c.csv.gz").write_bytes(gzip.compress(b"id,label,x\n1,1,1\n" * 500)[:-20])
    with pytest.raises(DataError, match=r"c\.csv\.gz' can't be read"):
        convert(str(tmp_path / "c.csv.gz"), tmp_path / "g.graph", options)


class StoppedError(Exception):
    """As a kill while something is done."""


def test_an_interrupted_conversion_goes_on_behind_its_last_stage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = write(node_table(name_of), tmp_path / "nodes.csv"), write(edge_table(name_of, True), tmp_path / "edges.csv")
    options = Options.make({"edges": paths[1], "label": "topic"})
    convert(paths[0], tmp_path / "once.graph", options)
    folder, read = tmp_path / "again.graph", list[str]()
    tables = sources.Source.tables

    def watched(self: sources.Source, *given: Any) -> Any:
        read.append(Path(self.name).stem)
        return tables(self, *given)

    def stopped(at: str) -> Any:
        def progress(what: str, done: int, total: int) -> None:
            if what == at:
                raise StoppedError

        return progress

    monkeypatch.setattr(sources.Source, "tables", watched)
    for at in ("reading edges.csv", "sorting edges"):
        with pytest.raises(StoppedError):
            convert(paths[0], folder, options, progress=stopped(at))
        assert not (folder / "graph.json").exists()
    convert(paths[0], folder, options)
    assert read == ["nodes", "nodes", "edges", "edges"]  # of the nodes first only the columns of names
    heads = [json.loads((each / "graph.json").read_text()) for each in (tmp_path / "once.graph", folder)]
    assert heads[0] == heads[1]
    with pytest.raises(StoppedError):
        convert(paths[0], folder, options, progress=stopped("sorting edges"))
    (folder / "features.npy").write_bytes(b"spoiled")
    (folder / ".indices-abcdefgh.npy").write_bytes(b"of a killed process")
    convert(paths[0], folder, options)
    assert json.loads((folder / "graph.json").read_text()) == heads[0]
    assert {path.name for path in folder.iterdir()} == {path.name for path in (tmp_path / "once.graph").iterdir()}


def test_the_command_streams_what_only_a_stream_can_read(tmp_path: Path) -> None:
    write(node_table(int), tmp_path / "nodes", 3)
    links = write(edge_table(int, False), tmp_path / "edges.csv")
    given = [
        "data",
        "convert",
        str(tmp_path / "nodes"),
        str(tmp_path / "g.graph"),
        "--label",
        "topic",
        "--edges",
        links,
    ]
    done = CliRunner().invoke(app, given)
    assert done.exit_code == 0, done.output
    assert "nodes: 1,797 nodes" in done.output
    plain = write(node_table(int), tmp_path / "nodes.csv")
    done = CliRunner().invoke(app, [*given[:2], plain, str(tmp_path / "p.graph"), *given[4:], "--stream", "--half"])
    assert done.exit_code == 0, done.output
    half, whole = (read_folder(tmp_path / name) for name in ("p.graph", "g.graph"))
    assert half.features.dtype == np.float16
    np.testing.assert_array_equal(half.indices, whole.indices)
    done = CliRunner().invoke(app, ["data", "convert", plain, str(tmp_path / "q.graph"), "--stream"])
    assert done.exit_code == 2
    assert "pass the table of the edges" in " ".join(done.output.split())


def test_large_tables_are_streamed_where_a_stream_can(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = [
        write(table, tmp_path / name)
        for table, name in ((node_table(int), "nodes.csv"), (edge_table(int, False), "edges.csv"))
    ]
    used = list[str]()
    monkeypatch.setattr("gdamn.cli.convert._streamed", lambda *given: used.append("stream") or DIGITS)
    arguments = ["data", "convert", plain[0], str(tmp_path / "g.graph"), "--edges", plain[1], "--label", "topic"]
    for threshold, more, expected in (
        (1 << 30, [], []),
        (100, [], ["stream"]),
        (100, ["--text", "comment"], []),
        (100, ["--features", "none"], []),
    ):
        monkeypatch.setattr(sources, "THRESHOLD", threshold)
        used.clear()
        done = CliRunner().invoke(app, [*arguments, *more])
        assert (done.exit_code, used) == (0, expected), done.output
    monkeypatch.setattr("gdamn.data.files.limits.most_bytes", lambda: 1000)
    assert sources.needs_stream(plain[0])
