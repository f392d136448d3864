"""Systems that aren't Linux, as far as Linux can stand in for them: what they lack is taken away before gdamn comes."""

from __future__ import annotations

import ctypes
import hashlib
import os
import signal
import stat
import subprocess
import sys
import types
from pathlib import Path

import numba
import pytest

from gdamn import GDAMN, load
from gdamn.fit import allocator
from gdamn.runs import pool
from gdamn.system import compiled_code, lock

SETTINGS = {"pretrain_epochs": 2, "epochs": 2, "em_iterations": 1}

ELSEWHERE = """
import hashlib, importlib, os, pathlib, pkgutil, signal, sys
import filelock, matplotlib.figure, multiprocessing.connection, networkx, numba, pyarrow.csv, pyarrow.parquet
import rich.live, rich.progress, safetensors.numpy, scipy.sparse.linalg, torch, torch_geometric.data, typer
for module, names in (
    (os, "fork forkpty register_at_fork sched_getaffinity sysconf getuid geteuid getppid setsid killpg O_DIRECTORY"),
    (signal, "SIGHUP SIGKILL SIGUSR1 SIGALRM pthread_sigmask setitimer"),
):
    for name in names.split():
        delattr(module, name)
for name in ("fcntl", "resource", "pwd", "grp", "termios", "pty", "tty"):
    sys.modules[name] = None

def no_library(*_, **__):
    raise OSError("not here")

import ctypes
import threadpoolctl  # keeps its own way to the libraries, which it has on every system
threadpoolctl.ctypes = type(sys)("ctypes")
vars(threadpoolctl.ctypes).update(vars(ctypes))
ctypes.CDLL = no_library
plain = pathlib.Path.read_text
pathlib.Path.read_text = lambda self, *a, **k: no_library() if str(self).startswith("/proc") else plain(self, *a, **k)

import gdamn
for module in pkgutil.walk_packages(gdamn.__path__, "gdamn."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
from gdamn.runs.run import run
from gdamn.runs.spec import RunSpec

model = gdamn.GDAMN(**{SETTINGS}).fit(gdamn.load("karate"))
run(RunSpec("karate", "gcn", (0,), settings={"epochs": 2}), pathlib.Path("out"))
print(hashlib.sha256(model.probabilities_.tobytes()).hexdigest())
"""


def test_nothing_is_only_of_linux(tmp_path: Path) -> None:
    """Every module is imported, a fit has the same bits and a run is written, without what other systems lack."""
    code = ELSEWHERE.replace("{SETTINGS}", repr(SETTINGS))
    ended = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    here = GDAMN(**SETTINGS).fit(load("karate")).probabilities_
    assert ended.stdout.split() == [hashlib.sha256(here.tobytes()).hexdigest()]
    assert (tmp_path / "out" / "seed-0" / "model.gdamn").is_file()


def test_a_c_library_without_a_part_of_glibc(monkeypatch: pytest.MonkeyPatch) -> None:
    class Other:
        class mallopt:  # noqa: N801
            def __call__(self, *_: int) -> None:
                pytest.fail("it was changed, and couldn't be changed back")

    monkeypatch.setattr(ctypes, "CDLL", lambda _: Other())
    with allocator.kept_memory():
        pass


def test_a_lock_that_can_not_be_removed_while_it_is_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows removes no file that is open."""
    unlink = Path.unlink

    def refused(self: Path, missing_ok: bool = False) -> None:
        if self.name == lock.NAME:
            raise PermissionError(13, "it is in use")
        unlink(self, missing_ok)

    monkeypatch.setattr(Path, "unlink", refused)
    for _ in range(2):
        with lock.alone_in(tmp_path / "out", "run"):
            (tmp_path / "out" / "x").write_text("x")


def test_workers_without_masks_of_signals(monkeypatch: pytest.MonkeyPatch, forked_workers: None) -> None:
    few = types.SimpleNamespace(SIGINT=signal.SIGINT, SIG_IGN=signal.SIG_IGN, signal=signal.signal)
    monkeypatch.setattr(pool, "signal", few)
    with pool.handed_out(_double, [1, 2, 3], jobs=2) as ended:
        assert {task: result()["twice"] for task, result in ended} == {1: 2, 2: 4, 3: 6}


def _double(task: int, progress: object) -> dict[str, int]:
    return {"twice": 2 * task}


def test_kernels_where_no_folder_can_be_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As in a container with a read-only file system and no home: numba would refuse to be imported."""
    monkeypatch.delenv(compiled_code.VARIABLE, raising=False)
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    monkeypatch.setattr(compiled_code, "_writable", lambda _: False)
    compiled_code.prepare()
    folder = Path(os.environ[compiled_code.VARIABLE])
    assert str(folder) == numba.config.CACHE_DIR
    assert folder.is_dir()
    assert os.name == "nt" or stat.S_IMODE(folder.stat().st_mode) == 0o700  # others must not put code there
    compiled_code._remove(str(folder), os.getpid() + 1)
    assert folder.is_dir(), "a forked process removed it"
    compiled_code._remove(str(folder), os.getpid())
    assert not folder.exists()


def test_a_folder_for_kernels_that_can_be_written_stays_as_it_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv(compiled_code.VARIABLE, raising=False)
    compiled_code.prepare(tmp_path / "not" / "yet")
    assert compiled_code.VARIABLE not in os.environ
