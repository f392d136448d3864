"""The corpus of broken inputs: one sentence with the file and the place, exit code 2, bounded, nothing written."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest
from broken_graphs import labelled
from broken_inputs import cases
from broken_tables import MOST_CELLS, TRAIN, Case, files
from several import several
from typer.testing import CliRunner

from gdamn.cli import inspect as cli_inspect
from gdamn.cli import root as cli
from gdamn.data import files as own
from gdamn.data.files import limits

CASES = cases()
INSPECTED = [case for case in CASES if not {"--val-share", "--test-share", "--option"} & set(case.args)]
AS_PROCESS = (
    "graph.npz: a zip bomb",
    "data.pt: a pickle bomb",
    "graph.graphml: a billion laughs",
)
SECONDS = 20
MEGABYTES = 1500


def names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def check_sentence(case: Case, code: int, out: str, err: str) -> None:
    assert code == 2, (out, err)
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert len(err) < (7000 if case.name == "path: an endless name" else 900)
    assert "Traceback" not in err
    for word in case.said:
        assert word in err, f"{word!r} is not in: {err}"


def test_there_are_at_least_a_hundred() -> None:
    assert len(CASES) >= 260
    assert len({case.name for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_one_sentence(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case.write(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(limits, "MOST_CELLS", MOST_CELLS)
    before = names(tmp_path)
    start = time.perf_counter()
    done = CliRunner().invoke(cli.app, ["train", *case.args])
    assert time.perf_counter() - start < SECONDS
    check_sentence(case, done.exit_code, done.stdout, done.stderr)
    assert names(tmp_path) == before


@pytest.mark.parametrize("case", INSPECTED, ids=lambda case: case.name)
def test_inspect_never_falls(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What training refuses, inspecting either refuses in one sentence, too, or shows."""
    assert cli_inspect.app is cli.app
    case.write(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(limits, "MOST_CELLS", MOST_CELLS)
    before = names(tmp_path)
    done = CliRunner().invoke(cli.app, ["inspect", *case.args])
    assert done.exit_code in (0, 2), done.stderr
    assert done.exception is None or isinstance(done.exception, SystemExit), repr(done.exception)
    if done.exit_code == 2:
        assert done.stderr.count("\n") == 1
    assert names(tmp_path) == before


def test_bombs_in_a_process_with_bounded_memory(tmp_path: Path) -> None:
    bombs = [case for case in CASES if case.name in AS_PROCESS]
    assert len(bombs) == len(AS_PROCESS)
    for case in bombs:
        case.write(tmp_path)
    before = names(tmp_path)
    for case, said in zip(bombs, several([["train", *case.args] for case in bombs], cwd=tmp_path), strict=True):
        check_sentence(case, *said)
    assert names(tmp_path) == before
    resource = pytest.importorskip("resource")
    unit = 2**20 if sys.platform == "darwin" else 2**10
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / unit < MEGABYTES


def test_the_good_files_are_good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without this the corpus could be refused for a reason of its own."""
    files()(tmp_path)
    monkeypatch.chdir(tmp_path)
    graph = own.load("nodes.csv", edges="edges.csv", label=TRAIN[-1])
    assert (graph.num_nodes, graph.num_edges, graph.class_names) == (24, 48, ("a", "b"))
    (tmp_path / "g.graphml").write_bytes(labelled(lambda i: "ab"[i % 2]))
    assert own.load("g.graphml").num_nodes == 24
