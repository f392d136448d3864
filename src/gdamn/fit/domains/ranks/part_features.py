"""The features and labels of a rank's nodes, from the parts that it maps; statistics of all nodes by collectives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch.nn import functional as F

from ....errors import TrainingError
from ....graph.normalisation import (
    Scale,
    column_powers,
    divided_rows,
    filled_rows,
    lengths,
    normalized,
    rarity,
    scaled_columns,
    spread_of,
    standardised,
    sums,
)
from ....graph.parts import Part, PartitionedGraph
from ....kernels import Pattern
from ....model.class_weights import class_weights
from ....model.inputs import Block
from ....model.objectives import Counts
from ....model.setting import Trainable
from .group import Group


def own_features(
    parts: Sequence[Part], graph: PartitionedGraph, s: Trainable, device: torch.device, group: Group
) -> Block:
    """The normalised features of the rank's nodes [n, F], dense or sparse."""
    scaled = normaliser(parts, graph, s.normalize, group)
    n, width = sum(part.num_nodes for part in parts), graph.num_features
    if not graph.is_sparse:
        dense = torch.empty(n, width)
        begin = 0
        for x in features_of(parts, graph):
            dense[begin : begin + len(x)] = torch.from_numpy(np.ascontiguousarray(scaled(x), np.float32))
            begin += len(x)
        return Block(width, s.dropout_input, dense=dense.to(device))
    blocks = [scaled(x) for x in features_of(parts, graph)]
    whole = sp.vstack(blocks, format="csr") if len(blocks) > 1 else blocks[0]
    pattern = Pattern.from_csr(whole.indptr, whole.indices, whole.shape)
    values = torch.from_numpy(np.ascontiguousarray(whole.data, np.float32)).to(device)
    stored = sum(part.num_features_stored for part in graph.parts)
    pattern = replace(pattern, first_entry=parts[0].first_feature, whole_entries=stored)
    return Block(width, s.dropout_input, pattern=pattern, values=values)


def features_of(parts: Sequence[Part], graph: PartitionedGraph) -> Iterator[Any]:
    """The features of each part as they were given, in memory."""
    for part in parts:
        if graph.is_sparse:
            arrays = (np.array(part.array(f"features_{name}")) for name in ("data", "indices", "indptr"))
            yield sp.csr_array(tuple(arrays), shape=(part.num_nodes, graph.num_features))
        else:
            yield np.array(part.array("features"), np.float32)


def normaliser(parts: Sequence[Part], graph: PartitionedGraph, how: str, group: Group) -> Callable[[Any], Any]:
    """What makes a part's features those of the setting ``normalize``, as gdamn.graph.normalisation does of all."""
    if how == "binary":
        return lambda x: normalized(x, "binary")
    if how == "idf":
        counts = sum((filled_rows(x) for x in features_of(parts, graph)), np.zeros(graph.num_features, np.int64))
        factors = rarity(group.total(torch.from_numpy(counts).to(group.device)).cpu().numpy(), graph.num_nodes)
        return lambda x: normalized(scaled_columns(x, factors), "row")
    size = lengths if how == "unit" else sums
    if how in ("auto", "unit"):
        mine = reduce(Scale.with_rows, map(Scale.of, features_of(parts, graph)), Scale())
        how = reduce(Scale.with_rows, (Scale(*other) for other in group.ask_all(list(mine)))).normalisation
    if how == "none" or graph.num_features == 0:
        return lambda x: x
    if how == "row":
        return lambda x: divided_rows(x, size(x))
    powers = sum((column_powers(x) for x in features_of(parts, graph)), np.zeros((2, graph.num_features)))
    total = group.total(torch.from_numpy(powers).to(group.device)).cpu().numpy()
    mean, spread = spread_of(total, graph.num_nodes)
    return lambda x: standardised(x, mean, spread)


def own_labels(
    parts: Sequence[Part], graph: PartitionedGraph, s: Trainable, device: torch.device, group: Group
) -> tuple[dict[str, Any], Counts]:
    """What a problem has of the rank's labels (:class:`gdamn.model.problem.Labelled`), and the counts of all nodes."""
    classes = graph.num_classes
    train, val = (np.flatnonzero(joined(parts, name)) for name in ("train_mask", "val_mask"))
    known = joined(parts, "labels")
    of_class = group.total(torch.from_numpy(np.bincount(known[train], minlength=classes)).to(group.device))
    counts_of_class = of_class.cpu().numpy()
    validated = int(group.total(torch.tensor([len(val)], device=group.device)))
    _check_learnable(graph, counts_of_class)
    weights = class_weights(str(s.class_weight), graph.class_names, counts_of_class)
    labels = torch.zeros(len(known), classes, device=device)
    labels[torch.from_numpy(train)] = F.one_hot(torch.from_numpy(known[train]), classes).float().to(device)
    unknown = np.ones(len(known), bool)
    unknown[train] = False
    tensors = {
        "train": train,
        "rest": np.flatnonzero(unknown),
        "val": val,
        "val_labels": known[val],
        "train_labels": known[train],
    }
    about = {
        "labels": labels,
        "class_names": graph.class_names,
        "class_weights": None if weights is None else torch.as_tensor(weights, dtype=torch.float32).to(device),
        **{name: torch.from_numpy(array).to(device) for name, array in tensors.items()},
    }
    trained = int(counts_of_class.sum())
    return about, Counts(graph.num_nodes, graph.num_entries, trained, graph.num_nodes - trained, validated)


def joined(parts: Sequence[Part], name: str) -> NDArray[Any]:
    """An array of the nodes of consecutive parts, in memory."""
    return np.concatenate([part.array(name) for part in parts])


def _check_learnable(graph: PartitionedGraph, counts: NDArray[Any]) -> None:
    """Refuse a graph that has nothing to learn, or nothing to learn from, as gdamn.model.problem does."""
    if not counts.any():
        raise TrainingError(f"Graph '{graph.name}' has no training nodes; mark some labelled nodes as train.")
    if np.count_nonzero(counts) < 2:
        raise TrainingError(f"All training nodes of '{graph.name}' have one label; at least two classes are needed.")
    if graph.num_features == 0:
        raise TrainingError(f"Graph '{graph.name}' has no features; give each node at least one.")
