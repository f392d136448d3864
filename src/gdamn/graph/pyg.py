"""Between :class:`gdamn.graph.Graph` and PyTorch Geometric's ``Data``.

What reading decided stands in ``graph.notes``. Where an argument that nobody gave would have changed the graph, a
:class:`gdamn.errors.GraphWarning` says the same.
"""

from __future__ import annotations

import sys
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import GraphError, GraphWarning
from .graph import SPLITS, Graph
from .validation import as_names, is_weight, merge_edges

if TYPE_CHECKING:
    from torch_geometric.data import Data

AUTO = "auto"
"""Weights are ``edge_weight`` where there is one."""


def from_pyg(
    data: Data,
    name: str = "graph",
    *,
    directed: bool | None = None,
    mask: int | None = None,
    weight: str | None = AUTO,
) -> Graph:
    """From a PyTorch Geometric ``Data``.

    Read are x (dense or torch sparse), edge_index (source, target) or else adj_t, y, and the masks. ``node_ids`` and
    ``class_names`` are read where :func:`to_pyg` left them. A class without a node keeps its number.

    Args:
        data: stays as it is.
        name: the graph's name.
        directed: keep the direction of the edges; else the other direction is added where it is missing.
        mask: which column of masks [N, k], which hold one split each; the first when left out. Masks [N] serve all.
        weight: the edge attribute with one positive number per edge that is the weight, such as ``edge_attr``;
            ``auto`` takes edge_weight, or the values of adj_t, where there are some; None: all edges count alike.
    """
    from torch_geometric.data import Data

    if not isinstance(data, Data):
        raise GraphError(not_a_graph(data, "a PyTorch Geometric Data"))
    edges, values = _edges(data)
    x = _numeric(data, "x")
    if x is not None and x.ndim == 1:
        x = x.reshape(-1, 1)
    masks, meta = _masks(data, mask)
    weights = _weights(data, weight, values)
    graph = Graph.build(
        edges,
        x,
        getattr(data, "y", None),
        num_nodes=data.num_nodes,
        weights=weights,
        class_names=getattr(data, "class_names", None),
        name=name,
        directed=bool(directed),
        **masks,
    )
    added = 0 if directed else _added_directions(edges, graph)
    notes = {
        _direction_note(added, graph): directed is None,
        _mask_note(meta): mask is None,
        _weight_note(data, weight, graph): weight == AUTO and weights is None and _is_weight(data, "edge_attr"),
        _dropped_note(graph): False,
        _class_note(graph): False,
    }
    _warn([note for note, matters in notes.items() if note and matters])
    said = [note for note in notes if note]
    graph = replace(graph, meta={**graph.meta, **meta, **({"notes": said} if said else {})})
    ids = _ids(data)
    return graph if ids is None else replace(graph, node_ids=as_names(ids, graph.num_nodes))


def not_a_graph(value: Any, expected: str) -> str:
    """One sentence about what was given in the place of a graph."""
    kind = type(value).__name__
    hint = "; turn it into a graph of one kind with its to_homogeneous()" if kind == "HeteroData" else ""
    hint = '; gdamn.load("cora") gives a graph by its name' if isinstance(value, str) else hint
    return f"Expected {expected}, not {kind}{hint}."


def _edges(data: Data) -> tuple[Any, Any]:
    """[2, E] sources and targets, and the values of adj_t where they come from it, else None.

    Row i of adj_t lists the sources that node i hears from.
    """
    import torch

    if data.edge_index is not None:
        return data.edge_index, None
    adjacency = getattr(data, "adj_t", None)
    if adjacency is None:
        raise GraphError("The PyTorch Geometric data have no edge_index and no adj_t; give them one of [2, edges].")
    if hasattr(adjacency, "coo"):  # torch_sparse.SparseTensor
        target, source, values = adjacency.coo()
        target, source = (part.cpu().numpy() for part in (target, source))
    elif isinstance(adjacency, torch.Tensor) and adjacency.layout is not torch.strided:
        matrix = adjacency.to_sparse_coo()  # type: ignore[no-untyped-call]
        (target, source), values = matrix._indices().cpu().numpy(), matrix._values()
    else:
        raise GraphError("The adj_t of the data is no sparse matrix; make it with T.ToSparseTensor().")
    return np.stack([source, target]), values


def _masks(data: Data, column: int | None) -> tuple[dict[str, Any], dict[str, int]]:
    """The masks [N] by their names, and ``split`` and ``splits``: the chosen column and the number of columns."""
    masks = {f"{split}_mask": _numeric(data, f"{split}_mask") for split in SPLITS}
    several = {name: m for name, m in masks.items() if m is not None and m.ndim == 2 and m.shape[1] > 0}
    if not several:
        if column not in (None, 0):
            raise GraphError(f"mask={column} chooses a column, but the masks of the data have none; leave it out.")
        return masks, {}
    count = min(m.shape[1] for m in several.values())
    chosen = 0 if column is None else column
    if isinstance(chosen, bool) or not isinstance(chosen, (int, np.integer)) or not 0 <= chosen < count:
        raise GraphError(f"mask={column!r} is no column of the masks; there are 0 to {count - 1}.")
    masks |= {name: m[:, chosen] for name, m in several.items()}
    return masks, {"split": int(chosen), "splits": int(count)}


def _weights(data: Data, name: str | None, values: Any) -> Any:
    """[E] the weights that ``name`` means; None where all edges count alike."""
    if name is None:
        return None
    if name == AUTO:
        given = _numeric(data, "edge_weight")
        values = None if values is None or not is_weight(values) else values.reshape(-1)
        return values if given is None else given
    if name not in data:
        attributes = ", ".join(sorted(key for key in data.edge_attrs() if key != "edge_index")) or "none"
        raise GraphError(f"The data have no '{name}' to take as weights; their edge attributes are: {attributes}.")
    given = _numeric(data, name)
    if not is_weight(given):
        raise GraphError(f"The {name} of the data has shape {tuple(given.shape)}; weights are one number per edge.")
    return given.reshape(-1)


