"""Fit a model on tables, save it with its graph, and label new rows from nothing but the file."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from gdamn import GDAMN, Graph

rng = np.random.default_rng(0)
kind = rng.integers(0, 2, 80)
nodes = {
    "id": [f"article-{at}" for at in range(80)],
    "length": rng.normal(size=80) + 2 * kind,
    "city": np.array(["rome", "oslo"])[kind].tolist(),
    "topic": [None if at % 2 else ["art", "sport"][kind[at]] for at in range(80)],
}
ends = rng.integers(0, 80, (2, 240))
ends = ends[:, kind[ends[0]] == kind[ends[1]]]
edges = {side: [nodes["id"][at] for at in row] for side, row in zip(("source", "target"), ends, strict=True)}

graph = Graph.from_tables(nodes, edges, label="topic")
print(graph)
model = GDAMN(pretrain_epochs=100, epochs=50, em_iterations=1, start="graph").fit(graph)

with tempfile.TemporaryDirectory() as folder:
    path = model.save(Path(folder) / "topics.gdamn", graph=True)
    loaded = GDAMN.load(path)  # in another process, on another machine

new = {"id": ["draft-1", "draft-2"], "length": [2.1, -0.3], "city": ["oslo", "rome"]}
links = {"source": ["draft-1", "draft-2"], "target": ["article-1", "article-3"]}
print(loaded.predict_frame(nodes=new, edges=links))
