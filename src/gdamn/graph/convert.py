"""Between :class:`gdamn.graph.Graph` and PyTorch Geometric, SciPy and NetworkX.

A graph that goes to one of them and comes back is equal to what it was, but for its meta data, which stay behind.
"""

from __future__ import annotations

import numbers
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from ..errors import GraphError
from .graph import SPLITS, Graph
from .label_names import is_missing, missing_note
from .pyg import from_pyg, to_pyg
from .validation import as_names

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["from_networkx", "from_pyg", "from_scipy", "to_networkx", "to_pyg", "to_scipy"]


def from_scipy(adjacency: Any, features: Any = None, labels: ArrayLike | None = None, **kwargs: Any) -> Graph:
    """From a square SciPy sparse matrix, whose entry [i, j] is the weight with which node i hears from node j.

    Entries of 0 are no edges. Unless ``directed=True`` the matrix is made symmetric by the larger of both weights.
    Further keywords go to :meth:`Graph.build`.
    """
    if not sp.issparse(adjacency):
        raise GraphError(f"The adjacency matrix must be a SciPy sparse matrix, not {type(adjacency).__name__}.")
    if adjacency.ndim != 2 or adjacency.shape[0] != adjacency.shape[1]:
        raise GraphError(f"The adjacency matrix must be square; this one has shape {adjacency.shape}.")
    matrix = sp.coo_array(adjacency)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    kwargs.setdefault("num_nodes", adjacency.shape[0])
    row, column = matrix.coords
    return Graph.build(np.stack([column, row]), features, labels, weights=matrix.data, **kwargs)


def to_scipy(graph: Graph) -> sp.csr_array:
    """[N, N] adjacency matrix without self-loops; entry [i, j] is the weight with which node i hears from node j."""
    weights = np.ones(len(graph.indices), np.float32) if graph.weights is None else graph.weights.copy()
    shape = (graph.num_nodes, graph.num_nodes)
    return sp.csr_array((weights, graph.indices.copy(), graph.indptr.copy()), shape=shape)


def from_networkx(graph: nx.Graph, label: str = "label", features: str = "x", name: str = "graph") -> Graph:
    """From a NetworkX graph; a ``DiGraph`` stays directed, parallel edges of a multigraph become one.

    Args:
        graph: its nodes become the node ids, in their order; the edge attribute ``weight`` counts where present.
        label: node attribute with the class: whole numbers are class numbers, everything else is taken as names of
            classes, in alphabetical order. Nodes without it (or with None or a negative number) have no label, nor
            those with a word such as ``NA`` or ``?``, unless it is in the graph's ``class_names``; ``meta`` says so.
        features: node attribute with the feature vector; on all nodes or on none.
        name: the graph's name.

    The node attribute ``split`` (train, val or test), as :func:`to_networkx` writes it, makes the masks.
    """
    nodes = list(graph.nodes)
    number = {node: i for i, node in enumerate(nodes)}
    given_labels, notes = _known_labels([graph.nodes[node].get(label) for node in nodes], label, graph)
    labels, class_names = _class_numbers(given_labels, graph)
    pairs = [(number[u], number[v]) for u, v in graph.edges()]
    weights = [weight for _, _, weight in graph.edges(data="weight", default=1)]
    splits = [graph.nodes[node].get("split") for node in nodes]
    wrong = next((i for i, split in enumerate(splits) if split is not None and split not in SPLITS), None)
    if wrong is not None:
        raise GraphError(f"Node {nodes[wrong]!r} is in the split {splits[wrong]!r}; it must be train, val or test.")
    train, val, test = (np.array([each == split for each in splits], dtype=bool) for split in SPLITS)
    built = Graph.build(
        np.array(pairs, dtype=np.int64).reshape(-1, 2).T,
        _vectors(nodes, [graph.nodes[node].get(features) for node in nodes], features),
        labels,
        num_nodes=len(nodes),
        weights=_edge_weights(weights, pairs, nodes),
        class_names=class_names,
        name=name,
        meta={"notes": notes} if notes else None,
        directed=graph.is_directed(),
        train_mask=train,
        val_mask=val,
        test_mask=test,
    )
    return replace(built, node_ids=as_names(nodes, built.num_nodes))


