"""A fitted model on a graph that it wasn't fitted on: new nodes, new edges (docs/inductive.md).

q is a function of features and edge weights, and the attentions are functions of label distributions and features, so
the saved weights answer for any graph with the same features and classes. Nodes that the model knows keep the label
distribution Ŷ that it saved; for new ones Ŷ is q's opinion on a first graph, and the edges are then weighed with it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from ..baselines.common import NetworkClassifier
from ..errors import ConfigError, DataError, GraphError
from ..estimators.base import NodeClassifier
from ..estimators.gdamn import GDAMN
from ..fit.domains.domain import WholeQGraph
from ..fit.training import make_generator, reproducible_threads
from ..graph.graph import Graph
from ..graph.order import local_order, renumbered
from ..kernels import Key, sddmm
from ..model.adjacency import Adjacency, gcn_adjacency, loops_only, normalized
from ..model.attention import HardAttention
from ..model.fitted_state import ATTENTION, Arrays, put_back
from ..model.label_network import LabelNetwork
from ..model.problem import Problem
from ..model.propagators import start_norm
from ..model.settings import Settings
from .rebuild import graph_of_choice, like, load_state, make_view, rebuild_p, rebuild_q, reweight_key, start_of_em

ROUNDS = 1
"""How often the edges are weighed with the new nodes' labels; more changed little (docs/inductive.md)."""

TOLERANCE = 1e-4
"""On the graph of the fit a rebuilt model must answer as the saved one did, to this much."""


@dataclass(frozen=True, eq=False)
class Answer:
    """What a model says of a graph.

    Attributes:
        probabilities: [N, C] of q.
        weights: ``hard``, ``soft``, ``stable`` [E] in the order of the graph's CSR and ``loop.…`` [N] likewise; empty
            for a model without attention.
    """

    probabilities: NDArray[np.float32]
    weights: dict[str, NDArray[np.float32]]


def answer(
    model: NodeClassifier,
    graph: Graph,
    fitted_on: Graph | None = None,
    known: NDArray[np.int64] | None = None,
    rounds: int = ROUNDS,
) -> Answer:
    """The model's probabilities and edge weights on another graph.

    Args:
        model: fitted or loaded.
        graph: features and classes like those of the fit; its labels are not read.
        fitted_on: the graph of the fit, which tells how features are normalised; a fitted model has it.
        known: [N] each node's number in the fit, -1 for new ones; by default found with :func:`known_nodes`.
        rounds: how often new nodes' labels and the edges refine each other, at least once.
    """
    if rounds < 1:
        raise ConfigError(f"The edges are weighed at least once; rounds is {rounds}.")
    fitted_on = training_graph(model, fitted_on)
    check_fits(model, graph, fitted_on)
    check_rebuilt(model, fitted_on)
    numbers = known_nodes(graph, fitted_on) if known is None else known
    return _answer(model, graph, fitted_on, numbers, rounds)


def training_graph(model: NodeClassifier, graph_of_fit: Graph | None) -> Graph:
    """The graph of the fit: the one given, or the one that a fitted model holds."""
    graph = graph_of_fit if graph_of_fit is not None else model.graph_
    if graph is None:
        raise GraphError("A loaded model doesn't hold the graph of its fit; pass it as fitted_on.")
    return graph


def check_fits(model: NodeClassifier, graph: Graph, fitted_on: Graph) -> None:
    """Refuse a graph with other features or classes than those of the fit."""
    if graph.num_features != fitted_on.num_features:
        counts = f"{graph.num_features} features, but the model was trained on {fitted_on.num_features}"
        raise GraphError(f"The graph '{graph.name}' has {counts}.")
    if tuple(graph.class_names) != tuple(model.class_names_):
        raise GraphError(f"The graph '{graph.name}' has other classes than those the model was trained on.")


