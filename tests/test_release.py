"""What a release promises: the table is what was measured, one version, nothing left out of the sdist."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

from gdamn import __version__
from gdamn.system.reading import read_toml

ROOT = Path(__file__).parents[1]
PROJECT = read_toml(ROOT / "pyproject.toml")


def script(name: str) -> ModuleType:
    """A script of .ci as a module."""
    spec = importlib.util.spec_from_file_location(f"ci_{name}", ROOT / ".ci" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


matrix = script("matrix")


def text(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def test_the_page_shows_what_was_tested() -> None:
    shown = text("docs/evidence/install.md").split(matrix.BEGIN)[1].split(matrix.END)[0].strip()
    assert shown == matrix.table(json.loads(text("docs/tested.json")))


def test_every_python_that_is_promised_is_in_the_table() -> None:
    cells = json.loads(text("docs/tested.json"))["cells"]
    assert [(cell["python"], cell["packages"]) for cell in cells] == [
        (p, s) for p in matrix.PYTHONS for s in matrix.SETS
    ]
    prefix = "Programming Language :: Python :: 3."
    promised = [each.rpartition(" ")[2] for each in PROJECT["project"]["classifiers"] if each.startswith(prefix)]
    assert promised == list(matrix.PYTHONS)
    assert PROJECT["project"]["requires-python"] == f">={matrix.PYTHONS[0]}"


def test_a_cell_tells_what_failed() -> None:
    said = "FAILED tests/a.py::b - boom\nERROR tests/c.py\n3 failed, 1200 passed, 2 skipped, 1 error in 12.00s\n"
    cell = matrix.counts(subprocess.CompletedProcess([], 1, said, ""))
    assert cell == {"passed": 1200, "failed": 4, "skipped": 2, "failures": ["tests/a.py::b", "tests/c.py"]}
    assert matrix.outcome({**cell, "demo": False}) == "**4 failed**, 1,200 passed, **the demo fails**"
    broken = matrix.counts(subprocess.CompletedProcess([], 4, "", "no module named pytest"))
    assert (broken["failed"], broken["failures"]) == (1, ["no module named pytest"])
    assert matrix.outcome({"not_tested": "there is no Python 3.10 here"}).startswith("not tested: there is no")


def test_the_version_stands_in_one_place() -> None:
    assert "version" not in PROJECT["project"]
    assert re.search(r"^version: (.*)$", text("CITATION.cff"), re.MULTILINE)[1] == __version__  # type: ignore[index]
    assert re.search(r"^## (\S+)", text("CHANGELOG.md"), re.MULTILINE)[1] == __version__  # type: ignore[index]


def test_everything_goes_into_the_sdist() -> None:
    """setuptools takes the package and a few files by itself; MANIFEST.in must name the rest."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("this isn't a checkout of git")
    words = text("MANIFEST.in").split()
    own = {"src", "pyproject.toml", "README.md", "LICENSE", "MANIFEST.in"}
    assert {name.partition("/")[0] for name in listed.stdout.splitlines()} <= own | set(words)


def test_the_workflow_does_what_the_check_does() -> None:
    """Each line of ``make lint`` and ``make test`` is in the workflow for the systems where make isn't asked."""
    workflow, makefile = text(".github/workflows/tests.yml"), text("Makefile")
    assert "run: .ci/run\n" in workflow
    for target in ("lint: setup", "test: setup browser"):
        recipe = makefile.split(f"\n{target}\n")[1].split("\n\n")[0].splitlines()
        assert recipe
        for line in recipe:
            assert f"run: {line.strip().removeprefix('$(BIN)/')}\n" in workflow
