"""Fits in forked processes, in several threads, and beside a process group that nobody was asked to join."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from gdamn import GDAMN
from gdamn.baselines.gat import GATClassifier
from gdamn.baselines.gcn import GCNClassifier
from gdamn.data import load
from gdamn.errors import ConfigError, OutputError
from gdamn.system import lock

SCRIPT = """
import multiprocessing, threading
from concurrent.futures import ThreadPoolExecutor
from gdamn import GDAMN, load
from gdamn.errors import ForkError

graph = load("digits")
fork = multiprocessing.get_context("fork")

def fit(seed, threads=0):
    model = GDAMN(seed=seed, pretrain_epochs=3, epochs=3, start="graph", threads=threads).fit(graph)
    return model.predict_proba().tobytes()

def answer(make, *args):
    with fork.Pool(1) as pool:
        return pool.apply_async(make, args).get(timeout=100)

early = answer(fit, 0)  # forked before the first fit: nothing is lost
with ThreadPoolExecutor(2) as pool:
    both = list(pool.map(fit, (0, 1), (2, 1)))
assert both == [fit(0), fit(1)], "threads change bits"
assert early == both[0]
try:
    answer(fit, 0)
except ForkError as problem:
    print(problem)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_threads_wait_for_each_other_and_a_late_fork_is_told_what_to_do() -> None:
    """With numba's workqueue layer two fits at once aborted the process; after a fork a fit never ended."""
    env = {**os.environ, "NUMBA_THREADING_LAYER": "workqueue", "OMP_NUM_THREADS": "2"}
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, env=env, timeout=280)
    assert done.returncode == 0, done.stderr
    assert "get_context('spawn')" in done.stdout
    assert done.stdout.count("\n") == 1


def test_two_threads_do_not_share_a_folder(tmp_path: Path) -> None:
    found: list[object] = []

    def other() -> None:
        try:
            with lock.alone_in(tmp_path / "run", "run"):
                found.append("in")
        except OutputError as problem:
            found.append(problem)

    with lock.alone_in(tmp_path / "run", "run") as outer:
        assert outer
        with lock.alone_in(tmp_path / "run", "run") as inner:
            assert not inner
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert isinstance(found[0], OutputError)
    assert "Another run is writing" in str(found[0])
    other()
    assert found[1] == "in"


@pytest.mark.parametrize(
    ("method", "said"),
    [(GDAMN, "init_process_group"), (GCNClassifier, "init_process_group"), (GATClassifier, "one process")],
)
def test_a_group_that_cannot_be_joined_is_refused(method: type[GDAMN], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        method().fit(load("karate"), group=object())
