"""STABLE: edges are judged by representations that were learned without labels (Li et al., KDD 2022)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from ..fit.checkpoint import Checkpoint, Part, like, part_of
from ..fit.checkpoint_file import Tree
from ..fit.training import Record, Steps, Watch, copy_state, decayed, make_generator, run_epochs
from ..graph.structure import Structure
from ..kernels import Key, spmm
from ..model.adjacency import Adjacency, normalized, scaled
from ..model.inputs import Block
from ..model.problem import Problem
from ..model.propagators import GCN, initialise
from ..model.propagators.common import new_biases, new_weights
from ..model.settings import setting
from .common import Forward, NetworkClassifier, NetworkSettings
from .gcn_jaccard import similarities
from .rewired import edges_of, joined, structure_of
from .simp_gcn import extremes

RECOVERED = 0.2
"""Share of the cut edges that each of the two views has again."""
RATE, PATIENCE = 1e-3, 20
"""Adam's learning rate for the representations, and epochs without a lower loss after which they are taken."""
SYMMETRIC = -0.5
"""α of the GCN's own normalisation."""


@dataclass(frozen=True)
class StableSettings(NetworkSettings):
    """The settings of the released code for Cora with a tenth of the edges changed."""

    decay: str = setting("all", "Which weight matrices decay: all, or only those of the first layer.", ("all", "first"))
    dropout_input: float = setting(0.0, "Dropout of the representations.", low=0, high=0.99)
    projection: int = setting(512, "Size of the representations.", low=1)
    pretrain_epochs: int = setting(2000, f"Most epochs for them; {PATIENCE} without a lower loss end it.", low=1)
    jaccard: float = setting(0.03, "They are learned without edges whose ends' features agree less.", low=0, high=1)
    cosine: float = setting(0.1, "Edges whose ends' representations agree no more than this are cut.", low=-1, high=1)
    neighbours: int = setting(6, "k, most similar nodes that each node is joined to.", low=0)
    alpha: float = setting(
        0.3, "α, a neighbour with d edges counts d^α; -0.5 is the GCN's normalisation.", low=-10, high=10
    )
    beta: float = setting(2.0, "β, weight of the loops where representations are learned.", low=0)


@dataclass(frozen=True, eq=False)
class Views:
    """The graph without edges between unlike features, and the same with a few of them, twice."""

    clean: Adjacency
    recovered: tuple[Adjacency, Adjacency]


def clean_weights(problem: Problem, threshold: float) -> NDArray[np.float32]:
    """[E] 1 on edges whose ends have features that agree, 0 on the others."""
    like = similarities(problem.x, problem.structure.pattern) >= threshold
    return like.float().cpu().numpy()


def looped(structure: Structure, beta: float, device: torch.device) -> Adjacency:
    """D^{-1/2} (A + β I) D^{-1/2}."""
    weights = torch.where(structure.tensor("free", device), structure.tensor("weights", device), beta)
    return Adjacency(structure, normalized(structure, weights, "sym"))


def recovered(structure: Structure, clean: NDArray[np.float32], key: Key) -> NDArray[np.float32]:
    """[E] the weights of :func:`clean_weights`, with 1 on some of the edges that were cut, in both directions."""
    cut = np.unique(structure.pair[(clean == 0) & structure.free])
    order = torch.randperm(len(cut), generator=make_generator(key)).numpy()
    back = np.isin(structure.pair, cut[order[: int(RECOVERED * len(cut))]])
    return np.where(back, np.float32(1), clean)


class Encoder(nn.Module):
    """H = PReLU(Â X W + b) [N, D], and the agreement h_i · M c + m of nodes with a summary c [D] of a graph."""

    def __init__(self, width: int, size: int) -> None:
        super().__init__()
        self.weight, self.bias = new_weights([(width, size)]), new_biases([size])
        self.slope = nn.Parameter(torch.full((1,), 0.25))
        self.agreement, self.offset = new_weights([(size, size)]), new_biases([1])

    def initialise(self, generator: torch.Generator) -> None:
        """Start both matrices."""
        for matrix in (*self.weight, *self.agreement):
            initialise([matrix], "xavier", generator)

    def forward(self, adjacency: Adjacency, product: Tensor) -> Tensor:
        """H [N, D] from X W [N, D]."""
        return F.prelu(adjacency.propagate(product, None, self.bias[0]), self.slope)

    def contrast(self, views: Views, x: Block, key: Key) -> Tensor:
        """How badly H is told from the H of features that were dealt out anew, by the summaries of both views.

        A node's score is the sum of its agreements with σ(mean H) of each view; the loss is their binary cross-entropy.
        """
        product = x.linear(self.weight[0], None)
        order = torch.randperm(len(product), generator=make_generator(key)).to(product.device)
        true, false = self(views.clean, product), self(views.clean, product[order])
        summary = torch.stack([torch.sigmoid(self(view, product).mean(0)) for view in views.recovered]).sum(0)
        judge = self.agreement[0] @ summary
        scores = torch.cat([true @ judge, false @ judge]) + len(views.recovered) * self.offset[0]
        wanted = torch.cat([torch.ones(len(true)), torch.zeros(len(false))]).to(scores)
        return F.binary_cross_entropy_with_logits(scores, wanted)


def weighed_by_degree(structure: Structure, alpha: float, device: torch.device) -> Adjacency:
    """a_ij d_j^α / Σ_k a_ik d_k^α on A + I, d its row sums; D^{-1/2} (A + I) D^{-1/2} for α = -½.

    Attacked nodes have few edges of their own, so neighbours with many are believed more: α > 0.
    """
    weights, pattern = structure.tensor("weights", device), structure.pattern
    degrees = spmm(pattern, weights, torch.ones(pattern.shape[1], 1, device=device))[:, 0]
    if alpha == SYMMETRIC:
        return Adjacency(structure, scaled(pattern, weights, degrees.rsqrt(), degrees.rsqrt()))
    right = (alpha * (degrees.log() - degrees.log().max())).exp()
    return Adjacency(structure, normalized(structure, scaled(pattern, weights, torch.ones_like(right), right), "row"))


