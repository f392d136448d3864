"""Facts and warnings about a graph before anything is trained on it.

Belongs here: what a person should know of a graph, measured without test labels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..system.lazy import exports

if TYPE_CHECKING:
    from .facts import Facts, collect

__all__ = ["Facts", "collect"]

__getattr__, __dir__ = exports(
    __name__,
    {
        "Facts": ".facts",
        "collect": ".facts",
    },
)
