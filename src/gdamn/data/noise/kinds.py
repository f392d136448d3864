"""Noise: a kind, a rate and perhaps a seed of its own, as ``--noise`` and a ``config.toml`` have it."""

from __future__ import annotations

import difflib
import importlib
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ...errors import ConfigError

if TYPE_CHECKING:
    from ...graph.graph import Graph

INTER = "inter"
"""The kind that a plain number means."""

FILES = "metattack"
"""A kind that comes as files of its own: the data set ``cora-meta`` with its option ``rate``."""


@dataclass(frozen=True)
class Kind:
    """A kind of noise.

    Attributes:
        name: what ``--noise`` knows it by.
        summary: what is done, the rate being r.
        what: what the rate counts, for tables and axes.
        function: ``module:function`` of this package: (graph, rate, seed) to the noisy graph.
        most: the highest rate; None where there is no limit.
        labels: which labels it reads.
    """

    name: str
    summary: str
    what: str
    function: str
    most: float | None = None
    labels: str = "none"


_ALL = (
    Kind(
        INTER,
        "r new edges per edge between random nodes of different classes",
        "new edges per edge",
        "inter:inter_class_edges",
        labels="all, test labels too: an edge between classes is one by definition",
    ),
    Kind("random", "r new edges per edge between random nodes", "new edges per edge", "edges:random_edges"),
    Kind("remove", "a share r of the edges is removed", "share of the edges", "edges:remove_edges", 1.0),
    Kind(
        "rewire",
        "a share r of the edges keeps one end and gets another random one",
        "share of the edges",
        "edges:rewire_edges",
        1.0,
    ),
    Kind(
        "mask",
        "a share r of the features that aren't 0 becomes 0",
        "share of the features that aren't 0",
        "values:mask_features",
        1.0,
    ),
    Kind(
        "features",
        "a share r of the words is exchanged for others; measurements get r standard deviations of Gaussian noise",
        "share of words (or noise / spread)",
        "values:noisy_features",
    ),
    Kind(
        "labels",
        "a share r of the training labels becomes another class",
        "share of the training labels",
        "values:flip_labels",
        1.0,
        labels="training labels",
    ),
    Kind(
        "attack",
        "r edges per edge are added or removed so that a GCN errs (PRBCD)",
        "changed edges per edge",
        "attack:attack_edges",
        labels="training labels; a surrogate's predictions stand for the others",
    ),
)

KINDS: dict[str, Kind] = {kind.name: kind for kind in _ALL}
"""Every kind that can be made, by name."""


@dataclass(frozen=True)
class Noise:
    """How a graph is disturbed.

    Attributes:
        kind: one of :data:`KINDS`.
        rate: how much, as the kind counts it; 0 is none.
        seed: what decides the draw; None takes the seed of the run, so that each seed has a draw of its own.
    """

    kind: str = INTER
    rate: float = 0.0
    seed: int | None = None

    def __post_init__(self) -> None:
        known = find_kind(self.kind)
        if not (math.isfinite(self.rate) and self.rate >= 0):
            raise ConfigError(f"The rate of the noise must be 0 or more; got {self.rate:g}.")
        if known.most is not None and self.rate > known.most:
            raise ConfigError(
                f"The rate of the noise '{self.kind}' is a {known.what}, from 0 to {known.most:g}; got {self.rate:g}."
            )
        if self.seed is not None and not 0 <= self.seed < 2**32:
            raise ConfigError(f"The seed of the noise must be a whole number from 0 to {2**32 - 1}; got {self.seed}.")

    @classmethod
    def parse(cls, value: float | str) -> Noise:
        """From a number (edges between classes per edge), ``KIND:RATE`` or ``KIND:RATE:SEED``."""
        if not isinstance(value, str):
            return cls(rate=_number(value))
        text = value.strip()
        if ":" not in text:
            if text in KINDS:
                raise ConfigError(f"The noise '{text}' has no rate; write {text}:0.2 for a rate of 0.2.")
            return cls(rate=_number(text))
        kind, rate, *rest = (part.strip() for part in text.split(":"))
        find_kind(kind)
        if len(rest) > 1 or (rest and not rest[0].isdecimal()):
            raise ConfigError(f"The noise {value!r} isn't KIND:RATE or KIND:RATE:SEED, such as {kind}:0.2:7.")
        return cls(kind, _number(rate), int(rest[0]) if rest else None)

    @property
    def value(self) -> float | str:
        """As a run keeps it: the plain number where that says it all, which it did before there were other kinds."""
        if self.rate == 0:
            return 0.0
        if self.kind == INTER and self.seed is None:
            return self.rate
        seed = "" if self.seed is None else f":{self.seed}"
        return f"{self.kind}:{number_text(self.rate)}{seed}"


def number_text(number: float) -> str:
    """The shortest text that gives the number back."""
    short = f"{number:g}"
    return short if float(short) == number else repr(number)


def noise_text(value: float | str) -> str:
    """What stands after ``--noise``."""
    return value if isinstance(value, str) else f"{value:g}"


def noise_meaning(value: float | str) -> str:
    """What that noise is, in words."""
    if not isinstance(value, str):
        return "planted false edges per true edge"
    return KINDS[Noise.parse(value).kind].summary


def find_kind(name: str) -> Kind:
    """The kind called so, or an error with those that there are."""
    if name == FILES:
        raise ConfigError(f"{FILES} comes as files; train on the data set cora-meta with --option rate=0.05 to 0.25.")
    if name not in KINDS:
        close = difflib.get_close_matches(name, KINDS, n=1)
        hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(KINDS)}."
        raise ConfigError(f"There is no noise {name!r}; {hint}")
    return KINDS[name]


def _number(number: float | str) -> float:
    """The number, or an error that tells what was given."""
    try:
        return float(number)
    except OverflowError:
        raise ConfigError("The noise is a number that is too large.") from None
    except ValueError:
        raise ConfigError(
            f"The noise {number!r} is neither a number nor KIND:RATE, such as remove:0.2; "
            f"the kinds are {', '.join(KINDS)}."
        ) from None


def add_noise(graph: Graph, noise: Noise | float | str, seed: int = 0) -> Graph:
    """The graph with noise; ``meta["noise"]`` remembers kind, rate, seed and how much was changed.

    Edges that were added are marked in ``meta["planted"]``, [E] over the CSR entries; nodes whose label was changed in
    ``meta["flipped"]``, [N].

    Args:
        graph: stays as it is.
        noise: or what :meth:`Noise.parse` reads; of rate 0 the graph comes back as it is.
        seed: decides the draw where the noise has no seed of its own.
    """
    noise = noise if isinstance(noise, Noise) else Noise.parse(noise)
    if noise.rate == 0:
        return graph
    seed = int(seed) if noise.seed is None else noise.seed
    module, function = KINDS[noise.kind].function.split(":")
    noisy: Graph = getattr(importlib.import_module(f".{module}", __package__), function)(graph, noise.rate, seed)
    record = {"kind": noise.kind, "rate": noise.rate, "seed": seed, **noisy.meta["noise"]}
    return replace(noisy, meta={**noisy.meta, "noise": record})
