"""Only regular files of a bounded size are read: a FIFO, a device, an endless key end in a sentence, not in waiting."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

import pytest
from typer.testing import CliRunner

from gdamn.cli import root as cli
from gdamn.data.files.folder import read_folder
from gdamn.data.named.published import open_published
from gdamn.data.named.safe_pickle import read_pickle
from gdamn.errors import ConfigError, DataError, GdamnError
from gdamn.estimators.model_file import read_model
from gdamn.experiments.published import write_into
from gdamn.fit import checkpoint_file
from gdamn.runs import run as runs
from gdamn.runs import seed_records
from gdamn.runs import tune_study as tuning_study
from gdamn.runs.spec import RunSpec
from gdamn.runs.store import FOLDER, Store
from gdamn.system import reading
from gdamn.using.new_files import read_encoder

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no FIFOs")
SECONDS = 30


@pytest.fixture(autouse=True)
def no_waiting() -> Iterator[None]:
    """A test that waits is ended, so that it fails."""

    def late(number: int, frame: FrameType | None) -> None:
        raise AssertionError("it waits")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def fifo(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(path)
    return path


def sparse(path: Path, size: int) -> Path:
    """A file of so many bytes that takes no disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    os.truncate(path, size)
    return path


def refused(*words: str) -> str:
    done = CliRunner().invoke(cli.app, list(words))
    assert done.exit_code == 2, repr(done.exception)
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    return done.stderr


READERS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "config": ("config.toml", RunSpec.from_toml),
    "json": ("x.json", reading.read_json),
    "text": ("x.md", lambda path: write_into(path, "")),
    "encoder": ("encoder.json", lambda path: read_encoder(path.parent)),
    "model": ("model.gdamn", read_model),
    "checkpoint": ("000001.checkpoint", checkpoint_file.read_tree),
    "graph": ("g.graph/graph.json", lambda path: read_folder(path.parent)),
    "journal": ("study.journal", tuning_study.mend),
    "archive": ("x.npz", lambda path: open_published(path, ["a"])),
    "pickle": ("ind.cora.x", read_pickle),
}


@pytest.mark.parametrize("name", READERS)
def test_a_fifo(name: str, tmp_path: Path) -> None:
    file, read = READERS[name]
    path = fifo(tmp_path / file)
    with pytest.raises(GdamnError, match="not a regular file"):
        read(path)


@pytest.mark.parametrize("name", ["config", "json", "text", "encoder", "graph", "journal"])
def test_a_file_that_is_too_large(name: str, tmp_path: Path) -> None:
    file, read = READERS[name]
    path = sparse(tmp_path / file, 1 << 40)
    with pytest.raises(GdamnError, match="too large to read"):
        read(path)


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no /dev/zero")
def test_a_device() -> None:
    with pytest.raises(ConfigError, match="not a regular file"):
        RunSpec.from_toml(Path("/dev/zero"))


def test_records_that_are_passed_over(tmp_path: Path) -> None:
    """What a run keeps to go on from is trained again where it can't be read."""
    fifo(tmp_path / FOLDER / "seed-0.json")
    assert seed_records.find_seed(tmp_path, 0, {}) is None
    assert Store(tmp_path).read_record(fifo(tmp_path / "seed-0.json").name) is None
    fifo(tmp_path / "f" / "000002.checkpoint")
    assert checkpoint_file.newest(tmp_path / "f") is None
    os.mkfifo(tmp_path / "config.toml")
    (tmp_path / "summary.json").touch()
    with pytest.raises(GdamnError, match="another configuration"):
        runs.check_unfinished(tmp_path, "x")


def test_commands(tmp_path: Path) -> None:
    path = str(fifo(tmp_path / "x"))
    out = str(tmp_path / "o")
    for words in (
        ("train", "--config", path, "--out", out),
        ("tune", "karate", "--space", path, "--out", out),
        ("replicate", path),
        ("train", str(fifo(tmp_path / "n.csv")), "--edges", str(fifo(tmp_path / "e.csv")), "--out", out),
    ):
        assert "not a regular file" in refused(*words)
    run = tmp_path / "run"
    fifo(run / "config.toml")
    refused("predict", str(run), "-o", str(tmp_path / "p.csv"))
    fifo(run / "summary.json")
    assert "not a regular file" in refused("report", str(run))
    assert not (tmp_path / "o").exists()


LONG = "a." * 50_000 + "a"


@pytest.mark.parametrize(
    "text",
    [
        f"{LONG} = 1\n",
        f"[{LONG}]\n",
        f"[[{LONG}]]\n",
        f"x = {{{LONG} = 1}}\n",
        '"".' * 50_000 + "a = 1\n",
        "'b' . " * 20_000 + "a = 1\n",
        "x = " + "[" * 100_000,
        "x = " + "{a=" * 100_000,
        '"""' + '\\"' * 500_000,
        '"' + '\\"' * 500_000,
        "'" * 1_000_000,
        "a" * 1_000_000,
        "x = " + "1" * 100_000,
    ],
    ids=lambda text: text[:6],
)
def test_a_toml_without_end(text: str, tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text(text)
    with pytest.raises(ConfigError, match="isn't a TOML file"):
        RunSpec.from_toml(tmp_path / "c.toml")


def test_toml_that_is_fine() -> None:
    dots = "x." * 300
    assert reading.parse_toml(f'a . b.c = 1.5 # {dots}\nd = \'{dots}\'\ne = """\n{dots}"""\n') == {
        "a": {"b": {"c": 1.5}},
        "d": dots,
        "e": dots,
    }
    deep = ".".join("a" * 60)
    assert reading.parse_toml(f"{deep} = 1")


def test_names_that_are_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GDAMN_OFFLINE", "1")
    monkeypatch.setenv("GDAMN_DATA", str(tmp_path))
    monkeypatch.setattr("gdamn.data.fetch.cache_root", lambda: tmp_path)
    long = "x" * 300
    for words in (
        ("train", "--config", long),
        ("data", "info", "cora", "--data-root", long),
        ("train", f"{long}.csv", "--edges", f"{long}.csv"),
        ("predict", long, "-o", "p.csv"),
        ("predict", "run", "-o", f"{long}.csv"),
        ("report", long),
        ("replicate", long),
        ("results", long),
        ("tune", "karate", "--space", long, "--out", str(tmp_path / "o")),
        ("inspect", "karate", "--plot", f"{long}.png"),
        ("inspect", "karate", "--out", long),
    ):
        refused(*words)


def test_a_name_with_bytes_that_are_no_text() -> None:
    with pytest.raises(DataError, match="PYTHONUTF8=1"):
        reading.check_file(Path("m\udcc3\udcbc.csv"))
