"""One store for all that resumes: finished work is found again, other work never."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gdamn.errors import OutputError
from gdamn.runs import seed_records, tune_study
from gdamn.runs.store import FOLDER, Store, Work, difference, stoppable

WORK = Work("gcn, seed 0", "fits/gcn/seed-0.json", {"dataset": "karate", "settings": {"epochs": 3}})


def changed(**settings: Any) -> Work:
    return Work(WORK.name, WORK.path, {**WORK.config, "settings": settings})


def test_finished_work_is_found_and_its_checkpoints_go(tmp_path: Path) -> None:
    store = Store(tmp_path)
    assert store.find(WORK) is None
    under_way = [store.checkpoints(work.config) for work in (WORK, changed(epochs=4))]
    for folder in under_way:
        folder.mkdir(parents=True)
    store.save(WORK, {"test_accuracy": 0.5})
    assert [folder.exists() for folder in under_way] == [False, True]
    record = store.find(WORK)
    assert record is not None
    assert record["result"] == {"test_accuracy": 0.5}
    assert set(record) == {"config", "versions", "result"}
    store.forget()
    assert not (tmp_path / FOLDER).exists()
    assert store.find(WORK) == record


def test_other_settings_are_refused_or_done_again(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.save(WORK, {})
    with pytest.raises(
        OutputError, match=r"holds 'gcn, seed 0' with other settings \(settings.epochs is 3 there, 4 now"
    ):
        store.find(changed(epochs=4))
    assert store.find(changed(epochs=4), force=True) is None


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"{", b"[]", b"{}"),
        b'{"config": {}, "versions": {}}',
        b'{"config": [], "versions": {}, "result": {}}',
        b'{"config": {}, "versions": 1, "result": {}}',
        b'{"config": {"settings": 3}, "versions": {}, "result": {}}',
    ],
)
def test_a_damaged_record_is_none(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / WORK.path
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    assert Store(tmp_path).find(WORK) is None


def test_the_version_does_not_count(tmp_path: Path) -> None:
    assert difference({"version": "0.1", "a": 1}, {"version": "0.2", "a": 1}) == ""
    assert difference({"a": 1}, {"a": 1, "b": 2}) == "b is not set there, 2 now"
    assert difference({"a": "x\ny"}, {"a": "x"}) == r"a is x\ny there, x now"


def test_a_seed_counts_only_with_its_files(tmp_path: Path) -> None:
    (tmp_path / "seed-1").mkdir()
    (tmp_path / "seed-1" / "model.gdamn").write_text("m")
    seed_records.save_seed(tmp_path, 1, {"config": "x"}, ["model.gdamn", "edges.csv"], {"seconds": float("nan")})
    found = seed_records.find_seed(tmp_path, 1, {"config": "x"})
    assert found is not None
    assert found["seconds"] != found["seconds"]
    assert seed_records.find_seed(tmp_path, 1, {"config": "y"}) is None
    (tmp_path / "seed-1" / "edges.csv").write_text("new")
    assert seed_records.find_seed(tmp_path, 1, {"config": "x"}) is None


def test_the_value_of_a_trial(tmp_path: Path) -> None:
    config = {"seed": 0, "settings": {"beta": 0.2}}
    assert tune_study.kept_value(tmp_path, config) is None
    tune_study.keep_value(tmp_path, config, 0.75)
    assert tune_study.kept_value(tmp_path, config) == 0.75
    assert tune_study.kept_value(tmp_path, {**config, "seed": 1}) is None
    (path,) = tmp_path.rglob("value.json")
    assert json.loads(path.read_text()) == {"val_accuracy": 0.75}
    assert path.parent == Store(tmp_path).checkpoints(config)
    path.write_text('{"val_accuracy": "high"}')
    assert tune_study.kept_value(tmp_path, config) is None


def test_ctrl_c_says_how_to_go_on() -> None:
    with pytest.raises(KeyboardInterrupt, match="stopped with 2 of 5 fits finished"), stoppable([1, 2], 5, "fits"):
        raise KeyboardInterrupt
