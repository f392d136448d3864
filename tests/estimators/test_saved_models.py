"""What a model file keeps: ids in their own types, and the settings that were trained."""

from __future__ import annotations

import datetime
import enum
import json
import tempfile
from dataclasses import asdict, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gdamn import GDAMN, Graph, load
from gdamn.errors import GraphError
from gdamn.estimators import registry as methods
from gdamn.estimators.model_file import read_model
from gdamn.runs.run import run
from gdamn.runs.spec import RunSpec

pytestmark = pytest.mark.usefixtures("one_thread")
LPA = methods.method("lpa").estimator()


class Colour(str, enum.Enum):
    RED = "red"


def graph_of(ids: Any) -> Graph:
    """A path of as many nodes as there are ids; its first two are for training."""
    n = len(ids)
    features = np.arange(2 * n, dtype=np.float32).reshape(n, 2) + 1
    return Graph.build(
        [range(n - 1), range(1, n)], features, np.arange(n) % 2, train_mask=np.arange(n) < 2, node_ids=ids
    )


def back(ids: Any) -> tuple[list[Any], list[Any]]:
    """The ids of a model before it was saved, and after it was loaded."""
    model = LPA().fit(graph_of(ids))
    with tempfile.TemporaryDirectory() as folder:
        loaded = LPA.load(model.save(Path(folder) / "m"))
    return model.node_ids_.tolist(), loaded.node_ids_.tolist()


DAY = datetime.date(2024, 2, 29)
NOON = datetime.datetime(2024, 2, 29, 12, 0, tzinfo=datetime.timezone.utc)


@pytest.mark.parametrize(
    ("ids", "kept"),
    [
        ([np.int64(7), np.int32(3), np.uint8(1)], [7, 3, 1]),
        (np.array([2.5, 1.5, 0.5], np.float16), [2.5, 1.5, 0.5]),
        (np.array([2.5, 1.5, 0.5], np.longdouble), [2.5, 1.5, 0.5]),
        ([np.str_("a"), "b", np.int16(4)], ["a", "b", 4]),
        ([1, "a", 2], [1, "a", 2]),
        ([1, 2.5, "x"], [1, 2.5, "x"]),
        ([True, 5, "x"], [True, 5, "x"]),
        ([np.True_, np.int8(5), np.float32(0.5)], [True, 5, 0.5]),
        ([DAY, "x", 3], ["2024-02-29", "x", 3]),
        ([NOON, DAY, "a"], ["2024-02-29T12:00:00+00:00", "2024-02-29", "a"]),
        (np.array(["2024-01-01", "2024-01-02", "2024-01-03"], "M8[D]"), ["2024-01-01", "2024-01-02", "2024-01-03"]),
        ([np.datetime64("2024-01-01T05"), 1, 2], ["2024-01-01T05", 1, 2]),
        ([Colour.RED, "x", 1], ["red", "x", 1]),
        ([2**70, -(2**90), 1], [2**70, -(2**90), 1]),
        (["a\0", "b", "c"], ["a\0", "b", "c"]),
    ],
)
def test_ids_come_back_in_their_own_types(ids: Any, kept: list[Any]) -> None:
    before, after = back(ids)
    assert before == after == kept
    assert list(map(type, after)) == list(map(type, before)) == list(map(type, kept))


def test_nanoseconds_are_a_time_and_no_number() -> None:
    before, after = back(np.array(["2024-01-01", "2024-01-02"], "M8[ns]"))
    assert before == after == ["2024-01-01T00:00:00.000000000", "2024-01-02T00:00:00.000000000"]


@pytest.mark.parametrize(
    ("bad", "kind"),
    [
        ((0, 1), "tuple"),
        (frozenset({3}), "frozenset"),
        (b"raw", "bytes"),
        (None, "NoneType"),
        (Fraction(1, 2), "Fraction"),
        (1j, "complex"),
        (datetime.time(3), "time"),
        (np.timedelta64(5, "ns"), "timedelta64"),
        (object, "type"),
    ],
)
@pytest.mark.parametrize("method", ["gdamn", "gdamn-plus", "gcn", "lpa"])
def test_ids_that_no_file_can_hold_are_refused_before_the_fit(bad: Any, kind: str, method: str) -> None:
    graph = graph_of(["a", bad, "c"])
    assert graph.node_ids[1] == bad  # a graph holds them, for those who only convert it
    with pytest.raises(GraphError, match=f"The node id .* is of type {kind}, which a model file can't hold; name") as e:
        methods.method(method).estimator()().fit(graph, progress=lambda *_: pytest.fail("trained"))
    assert "\n" not in str(e.value)


def test_a_number_without_end_is_refused() -> None:
    with pytest.raises(GraphError, match="bits"):
        LPA().fit(graph_of([1, 2, 1 << 100_000]))


def test_tuples_of_a_grid_are_refused_and_still_convert() -> None:
    import networkx as nx

    grid = nx.grid_2d_graph(2, 3)
    graph = Graph.from_networkx(grid)
    assert set(graph.to_networkx()) == set(grid)
    with pytest.raises(GraphError, match=r"The node id \(0, 0\) is of type tuple"):
        GDAMN().fit(graph)


