"""Memory: how much the system has, and in one sentence that it ran out, in whichever shape the error came."""

from __future__ import annotations

from pathlib import Path

from .errors import TrainingError

_SAID = ("allocate memory", "out of memory", "can't start new thread")
"""What torch, the loader of libraries and the system say."""


def shortage(problem: BaseException) -> TrainingError | None:
    """The error to show where this one means that memory ran out; None where it means something else."""
    told = str(problem).lower()
    if not isinstance(problem, MemoryError) and not (
        isinstance(problem, (RuntimeError, OSError, ImportError)) and any(said in told for said in _SAID)
    ):
        return None
    return TrainingError(
        "There is not enough memory for this; try fewer --jobs, a smaller graph, or a machine with more memory."
    )


def system_bytes() -> dict[str, int]:
    """What the system tells of its memory, by its own names (MemTotal, MemAvailable, …); empty where it doesn't."""
    try:
        lines = [line.split() for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines()]
        return {words[0].rstrip(":"): 1024 * int(words[1]) for words in lines if words[2:] == ["kB"]}
    except (OSError, ValueError, IndexError):
        return {}
