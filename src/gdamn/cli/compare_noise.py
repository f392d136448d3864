"""``gdamn compare --noise-kinds``: the noise suite (experiments/noise.py) on any data, own files too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..data.files import FOLDER, is_path
from ..runs.execution import Execution
from ..runs.spec import RunSpec, folder_name
from . import display
from .parsing import listed, parse_rates
from .reproduce import UnitView, show

TEST_SHARE = 0.2
"""Labelled nodes of own files that are held out for the test where nobody says which, so that there is a score."""


def with_test_nodes(spec: RunSpec, reading: Mapping[str, Any]) -> dict[str, Any]:
    """How own files are read, with a share of test nodes where none is named; a split in the files counts before it."""
    named = {*reading, *spec.options} & {"test_share", "split_column"}
    if named or not is_path(spec.dataset) or spec.dataset.rstrip("/").endswith(FOLDER):
        return dict(reading)
    return {**reading, "test_share": TEST_SHARE}


def compare_under_noise(
    spec: RunSpec,
    methods: Sequence[str],
    levels: tuple[str, str],
    settings: Mapping[str, Any],
    out: Path | None,
    execution: Execution,
    as_json: bool,
) -> None:
    """Fit the methods under each kind of noise and rate, write the files and show them.

    Args:
        spec: the data and the seeds.
        levels: kinds with commas between them, or all; rates likewise, or none for each kind's own.
        settings: those that were changed.
    """
    from ..experiments import experiment, targets
    from ..report.comparison_files import compact_json

    kinds, rates = levels
    ask = experiment.Ask(
        datasets=(spec.dataset,),
        seeds=spec.seeds,
        settings=settings,
        methods=tuple(methods),
        kinds=() if kinds.strip() == "all" else tuple(listed(kinds)),
        rates=tuple(parse_rates(rates)),
        options=spec.options,
    )
    target = targets.find("noise")
    folder = out or Path("runs") / f"{folder_name(spec.dataset)}-noise"
    with UnitView(target.name) as view:
        content = experiment.run(target, ask, folder, execution, watch=view.watch())
    if as_json:
        display.print_json(compact_json(content).rstrip("\n"))
        return
    show(content, folder)
