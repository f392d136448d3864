"""Fixtures that all tests may use."""

from __future__ import annotations

import multiprocessing
import os
import signal
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import typer.main
import typer.testing

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell starts what runs in its background
    signal.signal(signal.SIGINT, signal.default_int_handler)  # the tests of Ctrl-C need it in their processes

# Each run tries the same examples, so that a failure belongs to the change that it is seen with.
# `make search` draws new ones for every property.
hypothesis.settings.register_profile("same", derandomize=True, deadline=None)
hypothesis.settings.register_profile("search", derandomize=False, deadline=None)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))

# Before any test imports numpy or torch, and for the processes that tests start: on tiny graphs threads only wait for
# each other, and those of OpenBLAS spin meanwhile. Tests of several threads ask for them; those of numba stay.
for name, value in (("OMP_WAIT_POLICY", "PASSIVE"), ("OMP_NUM_THREADS", "1"), ("OPENBLAS_NUM_THREADS", "1")):
    os.environ.setdefault(name, value)

# A process that a test starts would else compile every module of gdamn anew, where this is set.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

if os.name == "nt":  # they send signals and set limits that only POSIX has
    collect_ignore = ["cli/test_chaos.py", "cli/test_commands_stopped.py", "runs/test_faults.py"]
    collect_ignore += ["fit/ranks/test_hosts.py", "fit/ranks/test_lost_ranks.py"]

SLOW = (
    *("test_report_browser.py", "test_hosts.py", "test_cli.py", "test_reference.py", "test_lost_ranks.py"),
    *("test_ranks_equal.py", "test_own_broken.py", "test_checkpoint.py", "test_own_tutorial.py", "test_report.py"),
    *("test_experiments.py", "test_cli_after.py", "test_commands_stopped.py", "test_chaos.py", "test_leakage.py"),
    *("test_unequal.py", "test_suspicious_labels.py", "test_compare.py", "test_map.py", "test_fused.py"),
    *("test_numbers.py", "test_batched.py", "test_class_scores.py", "test_inductive.py", "test_estimators.py"),
    *("test_docs.py", "test_studies.py", "test_map_browser.py", "test_answers.py", "test_review_browser.py"),
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The files that take longest come first, so that no process is left alone with one of them at the end.

    They are marked as ``slow``; ``make matrix`` leaves them out.

    Those of test_hosts and test_lost_ranks stand apart: the one would wait for the run that the other makes for both.
    """
    rank = {name: at for at, name in enumerate(SLOW)}
    for item in items:
        if item.path.name in rank:
            item.add_marker("slow")
    items.sort(key=lambda item: rank.get(item.path.name, len(SLOW)))


@pytest.fixture(scope="session", autouse=True)
def kernels_are_compiled_once(tmp_path_factory: pytest.TempPathFactory) -> None:
    """By the processes of ``pytest -n`` together; one alone compiles what it needs when it needs it."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        from compiled import compile_together

        compile_together(tmp_path_factory.getbasetemp().parent / "compiled")


@pytest.fixture(scope="session", autouse=True)
def commands_are_built_once() -> Iterator[None]:
    """typer builds every command anew at each call within a process, which takes longer than most calls themselves."""
    build, built = typer.main.get_command, {}

    def get_command(app: typer.Typer) -> Any:
        have = id(app), len(app.registered_commands), len(app.registered_groups)
        if have not in built:
            built[have] = build(app)
        return built[have]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.main, "get_command", get_command)
        patch.setattr(typer.testing, "_get_command", get_command)
        yield


@pytest.fixture(scope="session", autouse=True)
def files_are_not_forced_to_the_disk() -> Iterator[None]:
    """No test cuts the power, and each of thousands of calls waits for the disk; processes that a test starts do it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda handle: None)
        yield


@pytest.fixture(autouse=True)
def own_methods_end_with_their_test() -> Iterator[None]:
    """``module:Class`` stays in the registry as long as the process does; another test would meet it there."""
    from gdamn.estimators.registry import METHODS

    known = dict(METHODS)
    yield
    if METHODS.keys() != known.keys():
        METHODS.clear()
        METHODS.update(known)


@pytest.fixture(scope="module")
def without_pages() -> Iterator[None]:
    """``train`` draws no report.html at its end, which takes longer than training on a tiny graph; for other proofs."""
    from gdamn.cli import report

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(report, "report_of_training", lambda *_, **__: None)
        yield


@pytest.fixture(scope="session", autouse=True)
def torch_files_are_read_by_any_torch() -> Iterator[None]:
    """An older torch is refused .pt files because it isn't safe (test_own_formats.py); here the files are ours."""
    from gdamn.data.files import torch_file

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch_file, "SAFE_TORCH", "2.5")
        yield


@pytest.fixture
def forked_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """``--jobs`` forks its workers from a process that has imported torch: for proofs that don't need fresh ones."""
    from gdamn.runs import pool

    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["gdamn.data", "gdamn.estimators.gdamn", "gdamn.runs.run"])
    asked = types.SimpleNamespace(get_context=lambda _: context, parent_process=multiprocessing.parent_process)
    monkeypatch.setattr(pool, "multiprocessing", asked)


@pytest.fixture(scope="session")
def data_root() -> Path:
    """The folder with the benchmark files; tests that need it are skipped where there is none."""
    given = os.environ.get("GDAMN_DATA", "").strip()
    if not given or not Path(given).is_dir():
        pytest.skip("the benchmark files are not here: set GDAMN_DATA to the folder that holds them")
    return Path(given)


@pytest.fixture(scope="module")
def one_thread() -> Iterator[None]:
    """On tiny graphs threads only wait for each other."""
    import numba
    import torch

    before = torch.get_num_threads(), numba.get_num_threads()
    torch.set_num_threads(1)
    numba.set_num_threads(1)
    yield
    torch.set_num_threads(before[0])
    numba.set_num_threads(before[1])
