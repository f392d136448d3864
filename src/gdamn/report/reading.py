"""A finished run as its folder holds it, and the graph of each of its seeds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ConfigError, DataError
from ..estimators.base import read_model
from ..estimators.calibration import Temperature, calibrated
from ..estimators.chosen_epoch import before_em
from ..graph.graph import Graph
from ..model.fitted_state import attention_of
from ..runs import run as runs
from ..runs.result_file import check_result, read_json
from ..runs.spec import RunSpec
from ..system.reading import is_there

if TYPE_CHECKING:
    from collections.abc import Sequence

EVALUATED = {"test": "test", "val": "validation", "train": "training"}
"""The node sets that a report may speak of, the best one first, and how they are called."""


@dataclass(frozen=True)
class Run:
    """The folder of a finished run: what was asked for, and what came out."""

    folder: Path
    spec: RunSpec
    summary: Mapping[str, Any]

    @classmethod
    def read(cls, folder: Path) -> Run:
        """Read a folder that ``gdamn train`` wrote."""
        path = folder / "summary.json"
        if not is_there(path):
            raise DataError(f"'{folder}' holds no finished run (there is no summary.json); make one with: gdamn train.")
        summary = check_result(read_json(path), path)
        if not {"versions", "seconds_per_seed", "epochs_per_seed"} <= set(summary):
            raise DataError(f"'{path}' is no summary of gdamn train; train again with --force.")
        spec = RunSpec.from_toml(folder / "config.toml")
        if list(spec.seeds) != summary["protocol"]["seeds"]:
            raise DataError(f"config.toml and summary.json in '{folder}' tell of different seeds; train again.")
        return cls(folder, spec, summary)

    def shown_seed(self, wanted: int | None) -> int:
        """The seed whose graph is shown: the one asked for, or the one of the highest validation accuracy."""
        seeds = self.spec.seeds
        if wanted is not None:
            if wanted not in seeds:
                raise ConfigError(f"The run has no seed {wanted}; it has {', '.join(map(str, seeds))}.")
            return wanted
        found: Sequence[float | None] = self.summary["val_accuracy"]["per_seed"]
        return max(zip(seeds, found, strict=True), key=lambda pair: -1.0 if pair[1] is None else pair[1])[0]

    def seed_folder(self, seed: int) -> Path:
        """Where the files of a seed are."""
        return self.folder / f"seed-{seed}"


@dataclass(frozen=True)
class SeedFit:
    """One seed of a run: its graph, and what its model says.

    Attributes:
        probabilities: [N, C] calibrated, as everywhere that people see them.
        temperature: what calibrated them.
        weights: ``hard``, ``soft`` and ``stable`` [E], or None for a method without attention.
        history: a record per epoch; ``best`` is the one that was chosen.
    """

    seed: int
    graph: Graph
    probabilities: NDArray[np.float64]
    temperature: Temperature
    weights: Mapping[str, NDArray[np.float32]] | None
    history: list[dict[str, Any]]
    best: Mapping[str, Any]

    @property
    def before_em(self) -> bool:
        """Whether its labels come from before EM, while its weights come from after it."""
        return before_em(self.best, self.history, self.weights is not None)

    @property
    def evaluated(self) -> str:
        """The node set that is measured: test where it has labels, else validation, else training."""
        known = self.graph.labels >= 0
        return next((name for name in EVALUATED if (self.graph.mask(name) & known).any()), "")


def read_seed(run: Run, seed: int, data_root: Path | None) -> SeedFit:
    """Load the model of a seed, and the graph that it was trained on."""
    path = run.seed_folder(seed) / "model.gdamn"
    header, tensors = read_model(path)
    graph = runs.load_graph(run.spec, data_root, seed)
    check_same(graph, header, tensors, path)
    probabilities, temperature = calibrated(tensors["probabilities"], graph)
    return SeedFit(
        seed=seed,
        graph=graph,
        probabilities=probabilities,
        temperature=temperature,
        weights=attention_of(tensors),
        history=header["history"],
        best=header["best_epoch"],
    )


def check_same(graph: Graph, header: Mapping[str, Any], tensors: Mapping[str, NDArray[Any]], path: Path) -> None:
    """Refuse data that isn't what the model was trained on: its numbers would be shown at the wrong places."""
    same = len(tensors["probabilities"]) == graph.num_nodes and list(header["class_names"]) == list(graph.class_names)
    if same and header["node_ids"] is not None:
        same = list(map(str, header["node_ids"])) == list(map(str, graph.node_ids.tolist()))
    if same and "edge.hard" in tensors:
        same = len(tensors["edge.hard"]) == len(graph.indices)
        index = tensors.get("edge.index")
        if same and index is not None:
            same = np.array_equal(index, np.stack([graph.indices, graph.rows]))
    if not same:
        raise DataError(
            f"{path} was trained on other data than '{graph.name}' holds now "
            f"({len(tensors['probabilities']):,} nodes there, {graph.num_nodes:,} here); train again."
        )
