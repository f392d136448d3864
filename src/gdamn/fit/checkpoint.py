"""Checkpoints: a fit that is ended at any moment goes on from its last one and comes out with the same bits.

All noise is a function of keys (kernels/noise.py), so what a fit has to remember is its networks, Adam's moments,
the history, the best epoch so far, and how far it is. The files are those of checkpoint_file.py.

>>> with keeping(Path("somewhere")):
...     model.fit(graph)  # killed and started again, it goes on
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import logging
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import DataError, OutputError
from .checkpoint_file import FORMAT, Tree, newest, write_tree

if TYPE_CHECKING:
    from torch import Tensor, nn

    from ..kernels import Key
    from ..model.problem import Labelled
    from ..model.settings import BaseSettings
    from .adam import Adam

EVERY_EPOCHS, EVERY_SECONDS, PHASE_SECONDS = 1, 60.0, 5.0
"""A checkpoint is due when so many epochs and so many seconds have passed since the last, and at the end of a phase
when PHASE_SECONDS have: a fit of a few seconds writes none."""
WRITING = 0.1
"""Share of a fit's time that writing checkpoints may take: where one takes long, they are written less often."""

log = logging.getLogger("gdamn")


class Part(NamedTuple):
    """One owner's share of a checkpoint: how it is copied out, and how it is put back."""

    save: Callable[[], Tree]
    load: Callable[[Tree], None]


def part_of(module: nn.Module) -> Part:
    """The weights of a network."""
    return Part(module.state_dict, lambda state: _load_module(module, state))


def _load_module(module: nn.Module, state: Tree) -> None:
    module.load_state_dict(state)


def like(saved: Tensor, present: Tensor) -> Tensor:
    """A tensor of a checkpoint on the device of the one it replaces; refused where the shapes differ."""
    if saved.shape != present.shape:
        raise ValueError("a tensor of another shape")
    return saved.to(present.device)


@dataclass
class _Keeping:
    """Where the fits of a block keep their checkpoints, and the seconds that earlier attempts at them took."""

    folder: Path
    every: float | None = None
    seconds: float = 0.0


_keeping: ContextVar[_Keeping | None] = ContextVar("keeping", default=None)


@contextmanager
def keeping(folder: Path, every: float | None = None) -> Iterator[None]:
    """Fits within the block keep checkpoints below the folder, and go on from those they find there.

    Args:
        every: seconds between two of them; :data:`EVERY_SECONDS` where nothing is said.
    """
    token = _keeping.set(_Keeping(folder, every))
    try:
        yield
    finally:
        _keeping.reset(token)


def seconds_before() -> float:
    """Seconds that the fits of this block had taken before they were resumed."""
    block = _keeping.get()
    return 0.0 if block is None else block.seconds


def of_fit(method: str, settings: BaseSettings, problem: Labelled) -> Checkpoint | None:
    """The checkpoint of a fit; None outside of :func:`keeping`."""
    from .domains.ranks.sharing import SharedProblem

    block = _keeping.get()
    if isinstance(problem, SharedProblem):  # over several processes rank 0 decides
        checkpoint: Checkpoint | None = problem.checkpoint(None if block is None else block.folder, settings)
    else:
        checkpoint = None if block is None else Checkpoint(block.folder / identity(method, settings, problem))
    if block is not None and checkpoint is not None:
        block.seconds += checkpoint.seconds
        checkpoint.every = block.every
    return checkpoint


def identity(method: str, settings: Any, problem: Labelled) -> str:
    """A name for what decides every bit of a fit: method, settings, data, and the versions that compute it."""
    import numpy as np

    def contents() -> Iterator[Any]:
        for array in problem.arrays():
            yield f"{array.dtype} {array.shape}".encode()
            yield np.ascontiguousarray(array).reshape(-1).view(np.uint8).data

    return name_of(method, settings, str(problem.device), contents())


def name_of(method: str, settings: Any, device: str, data: Iterable[Any]) -> str:
    """The same, of data that is given as bytes."""
    from ..system.versions import versions

    chosen = {name: value for name, value in dataclasses.asdict(settings).items() if name != "threads"}
    digest = hashlib.sha256(json.dumps([FORMAT, versions(), method, chosen, device]).encode())
    for content in data:
        digest.update(content)
    return digest.hexdigest()[:16]


