"""What a search tries: a list of values, or a range of numbers, for each setting."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError
from .spec import read_toml

if TYPE_CHECKING:
    import optuna


@dataclass(frozen=True)
class Range:
    """All numbers between two; whole ones where both ends are.

    Args:
        low, high: the ends, which are tried, too.
        log: draw their logarithm evenly: for settings such as a learning rate, whose ratio matters.
    """

    low: float
    high: float
    log: bool = False

    def __post_init__(self) -> None:
        numbers = [end for end in (self.low, self.high) if isinstance(end, (int, float)) and not isinstance(end, bool)]
        if len(numbers) < 2 or not all(map(math.isfinite, numbers)) or not self.low < self.high:
            raise ConfigError(f"A range goes from a number to a higher one; got {self.low!r} and {self.high!r}.")
        if not isinstance(self.log, bool):
            raise ConfigError(f"The log of a range is true or false; got {self.log!r}.")
        if self.log and self.low <= 0:
            raise ConfigError(f"A range of logarithms begins above 0; got {self.low!r}.")

    @property
    def whole(self) -> bool:
        """Whether only whole numbers are tried."""
        return isinstance(self.low, int) and isinstance(self.high, int)


Space = dict[str, list[Any] | Range]
"""The values of each setting that is searched."""


def suggest(trial: optuna.Trial, name: str, values: list[Any] | Range) -> Any:
    """The trial's value of a setting."""
    if not isinstance(values, Range):
        return trial.suggest_categorical(name, values)
    if values.whole:
        return trial.suggest_int(name, int(values.low), int(values.high), log=values.log)
    return trial.suggest_float(name, values.low, values.high, log=values.log)


def plain(space: Space) -> dict[str, Any]:
    """The space as plain data, for the journal."""
    return {name: asdict(values) if isinstance(values, Range) else values for name, values in space.items()}


def make_space(values: Mapping[str, Any], where: str) -> Space:
    """A space from plain data: a list, a :class:`Range`, or a mapping of ``low``, ``high`` and ``log`` per setting.

    Args:
        where: its origin, for the sentence.
    """
    if "seed" in values:
        raise ConfigError(f"{where} searches over 'seed', which is no setting of a search; pass --seeds N.")
    if "metric" in values:
        raise ConfigError(f"{where} searches over 'metric', by which trials are compared; pass --metric NAME.")
    space: Space = {}
    for name, given in values.items():
        if isinstance(given, Mapping):
            if not {"low", "high"} <= set(given) <= {"low", "high", "log"}:
                raise ConfigError(f"{where} gives '{name}' a range of {dict(given)}; it has low, high and, if so, log.")
            space[name] = Range(**given)
        elif isinstance(given, Range):
            space[name] = given
        elif isinstance(given, (list, tuple)) and given:
            space[name] = list(given)
        else:
            raise ConfigError(
                f"{where} gives {given!r} for '{name}'; a space has a list of values per setting, or a range."
            )
    return space


def read_space(path: Path) -> Space:
    """A search space from a TOML file: ``hidden = [16, 32]``, ``dropout_hidden = {low = 0.2, high = 0.8}``."""
    return make_space(read_toml(path), f"'{path}'")


def read_range(pair: str) -> tuple[str, Range]:
    """A setting and its range from ``KEY=LOW:HIGH`` or ``KEY=LOW:HIGH:log``."""
    name, equals, text = pair.partition("=")
    low, colon, rest = text.partition(":")
    high, _, log = rest.partition(":")
    if not equals or not colon or not name.strip() or log not in ("", "log"):
        raise ConfigError(f"--range takes KEY=LOW:HIGH, or KEY=LOW:HIGH:log; got '{pair}'.")
    return name.strip(), Range(_number(low, pair), _number(high, pair), log == "log")


def _number(text: str, pair: str) -> float:
    """A whole number, or any other one."""
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        raise ConfigError(f"--range takes KEY=LOW:HIGH with two numbers; got '{pair}'.") from None


def checked_space(space: Space, method: str, fixed: Mapping[str, Any]) -> Space:
    """The space, if the method has all its settings and these take all its values; told before anything is fitted.

    A range of a setting that needn't be whole is one of all numbers, also where its ends are whole.

    Args:
        fixed: the settings of every trial, which a search over them would contradict.
    """
    from ..estimators.custom import one_sentence
    from ..estimators.registry import method as find

    chosen: Any = find(method)
    checked: Space = {}
    for name, values in space.items():
        if name in chosen.fixed or name in fixed:
            raise ConfigError(f"The search is over '{name}', which is set for every trial; leave one of them out.")
        ends = [values.low, values.high] if isinstance(values, Range) else values
        with one_sentence(method):
            taken = [chosen.estimator()(**{name: value}).get_params()[name] for value in ends]
        checked[name] = Range(taken[0], taken[1], values.log) if isinstance(values, Range) else values
    return checked
