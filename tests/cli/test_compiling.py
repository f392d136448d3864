"""The bar of ``gdamn train`` says why the first fit waits."""

from __future__ import annotations

import numba
import pytest

from gdamn.cli import display, progress


def test_the_bar_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    view = progress.ProgressView()
    monkeypatch.setattr(view, "show", lambda text, *_: shown.append(text))
    with progress.compiling(view):
        numba.njit(lambda x: x + 2)(1)
    assert shown == []  # no terminal, no bar
    monkeypatch.setattr(display, "is_terminal", lambda **_: True)
    with progress.compiling(view):
        numba.njit(lambda x: x + 3)(1)
    assert set(shown) == {"compiling kernels, once"}
