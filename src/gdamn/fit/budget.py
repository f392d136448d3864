"""The budget of a fit: the seconds that it may take, and what is left out to keep to them.

What comes first is done first: the opinion of few labels and FEWEST epochs of pre-training always, then the rest of
it, then the other starts and the EM iterations one by one. What has no time for all of its epochs gets fewer; what
would get less than LEAST of them is left out. How long an epoch takes is measured in the fit itself, so the result
may depend on the machine. Predictions, p's samples and what is written after the fit take their time beside it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from .checkpoint_file import Tree

FEWEST = 20
"""Epochs of the first pre-training that are always done, or there would be no model."""

PROBE = 3
"""Epochs after which the speed of a network counts as known."""

LEAST = 0.5
"""The share of its epochs below which a phase is left out."""


@dataclass
class Budget:
    """Seconds from now on; 0 means that there is no limit.

    Attributes:
        clock: tells the time in seconds.
        before: seconds that were spent before this process, where a fit is resumed.
        pace: seconds an epoch of each network, q and p, as far as it is known.
        left_out: what was left out or ended early, in words.
    """

    seconds: float = 0.0
    clock: Callable[[], float] = time.perf_counter
    before: float = 0.0
    pace: dict[str, float] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.began = self.clock() if self.seconds else 0.0

    @property
    def left(self) -> float:
        """Seconds that are left."""
        return self.seconds - self.before - (self.clock() - self.began) if self.seconds else math.inf

    def fits(self, name: str, epochs: dict[str, int]) -> bool:
        """Whether a part has time for at least LEAST of its epochs of each network; it is noted where it hasn't."""
        if self.share(epochs) >= LEAST:
            return True
        self.left_out.append(name)
        return False

    def share(self, epochs: dict[str, int]) -> float:
        """The share of some epochs of each network that there is time for, at most 1.

        p is taken to be as fast as q until it is known.
        """
        if not self.seconds:
            return 1.0
        known = max(self.pace.values(), default=0.0)
        needed = sum(count * self.pace.get(network, known) for network, count in epochs.items())
        return min(1.0, max(self.left, 0.0) / needed) if needed else 1.0

    def state(self) -> Tree:
        """What a checkpoint keeps."""
        return {"pace": self.pace, "left_out": self.left_out}

    def resume(self, kept: Tree, before: float) -> None:
        """Go on from such a state, ``before`` seconds of the fit being spent."""
        self.pace, self.left_out, self.before = dict(kept["pace"]), list(kept["left_out"]), before


@dataclass
class Phase:
    """The epochs of a phase under a budget: :meth:`over` is asked after each, and says whether it was the last.

    Attributes:
        network: q or p.
        fewest: epochs that are done in any case.
        later: epochs of each network that come after the phase and share its time; where the phase would get less
            than LEAST of its epochs, it ends and is :attr:`given_up`.
    """

    budget: Budget
    name: str
    network: str
    epochs: int
    fewest: int = 1
    later: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.marks: list[float] = []
        self.most, self.given_up, self.cut = self.epochs, False, False

    def over(self, epoch: int) -> bool:
        """Whether the phase ends after this epoch, which counts from 0, before its time."""
        budget, done = self.budget, epoch + 1
        if not budget.seconds:
            return False
        self.marks.append(budget.clock())
        if len(self.marks) > 1:  # the first epoch may have compiled kernels
            budget.pace[self.network] = (self.marks[-1] - self.marks[0]) / (len(self.marks) - 1)
        if done >= self.epochs:
            return False
        if self.later and len(self.marks) == PROBE:
            share = budget.share({self.network: self.epochs - done, **self.later})
            self.given_up = share < LEAST
            self.most = done + int(share * (self.epochs - done))
        spent = done >= self.most or budget.left < budget.pace.get(self.network, 0.0)
        self.cut = self.given_up or (spent and done >= self.fewest)
        if self.cut and not self.given_up:
            budget.left_out.append(f"{self.name} after {done} of {self.epochs} epochs")
        return self.cut
