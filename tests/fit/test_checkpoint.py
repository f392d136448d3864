"""A fit that is interrupted at any epoch goes on and ends with the same bits; a damaged checkpoint is passed over."""

from __future__ import annotations

import itertools
import json
import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gdamn.data import load
from gdamn.errors import DataError, TrainingError
from gdamn.estimators import registry as methods
from gdamn.estimators.base import NodeClassifier
from gdamn.fit import checkpoint, checkpoint_file
from gdamn.graph.graph import Graph

pytestmark = pytest.mark.usefixtures("one_thread")

FEW = {"pretrain_epochs": 3, "epochs": 2, "em_iterations": 2}
CASES: list[tuple[str, dict[str, Any]]] = [
    ("gdamn", {**FEW, "start": "auto", "restart_q": True}),
    ("gdamn", {**FEW, "start": "similar", "average": 0.9, "draws": 2, "consistency": 1.0, "batch_norm": True}),
    ("gdamn", {**FEW, "pretrain_epochs": 4, "annotate_epochs": 3, "candidates": "all", "tolerance": 0.01}),
    ("gdamn", {**FEW, "em_iterations": 1, "pretrain_epochs": 2, "beta": "auto"}),
    ("gdamn", {**FEW, "start": "multihop"}),
    ("gdamn-plus", FEW),
    ("gcn", {"epochs": 6}),
    ("deepergcn", {"epochs": 5}),
    ("pro-gnn", {"epochs": 4}),
    ("rs-gnn", {"epochs": 4, "neighbours": 3}),
    ("stable", {"epochs": 3, "pretrain_epochs": 2, "projection": 4}),
]


class KilledError(Exception):
    """In place of a signal: leaves everything as it stands."""


@pytest.fixture(scope="module")
def graph() -> Graph:
    return load("karate", seed=1, noise=0.5)


@pytest.fixture
def every_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "EVERY_EPOCHS", 1)
    monkeypatch.setattr(checkpoint, "EVERY_SECONDS", 0.0)
    monkeypatch.setattr(checkpoint, "PHASE_SECONDS", 0.0)


def fit(case: tuple[str, dict[str, Any]], graph: Graph, stop: int | None = None) -> tuple[NodeClassifier, int]:
    """A fit that is killed in its epoch of this number, and how many epochs it did."""
    done = itertools.count()

    def progress(*_: Any) -> None:
        if next(done) == stop:
            raise KilledError

    model = methods.make(case[0], "karate", seed=1, overrides=case[1]).fit(graph, progress=progress)
    return model, next(done)


def assert_same(model: NodeClassifier, other: NodeClassifier) -> None:
    assert json.dumps(model.history_) == json.dumps(other.history_)
    assert model.best_epoch_ == other.best_epoch_
    assert len(model.timings_) == len(other.timings_)
    assert model.tensors_.keys() == other.tensors_.keys()
    for name, value in model.tensors_.items():
        assert value.dtype == other.tensors_[name].dtype
        assert value.tobytes() == other.tensors_[name].tobytes(), name


