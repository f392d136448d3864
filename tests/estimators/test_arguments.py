"""The arguments of an estimator are its settings: for type checkers, for help(), and when it is made."""

from __future__ import annotations

import dataclasses
import importlib.util
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from gdamn import GDAMN, GDAMNPlus, Settings
from gdamn.estimators.base import NodeClassifier
from gdamn.estimators.registry import METHODS
from gdamn.model.plus_settings import PlusSettings
from gdamn.model.settings import BaseSettings

SOURCES = Path(__file__).parents[2] / "src"
CONFIG = """
[mypy]
follow_imports = silent
[mypy-gdamn.data.*,gdamn.fit.*,gdamn.graph.*,gdamn.kernels.*,gdamn.system.*]
follow_imports = skip
[mypy-torch.*,torch_geometric.*,numpy.*,scipy.*,sklearn.*,networkx.*,numba.*,pyarrow.*,safetensors.*]
follow_imports = skip
ignore_missing_imports = true
"""


def arguments(settings: type[BaseSettings]) -> str:
    """Every setting with its default, as source."""
    return ", ".join(f"{f.name}={f.default!r}" for f in dataclasses.fields(settings))


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")
def test_a_type_checker_knows_every_setting_and_its_type(tmp_path):
    classes = dict.fromkeys(METHODS[name].estimator() for name in METHODS)
    lines = {
        "from gdamn import GDAMN, GDAMNPlus": None,
        f"GDAMN({arguments(Settings)}).predict_proba('p')": None,
        f"GDAMNPlus({arguments(PlusSettings)}).settings.soft": None,
        "GDAMN(beta='auto', learning_rate=1)": None,
        "GDAMN(hiden=3)": 'Unexpected keyword argument "hiden" for "GDAMN"; did you mean "hidden"?',
        "GDAMNPlus(hiden=3)": 'Unexpected keyword argument "hiden" for "GDAMNPlus"; did you mean "hidden"?',
        "GDAMN(hidden='3')": 'Argument "hidden" to "GDAMN" has incompatible type "str"; expected "int"',
        "GDAMN.preset('cora', seed=1).refine": None,
        "GDAMNPlus.preset(dataset='cora').settings.soft": None,
        "GDAMN.preset('cora', hiden=3)": 'Unexpected keyword argument "hiden" for "preset" of "GDAMN"; '
        'did you mean "hidden"?',
        "GDAMN.preset(seed=1)": 'Missing positional argument "dataset" in call to "preset" of "GDAMN"',
        "GDAMN.preset('cora').nothing": '"GDAMN" has no attribute "nothing"',
        "GDAMN(3)": 'Too many positional arguments for "GDAMN"',
        "GDAMN().set_params(hidden=3).refine": None,
        "GDAMN(random_state=1).set_params(random_state=2).predict(names=False)": None,
        "GDAMN.preset('cora', random_state=1).settings.hidden": None,
        "GDAMN().set_params(hiden=3)": 'Unexpected keyword argument "hiden" for "set_params" of "NodeClassifier"; '
        'did you mean "hidden"?',
    }
    for cls in (cls for cls in classes if not issubclass(cls, GDAMN)):
        name, everything = cls.__name__, arguments(cls.settings_class)
        lines[f"from {cls.__module__} import {name}"] = None
        lines[f"{name}({everything}).set_params({everything}).settings.seed"] = None
        lines[f"{name}(random_state=3).fit_predict"] = None
        lines[f"{name}(seeed=3)"] = f'Unexpected keyword argument "seeed" for "{name}"; did you mean "seed"?'
        lines[f"{name}().set_params(seed='3')"] = (
            'Argument "seed" to "set_params" of "NodeClassifier" has incompatible type "str"; expected "int"'
        )
    (tmp_path / "mypy.ini").write_text(CONFIG)
    (tmp_path / "user.py").write_text("\n".join(lines) + "\n")
    command = [sys.executable, "-m", "mypy", "--config-file=mypy.ini", "--hide-error-codes", "user.py"]
    environment = {**os.environ, "MYPYPATH": str(SOURCES)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    errors = {int(number): text for number, text in re.findall(r"^user\.py:(\d+): error: (.*)$", done.stdout, re.M)}
    assert errors == {at: text for at, text in enumerate(lines.values(), 1) if text}, done.stdout + done.stderr


def test_gdamn_plus_has_the_arguments_of_gdamn():
    """Its ``__init__`` is GDAMN's, so that a type checker takes both for the same."""
    assert [(f.name, f.type) for f in dataclasses.fields(PlusSettings)] == [
        (f.name, f.type) for f in dataclasses.fields(Settings)
    ]


@pytest.mark.parametrize("method", METHODS)
def test_help_lists_every_setting_with_type_default_and_meaning(method):
    estimator = METHODS[method].estimator()
    about, _, arguments = (inspect.getdoc(estimator) or "").partition("\n\nArgs:\n")
    assert about
    entries = re.split(r"^    (?=\w)", arguments, flags=re.M)[1:]
    assert len(entries) == len(dataclasses.fields(estimator.settings_class))
    for spec, entry in zip(dataclasses.fields(estimator.settings_class), entries, strict=True):
        choices = spec.metadata["choices"] if spec.type == "str" else ()
        kind = f"{{{', '.join(map(repr, choices))}}}" if choices else spec.type
        text = " ".join(entry.split())
        assert text.startswith(f"{spec.name} ({kind}, ")
        assert text.endswith(f", default {spec.default!r}): {spec.metadata['doc']}")


def test_help_keeps_what_the_class_says_of_itself():
    for estimator, first in ((GDAMN, "Graph Decoupling Attention Markov Network."), (GDAMNPlus, "GDAMN beyond")):
        doc = estimator.__doc__ or ""
        assert doc.startswith(first)
        assert max(map(len, doc.splitlines())) <= 120
    assert ">>> model = GDAMN.preset" in (GDAMN.__doc__ or "")


def test_a_class_without_a_docstring_gets_none():
    class Mine(NodeClassifier):
        pass

    assert Mine.__doc__ is None  # so that the list of methods says "a method of your own"
