"""Named data sets, planted noise, splits and converters.

    >>> from gdamn.data import load
    >>> graph = load("digits", noise=1.0, seed=0)

Importing this package loads neither torch nor scikit-learn: each loader imports what it needs when it is called.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .named.registry import DATASETS, DataInfo, load

if TYPE_CHECKING:
    from ..graph.convert import from_networkx, from_pyg, from_scipy, to_networkx, to_pyg, to_scipy
    from .noise import plant
    from .splits import per_class_split

_WHERE = {
    "plant": ".noise",
    "per_class_split": ".splits",
    "from_pyg": "..graph.convert",
    "to_pyg": "..graph.convert",
    "from_scipy": "..graph.convert",
    "to_scipy": "..graph.convert",
    "from_networkx": "..graph.convert",
    "to_networkx": "..graph.convert",
}

__all__ = [
    "DATASETS",
    "DataInfo",
    "from_networkx",
    "from_pyg",
    "from_scipy",
    "load",
    "per_class_split",
    "plant",
    "to_networkx",
    "to_pyg",
    "to_scipy",
]


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(importlib.import_module(_WHERE[name], __name__), name)
    raise AttributeError(f"module 'gdamn.data' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
