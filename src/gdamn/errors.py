"""Every error that gdamn raises on purpose: one clear sentence for the person who reads it.

The command line prints the message of a :class:`GdamnError` without a traceback and exits with code 2.
"""


class GdamnError(Exception):
    """Base of all errors whose message tells what is wrong, where, and what to do."""


class GraphError(GdamnError, ValueError):
    """A graph that can't be: indices out of range, shapes that don't agree, values that aren't finite."""


class DataError(GdamnError):
    """A data set that can't be found, read, downloaded or trusted."""


class ConfigError(GdamnError, ValueError):
    """A setting that doesn't exist or a value it can't take."""


class TrainingError(GdamnError):
    """A fit that can't start or can't go on: no labelled node, one class, a loss that isn't finite."""


class ForkError(TrainingError):
    """Work in a process that was forked after gdamn had started its threads, which don't survive that."""


class LostRankError(TrainingError):
    """A process of a distributed run that ended or can't be reached, so that the others can't go on."""


class NothingFinishedError(TrainingError):
    """A comparison in which no fit could be done."""


class NotFittedError(GdamnError, AttributeError):
    """A question to a model that has not been fitted."""


class MissingPackageError(GdamnError, ImportError):
    """A use that needs a package of an extra that isn't installed."""


class OutputError(GdamnError, OSError):
    """A result that can't be written where it was asked for."""


def in_short(cause: BaseException) -> str:
    """What another library says, to be part of a sentence: its first line, not endless, without its full stop."""
    text = (str(cause).strip() or type(cause).__name__).splitlines()[0]
    return text[:200].rstrip(".")
