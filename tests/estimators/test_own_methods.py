"""Methods of one's own that fail: the others go on, and their row says why."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gdamn.cli import compare as cli_compare
from gdamn.cli import root as cli
from gdamn.errors import OutputError
from gdamn.estimators.registry import METHODS
from gdamn.runs import run as runs

pytestmark = pytest.mark.usefixtures("one_thread")

SOURCE = '''
from gdamn.estimators.base import NodeClassifier
from gdamn.errors import ConfigError, DataError

class Base(NodeClassifier):
    """Fails."""

class Broken(Base):
    def _fit(self, graph, progress):
        raise RuntimeError("it broke\\nin two lines")

class Divides(Base):
    def _fit(self, graph, progress):
        return 1 / 0

class Silent(Base):
    def _fit(self, graph, progress):
        assert graph is None

class Forgets(Base):
    def _fit(self, graph, progress):
        pass

class Config(Base):
    def _fit(self, graph, progress):
        raise ConfigError("No such kernel.")

class Unmade(Base):
    def __init__(self, **settings):
        raise OSError("no licence")

class Full(Base):
    def _fit(self, graph, progress):
        raise MemoryError
'''
FAILS = {
    "Broken": "RuntimeError: it broke (mine_fails.py, line 10)",
    "Divides": "ZeroDivisionError: division by zero (mine_fails.py, line 14)",
    "Silent": "AssertionError: AssertionError (mine_fails.py, line 18)",
    "Forgets": "NotFittedError: This Forgets has not been fitted yet",
    "Config": "ConfigError: No such kernel (mine_fails.py",
}


@pytest.fixture(autouse=True)
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The module in the current folder, and nothing of it left behind."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    Path("mine_fails.py").write_text(SOURCE)
    Path("mine_bad.py").write_text("raise RuntimeError('not today')\n")
    Path("mine_odd.py").write_text("def (:\n")
    known = dict(METHODS)
    yield
    METHODS.clear()
    METHODS.update(known)
    for name in ("mine_fails", "mine_bad", "mine_odd"):
        sys.modules.pop(name, None)


def compare(methods: str, *more: str) -> tuple[int, str, str]:
    assert cli_compare.app is cli.app
    words = ["compare", "karate", "--methods", methods, "--seeds", "1", "--set", "mlp.epochs=2", "--out", "o", *more]
    done = CliRunner().invoke(cli.app, words)
    assert done.exception is None or isinstance(done.exception, SystemExit), repr(done.exception)
    return done.exit_code, done.stdout, done.stderr


@pytest.mark.parametrize("name", FAILS)
def test_the_others_go_on(name: str) -> None:
    code, out, _ = compare(f"mine_fails:{name},mlp")
    assert code == 0
    assert f"mine_fails:{name} seed 0 is not finished: {FAILS[name]}" in out
    found = json.loads(Path("o/compare.json").read_text())
    assert [result["method"] for result in found["results"]] == ["mlp"]
    assert found["failed"][0]["reason"].startswith(FAILS[name])
    assert FAILS[name] in Path("o/compare.md").read_text()


def test_where_nothing_else_is_left() -> None:
    words = ["compare", "karate", "--methods", "mine_fails:Broken", "--seeds", "1", "--out", "o"]
    done = CliRunner().invoke(cli.app, words)
    assert done.exit_code == 2
    assert "No fit could be finished: RuntimeError: it broke" in done.stderr


def test_memory_ends_the_comparison() -> None:
    code, _, said = compare("mine_fails:Full,mlp")
    assert code == 2
    assert "not enough memory" in said


def test_a_full_disk_ends_the_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OutputError("Can't write 'x': the disk is full.")

    monkeypatch.setattr(runs, "measure", full)
    assert compare("mlp")[0] == 2


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("mine_fails:Unmade", "can't be made: OSError: no licence"),
        ("mine_bad:Broken", "(module:Class): RuntimeError: not today"),
        ("mine_odd:Broken", "(module:Class): SyntaxError: invalid syntax"),
    ],
)
def test_one_that_cannot_be_had_is_told_before_anything(name: str, said: str) -> None:
    code, _, told = compare(f"mlp,{name}")
    assert code == 2
    assert said in told
    assert told.count("\n") == 1
    assert not Path("o").exists()


@pytest.mark.parametrize("name", ["Broken", "Divides", "Silent"])
def test_train_tells_it_in_one_sentence(name: str) -> None:
    done = CliRunner().invoke(cli.app, ["train", "karate", "--method", f"mine_fails:{name}", "--out", "o"])
    assert done.exit_code == 2
    assert done.stderr == f"error: The method 'mine_fails:{name}' failed: {FAILS[name]}.\n"
    assert not Path("o").exists()


def test_train_leaves_a_lack_of_memory_as_it_is() -> None:
    done = CliRunner().invoke(cli.app, ["train", "karate", "--method", "mine_fails:Full", "--out", "o"])
    assert done.exit_code == 2
    assert "not enough memory" in done.stderr


def test_train_does_not_hide_a_bug_of_a_method_of_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr("gdamn.baselines.lpa.LPAClassifier._fit", broken)
    done = CliRunner().invoke(cli.app, ["train", "karate", "--method", "lpa", "--out", "o"])
    assert repr(done.exception) == "RuntimeError('a bug')"
