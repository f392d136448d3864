"""The versions of what results depend on."""

from __future__ import annotations

import sys

__version__ = "0.1.0"
PACKAGES = ("torch", "torch_geometric", "numpy", "scipy", "numba")


def versions() -> dict[str, str | None]:
    """Versions of what the results depend on; None for what isn't installed."""
    from importlib.metadata import PackageNotFoundError, version

    versions_by_name: dict[str, str | None] = {"gdamn": __version__, "python": sys.version.split()[0]}
    for name in PACKAGES:
        try:
            versions_by_name[name] = version(name)
        except PackageNotFoundError:
            versions_by_name[name] = None
    return versions_by_name
