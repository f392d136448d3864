"""RunSpec: what is run, and the ``config.toml`` that holds it.

The file in a run's folder has every setting as it was resolved, so that ``gdamn train --config config.toml`` repeats
the run bit for bit, even where a later version has other defaults.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..data.files import is_path
from ..data.noise import Noise
from ..errors import ConfigError, DataError
from ..system import reading
from ..system.versions import __version__

RESERVED = ("name", "path", "seed", "noise", "data_root", "progress")
"""What :func:`gdamn.data.load` takes beside the options."""

LOG: dict[str, type] = {"path": str, "rows": int, "sha256": str}
"""What a run keeps of the log of decisions that it was trained with."""


@dataclass(frozen=True)
class RunSpec:
    """What is run; everything that decides the results, and nothing that doesn't (folders, processes).

    Attributes:
        dataset: name of the data set, or the path of own files (:mod:`gdamn.data.files`).
        method: name of the method.
        seeds: the seeds, one model each.
        noise: planted edges between classes per edge of the graph, or ``KIND:RATE`` or ``KIND:RATE:SEED``
            (:class:`gdamn.data.noise.Noise`); without a seed of its own each seed of the run has another draw.
        options: further options of :func:`gdamn.data.load`, such as ``split``; for own files how they are read, and
            their hashes.
        settings: settings of the method other than its defaults; all of them once the spec is resolved.
        decisions: the log of a person's decisions: its path, how many of its rows count, and their hash
            (:mod:`gdamn.runs.decided`); empty without one.
    """

    dataset: str
    method: str = "gdamn"
    seeds: tuple[int, ...] = (0,)
    noise: float | str = 0.0
    options: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    decisions: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.seeds:
            raise ConfigError("A run needs at least one seed; pass --seeds 1 or more.")
        for seed in self.seeds:
            if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**32:
                raise ConfigError(f"Seeds are whole numbers from 0 to {2**32 - 1}; got {seed!r}.")
        if len(set(self.seeds)) < len(self.seeds):
            raise ConfigError(f"Seeds must differ from each other; got {list(self.seeds)}.")
        for key in RESERVED:
            if key in self.options:
                raise ConfigError(f"'{key}' is no option of a data set; leave it out of the options.")
        for key in ("seed", "random_state"):
            if key in self.settings:
                raise ConfigError(seed_advice(self.settings[key]))
        object.__setattr__(self, "noise", Noise.parse(self.noise).value)

    def resolved(self) -> RunSpec:
        """The same run with every setting of the method written out; refuses wrong names and values."""
        from ..estimators import custom as own_methods
        from ..estimators import registry as methods

        own_methods.register(self.method)
        with own_methods.one_sentence(self.method):
            estimator = methods.make(self.method, self.dataset, seed=self.seeds[0], overrides=dict(self.settings))
        settings = {key: value for key, value in estimator.get_params().items() if key != "seed" and value is not None}
        if settings.get("device", "auto") not in ("auto", "cpu") and not own_methods.is_own(self.method):
            from ..model.problem import choose_device

            choose_device(settings["device"])
        return replace(self, settings=settings)

    def as_written(self) -> RunSpec:
        """The same run, where an older gdamn wrote it: settings that it didn't know have the values of what it did.

        Without that they would come from the presets of now.
        """
        from ..estimators import registry as methods
        from ..model.settings import completed

        if self.method not in methods.METHODS or not self.settings:
            return self
        names = methods.method(self.method).estimator().settings_class.names()
        return replace(self, settings=completed(self.settings, dict.fromkeys(names)))

    def changed(self, options: Mapping[str, Any], settings: Mapping[str, Any]) -> RunSpec:
        """The same run with some options and settings in place of its own."""
        return replace(self, options={**self.options, **options}, settings={**self.settings, **settings})

    def as_dict(self) -> dict[str, Any]:
        """Plain data, in the order of ``config.toml``."""
        return {
            "version": __version__,
            "dataset": self.dataset,
            "method": self.method,
            "seeds": list(self.seeds),
            "noise": self.noise,
            "options": dict(self.options),
            "settings": dict(self.settings),
            **({"decisions": dict(self.decisions)} if self.decisions else {}),
        }

    def to_toml(self) -> str:
        """The text of ``config.toml``."""
        import tomli_w

        return "# Repeat this run: gdamn train --config config.toml\n" + tomli_w.dumps(self.as_dict())

    @classmethod
    def from_toml(cls, path: Path) -> RunSpec:
        """Read a ``config.toml``; what it leaves out has its default."""
        return cls.from_dict(read_toml(path), str(path))

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], where: str) -> RunSpec:
        """From plain data; ``where`` names its origin in errors."""
        kinds: dict[str, type] = {"version": str, "dataset": str, "method": str, "seeds": list}
        kinds |= {"decisions": dict, "options": dict, "settings": dict}
        fields = {key: value for key, value in values.items() if key != "version"}
        for key, value in values.items():
            if key not in {*kinds, "noise"}:
                known = ", ".join([*kinds, "noise"])
                newer = _newer(values.get("version"))
                raise ConfigError(f"'{where}' has an unknown entry '{key}'; a run is described by {known}.{newer}")
            right_type = isinstance(value, kinds.get(key, (int, float, str))) and not isinstance(value, bool)
            if not right_type:
                raise ConfigError(f"'{where}' gives {value!r} for '{key}', which has the wrong type.")
        if "dataset" not in fields:
            raise ConfigError(f"'{where}' names no data set; add a line such as dataset = \"cora\".")
        if not is_path(fields["dataset"]):
            fields["dataset"] = fields["dataset"].strip().lower().replace("_", "-")  # as gdamn.data.load forgives it
        fields["seeds"] = tuple(fields.get("seeds", (0,)))
        log = fields.get("decisions", {})
        if log and not all(isinstance(log.get(name), kind) for name, kind in LOG.items()):
            raise ConfigError(f"'{where}' must give {', '.join(LOG)} of its decisions.")
        try:
            Noise.parse(fields.get("noise", 0.0))
        except ConfigError as problem:
            raise ConfigError(f"In '{where}': {problem}") from None
        return cls(**fields)


def seed_advice(value: Any) -> str:
    """The sentence for a seed among the settings, where it would have no effect."""
    return (
        f"A run takes its seeds from an option of their own, so the setting seed={value} would have no effect; "
        f"pass --first-seed {value}, or write seeds = [{value}] into a config.toml."
    )


def _newer(version: Any) -> str:
    """A further sentence where a newer gdamn wrote the file; empty where not."""
    written, running = ([int(part) for part in re.findall(r"\d{1,9}", str(text))] for text in (version, __version__))
    return f" A newer gdamn ({version}) wrote it; upgrade gdamn to open it." if written > running else ""


def read_toml(path: Path) -> dict[str, Any]:
    """The content of a TOML file."""
    try:
        return reading.read_toml(path)
    except DataError as problem:
        raise ConfigError(str(problem)) from None


def folder_name(dataset: str) -> str:
    """What a data set is called in the name of a folder."""
    return Path(dataset).stem if is_path(dataset) else dataset
