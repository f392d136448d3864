"""GDAMN on a graph that it wasn't fitted on: q on the graph of its chosen epoch, which p's attention may refine."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from ..errors import DataError
from ..fit.domains.domain import WholeQGraph
from ..graph.graph import Graph
from ..graph.order import local_order, renumbered
from ..kernels import sddmm
from ..model.adjacency import Adjacency, gcn_adjacency, loops_only, normalized
from ..model.attention import HardAttention
from ..model.fitted_state import ATTENTION, Arrays, put_back
from ..model.label_network import LabelNetwork
from ..model.problem import Problem
from ..model.propagators import start_norm
from ..model.settings import Settings
from .inductive import Answer
from .rebuild import graph_of_choice, make_view, rebuild_p, rebuild_q, reweight_key, start_of_em

if TYPE_CHECKING:
    from .gdamn import GDAMN


def on_graph(model: GDAMN, graph: Graph, fitted_on: Graph, known: NDArray[np.int64], rounds: int) -> Answer:
    """What a fitted GDAMN says of a graph; the arguments are those of :func:`gdamn.estimators.inductive.answer`."""
    order = local_order(graph)
    if order is None:
        arrays = on_problem(model, make_view(graph, fitted_on, model), known, rounds)
    else:  # as the fit does with large graphs
        moved, entries = renumbered(graph, order)
        arrays = on_problem(model, make_view(moved, fitted_on, model), known[order], rounds)
        arrays = put_back(arrays, graph, order, entries)
    probabilities = arrays.pop("probabilities")
    return Answer(probabilities, {name.removeprefix("edge."): values for name, values in arrays.items()})


def on_problem(model: GDAMN, problem: Problem, known: NDArray[np.int64], rounds: int) -> Arrays:
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
    """The problem on the graph that a start uses, without the edges that the fit cut as drawn by lot."""
    state = model.state_
    if state.kept is not None:
        kept = at_known(model, problem, known, state.kept, 1.0)
        problem = replace(problem, structure=problem.structure.weighed(kept))
    if start == "evidence":
        if state.judged is None or state.edge_index is None:
            raise DataError(
                "The file of this model doesn't say how far it trusts the edges that it started on; train it again."
            )
        reliability = state.judged[1]
        trusted = at_known(model, problem, known, reliability, reliability.mean() if len(reliability) else 1.0)
        return replace(problem, structure=problem.structure.weighed(trusted))
    return problem.weighed_by_features() if start == "similar" else problem


def at_known(
    model: GDAMN, problem: Problem, known: NDArray[np.int64], of_edges: NDArray[np.float32], other: float
) -> NDArray[np.float32]:
    """[E] what the fit says of each entry of A + I, by its own edges' values [E']; ``other`` of those that are new."""
    pattern = problem.structure.pattern
    source, target = cast("NDArray[np.int32]", model.state_.edge_index)
    size = len(model.probabilities_)
    position = sp.csr_array((np.arange(1, len(source) + 1), (target, source)), shape=(size, size))
    rows = known[np.repeat(np.arange(len(known)), np.diff(pattern.indptr))]
    columns = known[pattern.indices]
    both = (rows >= 0) & (columns >= 0)
    found = np.zeros(len(rows), np.int64)
    found[both] = position[rows[both], columns[both]]
    values = np.full(len(rows), other, np.float32)
    values[found > 0] = of_edges[found[found > 0] - 1]
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
