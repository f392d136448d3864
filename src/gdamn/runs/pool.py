"""Fits over processes: each worker is a fresh process with its own threads and its own pipe to the parent.

A pipe per worker, instead of one shared queue, means that no lock is shared: a worker that is killed can't stop
the others or the parent, which sees the end of its pipe at once and says so.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from itertools import takewhile
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from ..errors import GdamnError, TrainingError
from ..system.memory import shortage

SeedProgress = Callable[[str, int, int, dict[str, Any]], None]
"""Called after each epoch with the phase, the epoch (from 0), the epochs of the phase and the epoch's record."""

Task = Any
"""What is fitted: a seed, or a method and a seed; hashable, picklable, and different from the other tasks."""

Progress = Callable[[Task, str, int, int, dict[str, Any]], None]
"""The same with the task in front."""

Work = Callable[[Task, SeedProgress | None], dict[str, Any]]
"""What is done for one task; must be picklable, and so must its result."""

Finished = Callable[[Task, dict[str, Any]], None]
"""Called in the parent with a task and its result as soon as it ends."""

Result = Callable[[], dict[str, Any]]
"""Returns the result of a task."""

Over = Callable[[], bool]
"""Whether the time for further tasks is over."""

THREAD_VARIABLES = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
REPORT_SECONDS = 0.1
"""Workers report an epoch at most this often: often enough to look smooth, and no cost for the training."""


def never() -> bool:
    """It is never over."""
    return False


def after(seconds: float | None) -> Over:
    """Over when so many seconds have passed from now; never without a number."""
    if seconds is None:
        return never
    end = time.monotonic() + seconds
    return lambda: time.monotonic() >= end


@contextmanager
def handed_out(
    work: Work,
    tasks: Sequence[Task],
    jobs: int = 1,
    threads: int = 1,
    progress: Progress | None = None,
    over: Over = never,
) -> Iterator[Iterator[tuple[Task, Result]]]:
    """Within the block: each task with a call that returns its result, in the order in which they end.

    With one job the call does the work, in this process; else it has been done in another one. Once it is ``over`` no
    further task is begun.
    """
    if not tasks:
        yield iter(())  # without loading torch
    elif min(jobs, len(tasks)) <= 1:
        begun = takewhile(lambda _: not over(), tasks)
        with thread_limit(threads):
            yield ((task, partial(work, task, task_progress(progress, task))) for task in begun)
    else:
        with _workers(work, min(jobs, len(tasks)), threads, progress is not None) as workers:
            yield ((task, partial(dict, result)) for task, result in _shared_out(workers, tasks, progress, over))


@contextmanager
def kept_workers(work: Work, jobs: int, threads: int) -> Iterator[Callable[[Sequence[Task]], dict[Task, Any]]]:
    """Within the block: a call that has tasks done by the same processes, and returns their results by task."""
    with _workers(work, jobs, threads, reporting=False) as workers:
        yield lambda tasks: dict(_shared_out(workers, tasks))


def task_progress(progress: Progress | None, task: Task) -> SeedProgress | None:
    """The progress of one task."""
    if progress is None:
        return None
    return lambda phase, epoch, epochs, record: progress(task, phase, epoch, epochs, record)


def task_name(task: Task) -> str:
    """A task in a sentence: seed 3, or gcn seed 3."""
    method, seed = task if isinstance(task, tuple) else ("", task)
    return f"{method} seed {seed}".strip()


@contextmanager
def thread_variables(threads: int) -> Iterator[None]:
    """Set the variables that libraries read when they are first imported, here or in a worker.

    numba reads its own again whenever it compiles, and refuses another number than it started with: once it is
    imported, its variable stays.
    """
    with _environment([name for name in THREAD_VARIABLES if not _fixed(name)], threads):
        yield


@contextmanager
def _environment(names: Sequence[str], threads: int) -> Iterator[None]:
    """Set these variables, and put back what was there, but for what must stay."""
    previous = {name: os.environ.get(name) for name in names}
    imported = {name for name in names if _fixed(name)}
    os.environ.update(dict.fromkeys(names, str(threads)))
    try:
        yield
    finally:
        for name, value in previous.items():
            if _fixed(name) and name not in imported:
                continue
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _fixed(name: str) -> bool:
    """Whether this process has read a variable that must not change from then on."""
    return name.startswith("NUMBA_") and "numba" in sys.modules