def check_rebuilt(model: NodeClassifier, fitted_on: Graph) -> None:
    """On its own graph the rebuilt model must say what the saved one said; otherwise it is more than its weights."""
    rebuilt = _answer(model, fitted_on, fitted_on, np.arange(fitted_on.num_nodes), 1).probabilities
    if rebuilt.shape != model.probabilities_.shape or not np.allclose(rebuilt, model.probabilities_, atol=TOLERANCE):
        raise GraphError(
            f"The weights of this '{model.method}' model don't give its saved answers on the graph of its fit: the "
            "method uses more than its weights, or the data have changed; new nodes can't be predicted with it."
        )


def known_nodes(graph: Graph, fitted_on: Graph) -> NDArray[np.int64]:
    """[N] number in the fit of each node, -1 for new ones: the same node has the same id and the same features.

    The features are compared too, because row numbers as ids say nothing about who a node is.
    """
    number_of = {str(name): at for at, name in enumerate(fitted_on.node_ids.tolist())}
    numbers = np.array([number_of.get(str(name), -1) for name in graph.node_ids.tolist()], np.int64)
    shared = np.flatnonzero(numbers >= 0)
    if len(shared) == 0 or graph.num_features != fitted_on.num_features:
        return np.full(graph.num_nodes, -1, np.int64)
    gap: Any = abs(like(graph, fitted_on)[shared] - fitted_on.features[numbers[shared]])
    furthest = gap.max(axis=1).toarray() if fitted_on.is_sparse else gap.max(axis=1)
    numbers[shared[furthest.ravel() > 0]] = -1
    return numbers


def _answer(model: NodeClassifier, graph: Graph, fitted_on: Graph, known: NDArray[np.int64], rounds: int) -> Answer:
    if not isinstance(model, (GDAMN, NetworkClassifier)):
        raise GraphError(f"The method '{model.method}' learns no function of features, so it can't predict new nodes.")
    with reproducible_threads(model.settings.threads), torch.no_grad():
        if isinstance(model, NetworkClassifier):
            return Answer(_baseline(model, make_view(graph, fitted_on, model)), {})
        order = local_order(graph)
        if order is None:
            arrays = _gdamn(model, make_view(graph, fitted_on, model), known, rounds)
        else:  # as the fit does with large graphs
            renumbered_graph, entries = renumbered(graph, order)
            arrays = _gdamn(model, make_view(renumbered_graph, fitted_on, model), known[order], rounds)
            arrays = put_back(arrays, graph, order, entries)
    probabilities = arrays.pop("probabilities")
    return Answer(probabilities, {name.removeprefix("edge."): values for name, values in arrays.items()})


def _baseline(model: NetworkClassifier, problem: Problem) -> NDArray[np.float32]:
    """The probabilities of a baseline whose network is rebuilt over the problem."""
    network, forward = model.as_trained().build(problem, make_generator(Key(0)))
    load_state(network, model.tensors_, "network", model.method)
    network.to(problem.device).eval()
    probabilities: NDArray[np.float32] = F.softmax(forward(None), dim=1).cpu().numpy()
    return probabilities


def _gdamn(model: GDAMN, problem: Problem, known: NDArray[np.int64], rounds: int) -> Arrays:
    """q on the graph that it was chosen on: that of a start, or the one that p's attention refines.

    The arrays have the names of a fitted model: ``probabilities``, ``edge.hard``, ``loop.hard`` and so on.
    """
    q, where = rebuild_q(model, problem), graph_of_choice(model)
    refines = "pseudo_labels" in model.tensors_ and (model.settings_.hard or model.settings_.soft)
    weighed = as_weighed(model, problem, known, start_of_em(model))
    p = rebuild_p(model, weighed) if refines else None
    first = first_graph(model, p, weighed, known) if where == "refined" else start_graph(model, problem, known, where)
    logits = WholeQGraph(first, problem).predict(q)
    if p is None:
        return {"probabilities": F.softmax(logits, dim=1).cpu().numpy()}
    weights: dict[str, Tensor] = {}
    for _ in range(rounds if (known < 0).any() else 1):
        weights = p.reweighting(annotated(model, logits, known), reweight_key(model))
        if where == "refined":
            logits = WholeQGraph(Adjacency(problem.structure, weights["used"]), problem).predict(q)
    return {"probabilities": F.softmax(logits, dim=1).cpu().numpy(), **_split(problem, weights)}


