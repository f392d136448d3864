"""The examples run as they stand."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
SAID = {"callbacks": "E-step 1: ", "grid_search": "best: {'model__hidden': ", "new_nodes": "draft-1     sport"}


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("name", SAID)
def test_an_example_runs(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    shown = capsys.readouterr()
    assert SAID[name] in shown.out
    assert shown.err == ""
    assert not list(tmp_path.iterdir())
