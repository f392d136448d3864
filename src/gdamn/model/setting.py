"""One setting: a field of a settings class with its meaning, and the check of a value."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import field
from functools import cache
from typing import Any, Protocol, get_args, get_type_hints

import numpy as np

from ..errors import ConfigError


def setting(
    default: Any,
    doc: str,
    choices: tuple[Any, ...] = (),
    low: float | None = None,
    high: float | None = None,
    parse: Callable[[Any], Any] | None = None,
) -> Any:
    """A field of a settings class with its documentation, and its choices, its range, or a function that checks it."""
    return field(default=default, metadata={"doc": doc, "choices": choices, "low": low, "high": high, "parse": parse})


@cache
def kinds_of(cls: type) -> dict[str, tuple[type, ...]]:
    """The types that each setting can have."""
    return {name: get_args(hint) or (hint,) for name, hint in get_type_hints(cls).items()}


def checked(spec: dataclasses.Field[Any], value: Any, kinds: tuple[type, ...]) -> Any:
    """The value of one setting in one of its types, or an error that says what it can be.

    A whole number is taken for a float, and a scalar of NumPy for Python's.
    """
    name, choices, low, high = spec.name, *(spec.metadata[key] for key in ("choices", "low", "high"))
    if spec.metadata.get("parse") is not None:
        return spec.metadata["parse"](value)
    if isinstance(value, np.generic):
        value = value.item()
    if float in kinds and type(value) is int and abs(value) < 1 << 1023:
        value = float(value)
    if type(value) not in kinds:
        types = " or ".join(k.__name__ for k in kinds)
        raise ConfigError(f"Setting '{name}' is {value!r}, but it must be of type {types}.")
    if choices and value not in choices and isinstance(value, str):
        what = "a number or " if float in kinds else "one of "
        raise ConfigError(f"Setting '{name}' is {value!r}, but it must be {what}{', '.join(map(str, choices))}.")
    if name == "device" and str(value).partition(":")[0] == "meta":  # others are asked when a fit begins
        raise ConfigError("Setting 'device' is 'meta', which holds no numbers; choose cpu or auto.")
    if not isinstance(value, str) and (
        value != value or (low is not None and value < low) or (high is not None and value > high)
    ):
        raise ConfigError(f"Setting '{name}' is {value!r}, but it must be {_range_text(low, high)}.")
    return value


def _range_text(low: float | None, high: float | None) -> str:
    if low is None and high is None:
        return "a number"
    if low is not None and high is not None:
        return f"between {low:g} and {high:g}"
    return f"at least {low:g}" if low is not None else f"at most {high:g}"


def kind_text(spec: dataclasses.Field[Any]) -> str:
    """The choices or the type of a setting, with its range."""
    choices, low, high = (spec.metadata.get(key) for key in ("choices", "low", "high"))
    kind = str(getattr(spec.type, "__name__", spec.type))
    if choices and kind == "str":
        return f"{{{', '.join(map(repr, choices))}}}"
    return kind if low is None and high is None else f"{kind}, {_range_text(low, high)}"


class Trainable(Protocol):
    """Settings of whatever trains on a whole graph: what its problem is made with."""

    @property
    def normalize(self) -> str:
        """How features are normalised."""

    @property
    def dropout_input(self) -> float:
        """Dropout of the features."""

    @property
    def class_weight(self) -> str | Mapping[str, float]:
        """How much the known labels of a class count."""

    @property
    def device(self) -> str:
        """Where to compute."""

    @property
    def threads(self) -> int:
        """Threads of the kernels."""
