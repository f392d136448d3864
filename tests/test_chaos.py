"""One kill at a random moment; ``make chaos`` does a hundred."""

from __future__ import annotations

import os
from pathlib import Path

import chaos
import pytest


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_killed_runs_end_with_the_same_files(tmp_path: Path) -> None:
    for tally in chaos.chaos(1, 20, tmp_path):
        assert tally.different == []
    assert tally.kills == 1
    assert sum(tally.where.values()) == 1
    assert "undisturbed" in {path.name for path in tmp_path.iterdir()}
    assert chaos.content(tmp_path / "undisturbed").keys() >= {"summary.json", "config.toml", "report.html"}


def test_the_comparison_sees_a_difference(tmp_path: Path) -> None:
    for name, accuracy in (("a", 0.5), ("b", 0.6)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "summary.json").write_text(f'{{"seconds_per_seed": [{accuracy}], "accuracy": {accuracy}}}')
    assert chaos.content(tmp_path / "a") != chaos.content(tmp_path / "b")
