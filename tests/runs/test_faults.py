"""Faults of the machine: each ends in one sentence and exit code 2, and what was there before stays as it was."""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gdamn.data.named.synthetic import BlockModel, sbm
from gdamn.errors import OutputError
from gdamn.estimators import registry as methods
from gdamn.fit import checkpoint
from gdamn.runs import run as runs
from gdamn.runs.spec import RunSpec
from gdamn.system import memory

pytestmark = [
    pytest.mark.usefixtures("one_thread"),
    pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux"),
]

OPTIONS = {"num_nodes": 60, "num_classes": 2, "train_per_class": 4, "val_per_class": 4}
SPEC = RunSpec("sbm", "gdamn", (0,), options=OPTIONS, settings={"pretrain_epochs": 3, "epochs": 2, "em_iterations": 1})
AGAIN = "import sys; from gdamn.cli import root as cli; sys.argv[0] = 'gdamn'; "


def called(code: str, args: list[str], before: Callable[[], None] | None = None) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own, prepared by ``code`` and ``before``."""
    return subprocess.run(
        [sys.executable, "-c", AGAIN + code + "cli.main()", *args],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        preexec_fn=before,
        env={**os.environ, "NO_COLOR": "1"},
    )


def assert_told(done: subprocess.CompletedProcess[str], said: str) -> None:
    """The last line is the error, and no traceback came before it."""
    assert done.returncode == 2, done.stderr
    assert done.stderr.splitlines()[-1].startswith("error: ")
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def files(out: Path) -> dict[str, bytes]:
    return {str(path.relative_to(out)): path.read_bytes() for path in out.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("faults") / "run"
    runs.run(SPEC, out)
    return out


def limit_files(size: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def test_files_that_may_not_grow(finished: Path) -> None:
    """As a full disk does, the limit ends the writing of the model in its middle."""
    before = files(finished)
    args = ["train", "--config", str(finished / "config.toml"), "--out", str(finished)]
    done = called("", args, lambda: limit_files(2048))
    assert_told(done, "model.gdamn': it would be larger than files may be here")
    assert files(finished) == before


@pytest.mark.parametrize("at", [0, 3, 6, 8, 9, 10])
def test_a_disk_that_is_full(finished: Path, at: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk is full from the write of this number on; before the last rename of a seed nothing has changed."""
    import errno

    from gdamn.system import io

    writes, sync = iter(range(1000)), io._sync

    def full(path: Path) -> None:
        if next(writes) >= at:
            raise OSError(errno.ENOSPC, "No space left on device")
        sync(path)

    before = files(finished)
    monkeypatch.setattr(io, "_sync", full)
    with pytest.raises(OutputError, match="the disk is full; free some space"):
        runs.run(SPEC, finished)
    monkeypatch.undo()
    after = files(finished)
    changed = {name for name in before if after.get(name) != before[name]}
    assert changed <= {"summary.json"}  # the same seed has the same files; the summary goes when they are replaced
    if at < 4:  # the files are not all written
        assert after == before
    assert not [name for name in after if re.search("-[a-z0-9_]{8}[.]", name)]  # no temporary file stays
    runs.run(SPEC, finished)
    assert files(finished).keys() == before.keys()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission(finished: Path) -> None:
    finished.chmod(0o500)
    try:
        with pytest.raises(OutputError, match="no permission"):
            runs.run(SPEC, finished)
    finally:
        finished.chmod(0o700)


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="no /proc, where nobody may make a folder")
def test_a_file_system_that_takes_nothing() -> None:
    with pytest.raises(OutputError, match="Can't write '/proc/"):
        runs.run(SPEC, Path("/proc/gdamn-test"))


LIMITED = """
import resource, psutil, numpy, scipy.sparse, torch, numba, gdamn.gdamn
most = psutil.Process().memory_info().vms + {megabytes} * 2**20
resource.setrlimit(resource.RLIMIT_AS, (most, most))
"""


def test_memory_that_runs_out(tmp_path: Path) -> None:
    args = [
        "train",
        "sbm",
        "--option",
        "num_nodes=300000",
        "--option",
        "num_features=400",
    ]
    done = called(LIMITED.format(megabytes=300), [*args, "--out", str(tmp_path / "out")])
    assert_told(done, "not enough memory")
    assert list(tmp_path.iterdir()) == []


def test_which_errors_mean_memory() -> None:
    assert memory.shortage(MemoryError()) is not None
    assert memory.shortage(RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried")) is not None
    assert memory.shortage(OSError(12, "Cannot allocate memory")) is not None
    assert memory.shortage(RuntimeError("mat1 and mat2 shapes cannot be multiplied")) is None
    assert memory.shortage(ValueError("allocate memory")) is None


def test_a_clock_that_jumps_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = sbm(BlockModel(**OPTIONS), seed=1)
    settings = dict(SPEC.settings)
    whole = methods.make("gdamn", None, seed=1, overrides=settings).fit(graph)
    jumps = iter([-1e9, 1e9, 0.0, -5.0] * 1000)
    monkeypatch.setattr(time, "time", lambda: next(jumps))
    monkeypatch.setattr(time, "time_ns", lambda: int(next(jumps)))
    monkeypatch.setattr(checkpoint, "EVERY_EPOCHS", 1)
    monkeypatch.setattr(checkpoint, "EVERY_SECONDS", 0.0)

    def stop(phase: str, epoch: int, epochs: int, record: dict[str, Any]) -> None:
        if phase == "E-step 1":
            raise KeyboardInterrupt

    with checkpoint.keeping(tmp_path):
        with pytest.raises(KeyboardInterrupt):
            methods.make("gdamn", None, seed=1, overrides=settings).fit(graph, progress=stop)
        again = methods.make("gdamn", None, seed=1, overrides=settings).fit(graph)
    assert again.history_ == whole.history_
    assert again.probabilities_.tobytes() == whole.probabilities_.tobytes()
    assert 0 < again.seconds_ < 60
