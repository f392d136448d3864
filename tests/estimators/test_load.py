"""A few of the fits of ``make load``: each ends as it does on its own, and no file stays open."""

from __future__ import annotations

import load
import pytest


def test_fits_of_one_process_are_those_of_fresh_ones() -> None:
    if not hasattr(__import__("psutil").Process(), "num_fds"):
        pytest.skip("this system doesn't count open files")
    found = load.load_test(14, 1)
    assert found["different"] == []
    assert (found["fits"], found["fresh"]) == (14, 1)
    assert found["distinct"] == 14
    assert found["files"][1] <= found["files"][0]
    assert found["rss_mb"][1] - found["rss_mb"][0] < 100  # a leak of 5 MB a fit; make load is the one that measures
