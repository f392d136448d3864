"""Fixtures that all tests may use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

# Before any test imports torch: threads that spin while they wait make tiny fits slow on a busy machine.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


@pytest.fixture(scope="session")
def data_root() -> Path:
    """The folder with the benchmark files; tests that need it are skipped where there is none."""
    given = os.environ.get("GDAMN_DATA", "").strip()
    if not given or not Path(given).is_dir():
        pytest.skip("the benchmark files are not here: set GDAMN_DATA to the folder that holds them")
    return Path(given)
