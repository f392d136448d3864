"""The fits of a comparison as work for the store: a method and a seed, below ``fits``."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

from ...data.files import RECORDED
from ...data.noise.kinds import noise_text
from ...errors import ConfigError, OutputError
from ...system import io
from ..spec import RunSpec
from ..store import Store, Work

DATA_KEYS = ("dataset", "noise", "options")
"""What all fits of a folder have in common."""


def fit_work(spec: RunSpec, seed: int) -> Work:
    """The fit of a method with a seed."""
    config: dict[str, Any] = json.loads(io.to_json(replace(spec, seeds=(seed,)).as_dict()))
    folder = re.sub(r"[^\w.-]", "-", spec.method)
    return Work(f"{spec.method}, seed {seed}", f"fits/{folder}/seed-{seed}.json", config)


def check_data(store: Store, spec: RunSpec) -> None:
    """Refuse a folder whose fits are of other data: numbers of two graphs must not stand in one table."""
    expected = {key: spec.as_dict()[key] for key in DATA_KEYS}
    for path in sorted(store.folder.glob("fits/*/seed-*.json")):
        record = store.read_record(str(path.relative_to(store.folder)))
        if record is None or not is_spec(record["config"]):
            continue
        stored = {key: record["config"].get(key) for key in DATA_KEYS}
        if stored != expected:
            raise OutputError(
                f"'{store.folder}' holds a comparison on {data_name(stored)}, not on {data_name(expected)}; "
                "choose another --out."
            )
        return


def is_spec(config: dict[str, Any]) -> bool:
    """Whether it is the configuration of a run."""
    try:
        RunSpec.from_dict(config, "a fit")
    except ConfigError:
        return False
    return True


def data_name(config: dict[str, Any]) -> str:
    """A data set with what was changed of it, as on the command line."""
    noise = f" --noise {noise_text(config['noise'])}" if config.get("noise") else ""
    changed = ((key, value) for key, value in (config.get("options") or {}).items() if key not in RECORDED)
    options = [
        f" --split {value}" if key == "split" and not isinstance(value, str) else f" --option {key}={value}"
        for key, value in changed
    ]
    return f"{config['dataset']}{noise}{''.join(options)}"
