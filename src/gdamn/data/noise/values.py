"""Noise on features and on training labels."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ...errors import GraphError
from ..pairs import Codes, pair_codes
from .changes import draw_places, with_record

if TYPE_CHECKING:
    from ...graph.graph import Graph


def mask_features(graph: Graph, rate: float, seed: int) -> Graph:
    """Set ``round(rate * count)`` of the features that aren't 0 to 0, whichever nodes they belong to."""
    rng = np.random.default_rng([seed, 0x3A5C])
    features: Any = graph.features.copy()
    values = features.data if sp.issparse(features) else features.reshape(-1)
    present = np.flatnonzero(values)
    masked = rng.choice(present, round(rate * len(present)), replace=False)
    values[masked] = 0
    if sp.issparse(features):
        features.eliminate_zeros()
    return with_record(replace(graph, features=features), masked=len(masked))


def noisy_features(graph: Graph, rate: float, seed: int) -> Graph:
    """Sparse features are words, dense ones measurements (:func:`moved_words`, :func:`with_gaussian_noise`)."""
    rng = np.random.default_rng([seed, 0xFEA7])
    if graph.is_sparse:
        return moved_words(graph, rate, rng)
    return with_gaussian_noise(graph, rate, rng)


def moved_words(graph: Graph, rate: float, rng: np.random.Generator) -> Graph:
    """Move ``round(rate * count)`` of the features that aren't 0 to random other columns of their rows.

    A column is drawn among those where the row has had nothing; their values go with them.
    """
    if rate > 1:
        raise GraphError(f"These features are words, of which the noise is a share from 0 to 1; got {rate:g}.")
    features = sp.coo_array(graph.features)
    features.eliminate_zeros()
    width = features.shape[1]
    rows, columns = (part.astype(np.int64) for part in features.coords)
    codes = rows * width + columns
    chosen = rng.choice(len(codes), round(rate * len(codes)), replace=False)
    words, wanted = (np.bincount(of, minlength=graph.num_nodes) for of in (rows, rows[chosen]))
    if (wanted > width - words).any():
        raise GraphError("A node has too many words for so many of them to be exchanged; ask for a lower noise rate.")

    def code(a: NDArray[np.int64], b: NDArray[np.int64]) -> Codes:
        return pair_codes(a, b, width, ordered=True)

    places = codes.copy()
    places[chosen] = draw_places(rows[chosen], rows[chosen], width, code, np.sort(codes), rng)
    moved = sp.coo_array((features.data, (places // width, places % width)), shape=features.shape).tocsr()
    moved.sort_indices()
    return with_record(replace(graph, features=moved), moved=len(chosen))


def with_gaussian_noise(graph: Graph, rate: float, rng: np.random.Generator) -> Graph:
    """x_ij + rate σ_j ε_ij, where σ_j is the standard deviation of column j and ε_ij is standard normal."""
    spread = graph.features.std(axis=0, dtype=np.float64).astype(np.float32)
    drawn = rng.standard_normal(graph.features.shape, dtype=np.float32)
    features = graph.features + np.float32(rate) * spread * drawn
    return with_record(replace(graph, features=features), disturbed=int(np.count_nonzero(spread)) * graph.num_nodes)


def flip_labels(graph: Graph, rate: float, seed: int) -> Graph:
    """Give ``round(rate * count)`` random training nodes another class, each other one as likely as the next.

    Labels outside of the training set are neither read nor changed: scores stay those of the true labels.
    """
    rng = np.random.default_rng([seed, 0x1ABE])
    nodes = np.flatnonzero(graph.train_mask & (graph.labels >= 0))
    classes, numbers = np.unique(graph.labels[nodes], return_inverse=True)
    if len(classes) < 2:
        raise GraphError("Flipped labels need training nodes of at least two classes; this graph has fewer.")
    chosen = rng.choice(len(nodes), round(rate * len(nodes)), replace=False)
    labels = graph.labels.copy()
    others = (numbers[chosen] + rng.integers(1, len(classes), len(chosen))) % len(classes)
    labels[nodes[chosen]] = classes[others]
    flipped = np.zeros(graph.num_nodes, bool)
    flipped[nodes[chosen]] = True
    noisy = graph.with_labels(labels)
    return with_record(replace(noisy, meta={**noisy.meta, "flipped": flipped}), flipped=len(chosen))
