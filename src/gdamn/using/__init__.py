"""What a finished run is good for: labels, a cleaned graph, reasons, and edges that a person should check.

Belongs here: what reads a run folder and answers a question; a module each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..system.lazy import exports

if TYPE_CHECKING:
    from .run_folder import RunFolder

__all__ = ["RunFolder"]

__getattr__, __dir__ = exports(__name__, {"RunFolder": ".run_folder"})
