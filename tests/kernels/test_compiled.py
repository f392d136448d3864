"""What pytest's processes compile together is what a fit calls."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import compiled
import pytest

from gdamn import GDAMN
from gdamn.data import load


def test_the_kernels_of_a_fit_are_compiled_together(tmp_path: Path) -> None:
    """A kernel whose types have changed would be compiled twice: once for nothing, once by every process."""
    GDAMN(pretrain_epochs=1, epochs=1, em_iterations=1).fit(load("karate"))
    called = {name: set(compiled.kernel(name).signatures) for name in compiled.KERNELS}
    assert all(called.values())
    compiled.compile_together(tmp_path / "compiled")
    again = {name: set(compiled.kernel(name).signatures) for name in compiled.KERNELS}
    assert again == called


def test_each_kernel_is_compiled_by_one_of_two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both begin with the first of them, and return when all are done."""
    done: list[str] = []

    def kernel(name: str) -> SimpleNamespace:
        return SimpleNamespace(compile=lambda signature: (time.sleep(0.01), done.append(name)))

    monkeypatch.setattr(compiled, "kernel", kernel)
    with ThreadPoolExecutor(2) as pool:
        seen = list(pool.map(lambda _: (compiled.compile_together(tmp_path), len(done))[1], range(2)))
    assert sorted(done) == sorted(compiled.KERNELS)
    assert seen == [len(compiled.KERNELS)] * 2
