"""Runs of ``gdamn train`` by several ranks that a test may disturb."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

OFTEN = (
    "from gdamn.fit import checkpoint; from gdamn.cli import root as cli; "
    "checkpoint.EVERY_EPOCHS, checkpoint.EVERY_SECONDS, checkpoint.PHASE_SECONDS = 2, 0.0, 0.0; "
    "from gdamn.cli import report; report.report_of_training = lambda *_, **__: None; "
    "cli.main()"
)
"""The command with a checkpoint every two epochs, and without a page at its end."""

SETTINGS = ["pretrain_epochs=50", "epochs=8", "em_iterations=1", "start=graph", "restart_q=true", "average=0.9"]
GRAPH = ["num_nodes=90", "num_classes=3", "train_per_class=5", "val_per_class=5"]
SET = [word for pair in SETTINGS for word in ("--set", pair)]
TRAIN = ["train", "sbm", *(word for pair in GRAPH for word in ("--option", pair)), *SET]
QUIET = {**os.environ, "NO_COLOR": "1", "OMP_WAIT_POLICY": "PASSIVE", "COLUMNS": "200"}


def start(
    out: Path,
    *more: str,
    program: list[str] | None = None,
    told: Path | None = None,
    parts: Path | None = None,
    **variables: str,
) -> subprocess.Popen[str]:
    """The command as the leader of a group of its own; what it says goes to a pipe, or to the file ``told``.

    It trains on a graph that it makes, or on the partitioned one in ``parts``.
    """
    train = TRAIN if parts is None else ["train", str(parts), *SET]
    command = [*(program or [sys.executable, "-c", OFTEN]), *train, "--out", str(out), *more]
    ways = {**QUIET, **variables}
    to = subprocess.PIPE if told is None else told.open("w")
    return subprocess.Popen(command, env=ways, text=True, start_new_session=True, stdout=subprocess.DEVNULL, stderr=to)


def wait_for_checkpoint(out: Path, process: subprocess.Popen[str], number: int = 8) -> None:
    """Return in the midst of a fit, when the checkpoint of this number is written."""
    limit = time.monotonic() + 120
    while time.monotonic() < limit:
        for path in out.glob(".unfinished/*/*/[0-9]*.checkpoint"):
            if int(path.stem) >= number:
                return
        assert process.poll() is None, f"it ended with code {process.returncode}"
        time.sleep(0.01)
    process.kill()
    raise AssertionError("no checkpoint was written in time")


def ranks_of(process: subprocess.Popen[str]) -> list[int]:
    """The processes that a launcher started, by their rank."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rsplit(")", 1)[1].split()[1])
            variables = dict(v.split("=", 1) for v in (folder / "environ").read_text().split("\0") if "=" in v)
        except (OSError, ValueError):
            continue
        if parent == process.pid and "RANK" in variables:
            found[int(variables["RANK"])] = int(folder.name)
    return [found[rank] for rank in sorted(found)]


def ended(process: subprocess.Popen[str], within: float = 180) -> tuple[int, str]:
    """The exit code, and what was said on stderr but for the progress."""
    try:
        told = process.communicate(timeout=within)[1]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    lines = [line for line in told.splitlines() if line and not line.startswith("seed ")]
    return process.returncode, "\n".join(lines)
