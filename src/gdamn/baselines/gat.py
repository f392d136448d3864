"""GAT: attention over neighbours (Veličković et al., ICLR 2018)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ..kernels import Key
from ..model.adjacency import Adjacency
from ..model.problem import Problem
from ..model.propagators import GAT
from ..model.propagators.gat import wanted_nodes
from ..model.settings import setting
from .common import Forward, NetworkClassifier, SupervisedSettings


@dataclass(frozen=True)
class GATSettings(SupervisedSettings):
    """The settings of the publication, for a fixed number of epochs in place of its patience."""

    hidden: int = setting(8, "Hidden units of each head.", low=1)
    layers: int = setting(2, "Layers.", low=1, high=64)
    heads: int = setting(8, "Heads of hidden layers, side by side.", low=1)
    out_heads: int = setting(1, "Heads of the last layer, averaged.", low=1)
    epochs: int = setting(400, "Epochs.", low=1)
    learning_rate: float = setting(0.005, "Adam's learning rate.", low=0)
    decay: str = setting("all", "Which weight matrices decay: all, or only those of the first layer.", ("all", "first"))
    dropout_input: float = setting(0.6, "Dropout of the features.", low=0, high=0.99)
    dropout_hidden: float = setting(0.6, "Dropout of hidden layers and of messages.", low=0, high=0.99)
    dropout_attention: float = setting(0.6, "Dropout of attention weights.", low=0, high=0.99)


class GATClassifier(NetworkClassifier):
    """h_i ← ELU(Σ_j softmax_j(LeakyReLU(a·W h_i + b·W h_j)) W h_j) per head, over the neighbours and the node.

    The publication drops inputs anew for each head; here all heads of a layer share one draw.
    """

    method = "gat"
    settings_class = GATSettings
    settings: GATSettings

    def build(self, problem: Problem, generator: torch.Generator) -> tuple[nn.Module, Forward]:
        """The propagator on the plain graph; edge weights, where there are any, weigh the softmax."""
        s = self.settings
        sizes = [problem.x.width], s.hidden, problem.num_classes, s.layers
        network = GAT(*sizes, s.dropout_hidden, s.heads, s.out_heads)
        network.initialise("xavier", generator)
        weights = problem.structure.tensor("weights", problem.device)
        adjacency = Adjacency(problem.structure, weights, s.dropout_attention)
        read = wanted_nodes(problem.structure.pattern, problem.train.cpu().numpy(), s.layers)

        def forward(key: Key | None) -> Tensor:
            """In training the loss reads the known nodes alone."""
            logits: Tensor = network(adjacency, [problem.x], key, None if key is None else read)
            return logits

        return network, forward
