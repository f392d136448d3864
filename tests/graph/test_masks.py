"""One rule for masks at every door: N booleans, or N integers that are all 0 or 1; other integers are node numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from gdamn import Graph
from gdamn.data import files as own
from gdamn.errors import GdamnError, GraphError

N = 12
RING = np.stack([np.arange(N), (np.arange(N) + 1) % N])
X = np.linspace(-1, 1, 2 * N, dtype=np.float32).reshape(N, 2)
Y = np.arange(N) % 2
TRAIN = np.arange(N) < 7
KINDS = ["bool", "uint8", "int8", "int32", "int64", "uint64"]


def as_build(mask: Any, folder: Path) -> Graph:
    return Graph.build(RING, X, Y, train_mask=mask)


def as_list(mask: Any, folder: Path) -> Graph:
    return Graph.build(RING, X, Y, train_mask=mask.tolist())


def as_masks(mask: Any, folder: Path) -> Graph:
    return Graph.build(RING, X, Y).with_masks(mask, np.zeros_like(mask), [])


def as_scipy(mask: Any, folder: Path) -> Graph:
    return Graph.from_scipy(Graph.build(RING, X).to_scipy(), X, Y, train_mask=mask)


def data(mask: Any) -> Data:
    return Data(x=torch.tensor(X), edge_index=torch.tensor(RING), y=torch.tensor(Y), train_mask=torch.as_tensor(mask))


def as_pyg(mask: Any, folder: Path) -> Graph:
    return Graph.from_pyg(data(mask))


def as_pyg_columns(mask: Any, folder: Path) -> Graph:
    return Graph.from_pyg(data(np.stack([mask, 1 - mask.astype(int)], axis=1).astype(mask.dtype)))


def as_torch_file(mask: Any, folder: Path) -> Graph:
    try:
        torch.save(data(mask), folder / "g.pt")
    except KeyError:
        pytest.skip("this torch can't save numbers of this type")
    return own.load(folder / "g.pt", val_share=0.0)


def as_npz(mask: Any, folder: Path) -> Graph:
    matrix = Graph.build(RING, X).to_scipy()
    parts = {f"adj_{name}": getattr(matrix, name) for name in ("indices", "indptr", "shape")}
    np.savez(folder / "g.npz", **parts, features=X, labels=Y, train_mask=mask)
    return own.load(folder / "g.npz", val_share=0.0)


DOORS = [as_build, as_list, as_masks, as_scipy, as_pyg, as_pyg_columns, as_torch_file, as_npz]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
def test_a_mask_of_zeros_and_ones_is_a_mask(door: Any, kind: str, tmp_path: Path) -> None:
    assert np.array_equal(door(TRAIN.astype(kind), tmp_path).train_mask, TRAIN)


@pytest.mark.parametrize("kind", ["float32", "float64", "float16"])
@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
def test_a_mask_of_floats_is_refused(door: Any, kind: str, tmp_path: Path) -> None:
    with pytest.raises(GdamnError, match="train"):
        door(TRAIN.astype(kind), tmp_path)


def test_two_nodes_of_a_mask() -> None:
    """[0, 1] could be both nodes or the second one: it is a mask, as Graph.build says."""
    graph = Graph.build([[0], [1]], np.eye(2), [0, 1], train_mask=[0, 1], val_mask=[1, 0])
    assert (graph.train_mask.tolist(), graph.val_mask.tolist()) == ([False, True], [True, False])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([3, 4, 3], "names node 3 more than once"),
        ([0, 1, 1, 0], "mask of 12 values"),
        (np.where(TRAIN, 2, 0), "names node 0 more than once"),
        (TRAIN.astype(int)[:-1], "these are 11"),
        (np.stack([TRAIN, ~TRAIN], axis=1), "pass one column"),
        (np.stack([TRAIN, ~TRAIN], axis=1).astype(int), "pass one column"),
        (np.zeros((N, 0), bool), "pass one column"),
        (TRAIN.astype(complex), "boolean mask or a list"),
        (torch.ones(N, dtype=torch.complex64), "boolean mask"),
        ([[True]], "it must be"),
    ],
)
def test_what_is_no_mask_and_no_list_of_nodes(given: Any, said: str) -> None:
    with pytest.raises(GraphError, match=said):
        Graph.build(RING, X, Y, train_mask=given)


def test_node_numbers_are_still_node_numbers() -> None:
    graph = Graph.build(RING, X, Y, train_mask=[0, 1], val_mask=np.array([5, 3], np.uint8), test_mask=torch.tensor([4]))
    assert np.flatnonzero(graph.train_mask).tolist() == [0, 1]
    assert np.flatnonzero(graph.val_mask).tolist() == [3, 5]
    assert np.flatnonzero(graph.test_mask).tolist() == [4]
    assert np.flatnonzero(Graph.build(RING, X, Y, train_mask=np.arange(N)).train_mask).tolist() == list(range(N))


def test_a_pyg_mask_without_a_split_is_refused() -> None:
    with pytest.raises(GraphError, match="train mask"):
        Graph.from_pyg(data(np.zeros((N, 0), bool)))
