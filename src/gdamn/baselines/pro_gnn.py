"""Pro-GNN: the graph is learned with the GCN, sparse, of low rank and smooth (Jin et al., KDD 2020)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from ..errors import TrainingError
from ..fit.checkpoint import like
from ..fit.checkpoint_file import Tree
from ..fit.domains.memory import free_bytes
from ..graph.structure import Structure
from ..kernels import Key, matmul, softmax_losses
from ..model.adjacency import Adjacency
from ..model.inputs import Block
from ..model.objectives import pretrain_target
from ..model.problem import Problem
from ..model.propagators import GCN
from ..model.settings import setting
from .alternating import GCN_STEPS, AlternatingClassifier, LearnedGraph
from .common import Forward, NetworkSettings
from .grand import whole

MOMENTUM = 0.9
"""Of the steps on the graph."""
DENSE_ARRAYS = 21
"""Arrays of N × N numbers that a fit holds at its peak, as measured with 1,500 and 3,000 nodes."""


@dataclass(frozen=True)
class ProGNNSettings(NetworkSettings):
    """The settings of the released code."""

    epochs: int = setting(400, f"Epochs: a step on the graph and {GCN_STEPS} on the GCN each.", low=1)
    decay: str = setting("all", "Which weight matrices decay: all, or only those of the first layer.", ("all", "first"))
    dropout_input: float = setting(0.0, "Dropout of the features.", low=0, high=0.99)
    graph_rate: float = setting(0.01, "Learning rate of the graph.", low=0)
    alpha: float = setting(5e-4, "α, weight of ‖S‖₁, which makes the graph sparse.", low=0)
    beta: float = setting(1.5, "β, weight of ‖S‖_*, which makes its rank low.", low=0)
    gamma: float = setting(1.0, "γ, weight of the GCN's loss when the graph is learned.", low=0)
    lambda_: float = setting(1e-3, "λ, weight of the smoothness of the features on the graph.", low=0)


def shrunk(s: Tensor, threshold: float) -> Tensor:
    """argmin_Z ½ ‖Z - S‖² + t ‖Z‖₁: every entry moves towards 0 by t, and stops there."""
    return s.sign() * (s.abs() - threshold).clamp_min(0)


def low_rank(s: Tensor, threshold: float) -> Tensor:
    """argmin_Z ½ ‖Z - S‖² + t ‖Z‖_* for a symmetric S: every eigenvalue moves towards 0 by t, and stops there.

    SciPy finds the eigenvectors of 2,485 nodes in two thirds of the time that torch takes; one thread, since sums in
    another order would change bits.
    """
    from scipy.linalg import eigh
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        values, vectors = eigh(s.cpu().numpy(), driver="evd", check_finite=False)
        kept = np.abs(values) > threshold
        values, vectors = values[kept], vectors[:, kept]
        near = (vectors * (values - threshold * np.sign(values))) @ vectors.T
    return symmetric(torch.from_numpy(near).to(s))


def symmetric(s: Tensor) -> Tensor:
    """(S + Sᵀ) / 2."""
    return (s + s.T) / 2


def roughness(s: Tensor, gram: Tensor) -> Tensor:
    """tr(Xᵀ L X) for L = D^{-1/2} (D - S) D^{-1/2} and X Xᵀ [N, N]: how much features differ along edges."""
    degrees = s.sum(1)
    scale = (degrees + 1e-3).rsqrt()
    return (gram.diagonal() * degrees * scale.square()).sum() - scale @ ((s * gram) @ scale)


@dataclass(frozen=True, eq=False, kw_only=True)
class Dense(Adjacency):
    """An adjacency [N, N] without a 0 that could be left out."""

    matrix: Tensor

    def propagate(self, h: Tensor, key: Key | None, bias: Tensor | None = None) -> Tensor:
        """The product with h [N, H], plus a bias: [N, H]; entries aren't dropped, so the key changes nothing."""
        return matmul(self.matrix, h, bias)

    def averaged(self, x: Block) -> Tensor:
        """The product with dense features without dropout: [N, F]."""
        return self.propagate(x.dropped(None), None)


def normalised(s: Tensor, structure: Structure) -> Dense:
    """D^{-1/2} (S + I) D^{-1/2}."""
    looped = s + torch.eye(len(s), device=s.device)
    scale = looped.sum(1).rsqrt()
    return Dense(structure, structure.tensor("weights", s.device), matrix=scale[:, None] * looped * scale)


def given_graph(structure: Structure, device: torch.device) -> Tensor:
    """(A + Aᵀ) / 2 without loops, [N, N]; weights are divided by the largest where that is above 1."""
    pattern, weights = structure.pattern, structure.tensor("weights", device) * structure.tensor("free", device)
    a = torch.zeros(pattern.shape, device=device)
    a[pattern.tensor("rows", device), pattern.tensor("indices", device)] = weights
    return symmetric(a / weights.max().clamp_min(1))


