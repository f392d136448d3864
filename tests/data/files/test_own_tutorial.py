"""Every command of docs/own-graph.md, in its order, in an empty folder.

Commands of gdamn are called within this process, which spares a dozen imports of torch. Those that train have fewer
epochs than a reader's, no page, and but for the first no simple methods beside them. Everything between them runs in a
shell, as it stands.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from doc_blocks import blocks, called, in_a_shell, steps

pytestmark = pytest.mark.usefixtures("without_pages")  # each of the seven runs would draw one

TUTORIAL = Path(__file__).parents[3] / "docs" / "own-graph.md"
FEWER = {
    "gdamn": ["--set", "pretrain_epochs=5", "--set", "epochs=3"],
    "gcn": ["--set", "epochs=5"],
}


def shorter(words: list[str]) -> list[str]:
    """A command that trains with few epochs, and but for the first run without simple methods beside it."""
    if words[1] == "train" and "--config" not in words:
        words = [*words, *FEWER[words[words.index("--method") + 1] if "--method" in words else "gdamn"]]
    return [*words, "--no-reference"] if words[1] == "train" and "--out" in words else words


@pytest.mark.skipif(shutil.which("bash") is None, reason="the commands are written for bash")
def test_every_command_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = [step for block in blocks(TUTORIAL) if block.kind == "sh" for step in steps(block.text)]
    assert sum(step.startswith("gdamn ") for step in found) >= 12
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("NO_COLOR", "1")
    for step in found:
        if step.startswith("gdamn "):
            called(step, monkeypatch, shorter)
        else:
            in_a_shell(step, tmp_path)
    shown = capsys.readouterr()
    assert "Traceback" not in shown.out + shown.err
    assert "TF-IDF of 'title'" in shown.out + shown.err
    assert "The id 'paper-8' stands twice" in shown.err
    assert (tmp_path / "inspect.png").is_file()
    assert (tmp_path / "runs" / "nodes-gdamn" / "encoder.json").is_file()
