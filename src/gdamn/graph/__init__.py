"""Graph: one immutable structure that every other room reads; its checks, CSR pattern, A + I, node order and scaling.

Belongs here: what a graph is, and its forms in other libraries. No torch at import: ``convert.py`` asks for PyTorch
Geometric only when it is called.
"""

from __future__ import annotations

from .graph import SPARSE_BELOW, SPLITS, Features, Graph
from .pattern import Pattern
from .structure import Structure

__all__ = ["SPARSE_BELOW", "SPLITS", "Features", "Graph", "Pattern", "Structure"]
