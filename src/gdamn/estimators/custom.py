"""Methods of your own: ``module:Class`` stands wherever a method's name does.

The class is a :class:`gdamn.estimators.base.NodeClassifier`. Its module is found in the current folder, or where Python
looks.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import ConfigError, GdamnError, in_short


def is_own(name: str) -> bool:
    """Whether a name means a class outside the package."""
    return ":" in name


def register(name: str) -> None:
    """Make an own method known by its name; the package's methods and known names pass."""
    if not is_own(name):
        return
    from .registry import METHODS, Method

    if name in METHODS:
        return
    module, _, attribute = name.partition(":")
    estimator = _class(name, module, attribute)
    lines = (estimator.__doc__ or "").strip().splitlines()
    METHODS[name] = Method(name, lines[0] if lines else "a method of your own", "your own", (module, attribute))


@contextmanager
def one_sentence(name: str) -> Iterator[None]:
    """Errors of a person's own class become one sentence; those of the package's methods pass."""
    try:
        yield
    except GdamnError:
        raise
    except Exception as cause:
        if not is_own(name):
            raise
        raise ConfigError(f"The method '{name}' can't be made: {type(cause).__name__}: {in_short(cause)}.") from cause


def _class(name: str, module: str, attribute: str) -> type:
    """The class that a name means, or a sentence that says why there is none."""
    from .base import NodeClassifier

    if str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))
    try:
        estimator = getattr(importlib.import_module(module), attribute)
    except Exception as cause:  # whatever the module does when it is imported
        what = "" if isinstance(cause, (ImportError, AttributeError, ValueError)) else f"{type(cause).__name__}: "
        raise ConfigError(f"Can't take the method '{name}' (module:Class): {what}{in_short(cause)}.") from cause
    if not (isinstance(estimator, type) and issubclass(estimator, NodeClassifier)):
        raise ConfigError(f"'{name}' isn't a method: it must be a subclass of gdamn.estimators.base.NodeClassifier.")
    return estimator
