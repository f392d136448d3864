"""Why a node has its label: the neighbours that counted, the edges that were cut, and both networks' opinions.

Where q is a GCN, its logits are linear in the messages of the last layer, z_i = Σ_j α_ij m_j + b, so what each
neighbour adds is exact. Logits mean nothing but for their differences; they are taken relative to their mean over
the classes, and the shares of neighbours, node and bias sum to 1.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..errors import GraphError
from ..estimators.gdamn import GDAMN
from ..estimators.inductive import TOLERANCE
from ..estimators.predictions import Predictions
from ..estimators.rebuild import graph_of_choice, make_view, on_entries, rebuild_q
from ..estimators.weighted_edges import attention
from ..fit.domains.domain import WholeQGraph
from ..fit.training import reproducible_threads
from ..graph.graph import Graph
from ..kernels import Key
from ..model.adjacency import Adjacency
from ..text import nearest, safe

if TYPE_CHECKING:
    from ..estimators.base import NodeClassifier

CUT = 0.5
"""An edge counts as cut where its hard attention is below this."""

EXACT = "exact: what each neighbour adds to q's logit of this label, relative to the mean over classes"
BY_WEIGHT = "approximate: q is no GCN of two layers or more, so this is the neighbours' share of the stable weight"


@dataclass(frozen=True, eq=False)
class Recorder(Adjacency):
    """An adjacency that remembers the messages and the bias of the last propagation."""

    recorded: list[tuple[Tensor, Tensor | None]] = field(default_factory=list)

    def propagate(self, h: Tensor, key: Key | None, bias: Tensor | None = None) -> Tensor:
        """Σ_j α_ij h_j plus the bias, and keep h and the bias."""
        self.recorded[:] = [(h, bias)]
        return super().propagate(h, key, bias)


def find_node(graph: Graph, name: str) -> int:
    """The number of the node with this id."""
    texts = list(map(str, graph.node_ids.tolist()))
    if name in texts:
        return texts.index(name)
    raise GraphError(f"There is no node '{safe(name)}' in '{safe(graph.name)}'; {nearest(name, texts)}")


def explain(model: NodeClassifier, graph: Graph, predictions: Predictions, node: int) -> dict[str, Any]:
    """Everything about one node's label, as plain data; of the true labels it holds those of training nodes alone."""
    weights = attention(model, "explain a label by")
    assert isinstance(model, GDAMN)  # no other method has attention
    row = slice(int(graph.indptr[node]), int(graph.indptr[node + 1]))
    label = int(predictions.predicted[node])
    counted, itself, bias, basis = contributions(model, graph, node, label)
    total = float(counted.sum() + itself + bias)
    neighbours = [
        {
            **described(graph, predictions, int(j)),
            **{name: float(weights[name][row][at]) for name in ("hard", "soft", "stable")},
            "cut": bool(weights["hard"][row][at] < CUT),
            "contribution": float(counted[at]),
            "share": float(counted[at] / total) if total > 0 else None,
        }
        for at, j in enumerate(graph.indices[row])
    ]
    return {
        **described(graph, predictions, node),
        "basis": basis,
        "read": graph_read(model),
        "warning": predictions.temperature.warning,
        "opinions": opinions(model, predictions, node),
        "own": {"contribution": float(itself), "share": float(itself / total) if total > 0 else None},
        "bias": {"contribution": float(bias), "share": float(bias / total) if total > 0 else None},
        "total": total,
        "neighbours": sorted(neighbours, key=lambda each: -abs(each["contribution"])),
    }


def described(graph: Graph, predictions: Predictions, node: int) -> dict[str, Any]:
    """A node's id, its label by q and its part in the fit."""
    is_training_node = bool(graph.train_mask[node])
    return {
        "node": str(graph.node_ids[node]),
        "predicted": graph.class_names[predictions.predicted[node]],
        "class": int(predictions.predicted[node]),
        "confidence": float(predictions.confidence[node]),
        "split": str(predictions.split[node]),
        "training_label": graph.class_names[graph.labels[node]] if is_training_node else None,
    }


def graph_read(model: GDAMN) -> str:
    """What q propagated on in its chosen epoch, in words."""
    where = graph_of_choice(model)
    if where == "refined":
        return "q reads the refined graph"
    if where == "features":
        return "the chosen epoch is one of pre-training without edges: q reads the node's own features alone"
    plain = "the plain graph" if where == "graph" else f"the graph of the start '{where}'"
    return f"the chosen epoch is one of pre-training: q reads {plain}, and the cuts are p's later opinion"


def opinions(model: GDAMN, predictions: Predictions, node: int) -> dict[str, dict[str, float]]:
    """Class probabilities by q (calibrated), by p, and the pseudo-label that the attention saw, highest first."""
    distributions = {
        "q": predictions.probabilities[node],
        "p": model.tensors_["p_probabilities"][node],
        "pseudo-label": model.tensors_["pseudo_labels"][node],
    }
    names = predictions.graph.class_names
    return {
        network: {names[at]: float(values[at]) for at in np.argsort(-values, kind="stable")}
        for network, values in distributions.items()
    }


def contributions(model: GDAMN, graph: Graph, node: int, label: int) -> tuple[NDArray[np.float64], float, float, str]:
    """What each neighbour of the node, the node itself and the bias add to the label; and on what basis."""
    row = slice(int(graph.indptr[node]), int(graph.indptr[node + 1]))
    if model.settings_.propagator != "gcn" or model.settings_.layers < 2:
        stable = model.tensors_["edge.stable"][row].astype(np.float64)
        return stable, float(model.tensors_["loop.stable"][node]), 0.0, BY_WEIGHT
    messages, bias = last_messages(model, graph)
    towards = messages[:, label] - messages.mean(axis=1)
    alpha = model.tensors_["edge.used"][row].astype(np.float64)
    itself = float(model.tensors_["loop.used"][node] * towards[node])
    return alpha * towards[graph.indices[row]], itself, float(bias[label] - bias.mean()), EXACT


def last_messages(model: GDAMN, graph: Graph) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """m [N, C] and b [C] of q's last layer, checked to give the saved answers."""
    with reproducible_threads(model.settings.threads), torch.no_grad():
        problem = make_view(graph, graph, model)
        weights = on_entries(graph, model.tensors_["edge.used"], model.tensors_["loop.used"])
        recorder = Recorder(problem.structure, torch.as_tensor(weights).to(problem.device))
        logits = WholeQGraph(recorder, problem).predict(rebuild_q(model, problem))
        probabilities = torch.softmax(logits, dim=1).cpu().numpy()
    if not np.allclose(probabilities, model.probabilities_, atol=TOLERANCE):
        raise GraphError("q doesn't give its saved answers on this graph: its features have changed since the fit.")
    (messages, bias), *_ = recorder.recorded
    assert bias is not None
    return messages.double().cpu().numpy(), bias.detach().double().cpu().numpy()
