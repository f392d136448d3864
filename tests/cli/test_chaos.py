"""Two kills at random moments; ``make chaos`` does a hundred, of tune and reproduce, too."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import chaos
import pytest


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_killed_commands_end_with_the_same_files() -> None:
    """In a process of its own: it forks, which one with threads must not."""
    words = [
        sys.executable,
        chaos.__file__,
        "--kills",
        "2",
        "--seed",
        "2",
        "--each",
        "1",
        "--commands",
        "train,compare",
    ]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "\n2 kills in " in done.stdout
    assert "every file as in the undisturbed runs" in done.stdout


def test_the_comparison_sees_a_difference(tmp_path: Path) -> None:
    for name, accuracy in (("a", 0.5), ("b", 0.6)):
        fits = tmp_path / name / "fits" / "gcn"
        fits.mkdir(parents=True)
        (fits / "seed-0.json").write_text(json.dumps({"result": {"seconds": accuracy, "accuracy": 0.5}}))
        (fits.parent / "compare.csv").write_text(f"method,accuracy,seconds\ngcn,0.5,{accuracy}\n")
    assert chaos.content(tmp_path / "a") == chaos.content(tmp_path / "b")
    (tmp_path / "b" / "fits" / "compare.csv").write_text("method,accuracy,seconds\ngcn,0.6,1\n")
    assert chaos.content(tmp_path / "a") != chaos.content(tmp_path / "b")


def test_a_file_that_stays_behind_is_a_difference(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    (tmp_path / "b" / ".summary-abcd1234.json").write_text("{}")
    assert chaos.content(tmp_path / "a") != chaos.content(tmp_path / "b")
    assert chaos.moment(tmp_path / "b") == "while a file was written"
