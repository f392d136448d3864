"""How the command line is read: an option that takes one value is given once and in its range; no path is empty.

The library below keeps the last of several values without a word; who names two files means both of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar, get_args, get_type_hints

import typer
from typer.core import TyperCommand

from ..errors import ConfigError
from ..system.reading import parse_toml
from . import display

Function = TypeVar("Function", bound=Callable[..., Any])

ADVICE = {"--edges": "put the edges of all files into one file", "--features": "name all columns, with commas"}
"""What to do instead of giving an option again, where something can be done."""

ONCE = {"store": "append", "store_const": "append_const"}
"""The parser's actions that keep the last value, and those that keep all of them."""


class Command(TyperCommand):
    """A command that refuses what the parser would pass over in silence."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Look at all values that were given, then parse as usual."""
        problem = "" if ctx.resilient_parsing else self.first_problem(ctx, list(args))
        if problem:
            display.error(problem)
            raise typer.Exit(2)
        return super().parse_args(ctx, args)

    def first_problem(self, ctx: Any, args: list[str]) -> str:
        """The first option given twice or out of range, or empty path, in a sentence; empty where all is well."""
        parser = self.make_parser(ctx)
        for option in {**parser._long_opt, **parser._short_opt}.values():
            option.action = ONCE.get(option.action, option.action)
        paths = path_names(self.callback)
        parsed, _, _ = parser.parse_args(args=args)
        for param in self.get_params(ctx):
            values = parsed.get(param.name)
            values = values if isinstance(values, (list, tuple)) else [values]
            name = max(param.opts, key=len)
            single = param.param_type_name == "option" and not param.multiple and not param.is_eager
            if single and len(values) > 1:
                return twice(name, [] if getattr(param, "is_flag", False) else values)
            if "" in values and param.name in paths:
                return f"{name} is empty; name a file or a folder."
            problem = out_of_range(name, param, values)
            if problem:
                return problem
        return ""


def path_names(function: Callable[..., Any] | None) -> set[str]:
    """The parameters of a command that name a file or a folder; that of the edges is kept as a text."""
    hints = {} if function is None else get_type_hints(function)
    return {name for name, hint in hints.items() if Path in (hint, *get_args(hint))} | {"edges"}


def out_of_range(name: str, param: Any, values: Sequence[Any]) -> str:
    """The sentence for a number outside of the option's ``min`` and ``max``; empty where there is none."""
    bounds = param if hasattr(param, "min") else getattr(param, "type", None)  # older releases of typer: in the type
    low, high = getattr(bounds, "min", None), getattr(bounds, "max", None)
    for value in values:
        if low is None or value is None:
            continue
        try:
            number = float(value)
        except ValueError:
            continue  # typer says that it is no number
        if not low <= number or (high is not None and number > high):
            needed = f"{low:g} or more" if high is None else f"from {low:g} to {high:g}"
            return f"{name} must be {needed}; got {value}."
    return ""


def twice(name: str, values: Sequence[str]) -> str:
    """The sentence for an option that is given again; ``values`` are all that were given, none for a flag."""
    times = "twice" if len(values) in (0, 2) else f"{len(values)} times"
    listing = f" ({', '.join(repr(value) for value in values)})" if values else ""
    return f"{name} is given {times}{listing}; give it once{': ' + ADVICE[name] if name in ADVICE else ''}."


class App(typer.Typer):
    """An app all of whose commands are read so."""

    def command(self, name: str | None = None, **options: Any) -> Callable[[Function], Function]:
        """Add a command."""
        return super().command(name, **{"cls": Command, **options})


def listed(text: str) -> list[str]:
    """The names between commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


def parse_rates(text: str) -> list[float]:
    """The rates of a noise, with commas between them, from the lowest to the highest; empty where none are given."""
    try:
        rates = sorted({float(number) for number in listed(text)})
    except ValueError:
        raise ConfigError(f"--rates takes numbers with commas between them, such as 0,0.2,0.4; got '{text}'.") from None
    if any(not 0 <= rate < float("inf") for rate in rates):
        raise ConfigError(f"--rates must be 0 or more; got {text}.")
    return rates


def parse_noise(text: str | None) -> float | str | None:
    """The noise that ``--noise`` asks for, as a run keeps it; None where it is left out."""
    from ..data.noise import Noise

    if text is None:
        return None
    try:
        number = float(text)
    except ValueError:
        return Noise.parse(text).value
    if not number >= 0:
        raise ConfigError(f"--noise must be 0 or more; got {text}.")
    return Noise.parse(number).value


def parse_pairs(option: str, pairs: Sequence[str]) -> dict[str, Any]:
    """KEY=VALUE pairs; a value is read as TOML (5, 0.1, true, "x"), and as a plain string where it isn't TOML."""
    values: dict[str, Any] = {}
    texts: dict[str, str] = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        key = key.strip()
        if not equals or not key:
            raise ConfigError(f"{option} takes KEY=VALUE; got '{pair}'.")
        if key in values:
            raise ConfigError(f"{option} {key} is given twice ('{texts[key]}', '{text}'); give it once.")
        try:
            parsed = parse_toml(f"value = {text}")
        except ValueError:
            parsed = {}
        texts[key] = text
        values[key] = parsed["value"] if set(parsed) == {"value"} else text.strip()
    return values
