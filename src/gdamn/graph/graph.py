"""Graph: one immutable, validated structure that every part of gdamn reads.

Edges are held as CSR over rows *i* with their neighbours *j*, sorted, without duplicates and without
self-loops: loops in the input are dropped (and counted in ``meta["dropped_self_loops"]``). For message passing
``loops.py`` adds exactly one loop per node (:attr:`Graph.structure`), because isolated nodes and nodes whose edges were
all cut must keep their own message.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from ..errors import GraphError
from .node_ids import plain_ids
from .pattern import Pattern
from .pattern import reverse_map as reverse_map
from .read_only import seal_fields, sealed, sealed_features, sealed_mapping
from .shown import Shown
from .structure import Structure

if TYPE_CHECKING:
    import networkx as nx
    from torch_geometric.data import Data

    from .extension import Extension

Features: TypeAlias = NDArray[np.float32] | sp.csr_array

SPARSE_BELOW = 0.25
"""Features with a smaller share of non-zeros are kept sparse. Measured: see docs/evidence/performance.md."""

SPLITS = ("train", "val", "test")
_ARRAYS = (
    *("indptr", "indices", "reverse", "weights", "labels", "train_mask", "val_mask", "test_mask", "node_ids"),
    *("label_weights", "confirmed"),
)


@dataclass(frozen=True, eq=False, repr=False)
class Graph(Shown):
    """A graph with features, labels and splits; build it with :meth:`build` or a converter.

    All its arrays are read-only; ``with_labels``, ``with_masks`` and ``dataclasses.replace`` make a changed graph.

    Attributes:
        indptr: [N + 1] row pointers.
        indices: [E] neighbours, sorted within a row; an undirected edge stands in both rows.
        reverse: [E] position of the entry (j, i) for the entry (i, j); -1 where a directed graph has none.
        weights: [E] edge weights, or None where all are 1.
        features: [N, F] float32, dense or CSR, chosen by density (:data:`SPARSE_BELOW`).
        labels: [N] class numbers, -1 where unknown.
        train_mask, val_mask, test_mask: [N] disjoint node sets.
        node_ids: [N] the user's own names of the nodes, in their own types; dates are held as their ISO text.
        class_names: [C] the user's own names of the classes.
        name: what the graph is called in tables and files.
        meta: plain data to remember: split, noise, counts of what was dropped.
        label_weights: [N] how much each known label counts in the loss, or None where all count alike.
        confirmed: [E] True where a person called the edge right (decided.py), or None where nobody did.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    reverse: NDArray[np.int32]
    weights: NDArray[np.float32] | None
    features: Features
    labels: NDArray[np.int64]
    train_mask: NDArray[np.bool_]
    val_mask: NDArray[np.bool_]
    test_mask: NDArray[np.bool_]
    node_ids: NDArray[Any]
    class_names: tuple[str, ...]
    name: str = "graph"
    meta: Mapping[str, Any] = field(default_factory=dict)
    directed: bool = False
    label_weights: NDArray[np.float32] | None = None
    confirmed: NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "node_ids", plain_ids(self.node_ids))
        self._seal()

    def _seal(self) -> None:
        """Make every array read-only, as views: whoever gave one can still write to it."""
        seal_fields(self, _ARRAYS)
        object.__setattr__(self, "features", sealed_features(self.features))
        object.__setattr__(self, "meta", sealed_mapping(self.meta))

    def __getstate__(self) -> dict[str, Any]:
        """For pickle and copy: what was only made when it was asked for stays behind."""
        return {each.name: getattr(self, each.name) for each in fields(self)} | {"meta": dict(self.meta)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._seal()

    @classmethod
    def build(
        cls,
        edges: ArrayLike,
        features: Any,
        labels: ArrayLike | None = None,
        *,
        num_nodes: int | None = None,
        weights: ArrayLike | None = None,
        train_mask: ArrayLike | None = None,
        val_mask: ArrayLike | None = None,
        test_mask: ArrayLike | None = None,
        node_ids: Sequence[Any] | NDArray[Any] | None = None,
        class_names: Sequence[str] | None = None,
        name: str = "graph",
        meta: Mapping[str, Any] | None = None,
        directed: bool = False,
    ) -> Graph:
        """Validate and build a graph.

        Args:
            edges: [2, E] integer array of (source, target); in a directed graph a source sends to its target.
                Duplicates are merged (weights: the largest counts), loops dropped, and the other direction
                added unless ``directed``.
            features: [N, F] array, SciPy sparse matrix or torch tensor (dense or sparse). A dense float32 array is
                held as it is, without a copy: write to it, and the graph has other features.
            labels: [N] class numbers, negative where unknown; none known when left out.
            num_nodes: N, where neither features nor labels tell it.
            weights: [E] positive edge weights.
            train_mask, val_mask, test_mask: [N] booleans or 0s and 1s, or arrays of node numbers, each once. N numbers
                that are all 0 or 1 are a mask, even where they could be node numbers (N = 2).
        """
        from .validation import as_class_names, as_features, as_labels, as_mask, as_names, check_disjoint, merge_edges

        x = as_features(features, num_nodes, SPARSE_BELOW)
        n = x.shape[0]
        y = as_labels(labels, n)
        masks = [as_mask(m, n, which) for which, m in zip(SPLITS, (train_mask, val_mask, test_mask), strict=True)]
        check_disjoint(masks, y)
        indptr, indices, w, counts = merge_edges(edges, weights, n, directed)
        return cls(
            indptr=indptr,
            indices=indices,
            reverse=reverse_map(indptr, indices),
            weights=w,
            features=x,
            labels=y,
            train_mask=masks[0],
            val_mask=masks[1],
            test_mask=masks[2],
            node_ids=np.arange(n) if node_ids is None else as_names(node_ids, n),
            class_names=as_class_names(class_names, int(y.max(initial=-1)) + 1),
            name=name,
            meta={**counts, **(meta or {})},
            directed=directed,
        )

    @property
    def num_nodes(self) -> int:
        """N."""
        return len(self.labels)

    @property
    def num_edges(self) -> int:
        """Number of undirected edges; of directed ones in a directed graph."""
        return len(self.indices) if self.directed else len(self.indices) // 2

    @property
    def num_features(self) -> int:
        """F."""
        return int(self.features.shape[1])

    @property
    def num_classes(self) -> int:
        """C."""
        return len(self.class_names)

    @property
    def notes(self) -> tuple[str, ...]:
        """What reading the graph decided, a sentence each."""
        return tuple(self.meta.get("notes", ()))

    @property
    def is_sparse(self) -> bool:
        """Whether the features are held sparse."""
        return bool(sp.issparse(self.features))

    @cached_property
    def rows(self) -> NDArray[np.int32]:
        """[E] row of each CSR entry."""
        return sealed(np.repeat(np.arange(self.num_nodes, dtype=np.int32), np.diff(self.indptr)))

    def mask(self, name: str) -> NDArray[np.bool_]:
        """The node set called ``train``, ``val``, ``test``, ``labelled`` or ``all``."""
        if name in SPLITS:
            chosen: NDArray[np.bool_] = getattr(self, f"{name}_mask")
            return chosen
        if name == "labelled":
            return self.labels >= 0
        if name == "all":
            return np.ones(self.num_nodes, dtype=bool)
        raise GraphError(f"There is no node set '{name}'; choose train, val, test, labelled or all.")

    @cached_property
    def structure(self) -> Structure:
        """A + I with everything that message passing needs; built once."""
        from .loops import entry_attributes, on_entries, with_loops

        n = self.num_nodes
        looped = with_loops(self.indptr, self.indices)
        weights, loop, pair = entry_attributes(self, looped.entries, np.arange(n))
        pattern = Pattern.from_csr(looped.indptr, looped.indices, (n, n))
        kept = None if self.confirmed is None else on_entries(looped.entries, self.confirmed)
        return Structure(pattern=pattern, weights=weights, loop=loop, pair=pair, kept=kept)

    def inter_class_share(self, weights: NDArray[Any] | None = None) -> float:
        """Share of the edges (or of their weight) that join two different known labels; nan where none do."""
        a, b = self.labels[self.rows], self.labels[self.indices]
        known = (a >= 0) & (b >= 0)
        w = np.ones(len(a)) if weights is None else np.asarray(weights, dtype=float)
        total = float(w[known].sum())
        return float(w[known & (a != b)].sum()) / total if total > 0 else float("nan")

    def with_labels(self, labels: ArrayLike) -> Graph:
        """The same graph with other labels (the masks stay)."""
        from .validation import as_labels, check_disjoint

        y = as_labels(labels, self.num_nodes)
        check_disjoint([self.train_mask, self.val_mask, self.test_mask], y)
        if y.max(initial=-1) >= self.num_classes:
            raise GraphError(f"Label {int(y.max())} is not one of the graph's {self.num_classes} classes.")
        return replace(self, labels=y)

    def with_masks(self, train: ArrayLike, val: ArrayLike, test: ArrayLike, **meta: Any) -> Graph:
        """The same graph with another split (masks as for :meth:`build`), and what should be remembered of it."""
        from .validation import as_mask, check_disjoint

        masks = [as_mask(m, self.num_nodes, which) for which, m in zip(SPLITS, (train, val, test), strict=True)]
        check_disjoint(masks, self.labels)
        changed = replace(self, train_mask=masks[0], val_mask=masks[1], test_mask=masks[2])
        return replace(changed, meta={**self.meta, **meta})

    @classmethod
    def from_pyg(
        cls,
        data: Data,
        name: str = "graph",
        *,
        directed: bool | None = None,
        mask: int | None = None,
        weight: str | None = "auto",
    ) -> Graph:
        """From a PyTorch Geometric ``Data``: x, edge_index or adj_t, edge_weight, y and the masks that it has.

        :attr:`notes` says what was decided; a :class:`gdamn.errors.GraphWarning` tells of what an argument changes.

        Args:
            directed: keep the direction of the edges; else the other direction is added where it is missing.
            mask: which column of masks [N, k], a split each; the first when left out.
            weight: the edge attribute that is the weight; ``auto``: edge_weight where there is one; None: none.
        """
        from .convert import from_pyg

        return from_pyg(data, name, directed=directed, mask=mask, weight=weight)

    def to_pyg(self) -> Data:
        """As a PyTorch Geometric ``Data`` with x, edge_index, y and the masks."""
        from .convert import to_pyg

        return to_pyg(self)

    @classmethod
    def from_scipy(cls, adjacency: Any, features: Any = None, labels: ArrayLike | None = None, **kwargs: Any) -> Graph:
        """From a square SciPy sparse adjacency matrix, whose values are the edge weights."""
        from .convert import from_scipy

        return from_scipy(adjacency, features, labels, **kwargs)

    def to_scipy(self) -> sp.csr_array:
        """The adjacency matrix, without self-loops."""
        from .convert import to_scipy

        return to_scipy(self)

    @classmethod
    def from_networkx(cls, graph: nx.Graph, label: str = "label", features: str = "x", name: str = "graph") -> Graph:
        """From a NetworkX graph whose nodes carry a label and a feature vector under these attribute names."""
        from .convert import from_networkx

        return from_networkx(graph, label, features, name)

    def to_networkx(self) -> nx.Graph:
        """As a NetworkX graph whose nodes carry ``label``, ``x`` and ``split``."""
        from .convert import to_networkx

        return to_networkx(self)

    @classmethod
    def from_tables(
        cls,
        nodes: Any,
        edges: Any,
        *,
        id: str | None = None,
        label: str | None = None,
        features: Sequence[str] | None = None,
        text: str | None = None,
        weight: str | None = None,
        source: str | None = None,
        target: str | None = None,
        split: str | None = None,
        val_share: float = 0.2,
        test_share: float = 0.0,
        directed: bool = False,
        seed: int = 0,
        name: str = "graph",
    ) -> Graph:
        """From data frames of nodes and edges: pandas, polars, or anything that gives Arrow.

        The keywords name columns, as the options of ``gdamn train`` do (data/files/options.py); ``split`` is
        the column that says train, val or test. Numbers are standardised, names one-hot encoded, a text becomes TF-IDF;
        ``meta["notes"]`` tells what was done.
        """
        from ..data.assemble import from_frames
        from ..data.files.options import Options

        nodes_columns = {"id": id, "label": label, "features": features, "text": text, "split_column": split}
        edges_columns = {"weight": weight, "source": source, "target": target, "directed": directed}
        shares = {"val_share": val_share, "test_share": test_share}
        options = Options.make({**nodes_columns, **edges_columns, **shares})
        return from_frames(nodes, edges, options, seed=seed, name=name)

    def extended(self, nodes: Any, edges: Any = None) -> Extension:
        """This graph with new nodes and their edges, which may lead to nodes that it has.

        Args:
            nodes: where the graph was made of tables, a table or file like those, read and encoded as they were; else
                features [M, F] of nodes that are numbered N, N + 1, ….
            edges: a table or file by ids; else [2, E] by these numbers.
        """
        from ..data.assemble import more_rows

        return more_rows(self, nodes, edges)
