"""spmm, sddmm, edge softmax, sampling and dropout with their gradients; they know nothing of models.

Imported lazily, because the graph needs only :mod:`pattern`, which needs no torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

_WHERE = {
    "Key": ".noise",
    "Pattern": ".pattern",
    "binary_concrete": ".functions",
    "dropout": ".functions",
    "edge_softmax": ".functions",
    "sddmm": ".functions",
    "sparse_linear": ".functions",
    "spmm": ".functions",
    "use_kernels": ".functions",
}

__all__ = [
    "Key",
    "Pattern",
    "binary_concrete",
    "dropout",
    "edge_softmax",
    "sddmm",
    "sparse_linear",
    "spmm",
    "use_kernels",
]

if TYPE_CHECKING:
    from .functions import binary_concrete, dropout, edge_softmax, sddmm, sparse_linear, spmm, use_kernels
    from .noise import Key
    from .pattern import Pattern


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(importlib.import_module(_WHERE[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
