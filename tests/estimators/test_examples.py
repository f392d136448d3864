"""The examples and the code of two pages run as they stand."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SAID = {"callbacks": "E-step 1: ", "grid_search": "best: {'model__hidden': ", "new_nodes": "draft-1     sport"}
BLOCKS = [
    pytest.param(block, id=f"{page}-{at}")
    for page in ("sklearn", "inductive")
    for at, block in enumerate(
        re.findall(r"```python\n(.*?)```", (ROOT / f"docs/{page}.md").read_text(encoding="utf-8"), re.DOTALL)
    )
]


@pytest.mark.parametrize("name", SAID)
def test_an_example_runs(name: str, tmp_path: Path) -> None:
    example = ROOT / "examples" / f"{name}.py"
    done = subprocess.run([sys.executable, example], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert SAID[name] in done.stdout
    assert done.stderr == ""
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("block", BLOCKS)
def test_the_code_of_a_page_runs(block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "a block", "exec"), {"__name__": "block"})
    assert not list(tmp_path.iterdir())
