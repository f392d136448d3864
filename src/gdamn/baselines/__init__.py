"""The methods that GDAMN is compared with: one file each, the same estimator interface.

Belongs here: a method's settings and network. ``gdamn.estimators.make("gcn")`` makes one by its name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..system.lazy import exports

if TYPE_CHECKING:
    from .common import NetworkClassifier, SupervisedSettings

__all__ = ["NetworkClassifier", "SupervisedSettings"]

__getattr__, __dir__ = exports(
    __name__,
    {
        "NetworkClassifier": ".common",
        "SupervisedSettings": ".common",
    },
)
