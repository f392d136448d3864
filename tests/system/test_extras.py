"""Without the extras gdamn can be imported and used, and what needs one says so in a sentence."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from gdamn.errors import MissingPackageError
from gdamn.system import extras
from gdamn.system.reading import read_toml

ROOT = Path(__file__).parents[2]
PROJECT = read_toml(ROOT / "pyproject.toml")["project"]

SLIM = """
import json, sys
for name in MISSING:
    sys.modules[name] = None
from typer.testing import CliRunner
import gdamn
from gdamn.cli import app

for name in gdamn.__all__:
    getattr(gdamn, name)
model = gdamn.GDAMN(pretrain_epochs=2, epochs=2, em_iterations=1).fit(gdamn.load("karate"))
model.save("model.gdamn")
gdamn.GDAMN.load("model.gdamn")
assert model.refine().edge_weight is not None
said = {}
for command in COMMANDS:
    result = CliRunner().invoke(app, command.split())
    said[command] = result.exit_code, " ".join((result.stdout + result.stderr).split()), repr(result.exception)
try:
    gdamn.Graph.from_tables([], [])
except ImportError as problem:
    said["from_tables"] = 2, str(problem), type(problem).__name__
print(json.dumps(said))
"""

COMMANDS = {
    "train nodes.csv --edges edges.csv --label y": (2, "pip install 'gdamn[files]'"),
    "inspect graph.npz": (2, "pip install 'gdamn[files]'"),
    "inspect karate": (0, ""),
    "inspect karate --plot k.png": (
        2,
        "A picture needs matplotlib, which isn't installed; pip install 'gdamn[report]'",
    ),
    "train karate --method mlp --set epochs=2 --no-reference --out out": (0, "The run is whole, but its report.html"),
    "predict out -o labels.csv": (0, ""),
    "predict out -o labels.parquet": (2, "Writing Parquet needs pyarrow"),
    "report out": (2, "A page needs matplotlib"),
    "compare karate --methods mlp --out compared": (2, "gdamn compare needs matplotlib"),
    "reproduce table1 --out table1": (2, "gdamn reproduce needs matplotlib"),
    "tune karate --trials 1 --out tuned": (2, "A search needs optuna"),
    "from_tables": (2, "Reading tables and files of graphs needs pyarrow"),
}


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What commands say where no extra is installed."""
    folder = tmp_path_factory.mktemp("slim")
    for name in ("nodes.csv", "edges.csv", "graph.npz"):
        (folder / name).write_text("x")
    commands = [command for command in COMMANDS if " " in command]
    missing = [name for name in extras.EXTRAS if name not in ("jinja2", "markupsafe")]  # torch brings them
    code = f"MISSING = {missing!r}\nCOMMANDS = {commands!r}\n{SLIM}"
    ended = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    answers: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    assert not (folder / "compared").exists()
    assert not (folder / "tuned").exists()
    return answers


@pytest.mark.parametrize("command", COMMANDS)
def test_what_needs_an_extra_says_so(command: str, said: dict[str, Any]) -> None:
    code, text = COMMANDS[command]
    found, answer, problem = said[command]
    assert (found, text in answer) == (code, True), (answer, problem)
    assert "Traceback" not in answer


def test_every_extra_is_that_of_the_project() -> None:
    declared = {extra: {Requirement(each).name for each in lines} for extra, lines in names().items()}
    for package, extra in extras.EXTRAS.items():
        assert package in declared[extra]
    base = {Requirement(each).name for each in PROJECT["dependencies"]}
    assert not base & extras.EXTRAS.keys()


def names() -> dict[str, list[str]]:
    listed: dict[str, list[str]] = PROJECT["optional-dependencies"]
    return listed


def test_all_is_everything_that_a_user_may_want() -> None:
    def reached(extra: str) -> set[str]:
        needs = [Requirement(each) for each in names()[extra]]
        inner = [name for need in needs if need.name == "gdamn" for name in need.extras]
        return {need.name for need in needs if need.name != "gdamn"}.union(*map(reached, inner))

    assert reached("all") == extras.EXTRAS.keys()
    assert reached("test") > reached("all") > reached("cli") > reached("report")


def test_no_ceiling_without_a_known_break() -> None:
    limits = {each for line in PROJECT["dependencies"] for each in Requirement(line).specifier}
    assert {each.operator for each in limits} == {">="}


def test_the_floors_are_those_that_are_tested() -> None:
    """The lowest pin of constraints-oldest.txt is the first version that the floor admits."""
    lines = (ROOT / "constraints-oldest.txt").read_text(encoding="utf-8").splitlines()
    pins = [Requirement(line) for line in lines if line and not line.startswith("#")]
    user = [line for extra in ("files", "report", "tune", "scale") for line in names()[extra]]
    for need in map(Requirement, [*PROJECT["dependencies"], *user]):
        tested = [Version(only.version) for pin in pins if pin.name == need.name for only in pin.specifier]
        (floor,) = need.specifier
        assert str(min(tested)).startswith(floor.version), need
        assert all(version in need.specifier for version in tested)


def test_a_missing_package_is_an_import_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(extras.EXTRAS, "nosuch", "files")
    with pytest.raises(MissingPackageError, match=r"This thing needs nosuch.*'gdamn\[files\]'") as problem:
        extras.need("This thing", "nosuch")
    assert isinstance(problem.value, ImportError)
    assert extras.missing(ModuleNotFoundError(name="pyarrow.csv")) is not None
    assert extras.missing(ModuleNotFoundError(name="gdamn.nosuch")) is None
    assert extras.missing(ValueError()) is None
