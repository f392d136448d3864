"""What the fit of a user's own method raises, in one sentence."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import GdamnError, TrainingError, in_short
from ..estimators import custom as own_methods
from ..system.memory import shortage


def describe(problem: Exception) -> str:
    """An exception with its type, text and place, for the method's author."""
    last = traceback.extract_tb(problem.__traceback__)[-1]
    return f"{type(problem).__name__}: {in_short(problem)} ({Path(last.filename).name}, line {last.lineno})"


@contextmanager
def as_training_errors(method: str) -> Iterator[None]:
    """Within the block, what a user's own method raises becomes a TrainingError.

    Errors of gdamn and a lack of memory pass, and so does what gdamn's own methods raise: that is a bug.
    """
    try:
        yield
    except GdamnError:
        raise
    except Exception as problem:
        if not own_methods.is_own(method) or shortage(problem) is not None:
            raise
        raise TrainingError(f"The method '{method}' failed: {describe(problem)}.") from problem
