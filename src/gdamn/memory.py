"""Memory that ran out, in one sentence, in whichever of its many shapes the error came."""

from __future__ import annotations

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
