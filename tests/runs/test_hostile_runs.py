"""Files of runs that anyone may have made: config.toml and the fits of a comparison; a spec, or one sentence."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gdamn.errors import ConfigError, GdamnError, OutputError
from gdamn.runs.compare.fits import check_data, fit_work
from gdamn.runs.spec import RunSpec
from gdamn.runs.store import Store

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner, max_size=4),
    max_leaves=12,
)
often = settings(max_examples=150, deadline=None)


def read_config(folder: Path, content: bytes) -> None:
    (folder / "config.toml").write_bytes(content)
    RunSpec.from_toml(folder / "config.toml")


def read_fit(folder: Path, content: bytes) -> None:
    spec = RunSpec("sbm", "gcn", (0,))
    store, work = Store(folder), fit_work(spec, 0)
    path = folder / work.path
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    check_data(store, spec)
    store.find(work)


READERS = [read_config, read_fit]


@pytest.mark.parametrize("reader", READERS)
@often
@given(st.binary(max_size=60) | JSON.map(lambda value: json.dumps(value).encode()))
@example(b"[" * 100_000)
@example(b"x = " + b"[" * 5_000)
@example(b"\xff\xfe")
def test_any_file(reader: Callable[[Path, bytes], None], content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        try:
            reader(Path(folder), content)
        except GdamnError as problem:
            told = str(problem)
            assert "\n" not in told
            assert told.endswith(".")


@often
@example({"dataset": "sbm", "noise": 10**400})
@example({"dataset": "sbm", "noise": "remoev\n:0.1"})
@given(st.dictionaries(st.sampled_from(["dataset", "method", "seeds", "noise", "options", "settings", "x"]), JSON))
def test_any_config(given_: dict[str, Any]) -> None:
    try:
        spec = RunSpec.from_dict(given_, "a file")
    except ConfigError as problem:
        assert "a file" in str(problem)  # noqa: PT017 - either is right
        assert "\n" not in str(problem)  # noqa: PT017
    else:
        assert isinstance(spec, RunSpec)


@often
@given(st.dictionaries(st.sampled_from(["config", "result", "versions"]), JSON))
@example({"config": [], "result": {}, "versions": {}})
@example({"config": {"dataset": "a", "noise": "x", "options": []}, "result": {}, "versions": {}})
@example({"config": {"settings": []}, "result": {}, "versions": {}})
@example({"config": {"dataset": "sbm", "method": "gcn", "seeds": [0], "noise": 0.0, "options": {}, "settings": []}})
def test_any_record_of_a_fit(record: dict[str, Any]) -> None:
    whole = {"config": {}, "result": {}, "versions": {}, **record}
    with tempfile.TemporaryDirectory() as folder:
        try:
            read_fit(Path(folder), json.dumps(whole).encode())
        except OutputError as problem:
            told = str(problem)
            assert told.endswith(("--out.", "--force."))
