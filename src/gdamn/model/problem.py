"""Problem: a graph as tensors on a device, with only the labels that training may read."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from ..errors import ConfigError, TrainingError
from ..graph.graph import Graph
from ..graph.structure import Structure
from ..kernels import Key
from ..kernels.place import WHOLE, Place
from .class_weights import class_weights, label_weights
from .inputs import Block, feature_block
from .objectives import Counts

log = logging.getLogger("gdamn")


@dataclass(frozen=True, eq=False)
class Labelled:
    """What a fit sees of the labels. Those outside train and validation never enter it.

    Attributes:
        labels: [N, C] one-hot on training nodes, or distributions (label_noise=auto); 0 elsewhere.
        train: [L] training nodes; rest: [N - L] all others, but for those that don't count.
        val, val_labels: [V] validation nodes and their classes, for choosing the epoch only.
        class_weights: [C] how much a known label of each class counts, 1 in the mean over L; None: all alike.
        label_weights: [N] how much each known label counts beside that, such that with the weights of the classes the
            mean over L is 1; None: all alike.
        class_names: [C], for people; empty where nobody needs them.
        counted: [N] the nodes that the means of the losses count; None: all of them.
    """

    labels: Tensor
    train: Tensor
    rest: Tensor
    val: Tensor
    val_labels: Tensor
    train_labels: Tensor
    device: torch.device
    class_weights: Tensor | None = field(default=None, kw_only=True)
    label_weights: Tensor | None = field(default=None, kw_only=True)
    class_names: tuple[str, ...] = field(default=(), kw_only=True)
    counted: Tensor | None = field(default=None, kw_only=True)

    @property
    def place(self) -> Place:
        """Which part of the whole graph the arrays are: all of it, unless several processes share the graph."""
        return WHOLE

    @property
    def counts(self) -> Counts:
        """How many nodes and edges the whole graph has, without the nodes that don't count."""
        nodes = self.num_nodes if self.counted is None else int(self.counted.sum())
        return Counts(nodes, self.num_edges, len(self.train), len(self.rest), len(self.val))

    @property
    def num_edges(self) -> int:
        """Entries of A, both directions of an undirected edge."""
        raise AssertionError(f"{type(self).__name__} must define num_edges")

    def arrays(self) -> list[NDArray[Any]]:
        """All that decides a fit, with the settings."""
        raise AssertionError(f"{type(self).__name__} must define arrays")

    @property
    def num_nodes(self) -> int:
        """N."""
        return len(self.labels)

    @property
    def num_classes(self) -> int:
        """C."""
        return int(self.labels.shape[1])

    def known_weights(self) -> Tensor | None:
        """[L] how much the label of each training node counts, 1 in the mean; None: all alike."""
        if self.class_weights is None and self.label_weights is None:
            return None
        ones = torch.ones(len(self.train), device=self.device)
        of_class = ones if self.class_weights is None else self.class_weights[self.train_labels]
        return of_class if self.label_weights is None else of_class * self.label_weights[self.train]

    def drawn(self, distribution: Tensor, key: Key) -> Tensor:
        """[N] a class of each node, drawn from its distribution [N, C]; of all nodes at once, in their order."""
        generator = torch.Generator().manual_seed(key.value & ((1 << 63) - 1))
        found = torch.multinomial(self.place.all_rows(distribution).cpu(), 1, generator=generator)
        return self.place.own_rows(found, len(distribution))[:, 0].to(distribution.device)

    def with_known_labels(self, distribution: Tensor) -> Tensor:
        """The distribution [N, C] with the rows of training nodes replaced by their labels."""
        known = distribution.clone()
        known[self.train] = self.labels[self.train]
        return known


@dataclass(frozen=True, eq=False)
class Problem(Labelled):
    """What a fit sees.

    Attributes:
        structure: A + I.
        x: the features.
    """

    structure: Structure
    x: Block

    @property
    def num_edges(self) -> int:
        """Entries of A, both directions of an undirected edge."""
        return self.structure.pattern.num_entries - self.structure.pattern.shape[0]

    @property
    def weighted(self) -> bool:
        """Whether edges have weights."""
        return bool((self.structure.weights != 1).any())

    def arrays(self) -> list[NDArray[Any]]:
        """All that decides a fit, with the settings."""
        x, pattern = self.x, self.structure.pattern
        arrays: list[NDArray[Any]] = [pattern.indptr, pattern.indices, self.structure.weights]
        arrays += [] if self.structure.kept is None else [self.structure.kept]
        arrays += [] if x.pattern is None else [x.pattern.indptr, x.pattern.indices]
        tensors = (self.labels, self.val, self.val_labels, x.dense, x.values, self.class_weights, self.label_weights)
        return arrays + [tensor.cpu().numpy() for tensor in tensors if tensor is not None]

    def weighed_by_features(self) -> Problem:
        """The same problem on A ⊙ C with C_ij = max(cos(x_i, x_j), 0) over its mean on the edges.

        A wrong edge joins nodes whose features have less in common than those of a right one, so it counts less.
        Divided by the mean, an average edge weighs as much as a loop, as it does in the plain graph.
        """
        cosines = self.x.cosines(self.structure.pattern).clamp_min(0).cpu().numpy()
        edges = cosines[self.structure.free]
        mean = float(edges.mean(dtype=np.float64)) if len(edges) else 0.0
        factors = (cosines / max(mean, 1e-12)).astype(np.float32)
        if self.structure.kept is not None:  # a confirmed edge weighs as much as an average one at least
            factors = np.where(self.structure.kept, np.maximum(factors, 1), factors).astype(np.float32)
        return replace(self, structure=self.structure.weighed(factors))