class ProGNN(LearnedGraph):
    """A GCN on D^{-1/2} (S + I) D^{-1/2}; S [N, N] is symmetric, lies within [0, 1] and starts as A.

    S minimises ‖S - A‖ + γ CE_L(GCN) + λ tr(Xᵀ L X) + α ‖S‖₁ + β ‖S‖_*. A step follows the gradient of the first three
    with momentum, then come :func:`low_rank`, :func:`shrunk` and the projection. S belongs to the nodes of its fit and
    is as large as all pairs of them, so it isn't among the weights that are saved with a model.
    """

    def __init__(self, gcn: GCN, problem: Problem, s: ProGNNSettings) -> None:
        super().__init__(gcn)
        self.problem, self.s, self.target = problem, s, pretrain_target(problem)
        self.given = given_graph(problem.structure, problem.device)
        self.velocity = torch.zeros_like(self.given)
        self.gram: Tensor | None = None
        self.use(self.given)

    def use(self, graph: Tensor) -> None:
        """Take this S."""
        self.graph, self.adjacency = graph, normalised(graph, self.problem.structure)

    def forward(self, key: Key | None) -> Tensor:
        """Logits [N, C] on the graph as it is by now."""
        logits: Tensor = self.gcn(self.adjacency, [self.problem.x], key)
        return logits

    def gcn_loss(self, key: Key) -> dict[str, Tensor]:
        """The cross-entropy."""
        return {"loss": softmax_losses(self(key), self.target)[0]}

    def gradient(self) -> Tensor:
        """Of the three parts that have one, by S: [N, N], symmetric."""
        s, graph = self.s, self.graph.clone().requires_grad_()
        logits = self.gcn(normalised(graph, self.problem.structure), [self.problem.x], None)
        loss = s.gamma * softmax_losses(logits, self.target)[0]
        if s.lambda_ > 0:
            loss = loss + s.lambda_ * roughness(graph, self.products())
        (slope,) = torch.autograd.grad(loss, [graph])
        apart = self.graph - self.given
        return symmetric(slope).add_(apart / torch.linalg.matrix_norm(apart).clamp_min(1e-12))

    def products(self) -> Tensor:
        """X Xᵀ [N, N], made once."""
        if self.gram is None:
            x = whole(self.problem.x)
            self.gram = x @ x.T
        return self.gram

    def learn_graph(self, key: Key) -> None:
        """One step on S; nothing of it is random."""
        s = self.s
        self.velocity.mul_(MOMENTUM).add_(self.gradient())
        graph = self.graph - s.graph_rate * self.velocity
        if not torch.isfinite(graph).all():
            raise TrainingError("The learned graph is not finite; lower learning_rate or graph_rate.")
        if s.beta > 0:
            graph = low_rank(graph, s.graph_rate * s.beta)
        self.use(shrunk(graph, s.graph_rate * s.alpha).clamp_(0, 1))

    def saved(self) -> Tree:
        """S and its momentum."""
        return {"graph": self.graph, "velocity": self.velocity}

    def restore(self, state: Tree) -> None:
        """Go on from what was saved."""
        self.velocity = like(state["velocity"], self.velocity)
        self.use(like(state["graph"], self.graph))


@torch.no_grad()
def start(gcn: GCN, generator: torch.Generator) -> None:
    """Weights and biases uniform within ±1/√out, as in the released code: the GCN learns no faster than the graph."""
    for layer in zip((*gcn.first, *gcn.later), gcn.bias, strict=True):
        for parameter in layer:
            uniform = 2 * torch.rand(parameter.shape, generator=generator) - 1
            parameter.copy_(uniform * parameter.shape[-1] ** -0.5)


def check_size(nodes: int) -> None:
    """Refuse a graph whose pairs of nodes don't fit into memory."""
    needed, free = DENSE_ARRAYS * 4 * nodes**2, free_bytes()
    if needed > free:
        raise TrainingError(
            f"Pro-GNN learns a weight for every pair of {nodes:,} nodes, which takes about {needed / 1e9:.1f} GB of "
            f"memory, and {free / 1e9:.1f} GB are free; train it on a smaller graph, or take gnnguard."
        )


class ProGNNClassifier(AlternatingClassifier):
    """The graph and the GCN of :class:`ProGNN`, learned in turn."""

    method = "pro-gnn"
    settings_class = ProGNNSettings
    settings: ProGNNSettings

    def build(self, problem: Problem, generator: torch.Generator) -> tuple[nn.Module, Forward]:
        """A GCN on the graph that is to be learned."""
        s = self.settings
        check_size(problem.num_nodes)
        gcn = GCN([problem.x.width], s.hidden, problem.num_classes, s.layers, s.dropout_hidden, batch_norm=False)
        start(gcn, generator)
        network = self.learning(ProGNN(gcn, problem, s))
        return network, network.forward
