"""Run folders for the tests of the pages: small ones that are trained, and a large one that is only written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from gdamn.estimators import registry as methods
from gdamn.estimators.base import NodeClassifier
from gdamn.graph.graph import Graph
from gdamn.runs import run as runs
from gdamn.runs.spec import RunSpec
from gdamn.system import io

FEW = {"pretrain_epochs": 8, "epochs": 4, "em_iterations": 2, "hidden": 8, "projection": 8}

HOSTILE = (
    "</script><script>window.broken = 1</script>",
    '"><img src=x onerror="window.broken = 2">',
    "<svg onload=window.broken=3>",
    "'; window.broken = 4; //",
    "&lt;b&gt; &amp; <b>bold</b>",
    "\u202egnp.exe\u202c and \u05e9\u05dc\u05d5\u05dd",
    "tab\tnew\nline\x00\x1b[31m\u2028\u2029",
    "$\\frac{1}{0}$ {{ 7 * 7 }} {% raw %} ${window.broken = 5}",
    "javascript:window.broken=6",
    "<!-- comment --> ]]> <style>*{display:none}</style>",
    "漢字 🙂 " + "x" * 300,
    "__proto__",
)
"""Names that try to be more than names."""


def small_graph(names: tuple[str, ...], ids: list[str] | None = None, nodes: int = 60, seed: int = 0) -> Graph:
    """Classes with more edges inside than between them; a third of the nodes for training."""
    draw = np.random.default_rng(seed)
    classes = len(names)
    labels = np.arange(nodes) % classes
    near = draw.random((nodes, nodes)) < np.where(labels[:, None] == labels, 0.5, 0.06)
    edges = np.argwhere(np.triu(near, 1)).T
    features = np.eye(classes)[labels] + draw.normal(0, 0.6, (nodes, classes))
    part = draw.permutation(nodes)
    third = nodes // 3
    return Graph.build(
        edges,
        features.astype(np.float32),
        labels,
        train_mask=part[:third],
        val_mask=part[third : 2 * third],
        test_mask=part[2 * third :],
        node_ids=ids,
        class_names=names,
        name="small",
    )


def write_run(folder: Path, graph: Graph, method: str, seeds: tuple[int, ...], **settings: Any) -> RunSpec:
    """Train as ``gdamn train`` does, on a graph that no data set has."""
    spec = RunSpec("small <b>graph</b>", method, seeds, settings=settings).resolved()
    results = []
    for seed in seeds:
        estimator = runs.make_estimator(spec, seed).fit(graph)
        results.append(runs.measure(graph, estimator))
        runs.write_seed(folder / f"seed-{seed}", graph, estimator)
    io.write_text(folder / "config.toml", spec.to_toml())
    io.write_json(folder / "summary.json", runs.summarise(spec, results))
    return spec


def write_large_run(folder: Path, nodes: int = 100_000, degree: int = 10, classes: int = 40) -> Graph:
    """A run on a large random graph whose model was never trained: its numbers are drawn by lot."""
    draw = np.random.default_rng(0)
    labels = draw.integers(0, classes, nodes)
    part = draw.permutation(nodes)
    graph = Graph.build(
        draw.integers(0, nodes, (2, nodes * degree // 2)),
        np.zeros((nodes, 1), np.float32),
        labels,
        train_mask=part[:1000],
        val_mask=part[1000:2000],
        test_mask=part[2000:],
        node_ids=[f"https://example.org/paper/{number:09d}?version=1" for number in range(nodes)],
        class_names=[f"subject area {number}" for number in range(classes)],
        name="large",
    )
    spec = RunSpec("large", settings=FEW).resolved()
    model = methods.make("gdamn", overrides=dict(FEW))
    pretend_fit(model, graph, draw)
    model.save(folder / "seed-0" / "model.gdamn")
    io.write_text(folder / "config.toml", spec.to_toml())
    io.write_json(folder / "summary.json", runs.summarise(spec, [runs.measure(graph, model)]))
    return graph


def pretend_fit(model: NodeClassifier, graph: Graph, draw: np.random.Generator) -> None:
    """Fill a model with numbers."""
    logits = draw.normal(0, 1, (graph.num_nodes, graph.num_classes)).astype(np.float32)
    logits[np.arange(graph.num_nodes), graph.labels] += 3
    shares = np.exp(logits)
    entries = len(graph.indices)
    model.graph_ = graph
    model.tensors_ = {
        "probabilities": shares / shares.sum(axis=1, keepdims=True),
        "edge.index": np.stack([graph.indices, graph.rows]),
        **{f"edge.{name}": draw.random(entries, dtype=np.float32) for name in ("hard", "soft", "stable")},
    }
    model.history_ = [
        {"phase": "pre-train", "iteration": 0, "epoch": at, "loss": 1 / (at + 1), "val_accuracy": 0.5}
        for at in range(2000)
    ]
    model.best_epoch_ = model.history_[1000]
    model.protocol_ = {"split": "given", "selection": "none", "seed": 0}
    model.class_names_, model.node_ids_ = graph.class_names, graph.node_ids
    model.settings_ = model.settings
    model.seconds_, model.epochs_, model.timings_ = 1.0, len(model.history_), []