def first_graph(model: GDAMN, p: LabelNetwork | None, problem: Problem, known: NDArray[np.int64]) -> Adjacency:
    """What a q of an E-step propagates on before anything is known of the new nodes.

    It is A + I under the hard attention between nodes that the fit knew, and as it is at new ones; normalised as for
    pre-training.
    """
    structure, device = problem.structure, problem.device
    if p is None or p.hard is None or not (known >= 0).any():
        return gcn_adjacency(structure, device, start_norm(model.settings_.propagator))
    old = torch.as_tensor(known >= 0).to(device).float()[:, None]
    labels = annotated(model, torch.zeros_like(problem.labels), known)
    hard = HardAttention.probabilities(structure, p.hard.logits(structure, p.attention_labels(labels)))
    between_old = sddmm(structure.pattern, old, old)
    weights = structure.tensor("weights", device) * torch.lerp(torch.ones_like(hard), hard, between_old)
    return Adjacency(structure, normalized(structure, weights, start_norm(model.settings_.propagator)))


def start_graph(model: GDAMN, problem: Problem, known: NDArray[np.int64], start: str) -> Adjacency:
    """What q propagates on in pre-training."""
    structure = as_weighed(model, problem, known, start).structure
    if start == "features":
        return loops_only(structure, problem.device)
    return gcn_adjacency(structure, problem.device, start_norm(model.settings_.propagator))


def as_weighed(model: GDAMN, problem: Problem, known: NDArray[np.int64], start: str) -> Problem:
    """The problem on the graph that a start uses."""
    if start == "evidence":
        return replace(problem, structure=problem.structure.weighed(trusted(model, problem, known)))
    return problem.weighed_by_features() if start == "similar" else problem


def trusted(model: GDAMN, problem: Problem, known: NDArray[np.int64]) -> NDArray[np.float32]:
    """[E] how far the fit trusts each entry of A + I; one that it did not know like its average edge."""
    state, pattern = model.state_, problem.structure.pattern
    judged = state.judged
    if judged is None or state.edge_index is None:
        raise DataError(
            "The file of this model doesn't say how far it trusts the edges that it started on; train it again."
        )
    source, target = state.edge_index
    size = len(model.probabilities_)
    position = sp.csr_array((np.arange(1, len(source) + 1), (target, source)), shape=(size, size))
    rows = known[np.repeat(np.arange(len(known)), np.diff(pattern.indptr))]
    columns = known[pattern.indices]
    both = (rows >= 0) & (columns >= 0)
    found = np.zeros(len(rows), np.int64)
    found[both] = position[rows[both], columns[both]]
    values = np.full(len(rows), judged[1].mean() if len(source) else 1.0, np.float32)
    values[found > 0] = judged[1][found[found > 0] - 1]
    return values


def annotated(model: GDAMN, logits: Tensor, known: NDArray[np.int64]) -> Tensor:
    """Ŷ [N, C]: the saved distribution of nodes that the fit knew, q's opinion of the others.

    The settings treat it as they do in a fit, except that a drawn label becomes the likeliest one.
    """
    s: Settings = model.settings_
    labels = F.softmax(logits / s.pseudo_temperature, dim=1)
    if s.pseudo_labels != "soft":
        labels = F.one_hot(labels.argmax(1), labels.shape[1]).float()
    old = np.flatnonzero(known >= 0)
    saved = model.tensors_["pseudo_labels"][known[old]]
    labels[torch.as_tensor(old)] = torch.as_tensor(saved).to(labels.device)
    return labels


def _split(problem: Problem, weights: dict[str, Tensor]) -> Arrays:
    """Weights of edges [E] and of loops [N]."""
    arrays: Arrays = {}
    for name in ATTENTION:
        values = weights[name].cpu().numpy()
        arrays[f"edge.{name}"] = values[problem.structure.off_loop]
        arrays[f"loop.{name}"] = values[problem.structure.loop]
    return arrays
