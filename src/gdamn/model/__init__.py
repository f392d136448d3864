"""The paper's equations: attention, objectives, the two networks, and the problem that they are trained on.

Belongs here: what is computed in one step, the settings that it reads, and the presets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..system.lazy import exports

if TYPE_CHECKING:
    from .attention import HardAttention, SoftAttention
    from .label_network import LabelNetwork
    from .plus_settings import PlusSettings
    from .presets import preset
    from .problem import Problem, make_problem
    from .settings import Settings

__all__ = [
    "HardAttention",
    "LabelNetwork",
    "PlusSettings",
    "Problem",
    "Settings",
    "SoftAttention",
    "make_problem",
    "preset",
]

__getattr__, __dir__ = exports(
    __name__,
    {
        "HardAttention": ".attention",
        "LabelNetwork": ".label_network",
        "PlusSettings": ".plus_settings",
        "Problem": ".problem",
        "Settings": ".settings",
        "SoftAttention": ".attention",
        "make_problem": ".problem",
        "preset": ".presets",
    },
)
