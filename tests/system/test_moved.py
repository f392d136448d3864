"""Names of the first release that have moved still work, with a warning that says the new one."""

from __future__ import annotations

import importlib
import sys

import pytest

from gdamn.system.moved import MOVED


@pytest.mark.parametrize("old", MOVED)
def test_an_old_name_is_the_new_one_and_says_so(old: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, old, raising=False)
    with pytest.warns(FutureWarning, match=f"{old} is {MOVED[old]} now"):
        found = importlib.import_module(old)
    new = importlib.import_module(MOVED[old])
    names = [name for name in vars(new) if not name.startswith("_")]
    assert names or old == "gdamn.after"  # a folder with nothing but modules
    assert all(getattr(found, name) is getattr(new, name) for name in names)
    assert new.__spec__ is not None
    assert new.__spec__.name == MOVED[old]


def test_a_name_that_never_was_is_not_found() -> None:
    with pytest.raises(ImportError):
        importlib.import_module("gdamn.nowhere")