def refined(structure: Structure, h: Tensor, s: StableSettings) -> Structure:
    """The graph without edges between unlike representations [N, D], and with new ones to the most similar nodes.

    New neighbours are those that have at least two edges left; only the node itself gets the new edge.
    """
    block = Block(h.shape[1], 0.0, dense=h)
    alike = (block.cosines(structure.pattern) > s.cosine).float().cpu().numpy()
    kept = edges_of(structure.weighed(alike))
    trusted = np.diff(kept.indptr) > 1
    most = min(s.neighbours, int(trusted.sum()) - 1)
    if most < 1:
        return structure_of(kept)
    (near, _), _ = extremes(block, most, 1, trusted)
    new = joined(near)
    return structure_of(kept + (new - new.multiply(kept != 0)))


@dataclass
class Lowest:
    """The lowest loss so far, the weights that had it, and how many epochs there were, in all and since."""

    weights: dict[str, Tensor]
    loss: float = float("inf")
    since: int = 0
    epochs: int = 0

    def see(self, loss: float, module: nn.Module) -> None:
        """The loss of an epoch, and the module that has it."""
        self.epochs += 1
        self.since += 1
        if loss < self.loss:
            self.loss, self.since, self.weights = loss, 0, copy_state(module)

    def part(self) -> Part:
        """All of it for a checkpoint."""

        def load(state: Tree) -> None:
            self.weights = {name: like(state["weights"][name], value) for name, value in self.weights.items()}
            self.loss, self.since, self.epochs = float(state["loss"]), int(state["since"]), int(state["epochs"])

        return Part(lambda: vars(self).copy(), load)


class Stable(nn.Module):
    """A GCN on the refined graph whose input are the representations; the encoder is trained before it."""

    def __init__(self, encoder: Encoder, gcn: GCN, problem: Problem, s: StableSettings) -> None:
        super().__init__()
        self.encoder, self.gcn, self.problem, self.s = encoder, gcn, problem, s
        self.clean = clean_weights(problem, s.jaccard)
        self.refined: tuple[Adjacency, Block] | None = None

    def view(self, weights: NDArray[np.float32]) -> Adjacency:
        """The graph with these factors [E] of its edges, as the encoder sees it."""
        return looped(self.problem.structure.weighed(weights), self.s.beta, self.problem.device)

    def views(self, key: Key) -> Views:
        """What the encoder learns from; the key chooses the edges that come back."""
        first, second = (recovered(self.problem.structure, self.clean, key.fold(i)) for i in range(2))
        return Views(self.view(self.clean), (self.view(first), self.view(second)))

    @torch.no_grad()
    def inputs(self) -> tuple[Adjacency, Block]:
        """What the GCN works on, made once: the encoder doesn't change any more."""
        if self.refined is None:
            problem, s = self.problem, self.s
            h = self.encoder(self.view(self.clean), problem.x.linear(self.encoder.weight[0], None))
            structure = refined(problem.structure, h, s)
            block = Block(h.shape[1], s.dropout_input, dense=h)
            self.refined = weighed_by_degree(structure, s.alpha, problem.device), block
        return self.refined

    def forward(self, key: Key | None) -> Tensor:
        """Logits [N, C]."""
        adjacency, block = self.inputs()
        logits: Tensor = self.gcn(adjacency, [block], key)
        return logits


class StableClassifier(NetworkClassifier):
    """The network of :class:`Stable`: representations first, then the GCN."""

    method = "stable"
    settings_class = StableSettings
    settings: StableSettings

    def build(self, problem: Problem, generator: torch.Generator) -> tuple[nn.Module, Forward]:
        """The encoder, and the GCN on what will come of it."""
        s = self.settings
        gcn = GCN([s.projection], s.hidden, problem.num_classes, s.layers, s.dropout_hidden, batch_norm=False)
        gcn.initialise("xavier", generator)
        encoder = Encoder(problem.x.width, s.projection)
        encoder.initialise(generator)
        network = Stable(encoder, gcn, problem, s)
        return network, network.forward

    def groups(self, network: nn.Module) -> list[dict[str, Any]]:
        """Adam's parameter groups: the GCN alone."""
        return decayed(cast(Stable, network).gcn, self.settings.weight_decay, self.settings.decay)

    def prepare(self, problem: Problem, network: nn.Module, watch: Watch, key: Key, kept: Checkpoint | None) -> None:
        """Learn the representations, without a label; the weights of the lowest loss are taken."""
        s, stable = self.settings, cast(Stable, network)
        encoder, views, lowest = stable.encoder, stable.views(key.fold("views")), Lowest(copy_state(stable.encoder))
        if kept is not None:
            kept.keep("lowest", lowest.part())

        def loss(step: Key) -> dict[str, Tensor]:
            value = encoder.contrast(views, problem.x, step)
            lowest.see(value.item(), encoder)
            return {"loss": value}

        def after(epoch: int, values: Record, started: float) -> bool:
            ended = watch.record({"phase": "represent", "epoch": epoch, **values}, s.pretrain_epochs, started)
            return ended or lowest.since >= PATIENCE

        count = lowest.epochs if lowest.since >= PATIENCE else s.pretrain_epochs  # a resumed fit may be past it
        groups = [{"params": list(encoder.parameters()), "weight_decay": 0.0}]
        run_epochs(groups, RATE, Steps(count, loss, after, part_of(encoder)), key, kept)
        encoder.load_state_dict(lowest.weights)
