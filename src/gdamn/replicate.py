"""``gdamn replicate``: run a published result again from its own file and compare, seed by seed."""

from __future__ import annotations

import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from .errors import DataError
from .pool import Progress
from .spec import RunSpec


def read_result(path: Path) -> dict[str, Any]:
    """A ``summary.json``, as ``gdamn train`` writes it and ``results/`` keeps it."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as cause:
        raise DataError(f"Can't read '{path}': {cause.strerror or cause}.") from None
    except ValueError as cause:
        raise DataError(f"'{path}' isn't a JSON file: {cause}.") from None
    if not isinstance(found, dict) or not {"config", "test_accuracy", "protocol"} <= set(found):
        raise DataError(f"'{path}' isn't a result of gdamn train: it lacks config, test_accuracy or protocol.")
    return found


def replicate(
    path: Path,
    *,
    most_seeds: int | None = None,
    jobs: int = 1,
    data_root: Path | None = None,
    progress: Progress | None = None,
) -> list[dict[str, Any]]:
    """Train the result's seeds again (the first ``most_seeds``) and return a row per seed: published and now."""
    from .runs import run

    published = read_result(path)
    spec = RunSpec.from_dict(published["config"], str(path))
    seeds = spec.seeds[:most_seeds]
    with tempfile.TemporaryDirectory() as folder:
        now = run(replace(spec, seeds=seeds), Path(folder), jobs=jobs, data_root=data_root, progress=progress)
    return [
        {"seed": seed, "published": before, "now": after, "same": before == after}
        for seed, before, after in zip(
            seeds, published["test_accuracy"]["per_seed"], now["test_accuracy"]["per_seed"], strict=False
        )
    ]
