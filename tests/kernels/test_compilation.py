"""People are told when a kernel is compiled, and not when it comes from the cache."""

from __future__ import annotations

from pathlib import Path

import numba
import pytest

from gdamn.kernels.compilation import on_compilation


def test_a_compilation_is_told_once_and_a_call_is_not() -> None:
    kernel = numba.njit(lambda x: x + 1)
    told: list[str] = []
    with on_compilation(lambda: told.append("compiled")):
        assert kernel(1) == 2
        first = len(told)
        assert kernel(2) == 3
    assert first > 0
    assert len(told) == first
    kernel(1.5)  # another type, so it is compiled, but nobody listens
    assert len(told) == first


def test_a_kernel_of_the_cache_is_not_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "cached.py"
    source.write_text("import numba\n\n@numba.njit(cache=True)\ndef twice(x):\n    return 2 * x\n", encoding="utf-8")
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "kernels"))
    told: list[str] = []
    for expected in (True, False):
        names: dict[str, object] = {"__name__": "cached", "__file__": str(source)}
        with on_compilation(lambda: told.append("compiled")):
            exec(compile(source.read_text(encoding="utf-8"), str(source), "exec"), names)
            assert names["twice"](21) == 42  # type: ignore[operator]
        assert bool(told) == expected
        told.clear()
