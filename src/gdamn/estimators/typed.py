"""What type checkers see of an estimator: the fields of its settings as arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from ..model.settings import BaseSettings

P = ParamSpec("P")
Q = ParamSpec("Q")
C = TypeVar("C")
R = TypeVar("R")
E = TypeVar("E", covariant=True)


def arguments_of(
    settings: Callable[P, BaseSettings],
) -> Callable[[Callable[Concatenate[C, Q], R]], Callable[Concatenate[C, P], R]]:
    """Show type checkers a method with the arguments of a settings class; at run time it stays as it is."""
    return lambda method: method  # type: ignore[return-value]


class Estimator(Protocol[P, E]):
    """What a type checker reads the arguments and the type of an estimator from."""

    @property
    def settings_class(self) -> Callable[P, BaseSettings]:
        """Where the arguments stand."""

    def as_trained(self) -> E:
        """Any method that returns the estimator's own type."""
