"""Ranks that are there now find each other, whatever earlier ones left in the store."""

from __future__ import annotations

import threading
import time

import pytest
from torch.distributed import HashStore

from gdamn.errors import ConfigError, LostRankError
from gdamn.runs.ranks.meeting import session


def meet_all(store: HashStore, ranks: list[int], size: int, timeout: float = 20.0) -> list[str]:
    """What each rank calls the session; they come one after the other."""
    names: dict[int, str] = {}

    def come(rank: int) -> None:
        names[rank] = session(store, rank, size, timeout)

    threads = [threading.Thread(target=come, args=(rank,)) for rank in ranks]
    for thread in threads:
        thread.start()
        time.sleep(0.05)
    for thread in threads:
        thread.join()
    return [names[rank] for rank in ranks]


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 1, 0]])
def test_all_have_one_name_and_never_an_old_one(order: list[int]) -> None:
    store = HashStore()
    store.set("gdamn/asks/1", "gdamn/session/1/of-one-that-is-gone")
    seen = set()
    for _ in range(3):
        names = meet_all(store, order, 3)
        assert len(set(names)) == 1
        assert names[0] not in seen
        seen.add(names[0])


def test_a_rank_that_does_not_come_is_not_waited_for_without_end() -> None:
    with pytest.raises(RuntimeError, match="not all ranks came"):
        session(HashStore(), 0, 2, 0.1)


def test_wrong_ranks_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    from gdamn.runs.ranks.meeting import meet

    monkeypatch.setenv("RANK", "2")
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(ConfigError, match="numbered from 0"):
        meet(1.0)
    monkeypatch.setenv("RANK", "x")
    with pytest.raises(ConfigError, match="RANK is 'x', not a number"):
        meet(1.0)
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("MASTER_ADDR", "127.0.0.1")
    monkeypatch.setenv("MASTER_PORT", "9")
    with pytest.raises(LostRankError, match="can't meet the others"):
        meet(0.3)
