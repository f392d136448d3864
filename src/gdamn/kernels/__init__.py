"""Products, edge softmax, sampling, dropout, norms and losses with their gradients; they know nothing of models.

Imported lazily, because the graph needs only :mod:`pattern`, which needs no torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

_WHERE = {
    "Key": ".noise",
    "Pattern": "..graph.pattern",
    "adam_step": ".autograd",
    "bernoulli_kl": ".ops",
    "binary_concrete": ".ops",
    "dropout": ".ops",
    "edge_softmax": ".ops",
    "gram": ".ops",
    "matmul": ".ops",
    "norm_relu_dropout": ".ops",
    "relu_dropout": ".ops",
    "sddmm": ".ops",
    "set_threads": ".threads",
    "softmax_losses": ".ops",
    "sparse_linear": ".ops",
    "spmm": ".ops",
    "sums": ".ops",
    "unit_rows": ".ops",
    "use_kernels": ".paths",
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
    "matmul",
    "norm_relu_dropout",
    "relu_dropout",
    "sddmm",
    "set_threads",
    "softmax_losses",
    "sparse_linear",
    "spmm",
    "sums",
    "unit_rows",
    "use_kernels",
]

if TYPE_CHECKING:
    from ..graph.pattern import Pattern
    from .autograd import adam_step
    from .noise import Key
    from .ops import (
        bernoulli_kl,
        binary_concrete,
        dropout,
        edge_softmax,
        gram,
        matmul,
        norm_relu_dropout,
        relu_dropout,
        sddmm,
        softmax_losses,
        sparse_linear,
        spmm,
        sums,
        unit_rows,
    )
    from .paths import use_kernels
    from .threads import set_threads


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(importlib.import_module(_WHERE[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
