"""The networks on a streamed graph, layer by layer: logits [N, C] in a mapped file, exact, without dropout."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ...baselines.sgc import SGC
from ...errors import ConfigError
from ...kernels import matmul
from ...model.propagators import APPNP, GCN
from .streamed import Floats, StreamedGraph, Weigh


def logits(network: nn.Module, graph: StreamedGraph, weigh: Weigh, method: str) -> Floats:
    """What a network says of every node, with these weights on the edges."""
    ways: dict[type, Callable[[Any, StreamedGraph, Weigh], Floats]] = {GCN: gcn, APPNP: appnp, SGC: sgc}
    way = ways.get(type(network))
    if way is None:
        raise ConfigError(
            f"'{method}' with a {type(network).__name__} can't answer for another partitioned graph, only with a GCN, "
            "APPNP or SGC; predict without --parts tells what the fit said."
        )
    network.eval()
    return way(network, graph, weigh)


def gcn(network: GCN, graph: StreamedGraph, weigh: Weigh) -> Floats:
    """H^ℓ = σ(Â H^{ℓ-1} W^ℓ + b^ℓ): each pass over the parts adds the bias, and multiplies by the next layer's W."""
    weights, layers = list(network.later), len(network.bias)
    h = graph.of_features("features", lambda x: x.linear(network.first[0], None), network.first[0].shape[1])
    for layer, bias in enumerate(network.bias):

        def then(rows: Tensor, own: slice, layer: int = layer, bias: Tensor = bias) -> Tensor:
            rows = rows + bias
            if layer == layers - 1:
                return rows
            norm = cast(nn.BatchNorm1d, network.norms[layer]) if network.norms else None
            return matmul(F.relu(rows if norm is None else norm(rows)), weights[layer])

        width = len(bias) if layer == layers - 1 else weights[layer].shape[1]
        out = graph.propagated(f"layer {layer + 1} of {layers}", weigh, h, width, then)
        graph.room.free(h)
        h = out
    return h


def appnp(network: APPNP, graph: StreamedGraph, weigh: Weigh) -> Floats:
    """H = MLP(X), Z^{k+1} = (1 - α) Â Z^k + α H."""
    classes = len(network.body.bias[-1])
    h = graph.of_features("features", lambda x: network.body([x], None), classes)
    z = h
    for step in range(network.steps):

        def then(rows: Tensor, own: slice) -> Tensor:
            return torch.lerp(rows, torch.from_numpy(h[own].copy()), network.teleport)

        out = graph.propagated(f"step {step + 1} of {network.steps}", weigh, z, classes, then)
        if z is not h:
            graph.room.free(z)
        z = out
    return z


def sgc(network: SGC, graph: StreamedGraph, weigh: Weigh) -> Floats:
    """S(…S(X W)) + b."""
    bias = network.body.bias[0]
    z = graph.of_features("features", lambda x: x.linear(network.body.first[0], None), len(bias))
    for step in range(network.steps):
        out = graph.propagated(f"step {step + 1} of {network.steps}", weigh, z, len(bias))
        graph.room.free(z)
        z = out
    for part in graph.parts("bias"):
        z[part.first_node : part.first_node + part.num_nodes] += bias.detach().numpy()
    return z
