"""Options that several commands share; those of own files are in ``file_options.py``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

DataRoot = Annotated[
    Path | None,
    typer.Option(help="Folder of the data files; without it the environment variable GDAMN_DATA, then a cache."),
]
Run = Annotated[Path, typer.Argument(metavar="RUN", help="Folder that gdamn train wrote.", show_default=False)]
Seed = Annotated[int | None, typer.Option(help="Which of the run's models. Default: the first.")]
Force = Annotated[bool, typer.Option("--force", help="Replace files that exist.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON, and nothing else.")]
Jobs = Annotated[int, typer.Option(min=1, help="Processes that fit side by side; the results stay the same.")]
Threads = Annotated[int | None, typer.Option(min=1, help="Threads per process. Default: the cores over the jobs.")]
Changes = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Change a setting of every method that has it, or METHOD.KEY=VALUE of one; may be repeated.",
    ),
]
Refit = Annotated[bool, typer.Option("--force", help="Do again what --out holds with other settings.")]