PLAIN = st.integers() | st.text(st.characters(exclude_categories=()), max_size=8) | st.floats(allow_nan=False)
NUMPY = st.builds(np.int32, st.integers(-(2**31), 2**31 - 1)) | st.builds(np.float64, st.floats(allow_nan=False))
TIMES = st.dates() | st.datetimes(timezones=st.none() | st.just(datetime.timezone.utc))
EVERY = PLAIN | NUMPY | TIMES | st.booleans() | st.builds(np.datetime64, st.dates())


@settings(max_examples=40, deadline=None)
@given(st.lists(EVERY, min_size=3, max_size=6, unique_by=lambda v: str(getattr(v, "isoformat", lambda: v)())))
@example([0, 1, 2])
@example(["", "\0", "\ud800"])
@example([0.0, 1.0, 2.0])
@example([-0.0, 1, "-1"])
def test_any_ids_come_back(ids: list[Any]) -> None:
    before, after = back(ids)
    assert before == after
    assert list(map(type, before)) == list(map(type, after))
    assert all(type(each) in (int, float, str, bool) for each in after)
    wanted = [v.isoformat() if isinstance(v, datetime.date) else v for v in ids]
    assert after == [str(v) if isinstance(v, np.datetime64) else v for v in wanted]


@pytest.mark.parametrize("method", ["gdamn", "gcn", "lpa"])
def test_the_file_tells_the_settings_that_were_trained(method: str, tmp_path: Path) -> None:
    graph = load("karate")
    short = {"gdamn": {"pretrain_epochs": 3, "epochs": 2, "em_iterations": 1}, "gcn": {"epochs": 3}, "lpa": {}}[method]
    model = methods.method(method).estimator()(seed=3, **short).fit(graph)
    trained = model.get_params()
    model.set_params(seed=9, **({} if method == "lpa" else {"hidden": 5}))
    assert model.get_params()["seed"] == 9
    assert asdict(model.settings_) == trained
    loaded = type(model).load(model.save(tmp_path / "m"))
    assert loaded.get_params() == asdict(loaded.settings_) == trained
    assert loaded.protocol_["seed"] == 3
    again = model.fit(graph)
    assert asdict(again.settings_) == again.get_params() != trained


@pytest.mark.parametrize("method", ["gdamn", "gcn"])
def test_after_set_params_the_trained_network_answers(method: str) -> None:
    """Other widths, layers and normalisations are for the next fit: the old one still answers, on a new graph too."""
    from gdamn.estimators.inductive import answer

    graph = load("karate")
    short = {"pretrain_epochs": 6, "epochs": 2, "em_iterations": 1} if method == "gdamn" else {"epochs": 4}
    model = methods.method(method).estimator()(**short).fit(graph)
    before = answer(model, graph)
    other = {"hard": False, "p_propagator": "gat"} if method == "gdamn" else {}
    model.set_params(hidden=7, layers=3, normalize="none", **other)
    after = answer(model, graph)
    assert np.array_equal(before.probabilities, after.probabilities)
    assert before.weights.keys() == after.weights.keys()
    assert model.settings.hidden == 7


def test_where_to_compute_may_change_after_the_fit() -> None:
    """A model of another machine is moved with set_params; what was trained stays told."""
    graph = load("karate")
    model = GDAMN(pretrain_epochs=2, epochs=1, em_iterations=1, threads=1).fit(graph)
    model.set_params(threads=2, device="cpu", hidden=3)
    trained = model.as_trained().settings
    assert (trained.threads, trained.device, trained.hidden) == (2, "cpu", model.settings_.hidden)
    assert model.settings_.threads == 1


def test_the_name_of_a_split_can_be_anything(tmp_path: Path) -> None:
    graph = graph_of(["a", "b", "c"])
    for split, told in ((np.int64(4), 4), (("random", 2), "('random', 2)"), (None, None), ("x", "x")):
        model = LPA().fit(replace(graph, meta={"split": split}))
        assert LPA.load(model.save(tmp_path / "m")).protocol_["split"] == told


def test_a_run_takes_the_same_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from gdamn.runs import run as runs

    ids = [*range(20), *(f"n{i}" for i in range(14))]
    named = replace(load("karate"), node_ids=np.array(ids, dtype=object))
    monkeypatch.setattr(runs, "load_graph", lambda *_: named)
    run(RunSpec("karate", "lpa", (0,)), tmp_path / "out")
    header, _ = read_model(tmp_path / "out" / "seed-0" / "model.gdamn")
    assert header["node_ids"] == ids
    monkeypatch.setattr(runs, "load_graph", lambda *_: replace(named, node_ids=graph_of([(i,) for i in ids]).node_ids))
    with pytest.raises(GraphError, match="of type tuple"):
        run(RunSpec("karate", "lpa", (0,)), tmp_path / "refused")
    assert not list((tmp_path / "refused").rglob("model.gdamn"))


def test_older_files_open_as_they_did() -> None:
    """Ids of one type came back as NumPy's array of it, and still do."""
    assert json.loads("[1, 2]") == graph_of([1, 2]).node_ids.tolist()
    assert graph_of([1, 2]).node_ids.dtype == np.int64
    assert graph_of(["a", "b"]).node_ids.dtype.kind == "U"
