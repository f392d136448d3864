"""RS-GNN: a link predictor that the noisy edges teach makes the graph of the GCN (Dai et al., WSDM 2022)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ..fit.adam import Adam
from ..fit.checkpoint import like
from ..fit.checkpoint_file import Tree
from ..fit.training import decayed, make_generator
from ..graph.pattern import Pattern
from ..kernels import Key, gram, softmax_losses, spmm
from ..model.adjacency import Adjacency, scaled
from ..model.inputs import Block
from ..model.objectives import pretrain_target
from ..model.problem import Problem
from ..model.propagators import GCN, MLP
from ..model.settings import setting
from .alternating import AlternatingClassifier, LearnedGraph
from .common import Forward, NetworkSettings
from .rewired import edges_of, joined, structure_of
from .simp_gcn import extremes

STEEPEST = 10.0
"""The largest d² / σ² that counts: e to the power of it is finite."""


@dataclass(frozen=True)
class RSGNNSettings(NetworkSettings):
    """The settings of the released code for Cora under metattack."""

    epochs: int = setting(1000, "Epochs: a step on the link predictor and two on the GCN each.", low=1)
    learning_rate: float = setting(1e-3, "Adam's learning rate, of both.", low=0)
    decay: str = setting("all", "Which weight matrices decay: all, or only those of the first layer.", ("all", "first"))
    dropout_input: float = setting(0.0, "Dropout of the features.", low=0, high=0.99)
    projection: int = setting(64, "Units of both layers of the link predictor.", low=1)
    neighbours: int = setting(100, "n_p, most similar nodes that each node may be joined to.", low=0)
    negatives: int = setting(50, "n_n, pairs without an edge that an epoch draws, per node.", low=1)
    sigma: float = setting(100.0, "σ, the distance of features from which on an edge is doubted.", low=1e-6)
    alpha: float = setting(0.01, "α, weight of the given edges when the link predictor learns.", low=0)
    beta: float = setting(0.3, "β, weight of the smoothness of predictions along strong edges.", low=0)
    threshold: float = setting(0.1, "Edges that weigh less than this are left out.", low=0)
    strong: float = setting(0.8, "Edges that weigh at least this are strong.", low=0)


def candidates(x: Block, a: sp.csr_array, neighbours: int) -> sp.csr_array:
    """[N, N] with 1 where an edge may be: where A has one, and between a node and those most similar to it."""
    union = sp.csr_array(a != 0, dtype=np.float32)
    if neighbours > 0 and a.shape[0] > 1:
        (near, _), _ = extremes(x, neighbours, 1)
        union = union + joined(near)
    union = sp.csr_array(union + union.T)
    union.data[:] = 1
    return union


def square_distances(x: Block, pairs: Pattern) -> Tensor:
    """‖x_i - x_j‖² on every entry: [E]."""
    if x.pattern is None or x.values is None:
        assert x.dense is not None
        squares = x.dense.square().sum(1)
    else:
        squares = torch.zeros(x.pattern.shape[0], device=x.values.device)
        squares.index_add_(0, x.pattern.tensor("rows", squares.device), x.values.square())
    left, right = (squares[pairs.tensor(name, squares.device)] for name in ("rows", "indices"))
    return (left + right - 2 * (left * right).sqrt() * x.cosines(pairs)).clamp_min(0)


def pattern_above(codes: NDArray[np.int64], nodes: int) -> Pattern:
    """The pairs i < j with these sorted codes i N + j."""
    return Pattern.from_sorted(codes // nodes, codes % nodes, (nodes, nodes))


class NoisyEdges:
    """The given edges as what the link predictor learns from.

    Attributes:
        edges: the pairs i < j with an edge.
        codes: i N + j of each, in order.
    """

    def __init__(self, x: Block, a: sp.csr_array, negatives: int, sigma: float) -> None:
        self.x, self.nodes, self.negatives, self.sigma = x, int(a.shape[0]), negatives, sigma
        upper = sp.coo_array(sp.triu(a + a.T, 1))
        self.codes: NDArray[np.int64] = np.sort(upper.row.astype(np.int64) * self.nodes + upper.col)
        self.edges = pattern_above(self.codes, self.nodes)
        self.trust = torch.exp(-self.steepness(self.edges))

    def steepness(self, pairs: Pattern) -> Tensor:
        """d² / σ² on every pair: [E]."""
        return (square_distances(self.x, pairs) / self.sigma**2).clamp_max(STEEPEST)

    def drawn(self, key: Key) -> Pattern:
        """Pairs i < j without an edge, about n_n / 2 for each node."""
        shape = (2, max(1, self.nodes * self.negatives // 2))
        ends = np.sort(torch.randint(self.nodes, shape, generator=make_generator(key)).numpy(), axis=0)
        codes = np.unique((ends[0] * self.nodes + ends[1])[ends[0] != ends[1]])
        return pattern_above(np.setdiff1d(codes, self.codes, assume_unique=True), self.nodes)

    def loss(self, z: Tensor, key: Key) -> Tensor:
        """N times the mean of e^{-d²/σ²} (z_i · z_j - 1)² over edges and of e^{d²/σ²} (z_i · z_j)² over drawn pairs."""
        pairs = self.drawn(key)
        found = self.trust @ (gram(self.edges, z) - 1).square()
        drawn = torch.exp(self.steepness(pairs)) @ gram(pairs, z).square()
        mean: Tensor = (found + drawn) / max(1, self.edges.num_entries + pairs.num_entries)
        return mean * self.nodes


class RSGNN(LearnedGraph):
    """A GCN on D^{-1/2} (S + I) D^{-1/2} with S_ij = ReLU(z_i · z_j), 0 below the threshold, on candidate edges.

    Z = MLP(X) minimises CE_L(GCN) + α times the loss of :class:`NoisyEdges`; the GCN minimises CE_L + β/N Σ S_ij
    ‖p_i - p_j‖² over strong edges, of which at least one end has no known label.
    """

    def __init__(self, gcn: GCN, predictor: MLP, problem: Problem, s: RSGNNSettings) -> None:
        super().__init__(gcn)
        self.predictor, self.problem, self.s = predictor, problem, s
        self.target = pretrain_target(problem)
        a = edges_of(problem.structure)
        self.noisy = NoisyEdges(problem.x, a, s.negatives, s.sigma)
        self.structure = structure_of(candidates(problem.x, a, s.neighbours))
        self.free = self.structure.tensor("free", problem.device)
        self.optimiser = Adam(decayed(predictor, s.weight_decay, s.decay), s.learning_rate)
        self.weights: Tensor | None = None

    def weigh(self, z: Tensor) -> Tensor:
        """S + I [E] of the representations [N, D] of the link predictor."""
        s = gram(self.structure.pattern, z)
        return torch.where(self.free, torch.where(s >= max(self.s.threshold, 0), s.clamp_min(0), 0.0), 1.0)

    def adjacency(self, weights: Tensor) -> Adjacency:
        """D^{-1/2} (S + I) D^{-1/2}, with a gradient by S."""
        pattern = self.structure.pattern
        scale = spmm(pattern, weights, torch.ones(pattern.shape[0], 1, device=weights.device))[:, 0].rsqrt()
        return Adjacency(self.structure, scaled(pattern, weights, scale, scale))

    @torch.no_grad()
    def current(self) -> Tensor:
        """S + I [E] by now."""
        if self.weights is None:
            self.weights = self.weigh(self.predictor(self.problem.x, None))
        return self.weights

    def forward(self, key: Key | None) -> Tensor:
        """Logits [N, C] on the graph as it is by now."""
        logits: Tensor = self.gcn(self.adjacency(self.current()), [self.problem.x], key)
        return logits

    def learn_graph(self, key: Key) -> None:
        """One step on the link predictor."""
        x, parameters = self.problem.x, list(self.predictor.parameters())
        z = self.predictor(x, None)
        logits = self.gcn(self.adjacency(self.weigh(z)), [x], None)
        loss = softmax_losses(logits, self.target)[0] + self.s.alpha * self.noisy.loss(z, key)
        for parameter, slope in zip(parameters, torch.autograd.grad(loss, parameters), strict=True):
            parameter.grad = slope
        self.optimiser.step()
        self.optimiser.zero_grad()
        self.weights = None

    def gcn_loss(self, key: Key) -> dict[str, Tensor]:
        """The cross-entropy, and how much predictions differ along strong edges."""
        logits = self(key)
        likelihood, rough = softmax_losses(logits, self.target)[0], self.roughness(logits.softmax(1))
        return {"loss": likelihood + self.s.beta * rough, "likelihood": likelihood, "roughness": rough}

    def roughness(self, p: Tensor) -> Tensor:
        """1/N Σ S_ij ‖p_i - p_j‖² over strong edges i < j, without those between two known labels."""
        pattern, weights, device = self.structure.pattern, self.current(), p.device
        rows, columns = (pattern.tensor(name, device) for name in ("rows", "indices"))
        unknown = torch.ones(len(p), dtype=torch.bool, device=device)
        unknown[self.problem.train] = False
        strong = torch.nonzero((weights >= self.s.strong) & (rows < columns))[:, 0]
        strong = strong[unknown[rows[strong]] | unknown[columns[strong]]]
        apart = (p[rows[strong]] - p[columns[strong]]).square().sum(1)
        return (weights[strong] @ apart) / len(p)

    def saved(self) -> Tree:
        """Adam's state; the weights themselves are kept with those of the GCN."""
        moments = [[mean, square] for _, mean, square, _ in self.optimiser.slots]
        return {"steps": self.optimiser.steps, "moments": moments}

    def restore(self, state: Tree) -> None:
        """Go on from what was saved."""
        for (_, *present, _), kept in zip(self.optimiser.slots, state["moments"], strict=True):
            for tensor, saved in zip(present, kept, strict=True):
                tensor.copy_(like(saved, tensor))
        self.optimiser.steps, self.weights = int(state["steps"]), None


class RSGNNClassifier(AlternatingClassifier):
    """The link predictor and the GCN of :class:`RSGNN`, learned in turn."""

    method = "rs-gnn"
    settings_class = RSGNNSettings
    settings: RSGNNSettings

    def build(self, problem: Problem, generator: torch.Generator) -> tuple[nn.Module, Forward]:
        """Both networks; the link predictor drops nothing."""
        s, width = self.settings, problem.x.width
        gcn = GCN([width], s.hidden, problem.num_classes, s.layers, s.dropout_hidden, batch_norm=False)
        gcn.initialise("xavier", generator)
        predictor = MLP(width, s.projection, s.projection, 2, 0.0)
        predictor.initialise("xavier", generator)
        network = self.learning(RSGNN(gcn, predictor, problem, s))
        return network, network.forward
