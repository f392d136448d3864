"""Pages that people open first: one self-contained HTML file each, made from what a command wrote.

``run`` makes the page of ``gdamn train``, ``comparison`` that of ``gdamn compare``; ``page`` puts any of them together.
Belongs here: sections and charts, plain data in and HTML out. Nothing is imported before a page is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..system.lazy import exports

if TYPE_CHECKING:
    from .comparison import write_comparison
    from .run import write_run

__all__ = ["write_comparison", "write_run"]

__getattr__, __dir__ = exports(__name__, {"write_comparison": ".comparison", "write_run": ".run"})
