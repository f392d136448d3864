"""Every command of docs/own-graph.md, in its order, in an empty folder."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TUTORIAL = Path(__file__).parents[2] / "docs" / "own-graph.md"


def blocks() -> list[str]:
    return re.findall(r"^```sh\n(.*?)^```", TUTORIAL.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


@pytest.mark.skipif(shutil.which("bash") is None, reason="the commands are written for bash")
def test_every_command_runs(tmp_path: Path) -> None:
    found = blocks()
    assert len(found) >= 7
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    plain = {**os.environ, "PATH": path, "COLUMNS": "100", "NO_COLOR": "1"}
    shown = ""
    for block in found:
        command = ["bash", "-euo", "pipefail", "-c", block]
        done = subprocess.run(
            command, capture_output=True, text=True, cwd=tmp_path, env=plain, timeout=300, check=False
        )
        assert done.returncode == 0, f"{block}\n{done.stdout}\n{done.stderr}"
        shown += done.stdout + done.stderr
    assert "Traceback" not in shown
    assert "TF-IDF of 'title'" in shown
    assert "The id 'paper-8' stands twice" in shown
    assert (tmp_path / "inspect.png").is_file()
    assert (tmp_path / "runs" / "nodes-gdamn" / "encoder.json").is_file()
