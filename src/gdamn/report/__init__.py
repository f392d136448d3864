"""Pages that people open first: one self-contained HTML file each, made from what a command wrote.

``run`` makes the page of ``gdamn train``, ``comparison`` that of ``gdamn compare``, ``table`` and ``experiment`` those
of ``gdamn reproduce``; ``page`` puts any of them together. Nothing here is imported before a page is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

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


def write_table(table: Mapping[str, Any], out: Path) -> Path:
    """Write the page of a reproduced table, ``TABLE.html``."""
    from .table import write

    return write(table, out)


def write_experiment(
    content: Mapping[str, Any], columns: Sequence[str], rows: Sequence[Sequence[object]], out: Path
) -> Path:
    """Write the page of a reproduced figure, ``TARGET.html``, beside its other files."""
    from .experiment import write

    return write(content, columns, rows, out)
