"""The paper's tables, figures and statements, run again: a file each (``targets.py`` lists them), and its numbers.

Belongs here: what is measured for a statement of the paper, and whether our numbers agree.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..system.lazy import exports

if TYPE_CHECKING:
    from .experiment import Experiment
    from .targets import TARGETS, Target
    from .units import Unit

__all__ = ["TARGETS", "Experiment", "Target", "Unit"]

__getattr__, __dir__ = exports(
    __name__,
    {
        "Experiment": ".experiment",
        "TARGETS": ".targets",
        "Target": ".targets",
        "Unit": ".units",
    },
)
