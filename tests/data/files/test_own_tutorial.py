"""Every command of docs/own-graph.md, in its order, in an empty folder.

Commands of gdamn are called within this process, which spares a dozen imports of torch. Those that train have fewer
epochs than a reader's, no page, and but for the first no simple methods beside them. Everything between them runs in a
shell, as it stands.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gdamn.cli import root as cli

pytestmark = pytest.mark.usefixtures("without_pages")  # each of the seven runs would draw one

TUTORIAL = Path(__file__).parents[3] / "docs" / "own-graph.md"
FEWER = {
    "gdamn": ["--set", "pretrain_epochs=5", "--set", "epochs=3"],
    "gcn": ["--set", "epochs=5"],
}


def blocks() -> list[str]:
    return re.findall(r"^```sh\n(.*?)^```", TUTORIAL.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def steps(block: str) -> Iterator[str]:
    """The commands of gdamn one by one, and what stands between them in one piece."""
    between: list[str] = []
    for line in block.splitlines():
        if line.startswith("gdamn "):
            if between:
                yield "\n".join(between)
            yield line
            between = []
        else:
            between.append(line)
    if between:
        yield "\n".join(between)


def called(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command of gdamn; one that is meant to fail says with which code."""
    text, _, otherwise = line.partition(" || test $? -eq ")
    words = shlex.split(text)
    if words[1] == "train" and "--config" not in words:
        words += FEWER[words[words.index("--method") + 1] if "--method" in words else "gdamn"]
    if words[1] == "train" and "--out" in words:  # the first run is set beside simple methods
        words.append("--no-reference")
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert (ended.value.code or 0) == int(otherwise or 0), line


def in_a_shell(script: str, folder: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    command = ["bash", "-euo", "pipefail", "-c", script]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=folder, env={**os.environ, "PATH": path}, timeout=300, check=False
    )
    assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}"
    print(done.stdout)


@pytest.mark.skipif(shutil.which("bash") is None, reason="the commands are written for bash")
def test_every_command_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = [step for block in blocks() for step in steps(block)]
    assert sum(step.startswith("gdamn ") for step in found) >= 12
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("NO_COLOR", "1")
    for step in found:
        if step.startswith("gdamn "):
            called(step, monkeypatch)
        else:
            in_a_shell(step, tmp_path)
    shown = capsys.readouterr()
    assert "Traceback" not in shown.out + shown.err
    assert "TF-IDF of 'title'" in shown.out + shown.err
    assert "The id 'paper-8' stands twice" in shown.err
    assert (tmp_path / "inspect.png").is_file()
    assert (tmp_path / "runs" / "nodes-gdamn" / "encoder.json").is_file()
