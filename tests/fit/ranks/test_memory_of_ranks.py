"""Ranks need memory for their parts, not for the whole graph: what one can't hold, two and four train together."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc and RLIMIT_DATA")

PROGRAM = Path(__file__).with_name("memory_at_work.py")


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What each world found, by the number of ranks and their share of M."""
    folder = tmp_path_factory.mktemp("memory")
    ways = {**os.environ, "NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    command = [sys.executable, str(PROGRAM), str(folder)]
    done = subprocess.run(command, env=ways, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return {path.stem: json.loads(path.read_text()) for path in folder.glob("*.json")}


def test_one_rank_says_that_it_needs_others(worlds: dict[str, dict[str, Any]]) -> None:
    told = worlds["1-0.6"]["told"]
    assert told.startswith("Rank 0 of 1 would take about ")
    assert "start more ranks" in told
    assert len(told.splitlines()) == 1


@pytest.mark.parametrize("world", ["2-0.6", "4-0.4"])
def test_ranks_with_a_part_of_the_memory_train(worlds: dict[str, dict[str, Any]], world: str) -> None:
    alone, mine = worlds["1-None"], worlds[world]
    assert mine["limit"] == int(float(world.partition("-")[2]) * alone["M"])
    assert mine["losses"] == pytest.approx(alone["losses"], rel=1e-4)
    assert 0 < mine["M"] <= mine["limit"]
