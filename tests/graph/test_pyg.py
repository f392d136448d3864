"""Graph.from_pyg: what it decides is told, and warned of only where an argument would have changed the graph."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import torch
from torch_geometric import transforms as T
from torch_geometric.data import Data, HeteroData

from gdamn import GDAMN, Graph
from gdamn.errors import GraphError, GraphWarning

N = 6
RING = torch.stack([torch.arange(N), (torch.arange(N) + 1) % N])
BOTH = torch.cat([RING, RING.flip(0)], dim=1)


def data(edges: torch.Tensor = BOTH, **parts: Any) -> Data:
    return Data(x=torch.eye(N), edge_index=edges, y=torch.arange(N) % 2, train_mask=torch.arange(N) < 4, **parts)


def heard(graph: Graph) -> np.ndarray:
    """[i, j] the weight with which i hears from j."""
    return graph.to_scipy().toarray()


def read(given: Data, **arguments: Any) -> tuple[Graph, list[str]]:
    """The graph, and what is warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        graph = Graph.from_pyg(given, **arguments)
    assert all(each.category is GraphWarning and each.filename == __file__ for each in caught)
    return graph, [str(each.message) for each in caught]


def test_nothing_is_said_where_nothing_was_decided() -> None:
    assert (read(data())[0].notes, read(data())[1]) == ((), [])
    assert Graph.build(RING, torch.eye(N)).notes == ()


ARC = torch.tensor([[0], [3]])
DECIDED: dict[str, tuple[dict[str, Any], str, dict[str, Any]]] = {
    "directions": ({"edges": torch.cat([BOTH, ARC], 1)}, "Edges: 1 of 7 were listed in one", {"directed": False}),
    "columns": ({"val_mask": torch.zeros(N, 3, dtype=torch.bool)}, "Masks: column 0 of 0 to 2 was taken", {"mask": 0}),
    "edge_attr": ({"edge_attr": torch.ones(2 * N, 1)}, "Weights: edge_attr is not used; Graph.from", {"weight": None}),
}


@pytest.mark.parametrize("kind", DECIDED)
def test_what_an_argument_would_change_is_warned_of_until_it_is_given(kind: str) -> None:
    parts, sentence, argument = DECIDED[kind]
    graph, warned = read(data(**parts))
    assert warned == list(graph.notes)
    assert len(warned) == 1
    assert warned[0].startswith(sentence)
    asked, quiet = read(data(**parts), **argument)
    assert quiet == []
    assert np.array_equal(heard(asked), heard(graph))
    with pytest.warns(GraphWarning, match=sentence.split(":")[0]):
        GDAMN(pretrain_epochs=1, em_iterations=0, threads=1).fit(data(**parts))


def test_what_no_argument_changes_is_a_note_alone() -> None:
    odd = data(torch.cat([BOTH, torch.tensor([[2], [2]])], 1), edge_attr=torch.ones(2 * N + 1, 4))
    odd.y = torch.tensor([0, 1, 3, 0, 1, 3])
    graph, warned = read(odd)
    assert warned == []
    assert [note.split(":")[0] for note in graph.notes] == ["Weights", "Edges", "Classes"]
    assert "no node has class 2" in graph.notes[2]
    model = GDAMN(pretrain_epochs=1, em_iterations=0, threads=1).fit(graph)
    assert model.predict_proba().shape == (N, 4)  # the class keeps its column


def test_directions_are_kept_where_they_are_asked_for() -> None:
    graph, warned = read(data(RING), directed=True)
    assert (graph.directed, graph.notes, warned) == (True, (), [])
    assert np.array_equal(heard(graph).T, np.roll(np.eye(N), 1, axis=1))  # target hears from source


def test_a_column_of_the_masks() -> None:
    columns = torch.eye(N, dtype=torch.bool)[:, :3]
    given = data(val_mask=torch.arange(N) == 5)  # as WikiCS has it: some masks for all splits
    given.train_mask = columns
    for at in range(3):
        graph, warned = read(given, mask=at)
        assert warned == []
        assert np.flatnonzero(graph.train_mask).tolist() == [at]
        assert np.flatnonzero(graph.val_mask).tolist() == [5]
        assert (graph.meta["split"], graph.meta["splits"]) == (at, 3)
    for wrong in (3, -1, True, "first"):
        with pytest.raises(GraphError, match="there are 0 to 2"):
            Graph.from_pyg(given, mask=wrong)  # type: ignore[arg-type]
    with pytest.raises(GraphError, match="have none; leave it out"):
        Graph.from_pyg(data(), mask=1)


