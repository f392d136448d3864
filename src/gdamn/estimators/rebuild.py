"""A saved model put together again: its networks, its view of a graph, and what its chosen epoch worked on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from ..errors import DataError, GraphError
from ..fit.training import Record, make_generator
from ..graph.extension import like
from ..graph.graph import Graph
from ..kernels import Key
from ..model.inputs import feature_block
from ..model.label_network import LabelNetwork
from ..model.problem import Problem, choose_device
from ..model.propagators import make_propagator

if TYPE_CHECKING:
    from .base import NodeClassifier
    from .gdamn import GDAMN


def make_view(graph: Graph, fitted_on: Graph, model: NodeClassifier) -> Problem:
    """The graph as a problem without any label, its features normalised as those of the fit were."""
    s: Any = model.settings_
    device = choose_device(model.settings.device)  # where to compute is today's choice, all else the fit's
    none = torch.zeros(0, dtype=torch.int64, device=device)
    return Problem(
        structure=graph.structure,
        x=feature_block(like(graph, fitted_on), s.normalize, 0.0, device, fitted_on.features),
        labels=torch.zeros(graph.num_nodes, len(model.class_names_), device=device),
        train=none,
        rest=torch.arange(graph.num_nodes, device=device),
        val=none,
        val_labels=none,
        train_labels=none,
        device=device,
    )


def rebuild_q(model: GDAMN, problem: Problem) -> nn.Module:
    """The saved q, in evaluation."""
    s = model.settings_
    q = make_propagator(s.propagator, [problem.x.width], problem.num_classes, s, make_generator(Key(0)))
    load_state(q, model.tensors_, "q", model.method)
    return q.to(problem.device).eval()


def rebuild_p(model: GDAMN, problem: Problem) -> LabelNetwork:
    """The saved p over another graph."""
    p = LabelNetwork(problem, model.settings_, make_generator(Key(0)))
    load_state(p, model.tensors_, "p", model.method)
    return p.to(problem.device).eval()


def load_state(network: nn.Module, tensors: dict[str, NDArray[Any]], prefix: str, method: str) -> None:
    """Put saved weights into a network, all of them."""
    state = {
        name.removeprefix(f"{prefix}."): torch.as_tensor(value)
        for name, value in tensors.items()
        if name.startswith(f"{prefix}.")
    }
    if not state:
        raise DataError(f"This '{method}' model holds no weights of its network; train it again.")
    try:
        network.load_state_dict(state)
    except RuntimeError:
        raise GraphError(
            f"The weights of this '{method}' model don't fit another graph: they belong to the nodes or edges of its "
            "fit, or the file is damaged."
        ) from None


def on_entries(graph: Graph, edges: NDArray[np.float32], loops: NDArray[np.float32]) -> NDArray[np.float32]:
    """[E + N] weights of edges [E] and of loops [N] in the order of A + I."""
    values = np.empty(graph.structure.pattern.num_entries, np.float32)
    values[graph.structure.off_loop], values[graph.structure.loop] = edges, loops
    return values


def graph_of_choice(model: GDAMN) -> str:
    """What q's chosen epoch propagated on: ``refined`` (an E-step), or the start that pre-training had (em.STARTS)."""
    best = model.best_epoch_
    return "refined" if best.get("iteration", 0) > 0 else start_of(model, best)


def start_of_em(model: GDAMN) -> str:
    """The start that EM went on with; ``graph`` where there was no EM."""
    steps = [record for record in model.history_ if record.get("phase", "").startswith("E-step")]
    return start_of(model, steps[-1]) if steps else "graph"


def start_of(model: GDAMN, record: Record) -> str:
    """The start of an epoch of q. Earlier models don't tell: of theirs auto tried the graph, then the features."""
    if "start" in record:
        start = str(record["start"])
        return str(record.get("start_graph", "graph")) if start == "multihop" else start
    s = model.settings_
    if s.start != "auto" or record.get("iteration", 0) > 0:
        return "graph" if s.start == "auto" else s.start
    at = model.history_.index(record)
    return "graph" if at < s.pretrain_epochs else "features"


def reweight_key(model: GDAMN) -> Key:
    """The noise that the fit weighed its edges with (it matters where ``reweight_samples`` > 0)."""
    chosen = model.best_epoch_.get("iteration", 0)
    iteration = chosen or max((record.get("iteration", 0) for record in model.history_), default=0)
    return Key(model.settings_.seed).fold("gdamn").fold("iteration").fold(iteration).fold("reweight")
