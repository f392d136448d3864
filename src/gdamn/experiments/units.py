"""The units of an experiment, which are kept one by one: one that was stopped resumes where it was."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..runs.compare.fits import fit_work
from ..runs.spec import RunSpec
from ..runs.store import Store, Work, flat
from ..system import io

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

    @property
    def work(self) -> Work:
        """The unit as work for the store."""
        folder = re.sub(r"[^\w.]+", "-", self.name)
        return Work(self.name, f"units/{folder}/seed-{self.seed}.json", self.config)


def find_unit(store: Store, unit: Unit, force: bool = False) -> dict[str, Any] | None:
    """The record of a finished unit; None where there is none.

    A plain fit that a table of the same run has already made, in the folder beside this one, is taken over.
    """
    record = store.find(unit.work, force)
    if record is not None or unit.spec is None or unit.extra:
        return record
    table = Store(store.folder.absolute().parent / TABLE / unit.spec.dataset)
    return table.find(fit_work(unit.spec, unit.seed), force=True)


def common_config(units: list[Unit]) -> dict[str, Any]:
    """The configurations of many units, shortly: what all have in common, and what each has beyond it."""
    configs = {unit.name: {k: v for k, v in flat(unit.config).items() if k != "seeds"} for unit in units}
    if not configs:
        return {"shared": {}, "units": {}}
    first, *others = configs.values()
    shared = {key: value for key, value in first.items() if all(key in o and o[key] == value for o in others)}
    different = {name: {k: v for k, v in config.items() if k not in shared} for name, config in configs.items()}
    return {"shared": shared, "units": different}
