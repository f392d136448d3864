"""Features and label distributions as the networks read them: sparse where they are sparse, with their dropout."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch.nn import functional as F

from ..graph.normalisation import normalized
from ..graph.read_only import as_tensor
from ..kernels import Key, Pattern, dropout, gram, matmul, sparse_linear

CHUNK = 1 << 16
"""Edges whose features are compared at a time where those are sparse."""


@dataclass(frozen=True, eq=False)
class Block:
    """[N, F] constant input that a first layer multiplies: dense, or sparse as a pattern with values.

    Attributes:
        dense: [N, F], or None.
        pattern, values: CSR of the features, or None.
        rate: dropout of its entries in training.
    """

    width: int
    rate: float
    dense: Tensor | None = None
    pattern: Pattern | None = None
    values: Tensor | None = None

    def linear(self, weight: Tensor, key: Key | None, plus: Tensor | None = None) -> Tensor:
        """plus + dropout(X) W: [N, H]; no dropout without a key."""
        if self.pattern is None or self.values is None:
            return matmul(self.dropped(key), weight, plus)
        rate = self.rate if key is not None else 0.0
        product = sparse_linear(self.pattern, self.values, weight, rate, key or Key(0))
        return product if plus is None else plus + product

    def dropped(self, key: Key | None) -> Tensor:
        """dropout(X) of dense features: [N, F]."""
        assert self.dense is not None
        return dropout(self.dense, self.rate, key)

    def unit(self) -> Any:
        """X [N, F] with rows of length 1, as a SciPy matrix where it is sparse, else as an array; rows of 0 stay."""
        if self.pattern is None or self.values is None:
            assert self.dense is not None
            return F.normalize(self.dense, dim=1, eps=1e-12).cpu().numpy()
        x = sp.csr_array((self.values.cpu().numpy(), self.pattern.indices, self.pattern.indptr), self.pattern.shape)
        lengths = np.sqrt(np.asarray(x.multiply(x).sum(axis=1)).reshape(-1))
        return sp.csr_array(x.multiply(1 / np.maximum(lengths, 1e-12)[:, None]))

    def cosines(self, edges: Pattern) -> Tensor:
        """cos(x_i, x_j) on every entry: [E]; 0 where a row of X is 0."""
        if self.pattern is None or self.values is None:
            assert self.dense is not None
            return gram(edges, F.normalize(self.dense, dim=1, eps=1e-12), 1.0)
        unit = self.unit()
        columns = edges.indices
        rows = np.repeat(np.arange(edges.shape[0]), np.diff(edges.indptr))
        cosines = np.empty(len(columns), np.float32)
        for begin in range(0, len(columns), CHUNK):
            part = slice(begin, begin + CHUNK)
            cosines[part] = unit[rows[part]].multiply(unit[columns[part]]).sum(axis=1)
        return torch.as_tensor(cosines).to(self.values.device)


def feature_block(
    features: Any, normalize: str, rate: float, device: torch.device, reference: Any | None = None
) -> Block:
    """The features, normalised as those of ``reference`` were (their own normalisation without it), on the device."""
    whole = features.astype(np.float32) if features.dtype == np.float16 else features
    x = normalized(whole, normalize, reference)
    if sp.issparse(x):
        pattern = Pattern.from_csr(x.indptr, x.indices, x.shape)
        return Block(x.shape[1], rate, pattern=pattern, values=as_tensor(x.data).to(device))
    return Block(x.shape[1], rate, dense=as_tensor(x).to(device))


def label_block(labels: Tensor, rate: float) -> Block:
    """A label distribution [N, C] as an input."""
    return Block(labels.shape[1], rate, dense=labels)
