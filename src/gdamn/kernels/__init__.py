"""Products, edge softmax, sampling, dropout, norms and losses with their gradients.

Belongs here: what is computed on arrays and patterns of entries; it knows nothing of models. ``ops.py`` checks shapes
and chooses a path, ``numba/`` has the compiled loops, ``torch_path.py`` the same in torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..system.lazy import exports

_WHERE = {
    "Key": ".noise",
    "MixedRows": ".diffusion",
    "Pattern": "..graph.pattern",
    "adam_step": ".autograd",
    "add_heads": ".gates",
    "attend_heads": ".heads",
    "bernoulli_kl": ".ops",
    "binary_concrete": ".ops",
    "diffusion_matrix": ".diffusion",
    "dropout": ".ops",
    "edge_softmax": ".ops",
    "elu_dropout": ".ops",
    "gram": ".ops",
    "head_scores": ".gates",
    "head_weights": ".heads",
    "matmul": ".ops",
    "mixed_rows": ".diffusion",
    "norm_dropout_linear": ".features",
    "norm_relu_dropout": ".ops",
    "propagated": ".features",
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
    "MixedRows",
    "Pattern",
    "adam_step",
    "add_heads",
    "attend_heads",
    "bernoulli_kl",
    "binary_concrete",
    "diffusion_matrix",
    "dropout",
    "edge_softmax",
    "elu_dropout",
    "gram",
    "head_scores",
    "head_weights",
    "matmul",
    "mixed_rows",
    "norm_dropout_linear",
    "norm_relu_dropout",
    "propagated",
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
    from .diffusion import MixedRows, diffusion_matrix, mixed_rows
    from .features import norm_dropout_linear, propagated
    from .gates import add_heads, head_scores
    from .heads import attend_heads, head_weights
    from .noise import Key
    from .ops import (
        bernoulli_kl,
        binary_concrete,
        dropout,
        edge_softmax,
        elu_dropout,
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

__getattr__, __dir__ = exports(__name__, _WHERE)
