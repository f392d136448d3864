"""What the propagators share: the start of the weights, and a first layer over input blocks side by side."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from ...kernels import Key
from ..inputs import Block


def initialise(weights: Sequence[Tensor], how: str, generator: torch.Generator) -> None:
    """Uniform start of one weight matrix given in parts [fan_in_part, fan_out].

    xavier: ±√(6 / (fan_in + fan_out)); kaiming: ±√(6 / fan_in).
    """
    fan_in, fan_out = sum(w.shape[0] for w in weights), weights[0].shape[1]
    bound = math.sqrt(6 / max(fan_in + (fan_out if how == "xavier" else 0), 1))
    with torch.no_grad():
        for w in weights:
            w.copy_((torch.rand(w.shape, generator=generator) * 2 - 1) * bound)


def new_weights(shapes: Iterable[tuple[int, int]]) -> nn.ParameterList:
    """Weight matrices of these shapes, to be started by :func:`initialise`."""
    return nn.ParameterList([nn.Parameter(torch.empty(a, b)) for a, b in shapes])


def new_biases(sizes: Iterable[int]) -> nn.ParameterList:
    """Biases of these sizes, which start at 0."""
    return nn.ParameterList([nn.Parameter(torch.zeros(size)) for size in sizes])


def child(key: Key | None, part: int | str) -> Key | None:
    """The child of a key; none of none, which means evaluation."""
    return None if key is None else key.fold(part)


def side_by_side(blocks: Sequence[Block], weights: Iterable[Tensor], key: Key | None) -> Tensor:
    """[B_1‖B_2‖…] W, with W given as one part per block: [N, H]; each block with its own dropout."""
    input_key = child(key, "input")
    total: Tensor | None = None
    for i, (block, weight) in enumerate(zip(blocks, weights, strict=True)):
        total = block.linear(weight, child(input_key, i), total)
    assert total is not None
    return total


class Layers(nn.Module):
    """The weights of a network of linear layers: ``first`` with a part per input block, ``later``, ``bias``, ``norms``.

    Args:
        widths: columns of each input block, or of the only one.
        hidden, classes, layers: sizes.
        rate: dropout of hidden layers.
        batch_norm: normalise between the layers.
    """

    side = 1
    """Matrices side by side in each weight."""

    def __init__(
        self, widths: int | Sequence[int], hidden: int, classes: int, layers: int, rate: float, batch_norm: bool = False
    ) -> None:
        super().__init__()
        blocks = [widths] if isinstance(widths, int) else list(widths)
        sizes = [sum(blocks)] + [hidden] * (layers - 1) + [classes]
        self.first = new_weights((width, self.side * sizes[1]) for width in blocks)
        self.later = new_weights((rows, self.side * columns) for rows, columns in pairwise(sizes[1:]))
        self.bias = new_biases(sizes[1:])
        self.norms = nn.ModuleList([nn.BatchNorm1d(size) for size in sizes[1:-1]] if batch_norm else [])
        for bias in list(self.bias)[: len(self.norms)]:
            bias.requires_grad_(False)  # a norm takes it out again: its gradient would be rounding alone
        self.rate = rate

    def initialise(self, how: str, generator: torch.Generator) -> None:
        """Start each of the matrices; biases stay 0."""
        for parts in (list(self.first), *([weight] for weight in self.later)):
            for matrices in zip(*(part.detach().chunk(self.side, 1) for part in parts), strict=True):
                initialise(matrices, how, generator)
