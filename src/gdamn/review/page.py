"""The page of a review: one HTML text with its style and script; what users named gets into it as JSON alone."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

from ..report.page import asset, digest
from ..report.text import script_json


@cache
def part(name: str) -> str:
    """A file of this package."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


@cache
def style() -> str:
    """The style of the reports, and what this page adds."""
    return asset("style.css") + part("review.css")


@cache
def script() -> str:
    """The button for the theme, as the reports have it, and what this page does."""
    return asset("theme.js") + part("review.js")


@cache
def policy() -> str:
    """What the page may load: its own style and script, and answers of its own server."""
    return (
        f"default-src 'none'; script-src '{digest(script())}'; style-src '{digest(style())}'; "
        "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


def render(about: dict[str, Any]) -> str:
    """The page; ``about`` is what its script reads."""
    text = part("page.html")
    for name, content in (("style", style()), ("script", script()), ("data", str(script_json(about)))):
        text = text.replace(f"{{{{ {name} }}}}", content, 1)
    return text
