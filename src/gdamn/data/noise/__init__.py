"""Noise on a graph that is clean: kinds, rates and seeds, each remembered and repeatable (docs/noise.md).

    >>> from gdamn.data import load
    >>> graph = load("cora", noise="remove:0.2")

Belongs here: what changes edges, features or training labels on purpose, for experiments. Importing this package loads
neither NumPy nor a generator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...system.lazy import exports
from .kinds import KINDS, Kind, Noise, add_noise

if TYPE_CHECKING:
    from .inter import plant

__all__ = ["KINDS", "Kind", "Noise", "add_noise", "plant"]

__getattr__, __dir__ = exports(__name__, {"plant": ".inter"})
