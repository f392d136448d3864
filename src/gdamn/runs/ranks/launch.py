"""Several ranks on this machine: the same command started once for each, watched, and ended together.

They find each other through a file in a folder of their own and talk over the loopback alone. Nothing here needs torch.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess  # nosec B404  # for this very command again, without a shell
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import NoReturn

from ...fit.domains.ranks import environment
from ...text import print_error
from ..store import FOLDER

STORE, STARTER = "GDAMN_STORE", "GDAMN_STARTER"
"""The environment variables with the file through which ranks that were started here find each other, and with the
number of the process that started them."""
LOST = 3
"""Exit code of a rank that was started here and lost another one; the starter tells of it."""
GRACE = 10.0
"""Seconds that the ranks have to end by themselves once one has failed."""


def start(workers: int, out: Path) -> int:
    """Start the command of this process again as so many ranks; returns the exit code, and tells what went wrong.

    Args:
        out: folder of the run, which has its checkpoints.
    """
    command = [sys.executable, *sys.orig_argv[1:]]
    with tempfile.TemporaryDirectory(prefix="gdamn-") as folder:
        shared = {STORE: str(Path(folder) / "store"), "WORLD_SIZE": str(workers), "LOCAL_WORLD_SIZE": str(workers)}
        shared[STARTER] = str(os.getpid())
        if sys.platform == "linux":
            shared["GLOO_SOCKET_IFNAME"] = "lo"
        ranks: list[subprocess.Popen[bytes]] = []
        handlers = signal.signal(signal.SIGTERM, _terminated), signal.signal(signal.SIGINT, _left_to_rank_0)
        try:
            for rank in range(workers):
                environment = {**os.environ, **shared, "RANK": str(rank), "LOCAL_RANK": str(rank)}
                quiet = subprocess.DEVNULL if rank else None
                ranks.append(subprocess.Popen(command, env=environment, stdout=quiet))  # nosec B603  # the user's own command
            codes = _wait(ranks)
        finally:
            _end(ranks)
            signal.signal(signal.SIGTERM, handlers[0])
            signal.signal(signal.SIGINT, handlers[1])
    return tell(codes, out)


def tell(codes: Sequence[int | None], out: Path) -> int:
    """The exit code of a run whose ranks ended like this; None is one that had to be ended."""
    if not any(codes):
        return 1 if None in codes else 0
    if 130 in codes:
        return 130
    advice = "start the same command again, and it goes on from its last checkpoint."
    if not any((out / FOLDER).glob("seed-*.json")) and not any((out / FOLDER).glob("seed-*/**/*.checkpoint")):
        advice = "it had no checkpoint yet (--checkpoint-every), so the same command begins anew."
    for rank, code in enumerate(codes):
        if code is not None and code < 0:
            print_error(f"Rank {rank} was ended by signal {-code} (often: out of memory); {advice}")
            return 2
    failed = [code for code in codes if code not in (0, LOST, None)]
    if failed:
        return int(failed[0] or 2)  # it has printed what is wrong
    silent = ", ".join(str(rank) for rank, code in enumerate(codes) if code is None) or "?"
    print_error(f"Rank {silent} did not answer in time; {advice}")
    return 2


def _wait(ranks: Sequence[subprocess.Popen[bytes]]) -> list[int | None]:
    """The exit codes of all ranks; None for those that didn't end within a while after another failed."""
    failed: float | None = None
    while None in (codes := [process.poll() for process in ranks]):
        if failed is None and any(codes):
            failed = time.monotonic()
        if failed is not None and time.monotonic() - failed > GRACE:
            break
        time.sleep(0.05)
    return codes


def _end(ranks: Sequence[subprocess.Popen[bytes]]) -> None:
    for process in ranks:
        if process.poll() is None:
            process.kill()
    for process in ranks:
        process.wait()


def _left_to_rank_0(signum: int, frame: FrameType | None) -> None:
    """Ctrl-C reaches the ranks too. Not SIG_IGN: they would inherit it."""


def _terminated(signum: int, frame: FrameType | None) -> NoReturn:
    raise SystemExit(128 + signum)


def end_with_starter() -> None:
    """A rank that :func:`start` began ends when the starter has ended, in whatever way."""
    parent = environment.number(STARTER)  # not the parent of now, which is another where the starter is gone already

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def end_at_once(code: int) -> NoReturn:
    """End without the libraries' shutdown, which may wait for ranks that are gone."""
    with contextlib.suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)
