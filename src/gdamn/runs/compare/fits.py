"""The finished fits of a folder: one small file each, so that a comparison that was stopped goes on where it was."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...data.files import RECORDED
from ...errors import ConfigError, DataError, OutputError
from ...model.settings import completed
from ...system import io
from ...system.reading import read_json
from ...system.versions import versions
from ..spec import RunSpec

DATA_KEYS = ("dataset", "noise", "options")
"""What all fits of a folder have in common."""


class FitStore:
    """Finished fits below ``folder/fits``, by method and seed; each file tells what was run and what came out."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, method: str, seed: int) -> Path:
        """Where a fit is kept."""
        return self.folder / "fits" / re.sub(r"[^\w.-]", "-", method) / f"seed-{seed}.json"

    def save(self, spec: RunSpec, seed: int, result: dict[str, Any]) -> None:
        """Keep a finished fit; the file appears whole or not at all."""
        record = {"config": config_of(spec, seed), "versions": versions(), "result": result}
        io.write_json(self.path(spec.method, seed), record)

    def find(self, spec: RunSpec, seed: int, force: bool = False) -> dict[str, Any] | None:
        """The record of a finished fit; None where there is none.

        One of other settings is an error, unless ``force`` asks to fit it again.
        """
        record = _read(self.path(spec.method, seed))
        if record is None:
            return None
        other = _difference(record["config"], config_of(spec, seed))
        if not other:
            return record
        if force:
            return None
        raise OutputError(
            f"'{self.folder}' holds fits of {spec.method} with other settings ({other}); "
            "pass --force to fit them again, or another --out."
        )

    def check_data(self, spec: RunSpec) -> None:
        """Refuse a folder whose fits are of other data: numbers of two graphs must not stand in one table."""
        for path in sorted(self.folder.glob("fits/*/seed-*.json")):
            record = _read(path)
            if record is None:
                continue
            there, here = ({key: config.get(key) for key in DATA_KEYS} for config in (record["config"], spec.as_dict()))
            if there != here:
                raise OutputError(
                    f"'{self.folder}' holds a comparison on {data_name(there)}, not on {data_name(here)}; "
                    "choose another --out."
                )
            return


def data_name(config: dict[str, Any]) -> str:
    """A data set with what was changed of it, as on the command line."""
    noise = f" --noise {config['noise']:g}" if config.get("noise") else ""
    given = ((key, value) for key, value in (config.get("options") or {}).items() if key not in RECORDED)
    options = "".join(f" --split {value}" if key == "split" else f" --option {key}={value}" for key, value in given)
    return f"{config['dataset']}{noise}{options}"


def config_of(spec: RunSpec, seed: int) -> dict[str, Any]:
    """What decides the fit, as it comes back from JSON."""
    config: dict[str, Any] = json.loads(io.to_json(replace(spec, seeds=(seed,)).as_dict()))
    return config


def _difference(there: dict[str, Any], here: dict[str, Any]) -> str:
    """The first thing in which two configurations differ; empty where they are the same run."""
    for key in ("method", "seeds", *DATA_KEYS):
        if there.get(key) != here[key]:
            return f"{key} {there.get(key)!r} there, {here[key]!r} now"
    new = here["settings"]
    old = completed(there.get("settings", {}), new)
    for key in sorted({*old, *new}):
        if old.get(key) != new.get(key):
            return f"{key} is {old.get(key, 'not set')} there, {new.get(key, 'not set')} now"
    return ""


def read_record(path: Path) -> dict[str, Any] | None:
    """A finished piece of work with its config and versions; None where there is none that can be read."""
    try:
        record = read_json(path)
    except DataError:
        return None
    return record if isinstance(record, dict) and {"config", "result", "versions"} <= set(record) else None


def _read(path: Path) -> dict[str, Any] | None:
    """The record of a fit; one that can't be read is fitted anew."""
    record = read_record(path)
    return record if record is not None and _is_fit(record) else None


def _is_fit(record: Mapping[str, Any]) -> bool:
    """Whether it is what :meth:`FitStore.save` writes."""
    config, result = record["config"], record["result"]
    try:
        RunSpec.from_dict(config if isinstance(config, dict) else {}, "a fit")
    except ConfigError:
        return False
    return isinstance(result, dict)
