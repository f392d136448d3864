"""A run: its specification, its folder, the processes that do it; comparisons, searches and replications of runs.

Belongs here: whatever fits many times and keeps what is finished.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..system.lazy import exports

if TYPE_CHECKING:
    from .spec import RunSpec

__all__ = ["RunSpec"]

__getattr__, __dir__ = exports(
    __name__,
    {
        "RunSpec": ".spec",
    },
)
