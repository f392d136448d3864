"""The presets: settings that were chosen for a data set, in ``presets.toml``."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from ..system import reading
from .settings import Setting

PRESET_FILE = Path(__file__).with_name("presets.toml")


@cache
def presets() -> dict[str, dict[str, dict[str, Setting]]]:
    """Per method and data set, what differs from the defaults (``presets.toml``).

    Those of GDAMN were chosen on validation accuracy, once per data set, the same for all seeds; those of the
    baselines come from their publications, or were chosen in the same way.
    """
    return reading.read_toml(PRESET_FILE)


def preset(dataset: str | None, method: str = "gdamn") -> dict[str, Setting]:
    """The preset of a data set for a method; empty for one that has none."""
    return dict(presets().get(method, {}).get(dataset or "", {}))
