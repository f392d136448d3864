"""What was trained, on what, and with which settings."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..data.files import RECORDED
from ..data.files.options import AUTO
from ..data.noise.kinds import noise_meaning, noise_text
from ..model.plus_settings import PlusSettings
from ..model.presets import preset
from ..model.removed_settings import without_removed
from ..model.settings import Settings
from ..runs.text import percent
from .text import number, visible, whole

if TYPE_CHECKING:
    from ..using.run_folder import RunFolder
    from .seed_fit import SeedFit


def overview(run: RunFolder, fit: SeedFit) -> list[tuple[str, str]]:
    """What was trained, on what and how: name and value."""
    graph, summary = fit.graph, run.summary
    splits = " / ".join(whole(graph.mask(name).sum()) for name in ("train", "val", "test"))
    kind = "directed" if graph.directed else "undirected"
    rows = [
        ("Method", f"{visible(run.spec.method)}{meaning(run)}"),
        ("Data", data_text(run)),
        ("Graph", f"{whole(graph.num_nodes)} nodes, {whole(graph.num_edges)} {kind} edges"),
        ("Features", f"{whole(graph.num_features)}, {'sparse' if graph.is_sparse else 'dense'}"),
        ("Classes", str(graph.num_classes)),
        ("Edges between classes", percent(graph.inter_class_share())),
        ("Training / validation / test nodes", splits),
        ("Split", visible(summary["protocol"]["split"])),
        ("Epoch chosen by", visible(summary["protocol"]["selection"], 200)),
        ("Seeds", ", ".join(map(str, run.spec.seeds))),
        ("Epochs a seed", whole(float(np.median(summary["epochs_per_seed"])))),
        ("Seconds a seed", number(float(np.median(summary["seconds_per_seed"])), 1)),
        ("Versions", ", ".join(f"{name} {visible(v)}" for name, v in summary["versions"].items())),
    ]
    changed = changed_settings(run)
    if changed is not None:
        rows.insert(2, ("Settings", changed))
    return rows


def meaning(run: RunFolder) -> str:
    """What the method is, where the package knows it."""
    from ..estimators.registry import METHODS

    method = METHODS.get(run.spec.method)
    return f": {method.summary} ({method.reference})" if method else ""


def data_text(run: RunFolder) -> str:
    """The data set with what was changed of it."""
    noise = f", noise {noise_text(run.spec.noise)} ({noise_meaning(run.spec.noise)})" if run.spec.noise else ""
    recorded = {*RECORDED, *(["val_share"] if run.spec.options.get("val_share") == AUTO else [])}
    changed = {key: value for key, value in run.spec.options.items() if key not in recorded}  # config.toml has those
    options = "".join(f", {visible(key)} = {visible(value)}" for key, value in changed.items())
    return f"{visible(run.spec.dataset)}{noise}{options}"


def changed_settings(run: RunFolder) -> str | None:
    """The settings that aren't the method's own for this data set; None where these aren't known."""
    changed = changed_from_preset(run.spec.method, run.spec.dataset, run.spec.settings)
    if changed is None:
        return None
    usual = "the preset" if has_preset(run.spec.method, run.spec.dataset) else "the defaults"
    if not changed:
        return usual
    return f"{usual}, but " + ", ".join(f"{visible(k)} = {visible(v)}" for k, v in changed.items())


def has_preset(name: str, dataset: str) -> bool:
    """Whether the method has settings of its own for the data set."""
    from ..estimators.registry import METHODS

    return bool(preset(dataset, METHODS[name].presets or name))


def changed_from_preset(name: str, dataset: str, settings: Mapping[str, Any]) -> dict[str, Any] | None:
    """Those of the settings that differ from the preset; None for a method of the user's own, which isn't imported."""
    from ..estimators.registry import METHODS

    method = METHODS.get(name)
    if method is None or ":" in name:
        return None
    quick = {"GDAMN": Settings, "GDAMNPlus": PlusSettings}.get(method.where[1])  # known without importing torch
    cls = quick or method.estimator().settings_class
    usual = dataclasses.asdict(cls.make(**method.settings(dataset)))
    named = without_removed(cls, settings)
    return {key: value for key, value in named.items() if usual.get(key) != value and key != "seed"}


def settings(run: RunFolder) -> list[tuple[str, str]]:
    """Every setting."""
    return [(visible(key), visible(value)) for key, value in run.spec.settings.items()]
