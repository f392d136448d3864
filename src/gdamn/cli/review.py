"""The command ``gdamn review``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import ConfigError
from . import display
from .finished_run import working
from .options import DataRoot, Run, Seed
from .root import app, reporting

if TYPE_CHECKING:
    from ..review.server import ReviewServer


@app.command(epilog="Example: gdamn review runs/digits-gdamn")
@reporting()
def review(
    run: Run,
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port of the page; 0 takes a free one.")] = 0,
    open_page: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in a browser.")] = True,
    items: Annotated[int, typer.Option(metavar="N", help="Items of each queue, at most.")] = 200,
    seed: Seed = None,
    data_root: DataRoot = None,
) -> None:
    """Decide about doubtful edges, labels and nodes, one at a time, on a page that only this machine sees."""
    if items < 1:
        raise ConfigError(f"--items must be 1 or more; got {items}.")
    with working("making the queues"):
        from ..review.server import ReviewServer
        from ..review.session import open_session

        session = open_session(run, data_root, seed, items)
        server = ReviewServer(session, port)
    display.note(f"Review {run} at {server.address}")
    display.note("Only this machine can open it. Ctrl-C ends it; what is decided is on the disk at once.")
    serve(server, open_page)
    display.note(session.ending())


def serve(server: ReviewServer, open_page: bool) -> None:
    """Answer until Ctrl-C."""
    import threading
    import webbrowser

    with server:
        if open_page:  # beside the server: some browsers keep whoever started them waiting
            threading.Thread(target=webbrowser.open, args=(server.address,), daemon=True).start()
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return