def test_weights_by_their_name() -> None:
    values = torch.arange(2.0 * N) + 1
    given = data(edge_attr=values[:, None], length=values + 1, colour=torch.ones(2 * N, 3))
    assert Graph.from_pyg(given, weight="edge_attr").notes == ("Weights: taken from edge_attr.",)
    assert heard(Graph.from_pyg(given, weight="length"))[1, 0] == 8.0  # the larger of 2 and 8
    with pytest.raises(GraphError, match=r"no 'width' to take as weights; .*: colour, edge_attr, length"):
        Graph.from_pyg(given, weight="width")
    with pytest.raises(GraphError, match="The colour of the data has shape"):
        Graph.from_pyg(given, weight="colour")


class SparseTensor:
    """What is read of torch_sparse's class, which is not installed everywhere: ``coo``."""

    def __init__(self, row: torch.Tensor, col: torch.Tensor, value: torch.Tensor | None) -> None:
        self.parts = row, col, value

    def coo(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
        return self.parts


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("layout", [torch.sparse_csr, torch.sparse_coo, "torch_sparse"])
def test_adj_t_is_the_same_graph(layout: Any, weighted: bool, directed: bool) -> None:
    edges = torch.tensor([[0, 4, 2, 3], [1, 1, 5, 0]])
    given = data(edges, **({"edge_weight": torch.tensor([2.0, 3.0, 4.0, 5.0])} if weighted else {}))
    if layout == "torch_sparse":
        made = Data(**{key: value for key, value in given.to_dict().items() if not key.startswith("edge_")})
        made.adj_t = SparseTensor(edges[1], edges[0], given.edge_weight if weighted else None)
    else:
        made = T.ToSparseTensor(layout=layout)(given)
    assert "edge_index" not in made
    want, got = (read(each, directed=directed)[0] for each in (given, made))
    assert np.array_equal(heard(want), heard(got))
    assert ("Weights: taken from adj_t." in got.notes) == weighted
    assert (got.weights is None) == (not weighted)
    assert read(made, directed=directed, weight=None)[0].weights is None


def test_an_adjacency_that_is_none() -> None:
    with pytest.raises(GraphError, match="no edge_index and no adj_t"):
        Graph.from_pyg(Data(x=torch.eye(2)))
    with pytest.raises(GraphError, match=r"make it with T\.ToSparseTensor"):
        Graph.from_pyg(Data(x=torch.eye(2), adj_t=torch.eye(2)))


def test_several_kinds_of_nodes_become_one() -> None:
    several = HeteroData()
    several["paper"].x, several["author"].x = torch.eye(4), torch.ones(2, 4)
    several["paper"].y = torch.tensor([0, 1, 0, 1])
    several["paper"].train_mask = torch.tensor([True, True, False, False])
    several["author", "writes", "paper"].edge_index = torch.tensor([[0, 1, 1], [0, 1, 3]])
    with pytest.raises(GraphError, match=r"not HeteroData; .* with its to_homogeneous\(\)"):
        Graph.from_pyg(several)
    graph = Graph.from_pyg(several.to_homogeneous(), directed=False)
    assert graph.labels.tolist() == [0, 1, 0, 1, -1, -1]
    assert graph.train_mask.sum() == 2
    assert graph.num_edges == 3


def test_whole_numbers_as_ids_are_a_tensor_that_loaders_can_slice() -> None:
    graph = Graph.build(RING, torch.eye(N), node_ids=[10 * at for at in range(N)])
    made = graph.to_pyg()
    assert made.is_node_attr("node_ids")
    assert made.subgraph(torch.tensor([1, 3])).node_ids.tolist() == [10, 30]
    assert Graph.from_pyg(made).node_ids.tolist() == graph.node_ids.tolist()
