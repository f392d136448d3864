"""How many threads the compiled loops use, and who may start them.

One piece of work runs at a time in a process: the number of threads, kept memory and torch's own settings belong to
the whole process, so a second thread waits for the first. A process that was forked after the first work has none of
its parent's threads and would wait for them for ever, so it is refused.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numba

from ..errors import ForkError

SMALL = 500_000
"""Loops with fewer multiplications than this run on one thread: waking the others would cost more."""

_limit = 0
_now = 0
_started = False  # a loop has run in this process
_orphaned = False  # this process was forked from one in which a loop had run
_working = threading.RLock()


def set_threads(count: int) -> int:
    """Let the compiled loops use ``count`` threads (0: all); returns the limit before."""
    global _limit, _now
    before, _limit, _now = _limit, count, 0
    return before


def allowed() -> int:
    """How many threads the compiled loops may use."""
    most: int = numba.config.NUMBA_NUM_THREADS
    return max(1, min(_limit or most, most))


def use_threads(work: int) -> None:
    """Threads for the next loop: one for a small loop, all that are allowed for a large one."""
    global _now, _started
    if _orphaned:
        check_process()
    _started = True
    count = 1 if work < SMALL else allowed()
    if count != _now:
        numba.set_num_threads(count)
        _now = count


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Within the block no other thread of this process is in such a block; it waits. Blocks of one thread nest."""
    global _started
    check_process()
    with _working:
        _started = True
        yield


def check_process() -> None:
    """Refuse to work in a process that was forked after the first loop ran: its threads are gone."""
    if _orphaned:
        raise ForkError(
            "This process was forked from one in which gdamn had already run, and threads do not survive a fork; "
            "start workers with multiprocessing.get_context('spawn') or 'forkserver', or fork before the first fit."
        )


def _after_fork() -> None:
    """In the child: remember whether the parent had started threads; its lock may have been held by one of them."""
    global _orphaned, _working
    _orphaned = _started
    _working = threading.RLock()


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(after_in_child=_after_fork)
