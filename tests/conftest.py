"""Fixtures that all tests may use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data_root() -> Path:
    """The folder with the benchmark files; tests that need it are skipped where there is none."""
    given = os.environ.get("GDAMN_DATA", "").strip()
    if not given or not Path(given).is_dir():
        pytest.skip("the benchmark files are not here: set GDAMN_DATA to the folder that holds them")
    return Path(given)
