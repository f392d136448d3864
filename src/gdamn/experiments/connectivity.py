"""The aggregation weights of a fitted method on the entries of A + I, and what they carry from class to class."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ..baselines.gat import GATClassifier
from ..errors import ConfigError, GraphError
from ..estimators.base import NodeClassifier
from ..estimators.gdamn import GDAMN
from ..estimators.rebuild import load_state, on_entries
from ..fit.training import reproducible_threads
from ..graph.graph import Graph
from ..model.adjacency import Adjacency, gcn_adjacency
from ..model.inputs import label_block
from ..model.label_network import LabelNetwork
from ..model.problem import choose_device, make_problem
from ..model.propagators import GAT
from ..report.measures import class_strength
from .edges import between_classes

Weights = NDArray[np.float32]


def gcn_weights(graph: Graph) -> Weights:
    """[E + N] D^{-1/2} (A + I) D^{-1/2}: what a GCN aggregates with, and GMNN too."""
    return gcn_adjacency(graph.structure, torch.device("cpu")).values.numpy()


def learned_weights(graph: Graph, model: NodeClassifier) -> Weights:
    """[E + N] what a method with attention has learned: A_stable, or the attention of a GAT."""
    if isinstance(model, GDAMN) and model.edge_weights_ is not None:
        return on_entries(graph, model.tensors_["edge.stable"], model.tensors_["loop.stable"])
    if isinstance(model, GDAMN) and model.settings_.p_propagator == "gat":
        return label_attention(graph, model)
    if isinstance(model, GATClassifier):
        return feature_attention(graph, model)
    raise ConfigError(f"{model.method} has no attention whose weights could be shown.")


def feature_attention(graph: Graph, model: GATClassifier) -> Weights:
    """[E + N] the attention of a GAT on features: mean over heads, then over layers."""
    trained = model.as_trained()
    s = trained.settings
    problem = make_problem(graph, s.normalize, s.dropout_input, choose_device(s.device))
    network, _ = trained.build(problem, torch.Generator())
    load_state(network, model.tensors_, "network", model.method)
    adjacency = Adjacency(problem.structure, problem.structure.tensor("weights", problem.device))
    return _mean_attention(network, adjacency, [problem.x])


def label_attention(graph: Graph, model: GDAMN) -> Weights:
    """[E + N] the attention of p where p is a GAT on labels: mean over heads, then over layers."""
    s = model.as_trained().settings
    problem = make_problem(graph, s.normalize, s.dropout_input, choose_device(s.device))
    p = LabelNetwork(problem, s, torch.Generator())
    load_state(p, model.tensors_, "p", model.method)
    labels = torch.as_tensor(model.tensors_["pseudo_labels"]).to(problem.device)
    blocks = [label_block(labels, 0.0), *([problem.x] if s.p_input == "both" else [])]
    return _mean_attention(p.decoder, Adjacency(problem.structure, p.plain), blocks)


def _mean_attention(network: torch.nn.Module, adjacency: Adjacency, blocks: list[Any]) -> Weights:
    assert isinstance(network, GAT)
    with reproducible_threads(0):
        return torch.stack(network.attention_weights(adjacency, blocks)).mean(0).cpu().numpy()


def strength(graph: Graph, values: Weights) -> NDArray[np.float64]:
    """[C, C] the share of class a's aggregation weight that comes from class b, without the nodes' own messages.

    Own messages stay out because they are within the class by nature, and methods give them different weights.
    Labels of all nodes are read; rows of classes without edges are 0.
    """
    return np.nan_to_num(class_strength(graph, values[graph.structure.off_loop]))


def predicted_alike(graph: Graph, model: NodeClassifier) -> float:
    """Share of the edges between classes whose ends a model predicts alike: attention on labels can't see these."""
    between, predicted = between_classes(graph), model.predict(names=False)
    alike = predicted[graph.rows[between]] == predicted[graph.indices[between]]
    return float(alike.mean()) if len(alike) else 0.0


def diagonal_ratio(matrix: NDArray[np.float64]) -> float:
    """The paper's score: the sum of the diagonal over that of all else."""
    within = float(np.trace(matrix))
    outside = float(matrix.sum()) - within
    if outside <= 0:
        raise GraphError(
            "No edge of this graph joins two classes, so that connectivity between them can't be compared."
        )
    return within / outside
