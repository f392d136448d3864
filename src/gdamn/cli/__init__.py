"""The command ``gdamn``: one file per command, ``root.py`` for what they share, ``display.py`` for what they show.

Belongs here: options, tables, progress. The only room that imports typer and rich.
"""

from __future__ import annotations

import importlib

from .root import app, main

COMMANDS = (
    *("train", "methods", "demo", "compare", "data", "convert", "partition", "doctor", "inspect", "predict"),
    *("refine", "explain", "edges", "labels", "suggest", "review", "report", "reproduce", "tune"),
    *("replicate", "results"),
)
"""The files of the commands, in the order of ``gdamn --help``. A new command is a file here and a name in it."""

for _name in COMMANDS:
    importlib.import_module(f".{_name}", __package__)

__all__ = ["COMMANDS", "app", "main"]
