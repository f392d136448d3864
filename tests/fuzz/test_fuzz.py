"""The fuzz targets read what is good, and every input that ever broke one of them is refused or read."""

from __future__ import annotations

from pathlib import Path

import pytest
from fuzz_kinds import attempt
from fuzz_targets import TARGETS

from gdamn.data.named import coauthor, planetoid

FOUND = Path(__file__).with_name("found")
INPUTS = sorted(path for path in FOUND.glob("*/*") if path.is_file())


@pytest.fixture(autouse=True)
def _sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The targets make the benchmarks' splits small; that goes when the test ends."""
    for module, name in ((planetoid, "VALIDATION"), (coauthor, "TRAIN"), (coauthor, "VAL")):
        monkeypatch.setattr(module, name, getattr(module, name))


@pytest.mark.parametrize("name", TARGETS)
def test_good_inputs_are_read(name: str, tmp_path: Path) -> None:
    """Without this a target could refuse everything for a reason of its own."""
    for at, content in enumerate(TARGETS[name].seeds()):
        folder = tmp_path / str(at)
        folder.mkdir()
        assert attempt(TARGETS[name], folder, content) == ""


@pytest.mark.parametrize("path", INPUTS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_what_was_found_stays_mended(path: Path, tmp_path: Path) -> None:
    attempt(TARGETS[path.parent.name], tmp_path, path.read_bytes())


def test_the_found_inputs_are_small() -> None:
    assert {path.parent.name for path in INPUTS} <= set(TARGETS)
    assert sum(path.stat().st_size for path in INPUTS) < 60_000
