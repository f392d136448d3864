"""Execution: how fits are executed, apart from what they compute (:class:`gdamn.runs.spec.RunSpec`)."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from ..errors import ConfigError


@dataclass(frozen=True)
class Execution:
    """Processes, threads, time and folders. None of them changes the result of a fit.

    Attributes:
        jobs: processes that fit side by side.
        threads: threads of each process; None divides the cores among the jobs.
        data_root: folder of the data files; None looks into GDAMN_DATA, then into a cache.
        force: whether results of another configuration may be replaced.
        time_budget: seconds after which a comparison or a search begins no further fit; what it has counts, and the
            same call goes on from there.
        checkpoint_every: seconds between two checkpoints of a fit; None: 60.
    """

    jobs: int = 1
    threads: int | None = None
    data_root: Path | None = None
    force: bool = False
    time_budget: float | None = None
    checkpoint_every: float | None = None

    def __post_init__(self) -> None:
        if self.time_budget is not None and not self.time_budget > 0:
            raise ConfigError(f"The time budget is a number of seconds, more than 0; got {self.time_budget}.")
        if self.checkpoint_every is not None and not self.checkpoint_every >= 0:
            raise ConfigError(f"--checkpoint-every is a number of seconds, 0 or more; got {self.checkpoint_every}.")
        if self.jobs < 1 or (self.threads is not None and self.threads < 1):
            raise ConfigError("--jobs and --threads must be 1 or more.")

    def threads_for(self, tasks: int) -> int:
        """The threads of each process where so many tasks are to be done."""
        return self.threads or max(1, (os.cpu_count() or 1) // max(1, min(self.jobs, tasks)))


DEFAULT = Execution()
"""One process with all cores."""
