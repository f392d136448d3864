"""Files appear whole or not at all, and failures are one clear sentence."""

from __future__ import annotations

import csv
import errno
import json
import os
import stat
from pathlib import Path

import numpy as np
import pytest

from gdamn.errors import GdamnError, OutputError
from gdamn.system import io


def test_write_text_replaces_the_file_and_leaves_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "er" / "note.txt"
    io.write_text(target, "one\n")
    io.write_text(target, "zwei – 二\n")
    assert target.read_text(encoding="utf-8") == "zwei – 二\n"
    assert [path.name for path in target.parent.iterdir()] == ["note.txt"]


def test_file_has_the_permissions_of_any_other_file(tmp_path: Path) -> None:
    plain, ours = tmp_path / "plain", tmp_path / "ours"
    plain.write_text("x")
    io.write_text(ours, "x")
    assert stat.S_IMODE(ours.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)


def test_a_writer_that_fails_keeps_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "model.bin"
    target.write_bytes(b"good")
    with pytest.raises(RuntimeError), io.replacing(target) as temporary:  # noqa: PT012
        temporary.write_bytes(b"half")
        raise RuntimeError
    assert target.read_bytes() == b"good"
    assert [path.name for path in tmp_path.iterdir()] == ["model.bin"]


def test_a_full_disk_is_told_and_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "summary.json"
    io.write_json(target, {"a": 1})

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OutputError, match=r"summary\.json'.*disk is full") as caught:
        io.write_json(target, {"a": 2})
    assert isinstance(caught.value, GdamnError)
    assert json.loads(target.read_text()) == {"a": 1}
    assert [path.name for path in tmp_path.iterdir()] == ["summary.json"]


def test_a_path_through_a_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(OutputError, match="is a file, not a folder"):
        io.write_text(tmp_path / "file" / "below" / "x.txt", "x")
    with pytest.raises(OutputError, match="a file of that name"):
        io.make_folder(tmp_path / "file")


def test_a_folder_in_the_place_of_the_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "x.txt").mkdir()
    with pytest.raises(OutputError, match="a folder of that name"):
        io.write_text(tmp_path / "x.txt", "x")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder_is_told(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(OutputError, match="no permission"):
            io.write_text(tmp_path / "x.txt", "x")
    finally:
        tmp_path.chmod(0o700)


def test_json_takes_numpy_values_and_has_no_nan() -> None:
    content = {"a": np.float32(0.5), "b": np.arange(2), "c": float("nan"), "d": [float("inf"), (1, True)], "e": None}
    assert json.loads(io.to_json(content)) == {"a": 0.5, "b": [0, 1], "c": None, "d": [None, [1, True]], "e": None}


def test_jsonl_has_one_record_per_line(tmp_path: Path) -> None:
    io.write_jsonl(tmp_path / "h.jsonl", [{"epoch": 1, "loss": float("nan")}, {"epoch": 2, "loss": 0.25}])
    lines = (tmp_path / "h.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [{"epoch": 1, "loss": None}, {"epoch": 2, "loss": 0.25}]


def test_csv_quotes_names_and_shortens_floats(tmp_path: Path) -> None:
    columns = {
        "node": np.array(['a,"b"', "c\nd", "é"], dtype=object),
        "n": np.array([1, -2, 3]),
        "w": np.array([1 / 3, 1e-9, 1.0], dtype=np.float32),
    }
    io.write_csv(tmp_path / "t.csv", columns)
    with (tmp_path / "t.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    assert rows == [["node", "n", "w"], ['a,"b"', "1", "0.333333"], ["c\nd", "-2", "1e-09"], ["é", "3", "1"]]


def test_csv_of_many_blocks_has_every_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(io, "CSV_BLOCK", 7)
    io.write_csv(tmp_path / "t.csv", {"i": np.arange(50)})
    assert (tmp_path / "t.csv").read_text().split() == ["i", *map(str, range(50))]
    io.write_csv(tmp_path / "empty.csv", {"i": np.arange(0), "w": np.zeros(0)})
    assert (tmp_path / "empty.csv").read_text() == "i,w\n"
    with pytest.raises(ValueError, match="different lengths"):
        io.write_csv(tmp_path / "bad.csv", {"i": np.arange(2), "w": np.zeros(3)})
    assert not (tmp_path / "bad.csv").exists()


@pytest.mark.parametrize("name", ["a\rb", "a\nb", "a\r\nb", 'a"b', "a,b", "\r"])
def test_csv_names_with_line_ends_come_back(tmp_path, name):
    io.write_csv(tmp_path / "names.csv", {"node": np.array([name, "plain"], object), "value": np.array([1, 2])})
    with (tmp_path / "names.csv").open(newline="", encoding="utf-8") as file:
        assert list(csv.reader(file)) == [["node", "value"], [name, "1"], ["plain", "2"]]
    assert (tmp_path / "names.csv").read_bytes().endswith(b"plain,2\n")