def without_isolated(problem: Problem, start: str, isolated: str) -> Problem:
    """The same problem, where unlabelled nodes without edges don't count in the means of the losses.

    No edge carries anything from them to others, but in a mean over all nodes they take weight from the others: 4,000
    of them beside Cora's 2,708 leave its own nodes 40 % of every unsupervised term. q predicts them all the same.
    Where every unlabelled node is isolated, they all count.

    Args:
        start, isolated: the settings of these names.
    """
    leave = isolated == "leave" or (isolated == "auto" and start in ("auto", "multihop"))
    alone = problem.structure.isolated if leave and problem.place.whole else None
    if alone is None or not alone.any():
        return problem
    counted = torch.from_numpy(~alone).to(problem.device)
    rest = problem.rest[counted[problem.rest]]
    if len(rest) in (0, len(problem.rest)):
        return problem
    counted[problem.train] = True
    return replace(problem, rest=rest, counted=counted)


def choose_device(name: str) -> torch.device:
    """The device called so; ``auto`` is the CPU, the only one that gdamn is tested on. Others are warned of once."""
    if name == "auto":
        return torch.device("cpu")
    try:
        device = torch.device(name)
        if device.type != "mps":
            torch.zeros(1, device=device).cpu()  # meta makes tensors, but they hold nothing
    except (RuntimeError, AssertionError, NotImplementedError, ImportError, ValueError, TypeError):
        raise ConfigError(f"Device '{name}' can't be used here; choose cpu or auto.") from None
    if device.type == "mps":
        raise ConfigError("Device 'mps' has no float64, which gdamn needs; choose cpu or auto.")
    if device.type != "cpu":
        _warn_untested(device.type)
    return device


@cache
def _warn_untested(kind: str) -> None:
    """Once in a process."""
    log.warning(
        "gdamn is untested on '%s': check what it gives against device=cpu, and don't expect the same bits.", kind
    )


def make_problem(
    graph: Graph, normalize: str, dropout_input: float, device: torch.device, class_weight: str = "none"
) -> Problem:
    """Check that the graph can be learned from, and lay it out on the device."""
    check_learnable(graph)
    x = feature_block(graph.features, normalize, dropout_input, device)
    return Problem(structure=graph.structure, x=x, device=device, **known_labels(graph, device, class_weight))


def check_learnable(graph: Graph) -> None:
    """Refuse a graph that has nothing to learn, or nothing to learn from."""
    labels = graph.labels[graph.train_mask]
    if len(labels) == 0:
        raise TrainingError(f"Graph '{graph.name}' has no training nodes; mark some labelled nodes in train_mask.")
    if len(np.unique(labels)) < 2:
        raise TrainingError(f"All training nodes of '{graph.name}' have one label; at least two classes are needed.")
    if graph.num_features == 0:
        raise TrainingError(f"Graph '{graph.name}' has no features; give each node at least one.")


def known_labels(graph: Graph, device: torch.device, class_weight: str = "none") -> dict[str, Any]:
    """The labels that training may read, as a :class:`Problem` has them, and what each class of them counts."""
    train, val = np.flatnonzero(graph.train_mask), np.flatnonzero(graph.val_mask)
    train_labels = torch.as_tensor(graph.labels[train]).to(device)
    labels = torch.zeros(graph.num_nodes, graph.num_classes, device=device)
    nodes = torch.as_tensor(train).to(device)
    labels[nodes] = F.one_hot(train_labels, graph.num_classes).float()
    counts = np.bincount(graph.labels[train], minlength=graph.num_classes)
    weights = class_weights(class_weight, graph.class_names, counts)
    of_labels = label_weights(graph.label_weights, train, graph.labels[train], weights)
    return {
        "labels": labels,
        "train": nodes,
        "rest": torch.as_tensor(np.flatnonzero(~graph.train_mask)).to(device),
        "val": torch.as_tensor(val).to(device),
        "val_labels": torch.as_tensor(graph.labels[val]).to(device),
        "train_labels": train_labels,
        "class_names": tuple(map(str, graph.class_names)),
        "class_weights": None if weights is None else torch.as_tensor(weights, dtype=torch.float32).to(device),
        "label_weights": None if of_labels is None else torch.as_tensor(of_labels, dtype=torch.float32).to(device),
    }
