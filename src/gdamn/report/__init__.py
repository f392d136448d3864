"""Pages that people open first: one self-contained HTML file each, made from what a command wrote.

``run`` makes the page of ``gdamn train``, ``comparison`` that of ``gdamn compare``; ``page`` puts any of them together.
Belongs here: sections and charts, plain data in and HTML out. Nothing is imported before a page is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..runs.compare.engine import Outcome


def write_run(
    run: Path,
    target: Path | None = None,
    *,
    data_root: Path | None = None,
    seed: int | None = None,
    nodes: Sequence[str] = (),
    watch: Callable[[int, int], None] | None = None,
) -> Path:
    """Write ``report.html`` of a finished run; see :func:`gdamn.report.run.write`."""
    from .run import write

    return write(run, target, data_root=data_root, seed=seed, nodes=nodes, watch=watch)


def write_comparison(outcome: Outcome, out: Path) -> Path:
    """Write ``compare.html`` of a finished comparison."""
    from .comparison import write

    return write(outcome, out)
