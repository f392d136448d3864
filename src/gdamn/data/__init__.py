"""Named data sets, people's own files, encoding, splits and planted noise: whatever becomes a Graph.

    >>> from gdamn.data import load
    >>> graph = load("digits", noise=1.0, seed=0)

Belongs here: readers and what they need. Importing this package loads neither torch nor scikit-learn: each loader
imports what it needs when it is called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..system.lazy import exports
from .named.registry import DATASETS, DataInfo, load

if TYPE_CHECKING:
    from ..graph.convert import from_networkx, from_pyg, from_scipy, to_networkx, to_pyg, to_scipy
    from .noise import Noise, add_noise, plant
    from .splits import per_class_split

_WHERE = {
    "Noise": ".noise",
    "add_noise": ".noise",
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
    "Noise",
    "add_noise",
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

__getattr__, __dir__ = exports(__name__, _WHERE)