@contextmanager
def thread_limit(threads: int) -> Iterator[None]:
    """Limit the threads of what is already imported, and put back what was set."""
    import torch

    from ..kernels import set_threads

    torch_threads, kernel_threads = torch.get_num_threads(), set_threads(threads)
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(torch_threads)
        set_threads(kernel_threads)


@contextmanager
def _workers(work: Work, count: int, threads: int, reporting: bool) -> Iterator[dict[Connection, BaseProcess]]:
    """So many processes by their pipes; all of them end with the block."""
    context = multiprocessing.get_context("spawn")
    workers: dict[Connection, BaseProcess] = {}
    try:
        for _ in range(count):
            parent_end, worker_end = context.Pipe()
            worker = context.Process(target=_serve, args=(worker_end, work, threads, reporting), daemon=True)
            with _environment(THREAD_VARIABLES, threads):  # a worker takes over what is set while it starts
                workers[parent_end] = worker
                _start(worker)
            worker_end.close()
        yield workers
    finally:
        for pipe, process in workers.items():
            pipe.close()
            if process.pid is not None:
                process.terminate()
        for process in workers.values():
            if process.pid is not None:
                process.join()


def _shared_out(
    workers: Mapping[Connection, BaseProcess],
    tasks: Sequence[Task],
    progress: Progress | None = None,
    over: Over = never,
) -> Generator[tuple[Task, dict[str, Any]]]:
    """Hand out the tasks, pass on the progress, and give each result as it comes."""
    waiting = list(tasks)[::-1]
    busy: dict[Connection, Task] = {}

    def next_task(pipe: Connection) -> None:
        if waiting and not over():
            busy[pipe] = waiting.pop()
            with suppress(OSError):  # a worker that has ended meanwhile: reading from its pipe says so
                pipe.send(busy[pipe])

    for pipe in workers:
        next_task(pipe)
    while busy:
        for ready in wait(list(busy)):
            assert isinstance(ready, Connection)
            task = busy[ready]
            kind, content = _receive(ready, workers[ready], task)
            if kind == "progress" and progress is not None:
                progress(task, *content)
            elif kind == "error":
                raise content
            elif kind == "result":
                del busy[ready]
                next_task(ready)
                yield task, content


def _start(worker: BaseProcess) -> None:
    """Start a worker that Ctrl-C doesn't reach, not even before it can say so itself."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        worker.start()
        return
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # the first start would do it, and let the signal through
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # a new process has the mask of its parent
    try:
        worker.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _receive(pipe: Connection, worker: BaseProcess, task: Task) -> tuple[str, Any]:
    """The next message of a worker; an error where there is none because it ended."""
    try:
        kind, content = pipe.recv()
    except (EOFError, OSError):
        worker.join(timeout=5)
        code = worker.exitcode
        ending = f"was ended by signal {-code}" if code is not None and code < 0 else f"ended with code {code}"
        raise TrainingError(
            f"The process that trained {task_name(task)} {ending} (often: out of memory); try fewer --jobs."
        ) from None
    return kind, content


def _serve(pipe: Connection, work: Work, threads: int, reporting: bool) -> None:
    """A worker: one task after the other until the parent closes the pipe.

    Ctrl-C reaches the whole group; the parent alone answers it, and ends the workers.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with thread_limit(threads):
        while True:
            try:
                task = pipe.recv()
            except (EOFError, OSError):
                return
            try:
                pipe.send(("result", work(task, _reporter(pipe) if reporting else None)))
            except GdamnError as error:
                pipe.send(("error", type(error)(str(error))))
            except Exception as problem:  # memory ran out, or a bug: its traceback must reach the person
                bug = RuntimeError(f"{task_name(task)} failed:\n{traceback.format_exc()}")
                pipe.send(("error", shortage(problem) or bug))


def _end_with_parent() -> None:
    """End this process when the parent has ended, in whatever way: nothing reads its results any more."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


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
