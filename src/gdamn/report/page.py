"""One HTML file from a template: style, script and data are in it, and its policy allows these and nothing else."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from ..system.versions import __version__
from .text import script_json

if TYPE_CHECKING:
    from jinja2 import Environment

LIMIT = 7_500_000
"""Most bytes of a page: it should open at once, and go through by mail."""

SCRIPTS = ("theme.js", "script.js")
"""What every page runs: theme and tables."""

RUN_SCRIPTS = (*SCRIPTS, "tables.js", "explorer.js", "map.js", "check.js")
"""What the page of a run runs, in this order."""

Cell = tuple[str, float | str | None]
"""What a cell shows, and what it is sorted by."""


@dataclass(frozen=True)
class Table:
    """A table of a page.

    Attributes:
        caption: what it shows; read out, and shown above it.
        columns: name of each column; numbers stand at the right.
        numeric: the columns that are numbers.
        sortable: whether a click on a column's name sorts the rows.
    """

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    numeric: Sequence[str] = ()
    sortable: bool = True


@dataclass(frozen=True)
class Chart:
    """A chart with its title, what it says in a sentence, and its numbers for those who can't see it."""

    title: str
    svg: Markup
    caption: str
    numbers: Table | None = None


def cells(*values: object) -> list[Cell]:
    """Cells of plain text."""
    return [(str(value), str(value)) for value in values]


def render(template: str, context: Mapping[str, Any], data: Any = None, scripts: Sequence[str] = SCRIPTS) -> str:
    """The page as text; ``data`` is what its scripts read."""
    style, script = asset("style.css"), "".join(asset(name) for name in scripts)
    own_style = Markup(style)  # nosec B704  # a file of this package
    own_script = Markup(script)  # nosec B704  # a file of this package
    policy = (
        f"default-src 'none'; script-src '{digest(script)}'; style-src '{digest(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    return (
        environment()
        .get_template(template)
        .render(
            **context,
            policy=policy,
            style=own_style,
            script=own_script,
            data=script_json({} if data is None else data),
            version=__version__,
        )
    )


def digest(text: str) -> str:
    """What a content security policy calls a text."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@cache
def asset(name: str) -> str:
    """A file of this package."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


@cache
def environment() -> Environment:
    """The templates: everything that goes into them is escaped, unless it is Markup."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader(__package__),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
