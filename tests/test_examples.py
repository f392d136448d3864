"""Every script in examples/ runs, in fewer epochs than a reader's, and says what it found."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("one_thread")
EXAMPLES = {path.stem: path for path in sorted((Path(__file__).parents[1] / "examples").glob("*.py"))}
ELSEWHERE = ("callbacks", "grid_search", "new_nodes")
"""They run as they stand in tests/estimators/test_sklearn_examples.py."""

SHORT = {
    "compare_and_tune": ({"trials": 1, "seeds": 2}, "has the highest mean test accuracy"),
    "own_model": ({"epochs": 8}, "a model with GDAMNConv: "),
    "pyg_graphsage": ({"epochs": 3}, "cleaned by GDAMN: "),
}
"""Arguments of a short run, and what it says."""


@pytest.mark.parametrize("name", [name for name in EXAMPLES if name not in ELSEWHERE])
def test_it_runs(name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES[name])
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)
    spec.loader.exec_module(module)
    arguments, said = SHORT[name]
    module.main(**arguments)
    assert said in capsys.readouterr().out
    assert f"python examples/{name}.py" in (module.__doc__ or "")
