"""Settings that were removed: no preset, experiment, benchmark or measurement in docs/ used them.

Models, results and config files of older versions name them. At the old default, which is what is done now, such a file
still opens; any other value is refused. This goes with the next release.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import ConfigError

REMOVED: dict[str, dict[str, Any]] = {
    "Settings": {"soft_temperature": 1.0},
    "SupervisedSettings": {"init": "xavier"},
    "NetworkSettings": {"batch_norm": False},
    "LPASettings": {"keep_known": True},
    "GCNCSSettings": {"correct_norm": "col", "smooth_norm": "sym"},
    "CSGNNSettings": {"topology": False},
    "DeeperGCNSettings": {"temperature": 0.1},
}
"""Per settings class, the settings that it and its subclasses had, with their defaults."""


def removed_from(cls: type) -> dict[str, Any]:
    """The settings that a class no longer has, with their old defaults."""
    return {name: default for base in cls.__mro__ for name, default in REMOVED.get(base.__name__, {}).items()}


def without_removed(cls: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """The values without removed settings that have their old default; a name that is a setting again stays."""
    fields = getattr(cls, "__dataclass_fields__", {})
    old = {name: default for name, default in removed_from(cls).items() if name not in fields}
    return {name: value for name, value in values.items() if name not in old or not _same(value, old[name])}


def refuse_removed(cls: type, name: str) -> None:
    """Refuse a name that was a setting of the class."""
    old = removed_from(cls)
    if name in old:
        raise ConfigError(
            f"Setting '{name}' was removed, since nothing that was published or measured changed it; what it did "
            f"at its default, {old[name]!r}, is what is done now."
        )


def ever_removed(name: str, value: Any) -> bool:
    """Whether some class had this setting with this default."""
    return any(name in old and _same(value, old[name]) for old in REMOVED.values())


def _same(value: Any, default: Any) -> bool:
    return isinstance(value, type(default)) and bool(value == default)
