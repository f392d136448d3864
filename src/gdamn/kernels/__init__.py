"""spmm, sddmm, edge softmax, sampling, dropout and losses with their gradients; they know nothing of models.

Imported lazily, because the graph needs only :mod:`pattern`, which needs no torch.
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

# Threads that wait for each other by spinning make a fit several times slower on a machine with other work.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

_WHERE = {
    "Key": ".noise",
    "Pattern": ".pattern",
    "adam_step": ".functions",
    "bernoulli_kl": ".functions",
    "binary_concrete": ".functions",
    "dropout": ".functions",
    "edge_softmax": ".functions",
    "gram": ".functions",
    "relu_dropout": ".functions",
    "sddmm": ".functions",
    "softmax_losses": ".functions",
    "sparse_linear": ".functions",
    "spmm": ".functions",
    "use_kernels": ".functions",
}

__all__ = [
    "Key",
    "Pattern",
    "adam_step",
    "bernoulli_kl",
    "binary_concrete",
    "dropout",
    "edge_softmax",
    "gram",
    "relu_dropout",
    "sddmm",
    "softmax_losses",
    "sparse_linear",
    "spmm",
    "use_kernels",
]

if TYPE_CHECKING:
    from .functions import (
        adam_step,
        bernoulli_kl,
        binary_concrete,
        dropout,
        edge_softmax,
        gram,
        relu_dropout,
        sddmm,
        softmax_losses,
        sparse_linear,
        spmm,
        use_kernels,
    )
    from .noise import Key
    from .pattern import Pattern


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(importlib.import_module(_WHERE[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
