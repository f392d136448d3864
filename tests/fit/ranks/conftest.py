"""One start of four processes serves all tests that compare numbers of ranks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

PROGRAM = Path(__file__).with_name("ranks_at_work.py")


@pytest.fixture(scope="session")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with what 4, 2 and 1 ranks found."""
    folder = tmp_path_factory.mktemp("ranks")
    ways = {**os.environ, "OMP_WAIT_POLICY": "PASSIVE", "GLOO_SOCKET_IFNAME": "lo"}
    ways |= {"NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(PROGRAM), str(folder)]
    done = subprocess.run(command, env=ways, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    print(done.stdout)
    return folder


@pytest.fixture(scope="session")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A partitioned graph."""
    from gdamn.data import load
    from gdamn.data.partition.layout import Layout
    from gdamn.data.partition.write import write_parts

    graph = load("sbm", num_nodes=90, num_classes=3, train_per_class=5, val_per_class=5)
    layout = Layout.make((np.arange(90) % 5).astype(np.int32), None, 5, "drawn")
    return write_parts(graph, tmp_path_factory.mktemp("parts") / "sbm", lambda: layout)


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run by two ranks that nothing happened to; the first of pytest's processes makes it for all."""
    import fcntl

    from commands import ended, start

    own = tmp_path_factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "undisturbed"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "out" / "summary.json").exists():
            assert ended(start(folder / "out", "--workers", "2"), within=600) == (
                0,
                "",
            )  # may compile the kernels first
    return folder / "out"
