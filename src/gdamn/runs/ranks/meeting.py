"""How ranks find each other: through torch's key-value store, in a session of their own.

A store may outlive ranks: torchrun starts them again beside the same one, and what their predecessors left in it
(addresses where nobody listens any more) would be taken for that of the others. So rank 0 makes up a name for the
session, and tells it only to ranks that ask now; all that follows stands below that name.
"""

from __future__ import annotations

import os
import time
import uuid
from datetime import timedelta
from typing import Any

from ...errors import ConfigError, LostRankError
from ...fit.domains.ranks import environment
from . import launch

EVERY = 0.02
"""Seconds between two looks into the store."""


def meet(timeout: float) -> dict[str, Any]:
    """Store, rank and number of ranks for torch's process group, once all ranks are there."""
    from torch._C._distributed_c10d import FileStore, PrefixStore, TCPStore

    rank, size = environment.number("RANK"), environment.number("WORLD_SIZE")
    if not 0 <= rank < size:
        raise ConfigError(f"RANK is {rank} and WORLD_SIZE {size}; ranks are numbered from 0.")
    place = {"rank": rank, "world_size": size}
    if launch.STORE in os.environ:  # made for this start alone
        return {**place, "store": FileStore(os.environ[launch.STORE], size)}
    host, port = os.environ.get("MASTER_ADDR", ""), environment.number("MASTER_PORT")
    hosted = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
    try:
        store = TCPStore(host, port, size, rank == 0 and not hosted, timedelta(seconds=timeout))
        return {**place, "store": PrefixStore(session(store, rank, size, timeout), store)}
    except RuntimeError:
        raise LostRankError(
            f"Rank {rank} can't meet the others at '{host}', port {port}, within {timeout:g} seconds; "
            "see that all hosts are started and that this address can be reached from each of them."
        ) from None


def session(store: Any, rank: int, size: int, timeout: float) -> str:
    """A name that only the ranks that are there now have agreed on."""
    if rank:
        key = f"gdamn/session/{rank}/{uuid.uuid4().hex}"
        store.set(f"gdamn/asks/{rank}", key)
        store.wait([key], timedelta(seconds=timeout))
        name: str = store.get(key).decode()
        store.set(f"{name}/has/{rank}", "1")
        return name
    name, limit = f"gdamn/{uuid.uuid4().hex}", time.monotonic() + timeout
    waiting = set(range(1, size))
    while waiting:
        for other in sorted(waiting):
            if store.check([f"gdamn/asks/{other}"]):
                store.set(store.get(f"gdamn/asks/{other}").decode(), name)  # to one that is gone it does no harm
            if store.check([f"{name}/has/{other}"]):
                waiting.discard(other)
        if time.monotonic() > limit:
            raise RuntimeError("not all ranks came")
        time.sleep(EVERY)
    return name
