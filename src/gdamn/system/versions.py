"""The versions of what results depend on."""

from __future__ import annotations

import sys
from functools import cache

__version__ = "0.1.0"
PACKAGES = ("torch", "torch_geometric", "numpy", "scipy", "numba")


def versions() -> dict[str, str | None]:
    """Versions of what the results depend on; None for what isn't installed."""
    return {"gdamn": __version__, "python": sys.version.split()[0], **{name: _installed(name) for name in PACKAGES}}


@cache
def _installed(package: str) -> str | None:
    """The version of a package, from its metadata on disk."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return None
