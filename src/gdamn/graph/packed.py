"""A graph as few, narrow arrays for a model file: its edges and features exactly, and no label.

Numbers are held in the smallest type that has each of them, an undirected edge once, features of 0 and 1 by the places
of the ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..errors import DataError, GraphError, in_short
from .graph import SPLITS, Graph
from .validation import sound_csr

Arrays = dict[str, NDArray[Any]]
PREFIX = "graph."
KEPT_OF_GRAPH = ("encoder", "reading")
"""What is kept of ``meta``: how tables were read and encoded."""

WHOLE: tuple[type[np.generic], ...] = (np.uint8, np.uint16, np.uint32)
REAL: tuple[type[np.generic], ...] = (np.uint8, np.float16, np.float32)


def pack(graph: Graph, edges: bool = True) -> tuple[dict[str, Any], Arrays]:
    """What a file says of a graph, and its arrays, whose names begin with :data:`PREFIX`.

    Args:
        edges: False leaves the edges out, where the file has them already.
    """
    arrays: Arrays = {}
    if edges:
        once = slice(None) if graph.directed else graph.indices < graph.rows
        arrays["edges"] = narrow(np.stack([graph.indices[once], graph.rows[once]]), WHOLE)
    if graph.weights is not None:
        arrays["weights"] = graph.weights
    x: Any = graph.features
    if graph.is_sparse:
        arrays["columns"] = narrow(x.indices, WHOLE)
        arrays["counts"] = narrow(np.diff(x.indptr), WHOLE)
        x = x.data
    if not (graph.is_sparse and (x == 1).all()):
        arrays["features"] = narrow(x, REAL)
    about = {
        "name": graph.name,
        "directed": graph.directed,
        "sparse": graph.is_sparse,
        **{key: graph.meta[key] for key in KEPT_OF_GRAPH if key in graph.meta},
    }
    return about, {f"{PREFIX}{name}": array for name, array in arrays.items()}


def narrow(array: NDArray[Any], kinds: tuple[type[np.generic], ...]) -> NDArray[Any]:
    """The same numbers in the first of these types that has them all, else as they are."""
    for kind in kinds:
        with np.errstate(invalid="ignore", over="ignore"):
            held = array.astype(kind)
        if np.array_equal(held, array) and np.array_equal(np.signbit(held), np.signbit(array)):  # -0 is no 0
            return held
    return array


def unpack(
    about: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    width: int,
    ids: NDArray[Any],
    classes: tuple[str, ...],
) -> Graph:
    """The graph, its labels unknown, from what :func:`pack` made; anyone may have changed it.

    Args:
        arrays: those of the file, with ``edge.index`` where the edges are not packed.
        width: number of features.
        ids: [N] of the nodes.
    """
    try:
        kinds = {"name": str, "directed": bool, "sparse": bool}
        if not all(isinstance(about[name], kind) for name, kind in kinds.items()):
            raise ValueError("a fact of another type")
        edges = arrays[f"{PREFIX}edges"] if f"{PREFIX}edges" in arrays else arrays["edge.index"]
        features = _features(bool(about["sparse"]), arrays, width, len(ids))
        graph = Graph.build(edges, features, num_nodes=len(ids), name=about["name"], directed=about["directed"])
        graph = replace(graph, features=sp.csr_array(features) if about["sparse"] else features)
        weights = arrays.get(f"{PREFIX}weights")
        if weights is not None:
            if weights.shape != graph.indices.shape or weights.dtype != np.float32 or not (weights > 0).all():
                raise ValueError("weights of other edges, or not positive")
            graph = replace(graph, weights=weights)
    except (KeyError, TypeError, ValueError, GraphError) as cause:
        raise DataError(f"its graph can't be: {in_short(cause)}") from None
    facts = {key: about[key] for key in KEPT_OF_GRAPH if key in about}
    return replace(graph, node_ids=ids, class_names=classes, meta={**graph.meta, **facts})


def _features(sparse: bool, arrays: Mapping[str, NDArray[Any]], width: int, nodes: int) -> Any:
    """[N, F] float32, dense or CSR."""
    held = arrays.get(f"{PREFIX}features")
    if not sparse:
        if held is None or held.shape != (nodes, width):
            raise ValueError(f"features that are not of shape ({nodes}, {width})")
        return np.ascontiguousarray(held, np.float32)
    places, counts = arrays[f"{PREFIX}columns"], arrays[f"{PREFIX}counts"]
    if counts.shape != (nodes,) or counts.dtype.kind != "u" or places.dtype.kind != "u":
        raise ValueError("features of other nodes")
    indptr = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
    values = np.ones(len(places), np.float32) if held is None else held.astype(np.float32)
    return sound_csr(values, places.astype(np.int32), indptr.astype(np.int32), (nodes, width))


def split_codes(graph: Graph) -> NDArray[np.uint8]:
    """[N] 1, 2 and 3 for nodes of the training, validation and test set, 0 for all others."""
    codes = np.zeros(graph.num_nodes, np.uint8)
    for code, name in enumerate(SPLITS, 1):
        codes[graph.mask(name)] = code
    return codes
