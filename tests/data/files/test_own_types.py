"""Columns of every Arrow type, in every role: read, or one sentence that names the column and the type."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gdamn import Graph
from gdamn.data import files as own
from gdamn.errors import GdamnError, GraphError

N = 6
IDS = [f"n{i}" for i in range(N)]
NUMBERS = list(range(N))


def of_numbers(kind: pa.DataType, storage: pa.DataType | None = None) -> Any:
    return pa.array(NUMBERS, storage or pa.int64()).cast(kind)


def packed(values: Any) -> Any:
    return pa.DictionaryArray.from_arrays(pa.array(NUMBERS, pa.int32()), values)


NUMERIC = {
    "bool": pa.array([i % 2 == 0 for i in NUMBERS]),
    "uint64": pa.array(NUMBERS, pa.uint64()),
    "half": pa.array(NUMBERS, pa.float32()).cast(pa.float16()),
    "date32": of_numbers(pa.date32(), pa.int32()),
    "date64": of_numbers(pa.date64()),
    "time32 s": of_numbers(pa.time32("s"), pa.int32()),
    "time32 ms": of_numbers(pa.time32("ms"), pa.int32()),
    "time64 us": of_numbers(pa.time64("us")),
    "time64 ns": of_numbers(pa.time64("ns")),
    "timestamp": of_numbers(pa.timestamp("s")),
    "timestamp with a zone": of_numbers(pa.timestamp("us", tz="UTC")),
    "duration": of_numbers(pa.duration("ms")),
    "decimal": pa.array([Decimal(i) / 4 for i in NUMBERS], pa.decimal128(10, 2)),
    "wide decimal": pa.array([Decimal(i) / 4 for i in NUMBERS], pa.decimal256(40, 3)),
    "packed times": packed(of_numbers(pa.time32("s"), pa.int32())),
    "packed decimals": packed(pa.array([Decimal(i) for i in NUMBERS], pa.decimal128(10, 2))),
}
TEXTS = {
    "binary": pa.array([name.encode() for name in IDS], pa.binary()),
    "fixed binary": pa.array([name.encode() for name in IDS], pa.binary(2)),
    "large text": pa.array(IDS, pa.large_string()),
    "packed text": packed(pa.array(IDS)),
    "packed binary": packed(pa.array([name.encode() for name in IDS], pa.binary())),
}
REFUSED = {
    "list": pa.array([[i] for i in NUMBERS]),
    "fixed list": pa.array([[i, i] for i in NUMBERS], pa.list_(pa.float32(), 2)),
    "struct": pa.array([{"a": i} for i in NUMBERS]),
    "map": pa.array([[("k", i)] for i in NUMBERS], pa.map_(pa.string(), pa.int64())),
    "interval": pa.array([pa.MonthDayNano([i, i, i]) for i in NUMBERS], pa.month_day_nano_interval()),
    "bytes that are no text": pa.array([bytes([255, i]) for i in NUMBERS], pa.binary()),
}
EDGES = {"source": IDS, "target": IDS[1:] + IDS[:1]}


def graph_of(door: str, nodes: dict[str, Any], edges: dict[str, Any], folder: Path, **options: Any) -> Graph:
    if door == "frames":
        return Graph.from_tables(pa.table(nodes), pa.table(edges), **options)
    try:
        pq.write_table(pa.table(nodes), folder / "n.parquet")
        pq.write_table(pa.table(edges), folder / "e.parquet")
    except pa.ArrowNotImplementedError:
        pytest.skip("Parquet has no such type")
    return own.load(folder / "n.parquet", edges=str(folder / "e.parquet"), **options)


DOORS = pytest.mark.parametrize("door", ["parquet", "frames"])


@DOORS
@pytest.mark.parametrize("column", NUMERIC.values(), ids=NUMERIC)
def test_numbers_of_every_type_are_features(column: Any, door: str, tmp_path: Path) -> None:
    nodes = {"id": IDS, "label": ["a", "b"] * 3, "x": column}
    assert graph_of(door, nodes, EDGES, tmp_path, label="label").num_features == 1
    assert graph_of(door, nodes, {**EDGES, "w": column}, tmp_path, label="label").num_edges == N


@DOORS
@pytest.mark.parametrize("name", [*TEXTS, *NUMERIC])
def test_everything_that_has_a_text_is_an_id(name: str, door: str, tmp_path: Path) -> None:
    column = {**TEXTS, **NUMERIC}[name]
    nodes, edges = {"id": column, "label": ["a", "b"] * 3}, {"source": column, "target": column}
    if name in ("bool", "date64"):  # a day has many milliseconds
        with pytest.raises(GdamnError, match=r"The id '.*' stands twice"):
            graph_of(door, nodes, edges, tmp_path, label="label")
        return
    if name == "half" and int(pa.__version__.partition(".")[0]) < 21:
        with pytest.raises(GdamnError, match="holds halffloat, which can't be taken as a text"):
            graph_of(door, nodes, edges, tmp_path, label="label")
        return
    assert graph_of(door, nodes, edges, tmp_path, label="label").num_nodes == N


@DOORS
@pytest.mark.parametrize("role", ["x", "id", "label", "weight", "text", "split", "source"])
@pytest.mark.parametrize("column", REFUSED.values(), ids=REFUSED)
def test_what_can_not_be_read_is_told(column: Any, role: str, door: str, tmp_path: Path) -> None:
    nodes: dict[str, Any] = {"id": IDS, "label": ["a", "b"] * 3}
    edges: dict[str, Any] = dict(EDGES)
    (edges if role in ("weight", "source") else nodes)[role] = column
    options: dict[str, Any] = {"text": "text"} if role == "text" else {}
    if role == "split":
        options = {"split" if door == "frames" else "split_column": "split"}
    with pytest.raises(GdamnError, match=f"'{role}'") as caught:
        graph_of(door, nodes, edges, tmp_path, label="label", **options)
    assert isinstance(caught.value, GraphError) == (door == "frames")
