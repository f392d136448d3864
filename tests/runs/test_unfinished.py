"""A run that was ended goes on: finished seeds are kept, two runs never share a folder, and no worker stays behind."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from gdamn.errors import OutputError, TrainingError
from gdamn.runs import pool
from gdamn.runs import run as runs
from gdamn.runs.execution import Execution
from gdamn.runs.spec import RunSpec
from gdamn.runs.store import FOLDER
from gdamn.system import folders, lock

pytestmark = [
    pytest.mark.usefixtures("one_thread"),
    pytest.mark.skipif(os.name == "nt", reason="locks and signals of POSIX"),
]

OPTIONS = {"num_nodes": 60, "num_classes": 2, "train_per_class": 4, "val_per_class": 4}
SPEC = RunSpec("sbm", "gcn", (0, 1, 2), options=OPTIONS, settings={"epochs": 3})


def files(out: Path) -> dict[str, bytes]:
    return {str(path.relative_to(out)): path.read_bytes() for path in out.rglob("*") if path.is_file()}


def without_times(found: dict[str, bytes]) -> dict[str, Any]:
    summary = json.loads(found["summary.json"])
    kept = {name: value for name, value in summary.items() if name not in ("seconds_per_seed", "peak_rss_mb")}
    return {**found, "summary.json": kept}


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The seeds that were trained."""
    seeds: list[int] = []
    make = runs.make_estimator

    def counted(spec: RunSpec, seed: int) -> Any:
        seeds.append(seed)
        return make(spec, seed)

    monkeypatch.setattr(runs, "make_estimator", counted)
    return seeds


