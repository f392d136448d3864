"""A run of ``gdamn train`` by several ranks: rank 0 leads, prints and writes; the others fit when it says so."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, TypeVar

from ...errors import ConfigError, DataError, GdamnError, LostRankError
from ...estimators import custom as own_methods
from ...estimators.conventions import OVER_RANKS, PARTED
from ...fit.domains.ranks import environment
from ...system.folders import is_parts
from ...text import print_error
from .. import pool
from . import launch
from .meeting import meet

if TYPE_CHECKING:
    from ...fit.domains.ranks.group import Group
    from ..execution import Execution
    from ..spec import RunSpec

T = TypeVar("T")

CONNECT = 120.0
"""Seconds that ranks have to find each other: machines start at different speeds."""
ANSWER = 2.0
"""Seconds to find out whether another rank has printed the problem already."""


@contextmanager
def leading(spec: RunSpec, execution: Execution, timeout: float, out: Path) -> Iterator[Group | None]:
    """The block is the run: of a process alone (the group is None), or of rank 0, which leads the others.

    Every other rank follows rank 0 in place of the block, and its process ends with the run.
    """
    if not environment.is_rank() or environment.number("WORLD_SIZE") == 1:
        yield None
        return
    rank = environment.number("RANK")
    if launch.STORE in os.environ:
        launch.end_with_starter()
        if rank:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # rank 0 answers Ctrl-C
    code = 0
    try:
        check(spec, execution.jobs, timeout)
        group = join(str(spec.settings.get("device", "auto")), timeout)
        if rank == 0:
            with telling_the_end(spec, group):
                yield group
        else:
            code = follow(spec, execution.data_root, group, out)
    except LostRankError as problem:
        lost(problem)
    except GdamnError:
        if rank == 0:
            raise
        code = 2  # rank 0 has the same problem and prints it
    if rank:
        launch.end_at_once(code)


def check(spec: RunSpec, jobs: int, timeout: float) -> None:
    """Refuse what several ranks can't do."""
    if jobs > 1:
        raise ConfigError("--jobs trains seeds side by side and can't be had with several ranks; leave it out.")
    if not timeout > 0:
        raise ConfigError(f"--timeout must be more than 0 seconds; got {timeout}.")
    own_methods.register(spec.method)
    if spec.method not in OVER_RANKS:
        raise ConfigError(f"Method '{spec.method}' trains in one process; several ranks train {PARTED}.")


def join(device: str, timeout: float) -> Group:
    """Connect with the other ranks: gloo between CPUs, nccl between GPUs."""
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")  # warnings about the names of hosts help nobody here
    with pool.thread_variables(1):  # torch's own threads would only stand in the kernels' way
        import torch
        import torch.distributed as dist

    from ...fit.domains.ranks.group import answering, current

    gpu = device.startswith("cuda")
    if gpu:
        torch.cuda.set_device(environment.number("LOCAL_RANK"))
    wait = max(timeout, CONNECT)
    with answering(environment.number("RANK")):
        dist.init_process_group("nccl" if gpu else "gloo", timeout=timedelta(seconds=wait), **meet(wait))
    group = current()
    assert group is not None
    group.set_patience(timeout)
    return group


@contextmanager
def telling_the_end(spec: RunSpec, group: Group) -> Iterator[None]:
    """Rank 0's part: the others learn how the block ended.

    Not where one of them is gone, nor after Ctrl-C or a bug: they may be in the midst of a fit then, and notice by
    themselves that rank 0 is gone.
    """
    try:
        with group.patiently():
            same_run(spec, group)
        yield
    except LostRankError:
        raise
    except GdamnError:
        with contextlib.suppress(LostRankError):
            group.tell_word({"ended": True})
        raise
    with group.patiently():
        group.tell_word({"done": True})


def follow(spec: RunSpec, data_root: Path | None, group: Group, out: Path) -> int:
    """Another rank's part: fit when rank 0 says so; returns the exit code."""
    from .. import run as runs
    from ..partitioned.run import follow_parts

    with pool.thread_variables(environment.threads() or os.cpu_count() or 1):  # before the kernels are imported
        with group.patiently():
            same_run(spec, group)
        while True:
            with group.patiently():
                word = group.tell_word(None)
            if "seed" not in word:
                return 0 if "done" in word else 2
            seed = int(word["seed"])
            try:
                if is_parts(spec.dataset):
                    follow_parts(spec.resolved(), out, group, seed)
                    continue
                graph = together(partial(runs.load_graph, spec, data_root, seed), group)
                runs.make_estimator(spec, seed).fit(graph, group=group)
            except LostRankError:
                raise
            except GdamnError:
                continue  # rank 0 has the same problem, and decides what follows


def same_run(spec: RunSpec, group: Group) -> None:
    """Refuse ranks that were started with different arguments."""
    configs = group.ask_all(spec.resolved().to_toml())
    other = [rank for rank, config in enumerate(configs) if config != configs[0]]
    if other:
        raise ConfigError(f"Rank {other[0]} was started for another run than rank 0; give all the same arguments.")


def read_together(group: Group | None, seed: int, read: Callable[[], T]) -> T:
    """What ``read`` gives; the other ranks of a group learn of the seed and read their own graph at the same time."""
    if group is None:
        return read()
    announce(group, seed)
    return together(read, group)


def announce(group: Group | None, seed: int) -> None:
    """Tell the other ranks which seed is next."""
    if group is not None:
        with group.patiently():
            group.tell_word({"seed": seed})


def together(read: Callable[[], T], group: Group | None) -> T:
    """What ``read`` gives, if every rank can read it; otherwise the first problem, on all of them."""
    if group is None:
        return read()
    result: T | None = None
    problem: str | None = None
    try:
        result = read()
    except GdamnError as error:
        problem = str(error)
    with group.patiently():
        problems = group.ask_all(problem)
    for rank, text in enumerate(problems):
        if text is not None:
            raise DataError(text if rank == 0 else f"Rank {rank}: {text}")
    assert result is not None
    return result


def lost(problem: LostRankError) -> NoReturn:
    """End this process because another one is gone; of those that are left, the first to come here tells it."""
    if launch.STORE in os.environ:
        launch.end_at_once(launch.LOST)
    if _first_to_tell():
        print_error(str(problem))
    launch.end_at_once(2)


def _first_to_tell() -> bool:
    """Whether no other rank has printed the problem yet; True where that can't be found out any more.

    In a thread, because the store may be on the host that is cut off, and would keep this rank waiting.
    """
    from torch.distributed.distributed_c10d import _get_default_store

    counts: list[int] = []

    def ask() -> None:
        with contextlib.suppress(RuntimeError, ValueError):
            counts.append(int(_get_default_store().add("gdamn/told", 1)))

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(ANSWER)
    return not counts or counts[0] == 1
