"""What a launcher such as torchrun tells this process of its place among others, in environment variables."""

from __future__ import annotations

import os

from ....errors import ConfigError


def is_rank() -> bool:
    """Whether this process was started as one of several, by :func:`start` or by torchrun."""
    return "RANK" in os.environ and "WORLD_SIZE" in os.environ


def number(name: str) -> int:
    """A number that the launcher has put into the environment."""
    try:
        return int(os.environ[name])
    except (KeyError, ValueError):
        raise ConfigError(
            f"The environment variable {name} is {os.environ.get(name)!r}, not a number; start ranks with torchrun."
        ) from None


def threads() -> int | None:
    """The cores of this machine over its ranks, where a launcher says how many there are."""
    return max(1, (os.cpu_count() or 1) // local_ranks()) if "LOCAL_WORLD_SIZE" in os.environ else None


def local_ranks() -> int:
    """How many ranks this machine has; 1 where no launcher says so."""
    local = os.environ.get("LOCAL_WORLD_SIZE", "")
    return max(1, int(local)) if local.isdigit() else 1
