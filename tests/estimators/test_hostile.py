"""Files that anyone may have made: each reader gives what is right or one sentence, and executes nothing."""

from __future__ import annotations

import json
import struct
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from safetensors.numpy import save

from gdamn.errors import DataError, GraphError
from gdamn.estimators.gdamn import GDAMN
from gdamn.runs import seed_records
from gdamn.runs.store import FOLDER

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner, max_size=4),
    max_leaves=12,
)
GOOD = {
    "format": 1,
    "method": "gdamn",
    "settings": {"epochs": 3, "seed": 1},
    "class_names": ["x", "y"],
    "node_ids": ["a", "b", "c"],
    "best_epoch": {"epoch": 1},
    "protocol": {"seed": 1},
    "history": [{"loss": 0.5}],
}
TABLE = np.full((3, 2), 0.5, dtype=np.float32)
often = settings(max_examples=150, deadline=None)


def opened(content: bytes) -> GDAMN | str:
    """The model of such a file, or the sentence that refuses it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.gdamn"
        path.write_bytes(content)
        try:
            return GDAMN.load(path)
        except DataError as problem:
            told = str(problem)
    assert told.startswith(str(path))
    assert "\n" not in told
    return told


def model_bytes(header: Any, arrays: dict[str, Any] | None = None) -> bytes:
    arrays = {"probabilities": TABLE} if arrays is None else arrays
    return save(arrays, metadata={"gdamn": header if isinstance(header, str) else json.dumps(header)})


def test_a_good_one_opens() -> None:
    model = opened(model_bytes(GOOD))
    assert isinstance(model, GDAMN)
    assert model.settings.epochs == 3
    assert model.predict().tolist() == ["x", "x", "x"]
    assert model.predict(names=False).tolist() == [0, 0, 0]


def with_lengths(claimed: int, text: bytes) -> bytes:
    return struct.pack("<Q", claimed) + text


HUGE = b'{"probabilities":{"dtype":"F32","shape":[1099511627776,1099511627776],"data_offsets":[0,24]}}'
FAR = b'{"probabilities":{"dtype":"F32","shape":[3,2],"data_offsets":[0,1099511627776]}}'
EMPTY = b'{"probabilities":{"dtype":"F32","shape":[1099511627776,0],"data_offsets":[0,0]}}'
BRAIN = b'{"probabilities":{"dtype":"BF16","shape":[3,2],"data_offsets":[0,12]}}'


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x80\x04\x95",  # a pickle
        with_lengths(2**63, b"{}"),
        with_lengths(2**64 - 1, b"{}"),
        with_lengths(len(HUGE), HUGE + bytes(24)),
        with_lengths(len(FAR), FAR + bytes(24)),
        with_lengths(len(EMPTY), EMPTY),
        with_lengths(len(BRAIN), BRAIN + bytes(12)),
        with_lengths(100_000, b"[" * 100_000),
        with_lengths(2, b"{}"),
        with_lengths(4, b"null"),
    ],
)
def test_hostile_headers(content: bytes) -> None:
    assert isinstance(opened(content), str)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"format": 2}, "newer gdamn"),
        ({"format": 0}, "no such format"),
        ({"format": True}, "format is of a wrong type"),
        ({"format": None}, "format is of a wrong type"),
        ({"settings": []}, "settings is of a wrong type"),
        ({"settings": {"nosuch": 1}}, "doesn't know"),
        ({"settings": {"epochs": "3"}}, "doesn't know"),
        ({"settings": {"learning_rate": 10**400}}, "doesn't know"),
        ({"settings": {"self": 1}}, "doesn't know"),
        ({"class_names": ["x"]}, "2 columns of probabilities for 1 classes"),
        ({"class_names": ["x", ["y"]]}, "class name is not text"),
        ({"node_ids": ["a"]}, "3 nodes, but ids of 1"),
        ({"node_ids": ["a", "b", {}]}, "neither number nor text"),
        ({"history": [1]}, "not a list of epochs"),
        ({"history": [{"iteration": "x"}]}, "tells no iteration or phase"),
        ({"history": [{"phase": 3}]}, "tells no iteration or phase"),
        ({"best_epoch": {"iteration": None}}, "tells no iteration or phase"),
        ({"node_ids": ["a", "b", "a"]}, "two of its nodes have the same id"),
        ({"node_ids": ["1", "b", 1]}, "two of its nodes have the same id"),
        ({"method": "gcn"}, "not 'gdamn'"),
    ],
)
def test_headers_that_lie(changed: dict[str, Any], said: str) -> None:
    told = opened(model_bytes({**GOOD, **changed}))
    assert isinstance(told, str)
    assert said in told


@pytest.mark.parametrize(
    "table",
    [
        TABLE.astype(np.float64),
        TABLE.astype(np.int32),
        TABLE[0],
        TABLE[None],
        TABLE[:0],
        TABLE * np.nan,
        np.full((3, 2), np.inf, np.float32),
    ],
)
def test_tables_that_are_none(table: np.ndarray) -> None:
    assert isinstance(opened(model_bytes(GOOD, {"probabilities": np.ascontiguousarray(table)})), str)


EDGES = np.array([[1, 0, 2, 1], [0, 1, 1, 2]], np.int32)
ATTENTION = {
    "probabilities": TABLE,
    "p_probabilities": TABLE,
    "pseudo_labels": TABLE,
    "edge.index": EDGES,
    **{f"edge.{name}": np.full(4, 0.5, np.float32) for name in ("hard", "soft", "stable", "used")},
    **{f"loop.{name}": np.full(3, 0.5, np.float32) for name in ("hard", "soft", "stable", "used")},
    "q.weight": np.ones((2, 2), np.float32),
}


def test_a_good_one_with_attention_opens_and_refines() -> None:
    model = opened(model_bytes(GOOD, ATTENTION))
    assert isinstance(model, GDAMN)
    assert model.refine().edge_index.tolist() == EDGES.tolist()


HALF = np.full(4, 0.5, np.float32)


@pytest.mark.parametrize(
    ("name", "array", "said"),
    [
        ("edge.index", EDGES + 10**6, "names node 1000002, but the model knows nodes 0 to 2"),
        ("edge.index", EDGES - 1, "names node -1"),
        ("edge.index", EDGES[:, ::-1].copy(), "not sorted"),
        ("edge.index", np.ascontiguousarray(EDGES[:, [0, 0, 1, 2]]), "an edge twice"),
        ("edge.index", EDGES * 0, "from a node to itself"),
        ("edge.index", EDGES[0], "whole numbers of shape"),
        ("edge.index", EDGES.T.copy(), "whole numbers of shape"),
        ("edge.index", EDGES.astype(np.float32), "whole numbers of shape"),
        ("edge.index", EDGES[:, :3].copy(), "'edge.hard' is float32 of shape (4,), not float32 of (3,)"),
        ("edge.index", None, "lacks 'edge.index'"),
        ("edge.hard", None, "lacks 'edge.hard'"),
        ("edge.stable", None, "lacks 'edge.stable'"),
        ("edge.soft", HALF[:2], "'edge.soft'"),
        ("edge.stable", HALF * np.nan, "not a number"),
        ("edge.stable", HALF * np.inf, "not finite"),
        ("edge.hard", -HALF, "below 0"),
        ("edge.used", HALF.astype(np.float64), "float64"),
        ("loop.stable", HALF, "'loop.stable'"),
        ("loop.hard", np.full(3, np.inf, np.float32), "not finite"),
        ("p_probabilities", TABLE[:2].copy(), "'p_probabilities'"),
        ("pseudo_labels", TABLE[:, :1].copy(), "'pseudo_labels'"),
        ("pseudo_labels", -TABLE, "below 0"),
        ("q.weight", np.full((2, 2), np.nan, np.float32), "'q.weight' has a value that is not a number"),
        ("probabilities", TABLE * 3, "above 1"),
        ("probabilities", TABLE - 1, "below 0"),
    ],
)
def test_arrays_that_lie(name: str, array: np.ndarray | None, said: str) -> None:
    """A crafted index made refine() give edges out of the graph, and a network crash on them."""
    arrays = {key: value for key, value in {**ATTENTION, name: array}.items() if value is not None}
    told = opened(model_bytes(GOOD, arrays))
    assert isinstance(told, str)
    assert said in told


def test_a_model_without_loops_refines_nothing() -> None:
    model = opened(model_bytes(GOOD, {name: a for name, a in ATTENTION.items() if not name.startswith("loop.")}))
    assert isinstance(model, GDAMN)
    with pytest.raises(GraphError, match="lacks the weights of its self-loops"):
        model.refine()


def test_a_deep_header() -> None:
    assert isinstance(opened(model_bytes("[" * 50_000)), str)


@often
@given(st.sampled_from(sorted(GOOD)), JSON)
@example("settings", {"seed": 10**400})
@example("method", "\n")
def test_any_entry_of_the_header(name: str, value: Any) -> None:
    assert opened(model_bytes({**GOOD, name: value}))


@often
@given(JSON)
def test_any_header(header: Any) -> None:
    assert isinstance(opened(model_bytes(header)), str)


@often
@given(st.integers(0, 600), st.binary(min_size=1, max_size=20))
def test_any_bytes_in_a_good_model(at: int, junk: bytes) -> None:
    content = model_bytes(GOOD)
    assert opened(content[:at] + junk + content[at + len(junk) :])


def read_record(folder: Path, content: bytes) -> None:
    path = folder / FOLDER / "seed-0.json"
    path.parent.mkdir()
    path.write_bytes(content)
    found = seed_records.find_seed(folder, 0, {"config": "x"})
    assert found is None or isinstance(found, dict)


@often
@given(st.binary(max_size=60) | JSON.map(lambda value: json.dumps(value).encode()))
@example(b"[" * 100_000)
@example(b"\xff\xfe")
def test_any_file_as_a_record(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        read_record(Path(folder), content)


@often
@given(st.dictionaries(st.sampled_from(["identity", "files", "result"]), JSON))
def test_any_record_of_a_seed(record: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        read_record(Path(folder), json.dumps(record).encode())
