"""Packages that only some uses need: the extra of gdamn that brings each, and the sentence where one is missing."""

from __future__ import annotations

from importlib.util import find_spec

from ..errors import MissingPackageError

EXTRAS = {
    "pyarrow": "files",
    "matplotlib": "report",
    "jinja2": "report",
    "markupsafe": "report",
    "optuna": "tune",
    "pymetis": "scale",
}
"""Package and extra, as pyproject.toml has them."""


def need(what: str, package: str) -> None:
    """Refuse ``what`` in one sentence where the package isn't installed."""
    if find_spec(package) is None:
        raise _error(what, package)


def missing(problem: BaseException) -> MissingPackageError | None:
    """The sentence for an import that failed because an extra isn't installed; None for any other problem."""
    package = (problem.name or "").partition(".")[0] if isinstance(problem, ModuleNotFoundError) else ""
    return _error("This", package) if package in EXTRAS else None


def _error(what: str, package: str) -> MissingPackageError:
    return MissingPackageError(
        f"{what} needs {package}, which isn't installed; pip install 'gdamn[{EXTRAS[package]}]'.", name=package
    )
