"""What the commands that use a finished run share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..text import safe_json
from . import display

if TYPE_CHECKING:
    from ..using.partitioned.folder import PartitionedRun
    from ..using.run_folder import RunFolder


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show a spinner on a terminal within the block."""
    if not display.is_terminal(stderr=True):
        yield
        return
    with display.console(stderr=True).status(what):
        yield


def run_folder(run: Path, data_root: Path | None = None) -> RunFolder:
    """The folder, not yet read: what reads it is imported late."""
    from ..using.run_folder import RunFolder

    return RunFolder(run, data_root)


def partitioned_run(run: Path, data_root: Path | None = None) -> PartitionedRun | None:
    """The folder of a run on a partitioned graph; None for every other one."""
    from ..runs.partitioned.files import is_partitioned

    if not is_partitioned(run):
        return None
    from ..using.partitioned.folder import PartitionedRun

    return PartitionedRun(run, data_root)


def check_written(out: Path | None, suffixes: Sequence[str], force: bool, run: Path, *read: Path | None) -> None:
    """Refuse a file to write that stands there, or that the command reads: the files ``read``, and those of the run."""
    from ..runs.outputs import check_output, files_of

    if out is not None:
        check_output(out, suffixes, force, inputs=[*read, *files_of(run_folder(run).spec)], run=run)


def echo_json(content: Any) -> None:
    """Print JSON that a terminal can't be steered by."""
    from ..system.io import to_json

    display.print_json(safe_json(to_json(content, indent=2)))
