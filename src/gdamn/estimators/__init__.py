"""The estimators that users call, in scikit-learn's manner, the registry of all methods, and model files.

Belongs here: fit, predict, refine, save and load. The registry names the baselines and never imports them at load.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..system.lazy import exports

if TYPE_CHECKING:
    from .base import NodeClassifier
    from .gdamn import GDAMN, GDAMNPlus
    from .registry import METHODS, make
    from .transductive import TransductiveClassifier
    from .transforms import RefineGraph

__all__ = ["GDAMN", "METHODS", "GDAMNPlus", "NodeClassifier", "RefineGraph", "TransductiveClassifier", "make"]

__getattr__, __dir__ = exports(
    __name__,
    {
        "GDAMN": ".gdamn",
        "GDAMNPlus": ".gdamn",
        "METHODS": ".registry",
        "NodeClassifier": ".base",
        "RefineGraph": ".transforms",
        "TransductiveClassifier": ".transductive",
        "make": ".registry",
    },
)
