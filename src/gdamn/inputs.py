"""Features and label distributions as the networks read them: sparse where they are sparse, with their dropout."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from .kernels import Key, Pattern, dropout, matmul, sparse_linear


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


def feature_block(features: Any, normalize: str, rate: float, device: torch.device) -> Block:
    """The features, normalised, on the device."""
    x = normalized(features, normalize)
    if sp.issparse(x):
        pattern = Pattern.from_csr(x.indptr, x.indices, x.shape)
        return Block(x.shape[1], rate, pattern=pattern, values=torch.as_tensor(x.data).to(device))
    return Block(x.shape[1], rate, dense=torch.as_tensor(x).to(device))


def label_block(labels: Tensor, rate: float) -> Block:
    """A label distribution [N, C] as an input."""
    return Block(labels.shape[1], rate, dense=labels)


def normalized(features: Any, how: str) -> Any:
    """Rows divided by their sum (row), the same of 1 where not 0 (binary), columns standardised, or as they are (none).

    Rows that sum to 0 stay as they are. Standardising a sparse matrix divides by the spread and keeps the zeros.
    """
    if how == "binary":
        present = features != 0
        return normalized(present.astype(np.float32), "row")
    sparse = sp.issparse(features)
    values = features.data if sparse else features
    if how == "auto":
        how = "row" if features.shape[1] and (values.size == 0 or values.min() >= 0) else "none"
    if how == "none" or features.shape[1] == 0:
        return features
    if how == "row":
        total = np.asarray(features.sum(axis=1), dtype=np.float32).reshape(-1)
        scale = 1 / np.where(np.abs(total) > 0, total, 1)
        if not sparse:
            return features * scale[:, None].astype(np.float32)
        scaled = features.copy()
        scaled.data = features.data * np.repeat(scale, np.diff(features.indptr)).astype(np.float32)
        return scaled
    mean = np.asarray(features.mean(axis=0)).reshape(-1)
    square = np.asarray((features * features).mean(axis=0)).reshape(-1)
    spread = np.sqrt(np.maximum(square - mean**2, 0))
    spread = np.where(spread > 1e-12, spread, 1).astype(np.float32)
    if not sparse:
        return ((features - mean) / spread).astype(np.float32)
    scaled = features.copy()
    scaled.data = features.data / spread[features.indices]
    return scaled
