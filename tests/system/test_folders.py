"""Folders that results are written into: those of other programs stay as they are, byte for byte."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gdamn.cli import root as cli
from gdamn.errors import OutputError
from gdamn.runs import run as runs
from gdamn.runs.compare import engine
from gdamn.runs.spec import RunSpec
from gdamn.system import folders, lock

pytestmark = pytest.mark.usefixtures("one_thread")

STORED = Path(__file__).parents[1] / "stored"
OPTIONS = {"num_nodes": 40, "num_classes": 2, "train_per_class": 4, "val_per_class": 4}
SPEC = RunSpec("sbm", "mlp", (0,), options=OPTIONS, settings={"epochs": 2})

FOREIGN = {
    "config.toml": b"[site]\nname = 'mine'\n",
    "report.html": b"<html>mine</html>",
    "summary.json": b"{}",
    "compare.json": b'{"kind": "mine"}',
    "study.journal": b"mine\n",
    "best.toml": b"[mine]\n",
    "table2.md": b"mine",
    "fig1a.json": b"[]",
    "graph.json": b"{}",
    "indptr.npy": b"mine",
    ".lock": b"4711",
    ".unfinished/seed-1.json": b"{}",
    ".unfinished/mine.txt": b"mine",
    "seed-1/model.gdamn": b"mine",
    "seed-1/edges.csv": b"mine",
    "fits/gcn/seed-0.json": b"{}",
    ".summary-abcd1234.json": b"mine",
}
COMMANDS = {
    "train": "train karate --method mlp --set epochs=1 --out {}",
    "compare": "compare karate --methods mlp --seeds 1 --set epochs=1 --out {}",
    "tune": "tune karate --method mlp --trials 1 --seeds 1 --out {}",
    "reproduce": "reproduce fig1a --datasets karate --seeds 1 --set epochs=1 --out {}",
    "reproduce table2": "reproduce table2 --datasets karate --methods mlp --seeds 1 --set epochs=1 --out {}",
    "convert": "data convert karate {}",
}


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def write(folder: Path, files: dict[str, bytes]) -> Path:
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder


def refused(words: str) -> str:
    done = CliRunner().invoke(cli.app, words.split())
    assert done.exit_code == 2, (done.stdout, done.stderr, done.exception)
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    return done.stderr


@pytest.mark.parametrize("left", ["all", *(name for name in FOREIGN if "/" not in name), "notes.txt"])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_folder_of_another_program_stays_as_it_is(command: str, left: str, tmp_path: Path) -> None:
    files = FOREIGN if left == "all" else {left: FOREIGN.get(left, b"mine")}
    site = write(tmp_path / "site.graph", files)
    before = content(site)
    for force in ("", " --force"):
        if force and command in ("tune", "convert"):  # they have no such option
            continue
        assert "holds files that gdamn did not write" in refused(COMMANDS[command].format(site) + force)
        assert content(site) == before


@pytest.mark.parametrize("command", ["train", "compare", "convert"])
def test_the_own_folder_is_written_again_and_other_files_in_it_stay(command: str, tmp_path: Path) -> None:
    words = COMMANDS[command].format(tmp_path / "o.graph").split()
    done = CliRunner().invoke(cli.app, words)
    assert done.exit_code == 0, done.stderr
    marked = json.loads((tmp_path / "o.graph" / folders.MARKER).read_text())
    assert marked["holds"] == [{"train": "run", "compare": "comparison", "convert": "graph"}[command]]
    mine = write(tmp_path / "o.graph", {"notes.txt": b"mine", ".lock": b"mine", "seed-9/mine.csv": b"mine"})
    done = CliRunner().invoke(cli.app, words)
    assert done.exit_code == 0, done.stderr
    assert {name: content(mine)[name] for name in ("notes.txt", ".lock", "seed-9/mine.csv")} == {
        "notes.txt": b"mine",
        ".lock": b"mine",
        "seed-9/mine.csv": b"mine",
    }


def test_a_folder_of_ours_that_holds_something_else(tmp_path: Path) -> None:
    out = tmp_path / "out"
    runs.run(SPEC, out)
    write(out, {"compare.md": b"mine"})
    before = content(out)
    said = refused(COMMANDS["compare"].format(out) + " --force")
    assert "holds a run, not a comparison" in said
    assert content(out) == before


def test_an_empty_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for command in COMMANDS.values():
        done = CliRunner().invoke(cli.app, [word.format("") for word in command.split()])
        assert done.exit_code == 2
        assert "is empty; name a file or a folder" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_folders_of_earlier_versions(tmp_path: Path) -> None:
    run, comparison = tmp_path / "run", tmp_path / "comparison"
    shutil.copytree(STORED / "run", run)
    shutil.copytree(STORED / "comparison", comparison)
    assert folders.older_kinds(run) == ["run"]
    assert folders.older_kinds(comparison) == ["comparison"]
    folders.check(run, "run")
    folders.check(comparison, "comparison")
    (run / "summary.json").write_text("{}")  # one that we would replace, and did not write
    with pytest.raises(OutputError, match="did not write"):
        folders.check(run, "run")


def older(out: Path) -> Path:
    """As an earlier version left the folder."""
    (out / folders.MARKER).unlink()
    return out


@pytest.mark.parametrize("command", ["train", "tune", "reproduce", "reproduce table2", "convert"])
def test_what_earlier_versions_finished_is_known(command: str, tmp_path: Path) -> None:
    words = COMMANDS[command].format(tmp_path / "o.graph").split()
    assert CliRunner().invoke(cli.app, words).exit_code == 0
    assert older(tmp_path / "o.graph").is_dir()
    done = CliRunner().invoke(cli.app, words)
    assert done.exit_code == 0, done.stderr
    assert (tmp_path / "o.graph" / folders.MARKER).is_file()


def test_what_earlier_versions_left_unfinished_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    run = tmp_path / "run"
    with monkeypatch.context() as patched:
        patched.setattr(runs, "summarise", stop)
        with pytest.raises(KeyboardInterrupt):
            runs.run(SPEC, run)
    assert folders.older_kinds(older(run)) == ["run"]
    runs.run(SPEC, run)
    specs = engine.make_specs("sbm", ["mlp"], [0], options=OPTIONS, settings={"epochs": 2})
    engine.compare(specs, tmp_path / "comparison")
    assert folders.older_kinds(older(tmp_path / "comparison")) == ["comparison"]
    (tmp_path / "all").mkdir()
    (tmp_path / "comparison").rename(tmp_path / "all" / "karate")
    assert folders.older_kinds(tmp_path / "all") == ["reproduction"]
    (tmp_path / "all" / "notes.txt").touch()
    assert folders.older_kinds(tmp_path / "all") == []


def test_a_block_that_writes_nothing_leaves_nothing(tmp_path: Path) -> None:
    made, stood = tmp_path / "made", tmp_path / "stood"
    stood.mkdir()
    for out in (made, stood):
        with lock.alone_in(out, "run"):
            assert (out / folders.MARKER).is_file()
    assert not made.exists()
    assert list(stood.iterdir()) == []


def test_who_is_killed_at_once_can_begin_again(tmp_path: Path) -> None:
    """The lock alone, half a mark, the mark alone: what can be left before anything else is written."""
    for names in ([folders.LOCK], [folders.LOCK, "..gdamn-abcd1234.json"], [folders.LOCK, folders.MARKER]):
        out = tmp_path / "-".join(names)
        out.mkdir()
        for name in names:
            marker = {"format": 1, "gdamn": "0", "holds": ["run"]} if name == folders.MARKER else None
            (out / name).write_text(json.dumps(marker) if marker else "")
        with lock.alone_in(out, "run"):
            (out / "mine.txt").touch()
        assert {path.name for path in out.iterdir()} == {folders.MARKER, "mine.txt"}


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 1, "holds": 3}', '{"format": 2, "holds": ["run"]}', "["])
def test_a_mark_that_is_none(text: str, tmp_path: Path) -> None:
    (tmp_path / folders.MARKER).write_text(text)
    with pytest.raises(OutputError, match=r"damaged|newer"):
        folders.check(tmp_path, "run")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no FIFOs")
def test_a_mark_that_never_ends(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / folders.MARKER)
    with pytest.raises(OutputError, match="damaged"):
        folders.check(tmp_path, "run")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_name_that_is_too_long(command: str, tmp_path: Path) -> None:
    said = refused(COMMANDS[command].format(tmp_path / ("x" * 300 + ".graph")))
    assert "name is too long; choose a shorter one" in said
    assert list(tmp_path.iterdir()) == []
