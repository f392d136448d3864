"""Group: the processes that train one model together, and all that they say to each other.

A wrapper of torch.distributed: gloo between CPUs, nccl between GPUs. Sums over the group are the same bits on every
rank and in every repetition with the same number of ranks, because the collectives add in an order that depends on
nothing else. A rank that ends or can't be reached becomes one error, :class:`gdamn.errors.LostRankError`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.distributed_c10d import _set_pg_timeout

from ....errors import ConfigError, LostRankError

_LOST = re.compile(r"connection|timed out|timeout|peer|socket|broken pipe|nccl|unreachable|recvvalue|store", re.I)


@dataclass
class Group:
    """The ranks 0 to ``size`` - 1; this process is ``rank``. ``sent`` counts the bytes that this rank has sent."""

    rank: int
    size: int
    device: torch.device
    sent: dict[str, int] = field(default_factory=dict)
    world: Any = None
    patience: timedelta | None = None
    limit: timedelta | None = None

    @property
    def leads(self) -> bool:
        """Whether this is rank 0, which alone prints and writes."""
        return self.rank == 0

    def exchange(self, rows: Tensor, give: Sequence[int], take: Sequence[int], out: Tensor | None = None) -> Tensor:
        """Hand ``rows`` [S, H] to the ranks, ``give[r]`` of them to rank r, and get ``take[r]`` from each: [T, H]."""
        if out is None:
            out = rows.new_empty((sum(take), *rows.shape[1:]))
        self._count("halo", rows.numel() * rows.element_size())
        with answering():
            dist.all_to_all_single(out, rows.contiguous(), list(take), list(give))
        return out

    def exchanging(self, rows: Tensor, give: Sequence[int], take: Sequence[int], out: Tensor) -> Callable[[], None]:
        """Begin such an exchange into ``out``; it is over when the function returns."""
        rows = rows.contiguous()
        self._count("halo", rows.numel() * rows.element_size())
        with answering():
            work = dist.all_to_all_single(out, rows, list(take), list(give), async_op=True)

        def wait() -> None:
            with answering():
                work.wait()
            rows.numel()  # what is sent lives until here

        return wait

    def total(self, x: Tensor) -> Tensor:
        """The sum of x over all ranks, the same on each."""
        out = x.detach().to(self.device, copy=True).contiguous()
        self._count("sums", out.numel() * out.element_size())
        with answering():
            dist.all_reduce(out)
        return out.to(x.device)

    def gather(self, x: Tensor, sizes: Sequence[int]) -> Tensor | None:
        """On rank 0 the rows of all ranks below each other, ``sizes[r]`` from rank r; None elsewhere."""
        mine = x.detach().contiguous()
        with answering():
            if not self.leads:
                self._count("gathers", mine.numel() * mine.element_size())
                self._await(dist.isend(mine, 0))
                return None
            whole = mine.new_empty((sum(sizes), *mine.shape[1:]))
            whole[: sizes[0]] = mine
            begin = sizes[0]
            for rank in range(1, self.size):
                part = mine.new_empty((sizes[rank], *mine.shape[1:]))
                self._await(dist.irecv(part, rank))
                whole[begin : begin + sizes[rank]] = part
                begin += sizes[rank]
        return whole

    def every(self, x: Tensor, sizes: Sequence[int]) -> Tensor:
        """The rows of all ranks below each other, on every rank."""
        whole = x.new_zeros((sum(sizes), *x.shape[1:]))
        first = sum(sizes[: self.rank])
        whole[first : first + sizes[self.rank]] = x
        return self.total(whole)  # every other rank adds 0 there

    def tell(self, content: bytes) -> bytes:
        """What rank 0 gives, on every rank."""
        with answering():
            size = torch.tensor([len(content)], dtype=torch.int64, device=self.device)
            dist.broadcast(size, 0)
            text = torch.frombuffer(bytearray(content), dtype=torch.uint8) if self.leads and content else None
            buffer = torch.empty(int(size), dtype=torch.uint8) if text is None else text
            buffer = buffer.to(self.device)
            if len(buffer):
                dist.broadcast(buffer, 0)
        return buffer.cpu().numpy().tobytes()

    def tell_word(self, word: Any) -> Any:
        """Plain data of rank 0, on every rank."""
        return json.loads(self.tell(json.dumps(word).encode() if self.leads else b""))

    def ask_all(self, word: Any) -> list[Any]:
        """The plain data of every rank, on every rank."""
        text = torch.frombuffer(bytearray(json.dumps(word).encode()), dtype=torch.uint8).to(self.device)
        sizes = torch.zeros(self.size, dtype=torch.int64, device=self.device)
        sizes[self.rank] = len(text)
        lengths = [int(n) for n in self.total(sizes)]
        content = self.every(text, lengths).cpu().numpy().tobytes()
        ends = [sum(lengths[: r + 1]) for r in range(self.size)]
        return [json.loads(content[end - length : end]) for end, length in zip(ends, lengths, strict=True)]

    def shared(self, content: bytes) -> bytes:
        """What the one rank that has something gives, on every rank; empty where none has."""
        lengths = self.ask_all(len(content))
        mine = torch.frombuffer(bytearray(content), dtype=torch.uint8) if content else torch.empty(0, dtype=torch.uint8)
        return self.every(mine.to(self.device), lengths).cpu().numpy().tobytes()

    def set_patience(self, seconds: float) -> None:
        """Within fits a rank waits so long for another one; see :meth:`patiently` for elsewhere."""
        self.patience = timedelta(seconds=seconds)
        self._wait_for(self.patience)

    @contextmanager
    def patiently(self) -> Iterator[None]:
        """Within the block a rank waits a day: rank 0 may write a large run, or a host read its files slowly."""
        assert self.patience is not None
        self._wait_for(timedelta(days=1))
        try:
            yield
        finally:
            self._wait_for(self.patience)

    def _wait_for(self, limit: timedelta) -> None:
        """From now on every word of another rank is waited for so long."""
        self.limit = limit
        _set_pg_timeout(limit, self.world)

    def _await(self, work: dist.Work | None) -> None:
        """Wait for a message between two ranks: unlike collectives they keep the timeout of the beginning."""
        assert work is not None
        work.wait() if self.limit is None else work.wait(self.limit)

    def _count(self, what: str, amount: int) -> None:
        self.sent[what] = self.sent.get(what, 0) + amount


class Alone(Group):
    """One process that has all parts: what it says to others it says to itself."""

    def __init__(self, device: torch.device) -> None:
        super().__init__(0, 1, device)

    def exchange(self, rows: Tensor, give: Sequence[int], take: Sequence[int], out: Tensor | None = None) -> Tensor:
        """The rows themselves."""
        return rows if out is None else out.copy_(rows)

    def total(self, x: Tensor) -> Tensor:
        """x."""
        return x.detach().clone()

    def gather(self, x: Tensor, sizes: Sequence[int]) -> Tensor | None:
        """x."""
        return x

    def every(self, x: Tensor, sizes: Sequence[int]) -> Tensor:
        """x."""
        return x

    def tell(self, content: bytes) -> bytes:
        """The content."""
        return content

    def ask_all(self, word: Any) -> list[Any]:
        """The word."""
        return [word]

    def shared(self, content: bytes) -> bytes:
        """The content."""
        return content

    @contextmanager
    def patiently(self) -> Iterator[None]:
        """There is nobody to wait for."""
        yield


_group: Group | None = None


def current() -> Group | None:
    """The group that this process trains in: torch's default group where it has several ranks, else None."""
    global _group
    if not (dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1):
        _group = None
    elif _group is None or _group.world is not dist.group.WORLD:
        gpu = dist.get_backend() == "nccl"
        device = torch.device("cuda", torch.cuda.current_device()) if gpu else torch.device("cpu")
        _group = Group(dist.get_rank(), dist.get_world_size(), device, world=dist.group.WORLD)
    return _group


def joined(asked: Any) -> Group | None:
    """The group that a fit was asked to train with: torch's default group, or None where that has one rank alone."""
    if isinstance(asked, Group):
        return asked
    if not (dist.is_available() and dist.is_initialized()):
        raise ConfigError("group needs a process group; call torch.distributed.init_process_group(...) first.")
    if asked is not dist.group.WORLD:
        raise ConfigError("All ranks train together or none: group must be torch.distributed.group.WORLD.")
    return current()


@contextmanager
def answering(rank: int | None = None) -> Iterator[None]:
    """Turn the failure of a collective because a rank is gone into one sentence."""
    try:
        yield
    except RuntimeError as problem:
        message = str(problem)
        if not _LOST.search(message):
            raise
        late = re.search(r"timed out|timeout", message, re.I)
        how = "did not answer in time" if late else "ended or closed its connection"
        raise LostRankError(
            f"Another process of this run {how}, so that rank {dist.get_rank() if rank is None else rank} can't go on; "
            "start the same command again, and it goes on from its last checkpoint."
        ) from None