@pytest.fixture
def stopped(tmp_path: Path, trained: list[int], monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a run that was interrupted in its third seed."""

    def progress(seed: int, *_: Any) -> None:
        if seed == 2:
            raise KeyboardInterrupt

    out = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt, match="stopped with 2 of 3 seeds finished; the same command goes on"):
        runs.run(SPEC, out, progress=progress)
    assert trained == [0, 1, 2]
    trained.clear()
    return out


def test_finished_seeds_are_not_trained_again(stopped: Path, tmp_path: Path, trained: list[int]) -> None:
    runs.run(SPEC, stopped)
    assert trained == [2]
    runs.run(SPEC, tmp_path / "whole")
    assert without_times(files(stopped)) == without_times(files(tmp_path / "whole"))
    assert sorted(path.name for path in stopped.iterdir()) == [
        *(folders.MARKER, "config.toml", "seed-0", "seed-1", "seed-2", "summary.json")
    ]


def test_a_finished_run_is_trained_anew(tmp_path: Path, trained: list[int]) -> None:
    runs.run(SPEC, tmp_path)
    runs.run(SPEC, tmp_path)
    assert trained == [0, 1, 2] * 2


@pytest.mark.parametrize("how", ["changed", "missing", "no record", "damaged record"])
def test_a_seed_whose_files_changed_is_trained_again(stopped: Path, trained: list[int], how: str) -> None:
    record = stopped / FOLDER / "seed-1.json"
    if how == "changed":
        (stopped / "seed-1" / "predictions.csv").write_text("node\n")
    elif how == "missing":
        (stopped / "seed-1" / "model.gdamn").unlink()
    elif how == "no record":
        record.unlink()
    else:
        record.write_text(record.read_text()[:-20])
    runs.run(SPEC, stopped)
    assert trained == [1, 2]


def test_other_settings_and_more_seeds(stopped: Path, trained: list[int]) -> None:
    runs.run(RunSpec("sbm", "gcn", (0, 1, 2, 3), options=OPTIONS, settings={"epochs": 3}), stopped)
    assert trained == [2, 3]
    trained.clear()
    runs.run(RunSpec("sbm", "gcn", (0, 1), options=OPTIONS, settings={"epochs": 4}), stopped, Execution(force=True))
    assert trained == [0, 1]


def test_what_a_killed_writer_left_is_removed(stopped: Path) -> None:
    left = [stopped / ".summary-abcd1234.json", stopped / "seed-1" / ".model-abcd1234.gdamn"]
    left += [stopped / "seed-2" / "..edges-abcd1234-00_0zzzz.csv"]
    mine = [stopped / ".notes-abcd1234.txt", stopped / "seed-1" / ".model-.gdamn"]
    for path in (*left, *mine):
        path.parent.mkdir(exist_ok=True)
        path.write_text("x")
    runs.run(SPEC, stopped)
    assert [path for path in left if path.exists()] == []
    assert all(path.exists() for path in mine)


HOLD = "import sys, time; from pathlib import Path; from gdamn.system import lock\n"
HOLD += "with lock.alone_in(Path(sys.argv[1]), 'run'):"
HOLD += " print('held', flush=True); time.sleep(60)"


def test_the_second_run_is_refused_and_the_lock_dies_with_its_owner(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with subprocess.Popen([sys.executable, "-c", HOLD, str(out)], stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == "held\n"
        with pytest.raises(OutputError, match=r"Another run is writing to '.*out' at this moment; wait"):
            runs.run(SPEC, out)
        args = [sys.executable, "-m", "gdamn", "train", "sbm", "--out", str(out)]
        second = subprocess.run(args, capture_output=True, text=True, timeout=600, check=False)
        assert second.returncode == 2
        assert second.stderr.startswith("error: Another run")
        assert second.stderr.count("\n") == 1
        assert {path.name for path in out.iterdir()} == {lock.NAME, folders.MARKER}
        owner.kill()
        owner.wait()
        assert (out / lock.NAME).exists()
        with lock.alone_in(out, "run") as outermost:
            assert outermost
    assert list(out.iterdir()) == []


def test_a_block_within_a_block_is_part_of_it(tmp_path: Path) -> None:
    out = tmp_path / "a" / "b"
    with lock.alone_in(out, "run") as outer:
        with lock.alone_in(tmp_path / "a" / "." / "b", "run") as inner:
            assert (outer, inner) == (True, False)
        assert (out / lock.NAME).exists()
    assert list(tmp_path.iterdir()) == []  # nothing was put into it


def in_turn(folder: str, log: str) -> None:
    """Take the lock again and again; the file tells if two ever had it at once."""
    inside = Path(log)
    for _ in range(60):
        try:
            with lock.alone_in(Path(folder), "run"):
                handle = os.open(inside, os.O_CREAT | os.O_EXCL)
                os.close(handle)
                inside.unlink()
        except OutputError:
            time.sleep(0.0005)


def test_two_never_have_it_at_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    args = (str(tmp_path / "out"), str(tmp_path / "inside"))
    workers = [context.Process(target=in_turn, args=args) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0]


def all_results(work: pool.Work) -> list[dict[str, Any]]:
    with pool.handed_out(work, [0, 1], jobs=2) as each:
        return [result() for _, result in each]


def kill_oneself(seed: int, progress: pool.SeedProgress | None) -> dict[str, Any]:
    if seed == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(60)
    return {}


@pytest.mark.usefixtures("forked_workers")
def test_a_killed_worker_is_told() -> None:
    with pytest.raises(TrainingError, match="trained seed 1 was ended by signal 9"):
        all_results(kill_oneself)


def sleep(seed: int, progress: pool.SeedProgress | None) -> dict[str, Any]:
    time.sleep(60)
    return {}


def run_sleepers() -> None:
    all_results(sleep)


def test_workers_end_with_a_parent_that_is_killed() -> None:
    parent = multiprocessing.get_context("spawn").Process(target=run_sleepers)
    parent.start()
    assert parent.pid is not None
    workers: list[psutil.Process] = []
    for _ in range(200):
        workers = [w for w in psutil.Process(parent.pid).children() if "spawn_main" in " ".join(w.cmdline())]
        if len(workers) == 2 and all(w.num_threads() > 1 for w in workers):
            break
        time.sleep(0.1)
    assert len(workers) == 2
    os.kill(parent.pid, signal.SIGKILL)
    parent.join()
    assert psutil.wait_procs(workers, timeout=20)[1] == []