def to_networkx(graph: Graph) -> nx.Graph:
    """As a NetworkX ``Graph`` (``DiGraph`` if directed).

    Nodes are the node ids and carry ``label`` (the class name, or the class number where the names are numbers;
    absent where unknown), ``x`` (a NumPy vector) and ``split`` (absent where in none); edges of weighted graphs carry
    ``weight``; the graph carries ``class_names``.
    """
    import networkx as nx

    out = nx.DiGraph() if graph.directed else nx.Graph()
    out.graph.update(name=graph.name, class_names=list(graph.class_names))
    ids = graph.node_ids.tolist()
    numbered = graph.class_names == tuple(map(str, range(graph.num_classes)))
    x: Any = graph.features
    x = x.toarray() if graph.is_sparse else x
    out.add_nodes_from((node, {"x": row.copy()}) for node, row in zip(ids, x, strict=True))
    for node, y in zip(ids, graph.labels.tolist(), strict=True):
        if y >= 0:
            out.nodes[node]["label"] = y if numbered else graph.class_names[y]
    for split in SPLITS:
        for i in np.flatnonzero(graph.mask(split)).tolist():
            out.nodes[ids[i]]["split"] = split
    once = np.ones(len(graph.indices), bool) if graph.directed else graph.rows < graph.indices
    ends = zip(graph.indices[once].tolist(), graph.rows[once].tolist(), strict=True)
    if graph.weights is None:
        out.add_edges_from((ids[j], ids[i]) for j, i in ends)
    else:
        weights = graph.weights[once].tolist()
        out.add_weighted_edges_from((ids[j], ids[i], w) for (j, i), w in zip(ends, weights, strict=True))
    return out


def _known_labels(values: list[Any], name: str, graph: nx.Graph) -> tuple[list[Any], list[str]]:
    """The labels, None where a word says that there is none, and the note about that."""
    stored = graph.graph.get("class_names")
    classes = {str(each) for each in stored} if isinstance(stored, (list, tuple)) else set()
    gone = [isinstance(v, str) and v not in classes and is_missing(v) for v in values]
    counts = Counter(v for v, missing in zip(values, gone, strict=True) if missing)
    notes = [missing_note(counts, f"the attribute '{name}'")] if counts else []
    return [None if missing else v for v, missing in zip(values, gone, strict=True)], notes


def _class_numbers(values: list[Any], graph: nx.Graph) -> tuple[NDArray[np.int64], list[str] | None]:
    """[N] class numbers of label attributes, and the names of the classes where the graph or the labels tell."""
    known = [v is not None and not (isinstance(v, numbers.Real) and v != v) for v in values]
    seen = [v for v, k in zip(values, known, strict=True) if k]
    stored = graph.graph.get("class_names")
    names = [str(each) for each in stored] if isinstance(stored, (list, tuple)) else None
    if all(isinstance(v, numbers.Integral) or (isinstance(v, numbers.Real) and float(v).is_integer()) for v in seen):
        labels = [int(v) if k else -1 for v, k in zip(values, known, strict=True)]
        large = next((v for v in labels if v >= 2**63), None)
        if large is not None:
            raise GraphError(f"The label {float(min(large, 1e300)):g} is too large; number the classes from 0.")
        labels = [max(label, -1) for label in labels]
        enough = names is not None and len(names) > max(labels, default=-1)
        return np.array(labels, dtype=np.int64), names if enough else None
    if names is None or not {str(v) for v in seen} <= set(names):
        names = sorted({str(v) for v in seen})
    place = {each: i for i, each in enumerate(names)}
    labels = [place[str(v)] if k else -1 for v, k in zip(values, known, strict=True)]
    return np.array(labels, dtype=np.int64), names


def _vectors(nodes: list[Any], values: list[Any], name: str) -> NDArray[np.float32]:
    """[N, F] the feature vectors; F is 0 where no node has one."""
    if all(value is None for value in values):
        return np.zeros((len(nodes), 0), np.float32)
    rows = []
    for node, value in zip(nodes, values, strict=True):
        if value is None:
            raise GraphError(f"Node {node!r} has no feature vector '{name}', but other nodes have one.")
        try:
            rows.append(np.asarray(value, dtype=np.float32).reshape(-1))
        except (TypeError, ValueError):
            raise GraphError(f"The features '{name}' of node {node!r} are not numbers.") from None
        if len(rows[-1]) != len(rows[0]):
            lengths = f"{len(rows[-1])} features, but node {nodes[0]!r} has {len(rows[0])}"
            raise GraphError(f"Node {node!r} has {lengths}; all nodes need the same number.")
    return np.stack(rows)


def _edge_weights(values: list[Any], pairs: list[tuple[int, int]], nodes: list[Any]) -> NDArray[np.float32]:
    """[E] weights as numbers; an edge whose weight is None counts as 1."""
    try:
        return np.array([1.0 if value is None else value for value in values], dtype=np.float32)
    except (TypeError, ValueError):
        bad = next(i for i, value in enumerate(values) if not isinstance(value, numbers.Real))
        ends = " and ".join(repr(nodes[end]) for end in pairs[bad])
        raise GraphError(f"The weight of the edge between {ends} is {values[bad]!r}, not a number.") from None
