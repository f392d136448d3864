"""Kernels that are compiled side by side on the first use: the list, the parts, and what is kept."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gdamn.kernels import first_use

PLACES = {name: at for at, (name, _, _) in enumerate(first_use.listed())}

COMPILED = """
import sys
from numba.core.dispatcher import Dispatcher
from gdamn import GDAMN, load
from gdamn.kernels import first_use

GDAMN(pretrain_epochs=1, epochs=1).fit(load("karate"))
found = {
    (name, str(types))
    for module in list(sys.modules.values())
    if getattr(module, "__name__", "").startswith("gdamn.")
    for name, kernel in vars(module).items()
    if isinstance(kernel, Dispatcher) and kernel.py_func.__module__ == module.__name__
    for types in kernel.signatures
    if name not in ("dropout_run", "relu_dropout_run")  # parts of listed ones, seen where these were not in the cache
}
print(found ^ {(name, str(types)) for name, _, types in first_use.listed()})
"""

KEPT = "from gdamn.kernels import first_use; print([n for n, k, _ in first_use.listed() if first_use.is_kept(k)])"


def python(*arguments: str, **variables: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments], env={**os.environ, **variables}, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_the_list_is_what_a_fit_compiles() -> None:
    assert python("-c", COMPILED) == "set()"


def test_what_is_compiled_apart_is_kept(tmp_path: Path) -> None:
    python("-m", "gdamn.kernels.first_use", str(PLACES["pack"]), NUMBA_CACHE_DIR=str(tmp_path))
    assert python("-c", KEPT, NUMBA_CACHE_DIR=str(tmp_path)) == "['pack']"


@pytest.mark.parametrize(("limit", "missing", "parts"), [(2, 25, 2), (1, 25, 0), (2, 7, 0), (64, 25, 8)])
def test_the_parts(monkeypatch: pytest.MonkeyPatch, limit: int, missing: int, parts: int) -> None:
    kernels = [kernel for _, kernel, _ in first_use.listed()]
    given: list[list[list[int]]] = []
    monkeypatch.setattr(first_use, "is_kept", lambda kernel: kernel not in kernels[:missing])
    monkeypatch.setattr(first_use, "compile_apart", given.append)
    first_use.prepare(limit)
    assert [len(each) for each in given] == ([parts] if parts else [])
    assert sorted(at for each in given for part in each for at in part) == (list(range(missing)) if parts else [])


def test_a_fit_compiles_by_itself_where_no_process_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    first_use.compile_apart([[0], [1]])


def test_processes_end_with_what_waits_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[subprocess.Popen[bytes]] = []

    class Interrupted(subprocess.Popen):  # type: ignore[type-arg]
        def wait(self, timeout: float | None = None) -> int:
            if self not in begun:
                begun.append(self)
                raise KeyboardInterrupt
            return super().wait(timeout)

    monkeypatch.setattr(first_use.subprocess, "Popen", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        first_use.compile_apart([[0]])
    assert [worker.poll() is not None for worker in begun] == [True]