@dataclass
class Loop:
    """The epochs under way: their key, how many are done, and what they change."""

    key: int
    epochs: int
    optimiser: Adam
    part: Part
    done: int = 0

    def state(self) -> Tree:
        """What an interrupted loop needs to go on."""
        moments = [[mean, square] for _, mean, square, _ in self.optimiser.slots]
        adam = {"steps": self.optimiser.steps, "moments": moments}
        return {"key": self.key, "done": self.done, "adam": adam, "part": self.part.save()}

    def resume(self, state: Tree) -> None:
        """Go on where another process was."""
        steps = state["adam"]["steps"]
        if state["key"] != self.key:
            raise ValueError("another loop")
        if state["done"] > self.epochs or type(steps) is not int or steps < 0:
            raise ValueError("more epochs are done than there are, or less than none")
        self.part.load(state["part"])
        for (_, mean, square, _), (kept_mean, kept_square) in zip(
            self.optimiser.slots, state["adam"]["moments"], strict=True
        ):
            mean.copy_(like(kept_mean, mean))  # copy_ alone would spread one number over all
            square.copy_(like(kept_square, square))
        self.optimiser.steps, self.done = steps, state["done"]


@dataclass
class Checkpoint:
    """The state of one fit on disk; the loops of :func:`gdamn.fit.training.run_epochs` tell it how far they are."""

    folder: Path
    parts: dict[str, Part] = field(default_factory=dict)
    content: Tree = field(default_factory=dict)
    finished: list[int] = field(default_factory=list)
    seconds: float = 0.0
    loop: Loop | None = None
    every: float | None = None

    def __post_init__(self) -> None:
        self.content = self.read() or {}
        self.finished = list(self.content.get("finished", []))
        self.seconds = float(self.content.get("seconds", 0.0))
        self._began = self._written = time.monotonic()
        self._written_done, self._took = 0, 0.0
        self._failed = False

    def keep(self, name: str, part: Part) -> None:
        """Make a part belong to the checkpoint; a fit that is resumed gets its content back at once."""
        self.parts[name] = part
        if name in self.content.get("parts", {}):
            self._put_back(part.load, self.content["parts"].pop(name))

    def enter(self, key: Key, epochs: int, optimiser: Adam, part: Part) -> int:
        """A loop begins; returns how many of its epochs are already done."""
        if key.value in self.finished:
            return epochs
        if self.loop is not None:
            self.finished.append(self.loop.key)
        self.loop = Loop(key.value, epochs, optimiser, part)
        if "loop" in self.content:  # the first loop that isn't finished is the one that was under way
            self._put_back(self.loop.resume, self.content.pop("loop"))
        self._written_done = self.loop.done
        return self.loop.done

    def read(self) -> Tree | None:
        """What was written last."""
        return newest(self.folder)

    def reached(self, done: int) -> None:
        """So many epochs of the loop are done; a checkpoint is written where one is due."""
        assert self.loop is not None
        self.loop.done = done
        if self.due():
            self.write()

    def due(self) -> bool:
        """Whether it is time for a checkpoint."""
        assert self.loop is not None
        done, seconds = self.loop.done, time.monotonic() - self._written
        over = done == self.loop.epochs and seconds >= PHASE_SECONDS
        every = EVERY_SECONDS if self.every is None else self.every
        wait = max(every, self._took / WRITING) if every else 0.0
        return over or (seconds >= wait and done - self._written_done >= EVERY_EPOCHS)

    def write(self) -> None:
        """Write the state as it is now; where the disk refuses, the fit goes on with the checkpoint before."""
        assert self.loop is not None
        tree = {
            "parts": {name: part.save() for name, part in self.parts.items()},
            "loop": self.loop.state(),
            "finished": self.finished,
            "seconds": self.seconds + time.monotonic() - self._began,
        }
        self._written_done, begun = self.loop.done, time.monotonic()
        try:
            self.put(tree)
        except OutputError as problem:
            if not self._failed:
                log.warning("%s The fit goes on, but without a new checkpoint.", problem)
            self._failed = True
        self._written = time.monotonic()
        self._took = self._written - begun

    def put(self, tree: Tree) -> None:
        """Write a state after those that are there."""
        write_tree(self.folder, tree)

    def _put_back(self, load: Callable[[Tree], None], state: Tree) -> None:
        try:
            load(state)
        except (KeyError, IndexError, TypeError, ValueError, AttributeError, RuntimeError) as problem:
            raise DataError(
                f"The checkpoints in '{self.folder}' are not those of this fit ({type(problem).__name__}); "
                "remove that folder to start it anew."
            ) from None
