"""Mini-batches of parts: exact where no edge leaves a part, and refused where a rank has too few parts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gdamn import GDAMN, Graph
from gdamn.data.partition.layout import Layout
from gdamn.data.partition.write import write_parts
from gdamn.errors import ConfigError
from gdamn.fit.domains.ranks.part_batches import batch_count
from gdamn.fit.domains.ranks.parts import fit_parts
from gdamn.fit.training import Watch
from gdamn.graph.parts import PartitionedGraph, read_parts

PARTS, EACH = 4, 12
STILL = {"dropout_input": 0.0, "dropout_hidden": 0.0, "dropout_attention": 0.0, "em_iterations": 0, "start": "graph"}


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> PartitionedGraph:
    """Four rings of twelve nodes, a part each."""
    luck, nodes = np.random.default_rng(0), PARTS * EACH
    part = np.arange(nodes) // EACH
    ring = np.stack([np.arange(nodes), part * EACH + (np.arange(nodes) + 1) % EACH])
    train = np.arange(nodes) % 3 == 0
    masks = {"train_mask": train, "val_mask": np.roll(train, 1), "test_mask": np.roll(train, 2)}
    graph = Graph.build(ring, luck.normal(size=(nodes, 5)), luck.integers(0, 3, nodes), **masks)
    folder = tmp_path_factory.mktemp("rings") / "parts"
    write_parts(graph, folder, lambda: Layout.make(part.astype(np.int32), None, PARTS, "drawn"))
    return read_parts(folder)


def losses(parts: PartitionedGraph, **settings: Any) -> list[float]:
    watch = Watch()
    model = GDAMN(pretrain_epochs=6, seed=1, **STILL, **settings)
    with fit_parts(parts, model.settings, watch, None):
        return [record["loss"] for record in watch.history]


def test_one_batch_of_all_parts_is_the_whole_graph_where_no_edge_leaves_a_part(parts: PartitionedGraph) -> None:
    whole = losses(parts, batch="full")
    assert losses(parts, batch="partition", accumulate=True) == pytest.approx(whole, rel=1e-5)
    assert losses(parts, batch="partition", batch_nodes=EACH) != pytest.approx(whole, rel=1e-3)  # four steps an epoch


def test_a_rank_has_a_part_of_every_batch(parts: PartitionedGraph) -> None:
    settings = GDAMN(batch="partition", batch_nodes=2 * EACH).settings
    assert batch_count(parts, settings, np.array([0, 2, 4])) == 2
    with pytest.raises(ConfigError, match=r"A rank has 1 parts, and there are 2 batches.* batch_nodes to 48 or more"):
        batch_count(parts, settings, np.array([0, 1, 2, 4]))
