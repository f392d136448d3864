"""The command ``gdamn doctor``."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from . import display
from .root import app, reporting


@app.command(epilog="Example: gdamn doctor\n\ngdamn doctor --json > doctor.json")
@reporting()
def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print everything that was found, for a bug report.")] = False,
) -> None:
    """Check this installation: versions, threads, kernels, data, disk and memory; exit code 2 where it isn't well."""
    from .installation import BAD, GOOD, WARN, examine

    with display.console(stderr=True).status("looking") as status:
        findings = examine(lambda name: status.update(f"looking at {name}"))
    shade = {GOOD: display.good, WARN: display.look, BAD: display.bad}
    well = all(finding.state != BAD for finding in findings)
    if as_json:
        from ..system.io import to_json

        display.print_json(to_json({"well": well, "findings": [asdict(finding) for finding in findings]}, indent=2))
    else:
        rows = [(f.name, shade[f.state](f.state), f.told) for f in findings]
        display.show_rows("Doctor", ("what", "state", "found"), rows)
        display.note("With a bug report, please send the output of: gdamn doctor --json")
    if not well:
        raise typer.Exit(2)