def _is_weight(data: Data, name: str) -> bool:
    """Whether the data have such an attribute, with one number per edge."""
    value = getattr(data, name, None)
    try:
        return value is not None and is_weight(value)
    except ValueError:  # a list of lists of different lengths
        return False


def _added_directions(edges: Any, graph: Graph) -> int:
    """How many of the entries were added because their edge was listed in the other direction alone."""
    listed = merge_edges(edges, None, graph.num_nodes, directed=True)[1]
    return len(graph.indices) - len(listed)


def _direction_note(added: int, graph: Graph) -> str:
    if not added:
        return ""
    how = "Graph.from_pyg(data, directed=True) keeps the direction"
    return f"Edges: {added:,} of {graph.num_edges:,} were listed in one direction, and the other was added; {how}."


def _mask_note(meta: dict[str, int]) -> str:
    if not meta:
        return ""
    how = "Graph.from_pyg(data, mask=COLUMN) takes another"
    return f"Masks: column {meta['split']} of 0 to {meta['splits'] - 1} was taken, each of which is a split; {how}."


def _weight_note(data: Data, name: str | None, graph: Graph) -> str:
    """Where the weights come from, or what was left of the edge attributes."""
    if graph.weights is not None:
        source = "edge_weight" if "edge_weight" in data else "adj_t"
        return f"Weights: taken from {source if name == AUTO else name}."
    if getattr(data, "edge_attr", None) is None or name == "edge_attr":
        return ""
    one = _is_weight(data, "edge_attr")
    how = "Graph.from_pyg(data, weight='edge_attr') takes it" if one else "a weight is one number per edge"
    return f"Weights: edge_attr is not used; {how}."


def _dropped_note(graph: Graph) -> str:
    loops = graph.meta["dropped_self_loops"]
    return (
        f"Edges: {loops:,} from a node to itself were dropped; messages pass over a loop at each node." if loops else ""
    )


def _class_note(graph: Graph) -> str:
    empty = np.flatnonzero(np.bincount(graph.labels[graph.labels >= 0], minlength=graph.num_classes) == 0)
    if not len(empty) or not (graph.labels >= 0).any():
        return ""
    names = ", ".join(graph.class_names[at] for at in empty[:5]) + (" …" if len(empty) > 5 else "")
    return f"Classes: no node has class {names}; it keeps its number, and its column in predictions."


def _warn(notes: list[str]) -> None:
    """A warning each, at the line that called gdamn."""
    level, frame = 1, sys._getframe()
    while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] == "gdamn":
        level, frame = level + 1, frame.f_back  # type: ignore[assignment]
    for note in notes:
        warnings.warn(note, GraphWarning, stacklevel=level)


def _numeric(data: Data, key: str) -> Any:
    """An attribute of a Data as a tensor or an array, or None; a list of numbers is one too."""
    value = getattr(data, key, None)
    if value is None or hasattr(value, "ndim"):
        return value
    try:
        array = np.asarray(value)
    except ValueError:
        array = np.empty(0, object)
    if array.ndim == 0 or array.dtype.kind not in "biuf":
        raise GraphError(f"The {key} of the data is of type {type(value).__name__}; give a tensor of numbers.")
    return array


def _ids(data: Data) -> Any:
    """Node ids that a Data carries, or None."""
    ids = getattr(data, "node_ids", None)
    if isinstance(ids, (int, float)):
        raise GraphError(f"The node_ids of the data are {ids!r}; give a list with one id per node.")
    return ids


def to_pyg(graph: Graph, *, sparse: bool = False) -> Data:
    """As a PyTorch Geometric ``Data``, its nodes in the same order.

    It has x, edge_index (both directions of undirected edges), edge_weight on weighted graphs, y (-1: unknown),
    the three masks, node_ids (a tensor where they are whole numbers, which loaders can slice, else a list) and the
    list class_names.

    Args:
        graph: stays as it is.
        sparse: give features that the graph holds sparse as a torch sparse CSR tensor; otherwise x is dense,
            which most layers expect.
    """
    import torch
    from torch_geometric.data import Data

    features: Any = graph.features
    if sparse and graph.is_sparse:
        rows, columns = (torch.from_numpy(part.astype(np.int64)) for part in (features.indptr, features.indices))
        values = torch.from_numpy(features.data.copy())
        x = torch.sparse_csr_tensor(rows, columns, values, size=features.shape, check_invariants=True)
    else:
        x = torch.from_numpy(features.toarray() if graph.is_sparse else features.copy())
    data = Data(
        x=x,
        edge_index=torch.from_numpy(np.stack([graph.indices, graph.rows]).astype(np.int64)),
        y=torch.from_numpy(graph.labels.copy()),
        num_nodes=graph.num_nodes,
    )
    if graph.weights is not None:
        data.edge_weight = torch.from_numpy(graph.weights.copy())
    for split in SPLITS:
        data[f"{split}_mask"] = torch.from_numpy(graph.mask(split).copy())
    data.node_ids = _as_ids(graph.node_ids)
    data.class_names = list(graph.class_names)
    return data


def _as_ids(ids: NDArray[Any]) -> Any:
    """[N] whole numbers as a tensor, others as a list."""
    import torch

    return torch.from_numpy(ids.astype(np.int64)) if ids.dtype.kind in "iu" else ids.tolist()
