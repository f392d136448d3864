"""Fixtures that all tests may use."""

from __future__ import annotations

import os
from collections.abc import Iterator
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


@pytest.fixture(scope="module")
def one_thread() -> Iterator[None]:
    """On tiny graphs threads only wait for each other."""
    import numba
    import torch

    before = torch.get_num_threads(), numba.get_num_threads()
    torch.set_num_threads(1)
    numba.set_num_threads(1)
    yield
    torch.set_num_threads(before[0])
    numba.set_num_threads(before[1])
