"""Wrong shapes, types and indices are refused at the public door; a compiled loop would read foreign memory."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from gdamn import kernels
from gdamn.errors import ConfigError, GraphError
from gdamn.kernels import Key, Pattern

R, K, E, H = 3, 4, 5, 2
INDPTR, INDICES = np.array([0, 2, 4, 5]), np.array([0, 3, 1, 2, 0])


def tensor(*shape: int) -> torch.Tensor:
    return torch.arange(float(np.prod(shape)), dtype=torch.float32).reshape(shape) / 7


def pattern() -> Pattern:
    return Pattern.from_csr(INDPTR, INDICES, (R, K))


def square() -> Pattern:
    return Pattern.from_csr(np.array([0, 1, 2]), np.array([1, 0]), (2, 2))


free, pair = torch.ones(E, dtype=torch.bool), torch.arange(E, dtype=torch.int32)
norm = torch.nn.BatchNorm1d(H)
MISTAKES: dict[str, Callable[[], object]] = {
    "spmm: too few values": lambda: kernels.spmm(pattern(), tensor(E - 1), tensor(K, H)),
    "spmm: values in two columns": lambda: kernels.spmm(pattern(), tensor(E, 2), tensor(K, H)),
    "spmm: too few rows": lambda: kernels.spmm(pattern(), tensor(E), tensor(K - 1, H)),
    "spmm: too many rows": lambda: kernels.spmm(pattern(), tensor(E), tensor(K + 1, H)),
    "spmm: a vector": lambda: kernels.spmm(pattern(), tensor(E), tensor(K)),
    "spmm: a short bias": lambda: kernels.spmm(pattern(), tensor(E), tensor(K, H), tensor(H - 1)),
    "spmm: a bias of another type": lambda: kernels.spmm(pattern(), tensor(E), tensor(K, H), tensor(H).double()),
    "spmm: whole numbers": lambda: kernels.spmm(pattern(), tensor(E).long(), tensor(K, H).long()),
    "spmm: two types": lambda: kernels.spmm(pattern(), tensor(E).double(), tensor(K, H)),
    "matmul: sizes": lambda: kernels.matmul(tensor(8, 3), tensor(4, 16)),
    "matmul: a short plus": lambda: kernels.matmul(tensor(8, 3), tensor(3, 16), tensor(15)),
    "matmul: a plus of few rows": lambda: kernels.matmul(tensor(8, 3), tensor(3, 16), tensor(7, 16)),
    "matmul: a plus of another type": lambda: kernels.matmul(tensor(8, 3), tensor(3, 16), tensor(16).double()),
    "matmul: a scalar plus": lambda: kernels.matmul(tensor(8, 3), tensor(3, 16), torch.tensor(1.0)),
    "sums": lambda: kernels.sums(pattern(), tensor(E + 1)),
    "sddmm: few rows": lambda: kernels.sddmm(pattern(), tensor(R - 1, H), tensor(K, H)),
    "sddmm: few columns": lambda: kernels.sddmm(pattern(), tensor(R, H), tensor(K - 1, H)),
    "sddmm: other widths": lambda: kernels.sddmm(pattern(), tensor(R, H), tensor(K, H + 1)),
    "gram: not square": lambda: kernels.gram(pattern(), tensor(R, H)),
    "gram: more rows than columns": lambda: kernels.gram(pattern().transposed, tensor(R, H)),
    "gram: few rows": lambda: kernels.gram(square(), tensor(1, H)),
    "sparse_linear: values": lambda: kernels.sparse_linear(pattern(), tensor(E + 2), tensor(K, H)),
    "sparse_linear: weight": lambda: kernels.sparse_linear(pattern(), tensor(E), tensor(K + 1, H)),
    "edge_softmax: scores": lambda: kernels.edge_softmax(pattern(), tensor(E - 1), tensor(E)),
    "edge_softmax: weights": lambda: kernels.edge_softmax(pattern(), tensor(E), tensor(E - 1)),
    "binary_concrete: pair": lambda: kernels.binary_concrete(tensor(E), pair[:-1], free, 0.5, Key(1)),
    "binary_concrete: free": lambda: kernels.binary_concrete(tensor(E), pair, free[:-1], 0.5, Key(1)),
    "dropout: whole numbers": lambda: kernels.dropout(tensor(E).int(), 0.5, Key(1)),
    "relu_dropout: whole numbers": lambda: kernels.relu_dropout(tensor(E).int(), 0.5, Key(1)),
    "norm_relu_dropout": lambda: kernels.norm_relu_dropout(tensor(R, H + 1), norm, 0.5, Key(1)),
    "softmax_losses": lambda: kernels.softmax_losses(tensor(R, H), tensor(R - 1, H)),
    "softmax_losses: other classes": lambda: kernels.softmax_losses(tensor(R, H), tensor(R, H - 1)),
    "bernoulli_kl: prior": lambda: kernels.bernoulli_kl(tensor(E), tensor(E - 1), free),
    "bernoulli_kl: free": lambda: kernels.bernoulli_kl(tensor(E), tensor(E), free[:-2]),
    "unit_rows": lambda: kernels.unit_rows(tensor(R, H), tensor(H + 1)),
    "adam_step": lambda: kernels.adam_step(tensor(E), tensor(E - 1), tensor(E), tensor(E), 0.1, 0.0, 1),
    "pattern: a column too far": lambda: Pattern.from_csr(INDPTR, np.array([0, 3, 1, 2, 4]), (R, K)),
    "pattern: a negative column": lambda: Pattern.from_csr(INDPTR, np.array([0, 3, -1, 2, 0]), (R, K)),
    "pattern: pointers that fall": lambda: Pattern.from_csr(np.array([0, 4, 2, 5]), INDICES, (R, K)),
    "pattern: pointers past the end": lambda: Pattern.from_csr(np.array([0, 2, 4, 9]), INDICES, (R, K)),
    "pattern: too few rows": lambda: Pattern.from_csr(INDPTR, INDICES, (R + 1, K)),
    "pattern: fractions": lambda: Pattern.from_csr(INDPTR, INDICES / 2, (R, K)),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_one_sentence_in_place_of_foreign_memory(name: str) -> None:
    with pytest.raises(GraphError) as told:
        MISTAKES[name]()
    assert str(told.value).endswith(".")
    assert "\n" not in str(told.value)


def test_the_arrays_of_a_pattern_are_read_only() -> None:
    p, mine = pattern(), INDICES.copy()
    for name in ("indptr", "indices", "t_indptr", "t_indices", "t_perm"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(p, name)[0] = 7
    Pattern.from_csr(INDPTR, mine, (R, K))
    mine[0] = 1  # the caller's own array stays writable


def test_an_undirected_pattern_holds_one_array_for_both_directions() -> None:
    assert square().symmetric
    assert not pattern().symmetric


def test_forced_kernels_refuse_what_they_cannot_read() -> None:
    with kernels.use_kernels("fast"), pytest.raises(ConfigError, match="float32"):
        kernels.spmm(pattern(), tensor(E).double(), tensor(K, H).double())
    with pytest.raises(ConfigError, match="quick"), kernels.use_kernels("quick"):
        pass
