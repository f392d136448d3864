"""GDAMNConv and the blocks of gdamn.nn: the layer is the formula, its gradients arrive, and shapes are checked."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from gdamn import Graph, nn
from gdamn.errors import GraphError
from gdamn.model.settings import Settings
from gdamn.nn import GDAMNConv

pytestmark = pytest.mark.usefixtures("one_thread")
N, F, C = 7, 5, 3
EDGES = torch.tensor([[0, 1, 2, 2, 5, 0, 4], [1, 0, 0, 3, 4, 1, 4]])  # one twice, a loop, directed, node 6 alone


def inputs() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(1)
    return torch.randn(N, F, generator=generator), torch.rand(N, C, generator=generator).softmax(1)


def conv(**arguments: Any) -> GDAMNConv:
    torch.manual_seed(0)
    return GDAMNConv(F, 4, C, projection=6, **arguments)


def by_hand(layer: GDAMNConv, x: Tensor, labels: Tensor, weight: Tensor) -> Tensor:
    """The layer in evaluation on dense matrices; ``weight`` [N, N] is A + I, row i what i hears."""
    hard = torch.sigmoid(labels @ layer.hard.Q @ labels.T)
    hard = torch.where(torch.eye(N).bool(), torch.ones(()), hard)
    h = torch.relu(x @ layer.soft.W_proj) * layer.soft.s
    h = h / h.norm(dim=1, keepdim=True).clamp_min(1e-12)
    numbers = weight * hard * torch.exp(-(h @ h.T))
    return numbers / numbers.sum(1, keepdim=True) @ (x @ layer.weight) + layer.bias


def heard(edge_weight: Tensor | None = None) -> Tensor:
    matrix = torch.zeros(N, N)
    values = torch.ones(EDGES.shape[1]) if edge_weight is None else edge_weight
    for source, target, value in zip(*EDGES.tolist(), values.tolist(), strict=True):
        matrix[target, source] = max(matrix[target, source], value)
    return matrix.fill_diagonal_(1)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_layer_is_its_formula(weighted: bool) -> None:
    x, labels = inputs()
    layer = conv().eval()
    with torch.no_grad():
        layer.hard.Q += torch.randn(C, C)
        layer.bias += 1
    edge_weight = torch.arange(EDGES.shape[1]) + 1.0 if weighted else None
    out, (edge_index, alpha) = layer(x, EDGES, labels, edge_weight, return_attention_weights=True)
    assert torch.allclose(out, by_hand(layer, x, labels, heard(edge_weight)), atol=1e-6)
    sums = torch.zeros(N).index_add(0, edge_index[1], alpha)
    assert torch.allclose(sums, torch.ones(N))
    assert {tuple(pair) for pair in edge_index.T.tolist()} == {
        *map(tuple, EDGES.T.tolist()), *((at, at) for at in range(N))
    }  # fmt: skip


def test_training_draws_the_structure_and_torch_s_seed_decides_it() -> None:
    x, labels = inputs()
    layer = conv()
    torch.manual_seed(5)
    first = [layer(x, EDGES, labels) for _ in range(8)]
    torch.manual_seed(5)
    again = [layer(x, EDGES, labels) for _ in range(8)]
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    assert len({out.detach().numpy().tobytes() for out in first}) > 1
    assert torch.equal(first[0][6], first[1][6])  # nothing of a node alone can be cut


def test_the_mean_of_many_draws_is_close_to_the_expected_structure() -> None:
    """Where a node has one source, α is linear in its sample, so the mean tends to that of the two outcomes."""
    x, labels = inputs()
    layer = conv()
    with torch.no_grad():
        outs = torch.stack([layer(x, EDGES, labels) for _ in range(400)])
        exists = torch.sigmoid(labels[3] @ layer.hard.Q @ labels[2])
        with_edge, without = (by_hand_single(layer, x, kept) for kept in (True, False))
    assert torch.allclose(outs.mean(0)[3], exists * with_edge + (1 - exists) * without, atol=0.1)


def by_hand_single(layer: GDAMNConv, x: Tensor, kept: bool) -> Tensor:
    """Row 3, which hears from 2 and itself."""
    h = torch.nn.functional.normalize(torch.relu(x @ layer.soft.W_proj) * layer.soft.s, dim=1)
    share = torch.tensor([torch.exp(-(h[3] @ h[2])) * kept, torch.exp(-(h[3] @ h[3]))])
    share = share / share.sum()
    return share @ (x[[2, 3]] @ layer.weight) + layer.bias


@pytest.mark.parametrize("training", [True, False])
def test_gradients_reach_every_weight_and_both_inputs(training: bool) -> None:
    x, labels = (each.requires_grad_() for each in inputs())
    layer = conv(dropout=0.3).train(training)
    (layer(x, EDGES, labels).square().sum() + layer.kl(EDGES, labels)).backward()
    for name, value in [*layer.named_parameters(), ("x", x), ("labels", labels)]:
        assert value.grad is not None, name
        assert value.grad.isfinite().all(), name
        assert value.grad.abs().sum() > 0, name


def test_gradients_by_differences() -> None:
    """In double precision, where the same formulas run in plain torch."""
    x, labels = (each.double() for each in inputs())
    layer = conv().double().eval()
    assert torch.autograd.gradcheck(lambda a, b: layer(a, EDGES, b), (x.requires_grad_(), labels.requires_grad_()))


def test_the_order_of_nodes_and_edges_does_not_matter() -> None:
    x, labels = inputs()
    layer = conv().eval()
    order = torch.randperm(N, generator=torch.Generator().manual_seed(3))
    place = torch.argsort(order)
    moved = layer(x[order], place[EDGES].flip(1), labels[order])
    assert torch.allclose(moved, layer(x, EDGES, labels)[order], atol=1e-6)


def test_kl_is_zero_at_the_prior_and_grows_away_from_it() -> None:
    _, labels = inputs()
    layer = conv()
    structure = layer.structure(EDGES, N, None)
    prior = nn.structure_prior(structure, labels, 1e-4)
    assert nn.structure_kl(structure, torch.logit(prior), prior, 1).item() == pytest.approx(0, abs=1e-4)
    assert layer.kl(EDGES, labels).item() > 0


def test_the_structure_is_made_once_for_the_same_edges() -> None:
    x, labels = inputs()
    layer, edges = conv().eval(), EDGES.clone()
    kept = layer.structure(edges, N, None)
    assert layer.structure(edges, N, None) is kept
    before = layer(x, edges, labels)
    edges[0, 3] = 6  # the tensor is the same, its content isn't
    assert not torch.allclose(layer(x, edges, labels)[3], before[3])
    for twin in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert twin._latest is None
        assert torch.equal(twin(x, edges, labels), layer(x, edges, labels))


WRONG = {
    "x": (lambda x, e, y: (x[:, :2], e, y), r"GDAMNConv: x must have the shape \[any, 5\]; got \[7, 2\]"),
    "labels": (lambda x, e, y: (x, e, y[:, :2]), r"GDAMNConv: labels must have the shape \[7, 3\]; got \[7, 2\]"),
    "rows": (lambda x, e, y: (x, e, y[:3]), r"labels must have the shape \[7, 3\]"),
    "edges": (lambda x, e, y: (x, e.T, y), r"shape \[2, edges\]"),
    "number": (lambda x, e, y: (x, e + 3, y), "nodes are numbered 0 to 6"),
    "adj": (lambda x, e, y: (x, torch.eye(N).to_sparse(), y), "not a sparse matrix"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_wrong_shapes_are_told(kind: str) -> None:
    change, said = WRONG[kind]
    x, labels = inputs()
    with pytest.raises(GraphError, match=said):
        conv()(*change(x, EDGES, labels))


def test_the_blocks_check_shapes() -> None:
    graph = Graph.build(EDGES, inputs()[0].numpy(), np.arange(N) % C, train_mask=range(N))
    structure, entries = graph.structure, graph.structure.pattern.num_entries
    with pytest.raises(GraphError, match=r"HardAttention: labels must have the shape \[any, 4\]; got \[7, 3\]"):
        nn.HardAttention(4).logits(structure, inputs()[1])
    with pytest.raises(GraphError, match="SoftAttention: x must have 3 columns; got 5"):
        nn.SoftAttention(3).scores(structure, nn.label_block(inputs()[0], 0.0))
    with pytest.raises(GraphError, match="stable: soft must have the shape"):
        nn.stable(torch.ones(entries), torch.ones(1), torch.ones(entries), "stable")
    problem = nn.make_problem(graph, "none", 0.0, torch.device("cpu"))
    network = nn.LabelNetwork(problem, Settings(), torch.Generator().manual_seed(0))
    with pytest.raises(GraphError, match=r"LabelNetwork: labels must have the shape \[7, 3\]"):
        network(torch.ones(N, 2), torch.ones(entries), None)
    with pytest.raises(GraphError, match="LabelNetwork: weights must have the shape"):
        network(torch.ones(N, C), torch.ones(3), None)


def test_own_parts_start_from_torch_s_generator_and_a_fit_leaves_it_alone() -> None:
    torch.manual_seed(0)
    first = nn.SoftAttention(F).W_proj
    torch.manual_seed(0)
    assert torch.equal(nn.SoftAttention(F).W_proj, first)
    graph = Graph.build(EDGES, inputs()[0].numpy(), np.arange(N) % C, train_mask=range(N))
    problem = nn.make_problem(graph, "none", 0.0, torch.device("cpu"))
    state = torch.get_rng_state()
    nn.LabelNetwork(problem, Settings(), torch.Generator().manual_seed(0))
    assert torch.equal(torch.get_rng_state(), state)


def test_every_name_is_there_and_importing_loads_no_torch() -> None:
    for name in nn.__all__:
        assert getattr(nn, name).__doc__, name
    assert dir(nn) == sorted(nn.__all__)
    with pytest.raises(AttributeError, match=r"gdamn\.nn"):
        _ = nn.nowhere  # type: ignore[attr-defined]
    listed = nn.__doc__ or ""
    assert [name for name in nn.__all__ if name not in listed] == []
    code = "import sys, gdamn.nn; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "False\n", done.stderr
