"""Units of work of an experiment, kept one by one, so that an experiment that was stopped goes on where it was."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..errors import OutputError
from ..model.settings import completed
from ..runs.compare.fits import FitStore, read_record
from ..runs.spec import RunSpec
from ..system import io
from ..system.versions import versions

Task = tuple[str, int]
"""The name of a unit and its seed; what the pool hands out."""

TABLE = "table2"
"""The target whose fits others may take over."""


@dataclass(frozen=True)
class Unit:
    """The smallest piece of an experiment: usually one fit with one seed.

    Attributes:
        name: what is done, such as ``cora, S = 3``; different from the other units'.
        seed: of the fit, and of everything else that is random.
        spec: the method with every setting, where one is fitted.
        extra: what else decides the result, such as the edges that were taken out. A unit without it is a plain fit.
    """

    name: str
    seed: int
    spec: RunSpec | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def task(self) -> Task:
        """What the pool knows the unit by."""
        return self.name, self.seed

    @property
    def config(self) -> dict[str, Any]:
        """Everything that decides the result, as it comes back from JSON."""
        fit = {} if self.spec is None else replace(self.spec, seeds=(self.seed,)).as_dict()
        fit.pop("version", None)
        config: dict[str, Any] = json.loads(io.to_json({**fit, "seeds": [self.seed], **self.extra}))
        return config


class UnitStore:
    """Finished units below ``folder/units``; each file tells what was done and what came out."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, unit: Unit) -> Path:
        """Where a unit is kept."""
        return self.folder / "units" / re.sub(r"[^\w.]+", "-", unit.name) / f"seed-{unit.seed}.json"

    def save(self, unit: Unit, result: Mapping[str, Any]) -> None:
        """Keep a finished unit; the file appears whole or not at all."""
        io.write_json(self.path(unit), {"config": unit.config, "versions": versions(), "result": result})

    def find(self, unit: Unit, force: bool = False) -> dict[str, Any] | None:
        """The record of a finished unit; None where there is none.

        One of other settings is an error, unless ``force`` asks to do it again. A plain fit that a table of the same
        run has already made, in the folder beside this one, is taken over.
        """
        record = read_record(self.path(unit))
        if record is None:
            return self._of_table(unit)
        other = difference(record["config"], unit.config)
        if not other:
            return record
        if force:
            return self._of_table(unit)
        raise OutputError(
            f"'{self.folder}' holds '{unit.name}' with other settings ({other}); "
            "pass --force to do it again, or another --out."
        )

    def _of_table(self, unit: Unit) -> dict[str, Any] | None:
        if unit.spec is None or unit.extra:
            return None
        fits = FitStore(self.folder.absolute().parent / TABLE / unit.spec.dataset)
        return fits.find(unit.spec, unit.seed, force=True)


def difference(there: Mapping[str, Any], here: Mapping[str, Any]) -> str:
    """The first thing in which two configurations differ; empty where they are the same."""
    settings = completed(there.get("settings") or {}, here.get("settings") or {})
    old, new = flat({**there, "settings": settings}), flat(here)
    for key in sorted({*old, *new}):
        if key not in old or key not in new or old[key] != new[key]:
            return f"{key} is {old.get(key, 'not set')} there, {new.get(key, 'not set')} now"
    return ""


def flat(config: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration with its settings beside its other entries."""
    settings = {f"settings.{key}": value for key, value in (config.get("settings") or {}).items()}
    return {**{key: value for key, value in config.items() if key != "settings"}, **settings}


def shared_and_own(units: list[Unit]) -> dict[str, Any]:
    """The configurations of many units, shortly: what all have in common, and what each has beyond it."""
    configs = {unit.name: {k: v for k, v in flat(unit.config).items() if k != "seeds"} for unit in units}
    if not configs:
        return {"shared": {}, "units": {}}
    first, *others = configs.values()
    shared = {key: value for key, value in first.items() if all(key in o and o[key] == value for o in others)}
    own = {name: {k: v for k, v in config.items() if k not in shared} for name, config in configs.items()}
    return {"shared": shared, "units": own}
