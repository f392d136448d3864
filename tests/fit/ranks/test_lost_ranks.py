"""A rank that dies or hangs ends the run in one sentence; started again it ends as if nothing had been."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from chaos import content
from commands import QUIET, TRAIN, ended, ranks_of, start, wait_for_checkpoint
from typer.testing import CliRunner

from gdamn.cli import root as cli

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc and the signals of Linux")

AGAIN = "start the same command again, and it goes on from its last checkpoint."
ANEW = "it had no checkpoint yet (--checkpoint-every), so the same command begins anew."


def test_a_killed_rank_is_told_and_the_run_goes_on(undisturbed: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run = start(out, "--workers", "2")
    wait_for_checkpoint(out, run)
    ranks = ranks_of(run)
    os.kill(ranks[1], signal.SIGKILL)
    began = time.monotonic()
    code, told = ended(run)
    assert code == 2
    assert told == f"error: Rank 1 was ended by signal 9 (often: out of memory); {AGAIN}"
    assert time.monotonic() - began < 20
    assert not any(map(is_there, ranks))
    assert {path.name for path in out.iterdir()} == {".gdamn.json", ".unfinished"}
    assert ended(start(out, "--workers", "2")) == (0, "")
    assert content(out) == content(undisturbed)


def test_ctrl_c_is_one_line(tmp_path: Path) -> None:
    run = start(tmp_path / "out", "--workers", "2")
    wait_for_checkpoint(tmp_path / "out", run, 1)
    os.killpg(run.pid, signal.SIGINT)
    code, told = ended(run)
    assert code == 130
    assert told == "stopped with 0 of 1 seeds finished; the same command goes on from there"


STARTER = """
import os, sys, time
from pathlib import Path
from gdamn.fit.domains.ranks import environment
from gdamn.runs.ranks import launch
launch.GRACE = 0.5
if not environment.is_rank():
    sys.exit(launch.start(3, Path('none')))
launch.end_with_starter()
rank = environment.number("RANK")
assert (environment.number("WORLD_SIZE"), os.path.dirname(os.environ[launch.STORE]) != "") == (3, True)
print("never seen" if rank else f"rank {rank}", flush=True)
"""
"""Ranks that don't train: what the starter does with them is the same, and it is quick."""


@pytest.mark.parametrize(
    ("rank_does", "code", "told"),
    [
        ("pass", 0, ""),
        (
            "if rank == 1: time.sleep(60)\nif rank == 2: sys.exit(3)",
            2,
            f"error: Rank 1 did not answer in time; {ANEW}",
        ),
        ("if rank == 1: os.kill(os.getpid(), 11)\nsys.exit(3)", 2, "error: Rank 1 was ended by signal 11 (often: "),
        ("sys.exit(130 if rank == 0 else 3)", 130, ""),
        ("if rank == 2: sys.exit('error: of its own')\nsys.exit(3)", 1, "error: of its own"),
    ],
)
def test_the_starter_tells_how_ranks_ended(rank_does: str, code: int, told: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", STARTER + rank_does], capture_output=True, text=True, env=QUIET, timeout=300
    )
    assert ran.returncode == code
    assert ran.stdout == "rank 0\n"
    assert ran.stderr.startswith(told)
    assert len(ran.stderr.splitlines()) == bool(told)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_ranks_end_with_their_starter(how: signal.Signals) -> None:
    run = subprocess.Popen([sys.executable, "-c", STARTER + "time.sleep(60)"], stdout=subprocess.PIPE, text=True)
    assert run.stdout is not None
    assert run.stdout.readline() == "rank 0\n"
    ranks = ranks_of(run)
    assert len(ranks) == 3
    run.send_signal(how)
    run.communicate()
    limit = time.monotonic() + 20
    while any(map(is_there, ranks)) and time.monotonic() < limit:
        time.sleep(0.05)
    assert not any(map(is_there, ranks))


def is_there(process: int) -> bool:
    """Whether a process runs; one that has ended and that nobody has asked about doesn't."""
    try:
        return psutil.Process(process).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["--workers", "2", "--jobs", "2"], "--jobs trains seeds side by side"),
        (["--workers", "2", "--method", "gat"], "Method 'gat' trains in one process"),
        (["--workers", "2", "--timeout", "0"], "--timeout must be more than 0"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(tmp_path: Path, arguments: list[str], part: str) -> None:
    done = CliRunner().invoke(cli.app, [*TRAIN, "--out", str(tmp_path / "out"), *arguments])
    assert done.exit_code == 2
    assert part in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "out").exists()


SILENT = """
import os, sys, time
from datetime import timedelta
import torch, torch.distributed as dist
from gdamn.fit.domains.ranks.group import current
from gdamn.errors import LostRankError
leader = os.getpid()
silent = os.fork()
dist.init_process_group("gloo", init_method="file://" + sys.argv[1], rank=0 if silent else 1, world_size=2,
                        timeout=timedelta(days=1))
group = current()
group.set_patience(1)
group.total(torch.ones(1))
if group.leads:
    try:
        group.gather(torch.ones(2), [2, 2])
    except LostRankError as problem:
        print(problem)
    os.kill(silent, 9)
else:
    while os.getppid() == leader:
        time.sleep(0.1)
"""


def test_a_silent_rank_is_not_waited_for_longer_than_asked(tmp_path: Path) -> None:
    """In messages between two ranks too, which in torch keep the timeout that the group began with."""
    command = [sys.executable, "-c", SILENT, str(tmp_path / "meeting")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert "did not answer in time" in done.stdout, done.stderr


@pytest.mark.parametrize(("command", "code"), [("methods", 0), ("data info nowhere", 2)])
def test_a_rank_ends_without_the_farewell_of_torch_threads(command: str, code: int) -> None:
    """Threads of a connection that is still open would end a good run with SIGABRT; so nothing waits at exit."""
    program = "import atexit; atexit.register(print, 'farewell'); from gdamn.cli import root as cli; cli.main()"
    for variables, said in (({}, True), ({"RANK": "0", "WORLD_SIZE": "2"}, False)):
        ran = subprocess.run(
            [sys.executable, "-c", program, *command.split()],
            env={**QUIET, **variables},
            capture_output=True,
            text=True,
        )
        assert ran.returncode == code
        assert ("farewell" in ran.stdout) is said
        assert ran.stdout.replace("farewell", "").strip() or ran.stderr.startswith("error: ")
