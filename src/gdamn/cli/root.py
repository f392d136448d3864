"""The command ``gdamn``: reads options, calls the package, shows results.

Nothing heavy is imported before a command needs it, so that ``gdamn --help`` answers at once. An error that the
package raises on purpose becomes one line on stderr and exit code 2; Ctrl-C becomes one line and exit code 130.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from ..errors import GdamnError
from ..fit.domains.ranks import environment
from ..system.reading import has_raw_bytes
from ..system.versions import __version__
from . import display, streams
from .parsing import App

app = App(
    help="Node classification on noisy graphs with Graph Decoupling Attention Markov Networks.",
    epilog="Example: gdamn train cora --seeds 5",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@contextmanager
def reporting() -> Iterator[None]:
    """Turn what may go wrong into one line and an exit code; used as a decorator of every command."""
    try:
        yield
    except GdamnError as problem:
        display.error(str(problem))
        raise typer.Exit(2) from None
    except KeyboardInterrupt as problem:
        display.note(str(problem) or "stopped", stderr=True)
        raise typer.Exit(130) from None
    except Exception as problem:
        from ..system.extras import missing
        from ..system.memory import shortage

        sentence = shortage(problem) or missing(problem) or unusable(problem)
        if sentence is None:
            raise
        display.error(str(sentence))
        raise typer.Exit(2) from None


def unusable(problem: Exception) -> str | None:
    """The sentence for a file or folder that the system refuses, or can't name; None for every other problem."""
    if isinstance(problem, UnicodeEncodeError) and has_raw_bytes(str(problem.object)):
        return "A name has characters that this locale doesn't know; set PYTHONUTF8=1, or rename the file."
    if not isinstance(problem, OSError) or problem.filename is None:
        return None
    return f"Can't use '{os.fsdecode(problem.filename)}': {problem.strerror or problem}."


def show_version(requested: bool) -> None:
    """Print the version and end."""
    if requested:
        typer.echo(f"gdamn {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Node classification on noisy graphs with Graph Decoupling Attention Markov Networks."""


def main() -> None:
    """Entry of the command."""
    streams.prepare()
    try:
        with streams.ending_on_failure():
            app(prog_name="gdamn")
    except SystemExit as ended:
        from ..runs.ranks import launch

        if ended.code == 130 or environment.is_rank():
            # All files are closed. After Ctrl-C the libraries' own shutdown would take seconds, and where
            # ranks are connected torch's threads may still run, which would end a good run with SIGABRT.
            launch.end_at_once(ended.code if isinstance(ended.code, int) else bool(ended.code))
        raise
