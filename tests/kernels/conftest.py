"""The kernels' tests work on tiny arrays, on which threads only wait for each other."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True, scope="module")
def alone(one_thread):
    """Every module here runs on one thread."""
