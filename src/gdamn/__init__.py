"""gdamn: node classification on noisy graphs with Graph Decoupling Attention Markov Networks.

Names are loaded on first use, so that ``import gdamn`` and ``gdamn --help`` don't wait for torch.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from .system import compiled_code, moved
from .system.lazy import exports
from .system.versions import __version__

# Threads that wait for each other by spinning make a fit several times slower on a machine with other work.
# It is read when OpenMP is loaded: import gdamn before torch, or set it in the environment.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

compiled_code.prepare()
moved.install()


_WHERE = {
    "Callback": ".fit.callbacks",
    "Decisions": ".graph.decisions",
    "EarlyStopping": ".fit.callbacks",
    "GDAMN": ".estimators.gdamn",
    "GDAMNPlus": ".estimators.gdamn",
    "Graph": ".graph",
    "RefineGraph": ".estimators.transforms",
    "RemoveSpuriousEdges": ".estimators.spurious",
    "Settings": ".model.settings",
    "TransductiveClassifier": ".estimators.transductive",
    "compare": ".studies",
    "likely_edges": ".estimators.spurious",
    "load": ".data",
    "spurious_edges": ".estimators.spurious",
    "tune": ".studies",
    "GdamnError": ".errors",
}

__all__ = [
    "GDAMN",
    "Callback",
    "Decisions",
    "EarlyStopping",
    "GDAMNPlus",
    "GdamnError",
    "Graph",
    "RefineGraph",
    "RemoveSpuriousEdges",
    "Settings",
    "TransductiveClassifier",
    "__version__",
    "compare",
    "likely_edges",
    "load",
    "spurious_edges",
    "tune",
]

if TYPE_CHECKING:
    from .data import load
    from .errors import GdamnError
    from .estimators.gdamn import GDAMN, GDAMNPlus
    from .estimators.spurious import RemoveSpuriousEdges, likely_edges, spurious_edges
    from .estimators.transductive import TransductiveClassifier
    from .estimators.transforms import RefineGraph
    from .fit.callbacks import Callback, EarlyStopping
    from .graph.decisions import Decisions
    from .graph.graph import Graph
    from .model.settings import Settings
    from .studies import compare, tune

__getattr__, __dir__ = exports(__name__, _WHERE)
