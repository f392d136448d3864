"""The command ``gdamn methods``."""

from __future__ import annotations

from . import display
from .root import app, reporting


@app.command(epilog="Example: gdamn methods")
@reporting()
def methods() -> None:
    """List the methods that can be trained."""
    from ..estimators.registry import METHODS

    rows = [(method.name, method.summary, method.reference) for method in METHODS.values()]
    display.show_rows("Methods", ("method", "what it is", "reference"), rows)