@pytest.mark.usefixtures("every_epoch")
@pytest.mark.parametrize("case", CASES, ids=[f"{i} {case[0]}" for i, case in enumerate(CASES)])
def test_killed_in_any_epoch_it_ends_the_same(case: tuple[str, dict[str, Any]], graph: Graph, tmp_path: Path) -> None:
    whole, epochs = fit(case, graph)
    for stop in range(0, epochs, 1 + epochs // 8):
        with checkpoint.keeping(tmp_path / str(stop)):
            with pytest.raises(KilledError):
                fit(case, graph, stop)
            resumed, rest = fit(case, graph)
        assert rest == epochs - stop
        assert_same(resumed, whole)


@pytest.mark.usefixtures("every_epoch")
def test_killed_in_every_epoch_it_still_ends_the_same(graph: Graph, tmp_path: Path) -> None:
    case = CASES[0]
    whole, epochs = fit(case, graph)
    with checkpoint.keeping(tmp_path):
        for _ in range(epochs - 1):  # each attempt comes one epoch further
            with pytest.raises(KilledError):
                fit(case, graph, 1)
        resumed, rest = fit(case, graph)
        assert rest == 1
    assert_same(resumed, whole)


def test_seldom_checkpoints_resume_the_same(graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Checkpoints within phases only, so that several epochs are done twice."""
    monkeypatch.setattr(checkpoint, "EVERY_EPOCHS", 3)
    monkeypatch.setattr(checkpoint, "EVERY_SECONDS", 0.0)
    case = ("gdamn", {"pretrain_epochs": 8, "epochs": 5, "em_iterations": 2, "start": "features"})
    whole, epochs = fit(case, graph)
    for stop in (2, 5, 10, 17, 22, epochs - 1):
        with checkpoint.keeping(tmp_path / str(stop)):
            with pytest.raises(KilledError):
                fit(case, graph, stop)
            resumed, rest = fit(case, graph)
        assert epochs - stop <= rest <= epochs
        assert_same(resumed, whole)


def test_a_short_fit_writes_nothing(graph: Graph, tmp_path: Path) -> None:
    with checkpoint.keeping(tmp_path):
        kept, _ = fit(CASES[0], graph)
    assert list(tmp_path.iterdir()) == []
    assert_same(kept, fit(CASES[0], graph)[0])


@pytest.mark.usefixtures("every_epoch")
def test_a_checkpoint_of_another_fit_is_not_used(graph: Graph, tmp_path: Path) -> None:
    one, other = ("gcn", {"epochs": 6}), ("gcn", {"epochs": 7})
    with checkpoint.keeping(tmp_path):
        with pytest.raises(KilledError):
            fit(one, graph, 3)
        model, epochs = fit(other, graph)
        assert epochs == 7
        _, epochs = fit(one, load("karate", seed=2))
        assert epochs == 6
    assert_same(model, fit(other, graph)[0])


def spoil(path: Path, how: str) -> None:
    content = path.read_bytes()
    spoiled = {
        "flipped": content[:-9] + bytes([content[-9] ^ 1]) + content[-8:],
        "cut": content[: len(content) // 2],
        "empty": b"",
        "other": b"PK\x03\x04 something else",
        "newer": content.replace(b"checkpoint 1 ", b"checkpoint 2 ", 1),
    }
    path.write_bytes(spoiled[how])


@pytest.mark.usefixtures("every_epoch")
@pytest.mark.parametrize("how", ["flipped", "cut", "empty", "other", "newer"])
def test_a_damaged_one_is_named_and_passed_over(
    graph: Graph, tmp_path: Path, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    case = ("gcn", {"epochs": 6})
    with checkpoint.keeping(tmp_path):
        with pytest.raises(KilledError):
            fit(case, graph, 4)
        files = sorted(tmp_path.glob("*/*.checkpoint"))
        assert [path.name for path in files] == ["000003.checkpoint", "000004.checkpoint"]
        spoil(files[1], how)
        with caplog.at_level(logging.WARNING, logger="gdamn"):
            resumed, rest = fit(case, graph)
    assert rest == 3  # epochs 3, 4, 5
    assert len(caplog.messages) == 1
    assert str(files[1]) in caplog.messages[0]
    assert "passed over" in caplog.messages[0]
    assert_same(resumed, fit(case, graph)[0])


@pytest.mark.usefixtures("every_epoch")
def test_both_damaged_it_starts_anew(graph: Graph, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    case = ("gcn", {"epochs": 6})
    with checkpoint.keeping(tmp_path):
        with pytest.raises(KilledError):
            fit(case, graph, 4)
        for path in tmp_path.glob("*/*.checkpoint"):
            spoil(path, "cut")
        resumed, rest = fit(case, graph)
    assert rest == 6
    assert len(caplog.messages) == 2
    assert_same(resumed, fit(case, graph)[0])


@pytest.mark.usefixtures("every_epoch")
def test_a_whole_one_that_does_not_fit_is_told(graph: Graph, tmp_path: Path) -> None:
    case = ("gcn", {"epochs": 6})
    with checkpoint.keeping(tmp_path):
        with pytest.raises(KilledError):
            fit(case, graph, 4)
        path = max(tmp_path.glob("*/*.checkpoint"))
        tree = checkpoint_file.read_tree(path)
        tree["loop"]["part"] = {}
        checkpoint_file.write_tree(path.parent, tree)
        with pytest.raises(DataError, match="remove that folder"):
            fit(case, graph)


def _set(tree: Any, path: str, value: Any) -> None:
    *way, last = path.split(".")
    for step in way:
        tree = tree[int(step) if isinstance(tree, list) else step]
    tree[int(last) if isinstance(tree, list) else last] = value


@pytest.mark.usefixtures("every_epoch")
@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("loop.adam.moments.0.0", torch.ones(1)),  # would be spread over all weights
        ("loop.adam.moments.0.1", torch.ones(2, 2)),
        ("loop.adam.moments.0", "no pair"),
        ("loop.adam.steps", -3),
        ("loop.adam.steps", "many"),
        ("loop.adam", {}),
        ("loop.adam", []),
        ("loop.key", None),  # the epochs of its history would be counted twice
        ("loop.key", 3),
        ("loop.done", 99),
        ("parts.watch.best", -1),
        ("parts.watch.best", 99),
        ("parts.watch.history", []),
        ("parts.watch", 7),
    ],
)
def test_a_made_up_one_is_refused(place: str, value: Any, graph: Graph, tmp_path: Path) -> None:
    """With its right checksum; what a fit goes on from must be of this fit in every part."""
    case = ("gcn", {"epochs": 6})
    with checkpoint.keeping(tmp_path):
        with pytest.raises(KilledError):
            fit(case, graph, 4)
        path = max(tmp_path.glob("*/*.checkpoint"))
        tree = checkpoint_file.read_tree(path)
        _set(tree, place, value)
        checkpoint_file.write_tree(path.parent, tree)
        with pytest.raises(DataError, match="remove that folder"):
            fit(case, graph)


@pytest.mark.usefixtures("every_epoch")
@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("seconds", "long"),
        ("seconds", -1.0),
        ("finished", 5),
        ("finished", ["x"]),
        ("loop.done", "x"),
        ("loop.done", -1),
        ("loop.adam.moments.0.0", torch.tensor([float("nan")])),
        ("parts", []),
    ],
)
def test_one_that_no_fit_writes_is_passed_over(
    place: str, value: Any, graph: Graph, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    case = ("gcn", {"epochs": 6})
    with checkpoint.keeping(tmp_path):
        with pytest.raises(KilledError):
            fit(case, graph, 4)
        path = max(tmp_path.glob("*/*.checkpoint"))
        tree = checkpoint_file.read_tree(path)
        _set(tree, place, value)
        checkpoint_file.write_tree(path.parent, tree)
        resumed, _ = fit(case, graph)
    assert "passed over" in caplog.text
    assert_same(resumed, fit(case, graph)[0])


@pytest.mark.usefixtures("every_epoch")
def test_a_best_epoch_of_another_graph_is_refused(graph: Graph, tmp_path: Path) -> None:
    case = ("gcn", {"epochs": 6})
    with checkpoint.keeping(tmp_path):
        with pytest.raises(KilledError):
            fit(case, graph, 4)
        path = max(tmp_path.glob("*/*.checkpoint"))
        tree = checkpoint_file.read_tree(path)
        tree["parts"]["watch"]["best_state"]["probabilities"] = torch.full((5, 2), 0.5)
        best = tree["parts"]["watch"]["history"][tree["parts"]["watch"]["best"]]
        best["val_accuracy"] = 2.0  # no later epoch is better
        checkpoint_file.write_tree(path.parent, tree)
        with pytest.raises(TrainingError, match=r"probabilities of shape \(5, 2\), not .*; remove its checkpoints"):
            fit(case, graph)


@pytest.mark.usefixtures("every_epoch")
def test_a_full_disk_does_not_end_the_fit(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    import errno

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("gdamn.system.io._sync", full)
    case = ("gcn", {"epochs": 6})
    with checkpoint.keeping(tmp_path):
        model, _ = fit(case, graph)
    assert len(caplog.messages) == 1
    assert "disk is full" in caplog.messages[0]
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    assert_same(model, fit(case, graph)[0])


def test_the_seconds_of_all_attempts_count(graph: Graph, tmp_path: Path, every_epoch: None) -> None:
    with checkpoint.keeping(tmp_path):
        with pytest.raises(KilledError):
            fit(("gcn", {"epochs": 6}), graph, 4)
        path = max(tmp_path.glob("*/*.checkpoint"))
        tree = checkpoint_file.read_tree(path)
        checkpoint_file.write_tree(path.parent, {**tree, "seconds": 1000.0})
        model, _ = fit(("gcn", {"epochs": 6}), graph)
    assert 1000 < model.seconds_ < 1060


LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(),
    st.sampled_from([torch.zeros(0), torch.tensor(3), torch.arange(6.0).view(2, 3).t(), torch.tensor([True])]),
)
TREES = st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=5), inner), max_leaves=9)


@settings(max_examples=50, deadline=None)
@given(TREES)
def test_trees_come_back_as_they_were(tree: Any) -> None:
    loop = {"key": 1, "done": 2, "adam": {}, "part": tree}
    content = checkpoint_file.to_bytes({"parts": {}, "loop": loop})
    assert_equal_trees(checkpoint_file.from_bytes(content, Path("x"))["loop"]["part"], tree)


def assert_equal_trees(one: Any, two: Any) -> None:
    if isinstance(two, torch.Tensor):
        assert one.dtype == two.dtype
        assert one.shape == two.shape
        assert np.array_equal(one.numpy(), two.numpy())
    elif isinstance(two, dict):
        assert one.keys() == two.keys()
        for name in two:
            assert_equal_trees(one[name], two[name])
    elif isinstance(two, list):
        assert len(one) == len(two)
        for left, right in zip(one, two, strict=True):
            assert_equal_trees(left, right)
    else:
        assert one == two


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200), st.integers(0, 400), st.booleans())
def test_hostile_files_are_refused_in_one_sentence(junk: bytes, at: int, signed: bool) -> None:
    """Junk inside a whole checkpoint, also with a right checksum: an error of ours or a tree, nothing else."""
    import hashlib
    import tempfile

    loop = {"key": 1, "done": 2, "adam": {}, "part": torch.arange(3.0)}
    payload = checkpoint_file.to_bytes({"parts": {}, "loop": loop})
    payload = payload[:at] + junk + payload[at + len(junk) :]
    digest = hashlib.sha256(payload).hexdigest() if signed else "0" * 64
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "000001.checkpoint"
        path.write_bytes(f"gdamn checkpoint 1 {digest}\n".encode() + payload)
        try:
            tree = checkpoint_file.read_tree(path)
        except DataError as problem:
            told = str(problem)
        else:
            told, _ = f"{path}", tree["loop"]
            assert signed
        assert str(path) in told
