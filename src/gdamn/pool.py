"""Seeds over processes: each worker is a fresh process with its own threads and its own pipe to the parent.

A pipe per worker, instead of one shared queue, means that no lock is shared: a worker that is killed can't stop
the others or the parent, which sees the end of its pipe at once and says so.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from .errors import GdamnError, TrainingError

SeedProgress = Callable[[str, int, int, dict[str, Any]], None]
"""Called after each epoch with the phase, the epoch (from 0), the epochs of the phase and the epoch's record."""

Progress = Callable[[int, str, int, int, dict[str, Any]], None]
"""The same with the seed in front."""

Work = Callable[[int, SeedProgress | None], dict[str, Any]]
"""What is done for one seed; must be picklable, and so must its result."""

THREAD_VARIABLES = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
REPORT_SECONDS = 0.1
"""Workers report an epoch at most this often: fluid for the eye, free for the training."""


def run_each(
    work: Work, seeds: Sequence[int], *, jobs: int = 1, threads: int = 1, progress: Progress | None = None
) -> list[dict[str, Any]]:
    """The results of the work, in the order of the seeds; with one job in this process, without a new one."""
    if min(jobs, len(seeds)) == 1:
        with thread_limit(threads):
            return [work(seed, seed_progress(progress, seed)) for seed in seeds]
    with thread_variables(threads):
        done = _in_processes(work, list(seeds), jobs, threads, progress)
    return [done[seed] for seed in seeds]


def seed_progress(progress: Progress | None, seed: int) -> SeedProgress | None:
    """The progress of one seed."""
    if progress is None:
        return None
    return lambda phase, epoch, epochs, record: progress(seed, phase, epoch, epochs, record)


@contextmanager
def thread_variables(threads: int) -> Iterator[None]:
    """Set the variables that libraries read when they are first imported, here or in a worker."""
    before = {name: os.environ.get(name) for name in THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, str(threads)))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def thread_limit(threads: int) -> Iterator[None]:
    """Limit the threads of what is already imported, and put back what was set."""
    import torch

    from .kernels import set_threads

    before, kernels_before = torch.get_num_threads(), set_threads(threads)
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)
        set_threads(kernels_before)


def _in_processes(
    work: Work, todo: list[int], jobs: int, threads: int, progress: Progress | None
) -> dict[int, dict[str, Any]]:
    """Hand out the seeds, pass on the progress, and end every worker whatever happens."""
    context = multiprocessing.get_context("spawn")
    waiting = todo[::-1]
    busy: dict[Connection, int] = {}
    workers: dict[Connection, BaseProcess] = {}
    done: dict[int, dict[str, Any]] = {}
    try:
        for _ in range(min(jobs, len(todo))):
            ours, theirs = context.Pipe()
            worker = context.Process(target=_serve, args=(theirs, work, threads, progress is not None), daemon=True)
            worker.start()
            theirs.close()
            workers[ours] = worker
            busy[ours] = waiting.pop()
            ours.send(busy[ours])
        while busy:
            for pipe in wait(list(busy)):
                assert isinstance(pipe, Connection)
                seed = busy[pipe]
                kind, content = _receive(pipe, workers[pipe], seed)
                if kind == "progress" and progress is not None:
                    progress(seed, *content)
                elif kind == "error":
                    raise content
                elif kind == "result":
                    done[seed] = content
                    del busy[pipe]
                    if waiting:
                        busy[pipe] = waiting.pop()
                        pipe.send(busy[pipe])
    finally:
        for pipe, process in workers.items():
            pipe.close()
            process.terminate()
        for process in workers.values():
            process.join()
    return done


def _receive(pipe: Connection, worker: BaseProcess, seed: int) -> tuple[str, Any]:
    """The next message of a worker; an error where there is none because it ended."""
    try:
        kind, content = pipe.recv()
    except (EOFError, OSError):
        worker.join(timeout=5)
        code = worker.exitcode
        how = f"was ended by signal {-code}" if code is not None and code < 0 else f"ended with code {code}"
        raise TrainingError(
            f"The process that trained seed {seed} {how} (often: out of memory); try fewer --jobs."
        ) from None
    return kind, content


def _serve(pipe: Connection, work: Work, threads: int, reporting: bool) -> None:
    """A worker: one seed after the other until the parent closes the pipe.

    Ctrl-C reaches the whole group; the parent alone answers it, and ends the workers.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with thread_limit(threads):
        while True:
            try:
                seed = pipe.recv()
            except (EOFError, OSError):
                return
            try:
                pipe.send(("result", work(seed, _reporter(pipe) if reporting else None)))
            except GdamnError as error:
                pipe.send(("error", type(error)(str(error))))
            except Exception:  # a bug: its traceback must reach the person
                pipe.send(("error", RuntimeError(f"Seed {seed} failed:\n{traceback.format_exc()}")))


def _reporter(pipe: Connection) -> SeedProgress:
    """Progress through the pipe, thinned out in time; the first and last epoch of a phase always pass."""
    last_phase, last_time = "", 0.0

    def report(phase: str, epoch: int, epochs: int, record: dict[str, Any]) -> None:
        nonlocal last_phase, last_time
        now = time.monotonic()
        if phase != last_phase or epoch + 1 >= epochs or now - last_time >= REPORT_SECONDS:
            last_phase, last_time = phase, now
            pipe.send(("progress", (phase, epoch, epochs, record)))

    return report
