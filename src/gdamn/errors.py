"""Every error that gdamn raises on purpose: one clear sentence for the person who reads it.

The command line prints the message of a :class:`GdamnError` without a traceback and exits with code 2.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import Any


class GdamnError(Exception):
    """Base of all errors whose message tells what is wrong, where, and what to do."""


class GraphError(GdamnError, ValueError):
    """A graph that can't be: indices out of range, shapes that don't agree, values that aren't finite."""


class GraphWarning(UserWarning):
    """A choice that reading a graph had to make, and that an argument would make otherwise."""


class DataError(GdamnError):
    """A data set that can't be found, read, downloaded or trusted."""


class ConfigError(GdamnError, ValueError):
    """A setting that doesn't exist or a value it can't take."""


class UnknownAttributeError(ConfigError, AttributeError):
    """An attribute that an estimator doesn't have: most likely a setting with a slip in its name."""


class TrainingError(GdamnError):
    """A fit that can't start or can't go on: no labelled node, one class, a loss that isn't finite."""


class ForkError(TrainingError):
    """Work in a process that was forked after gdamn had started its threads, which don't survive that."""


class LostRankError(TrainingError):
    """A process of a distributed run that ended or can't be reached, so that the others can't go on."""


class NothingFinishedError(TrainingError):
    """A comparison in which no fit could be done."""


class NotFittedError(GdamnError, AttributeError):
    """A question to a model that has not been fitted; scikit-learn's error of this name, too, where it is imported."""

    def __new__(cls, *args: Any) -> NotFittedError:
        """Whoever catches scikit-learn's error has imported it; importing it here would take a second."""
        theirs = getattr(sys.modules.get("sklearn.exceptions"), "NotFittedError", None)
        made: type[NotFittedError] = _both(theirs) if cls is NotFittedError and theirs else cls
        return super().__new__(made, *args)

    def __reduce__(self) -> tuple[type[NotFittedError], tuple[Any, ...]]:
        """For pickle, which finds this class by its name."""
        return NotFittedError, self.args


@cache
def _both(theirs: Any) -> Any:
    """The class of both errors."""
    ours = NotFittedError
    return type(ours.__name__, (ours, theirs), {"__module__": ours.__module__, "__doc__": ours.__doc__})


class MissingPackageError(GdamnError, ImportError):
    """A use that needs a package of an extra that isn't installed."""


class OutputError(GdamnError, OSError):
    """A result that can't be written where it was asked for."""


def in_short(cause: BaseException) -> str:
    """What another library says, to be part of a sentence: its first line, not endless, without its full stop."""
    text = (str(cause).strip() or type(cause).__name__).splitlines()[0]
    return text[:200].rstrip(".")
