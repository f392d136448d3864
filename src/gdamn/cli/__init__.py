"""The command ``gdamn``: one file per command, ``root.py`` for what they share, ``display.py`` for what they show.

Belongs here: options, tables, progress. The only room that imports typer and rich.
"""

from __future__ import annotations

from .root import app, main

__all__ = ["app", "main"]
