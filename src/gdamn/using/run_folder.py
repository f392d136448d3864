"""RunFolder: the one reader of what ``gdamn train`` wrote."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError, DataError
from ..estimators.model_file import read_model
from ..model.fitted_state import WEIGHTS
from ..runs import run as runs
from ..runs.decided import at_hand
from ..runs.partitioned.files import is_partitioned
from ..runs.result_file import check_result
from ..runs.spec import RunSpec
from ..system.reading import is_there, read_json

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..estimators.base import NodeClassifier
    from ..estimators.predictions import Predictions
    from ..graph.extension import Extension
    from ..graph.graph import Graph

MODEL = "model.gdamn"
LISTED = {".json", ".toml", ".jsonl", ".csv", ".gdamn"}
"""Endings of the files of a run."""

_ATTENTION = ("edge.used", "pseudo_labels", "p_probabilities", *(f"loop.{name}" for name in WEIGHTS))
"""What a model with attention holds beside the weights of its edges; reading it has checked their shapes."""


class RunFolder:
    """The folder of a run. Each file is read when it is first asked for; what is missing or damaged gets one sentence.

    Only what belongs to the last seed is kept in memory, because the graphs of all seeds may not fit.

    Args:
        path: the folder.
        data_root: where named data sets lie.
    """

    def __init__(self, path: Path, data_root: Path | None = None) -> None:
        self.path = path
        self.data_root = data_root
        self._seed: int | None = None
        self._of_seed: dict[str, Any] = {}

    @cached_property
    def spec(self) -> RunSpec:
        """What was run, from ``config.toml``."""
        return at_hand(RunSpec.from_toml(self._config()), self.path)

    def _config(self) -> Path:
        """The file that every run has; one sentence for what isn't a run."""
        if not is_there(self.path):
            raise DataError(f"There is no run at '{self.path}'; train one with: gdamn train DATASET --out {self.path}.")
        if not self.path.is_dir():
            raise DataError(f"'{self.path}' is a file, not a run; name the folder that gdamn train wrote.")
        config = self.path / "config.toml"
        if not config.is_file():
            raise DataError(
                f"'{self.path}' isn't a run: it has no config.toml; name the folder that gdamn train wrote."
            )
        return config

    @cached_property
    def summary(self) -> Mapping[str, Any]:
        """The results of a finished run, from ``summary.json``."""
        path = self.path / "summary.json"
        if not is_there(path):
            raise DataError(
                f"'{self.path}' holds no finished run (there is no summary.json); make one with: gdamn train."
            )
        summary = check_result(read_json(path), path)
        if not {"versions", "seconds_per_seed", "epochs_per_seed"} <= set(summary):
            raise DataError(f"'{path}' is no summary of gdamn train; train again with --force.")
        if list(self.spec.seeds) != summary["protocol"]["seeds"]:
            raise DataError(f"config.toml and summary.json in '{self.path}' have different seeds; train again.")
        return summary

    @cached_property
    def seeds(self) -> list[int]:
        """The seeds whose models are in the folder, in order."""
        folders = [folder.name for folder in self._config().parent.glob("seed-*") if (folder / MODEL).is_file()]
        seeds = sorted(int(match[1]) for match in (re.fullmatch(r"seed-(\d+)", name) for name in folders) if match)
        if not seeds and is_partitioned(self.path):
            raise ConfigError(
                f"'{self.path}' was trained on a partitioned graph, and this needs a whole graph in memory; use "
                "gdamn predict, refine, edges or report, or train on a whole graph (gdamn train big.graph)."
            )
        if not seeds:
            raise DataError(f"The run '{self.path}' has no model (seed-N/{MODEL}); train it again.")
        return seeds

    def choose_seed(self, seed: int | None) -> int:
        """The seed that is asked for, or the first that has a model."""
        return self.seeds[0] if seed is None else self._checked(seed, self.seeds)

    def best_seed(self, seed: int | None = None) -> int:
        """The seed that is asked for, or the one of the highest validation accuracy."""
        accuracies: Sequence[float | None] = self.summary["val_accuracy"]["per_seed"]
        if seed is not None:
            return self._checked(seed, self.spec.seeds)
        pairs = zip(self.spec.seeds, accuracies, strict=True)
        return max(pairs, key=lambda pair: -1.0 if pair[1] is None else pair[1])[0]

    def _checked(self, seed: int, seeds: Sequence[int]) -> int:
        if seed not in seeds:
            raise ConfigError(f"The run '{self.path}' has no seed {seed}; it has {', '.join(map(str, seeds))}.")
        return seed

    def seed_folder(self, seed: int) -> Path:
        """Where the files of a seed are."""
        return self.path / f"seed-{seed}"

    def files(self, seed: int | None = None) -> list[Path]:
        """The files of the run, or those of a seed."""
        folder = self.path if seed is None else self.seed_folder(seed)
        return [path for path in sorted(folder.iterdir()) if path.is_file() and path.suffix in LISTED]

    def saved(self, seed: int) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Header and tensors of a seed's model; the module of a user's own method isn't imported for it."""
        saved: tuple[dict[str, Any], dict[str, NDArray[Any]]]
        saved = self._once("saved", seed, lambda: read_model(self.seed_folder(seed) / MODEL))
        return saved

    def history(self, seed: int) -> list[dict[str, Any]]:
        """A record per epoch."""
        history: list[dict[str, Any]] = self.saved(seed)[0]["history"]
        return history

    def model(self, seed: int) -> NodeClassifier:
        """The model of a seed, as it was saved."""
        model: NodeClassifier = self._once("model", seed, lambda: load_model(self.spec, self.seed_folder(seed) / MODEL))
        return model

    def graph(self, seed: int) -> Graph:
        """The graph of a seed's fit, loaded again and checked to be the one that the model was trained on."""
        graph: Graph = self._once("graph", seed, lambda: self._read_graph(seed))
        return graph

    def _read_graph(self, seed: int) -> Graph:
        graph = runs.load_graph(self.spec, self.data_root, seed)
        if "model" in self._of_seed:  # its file is not read a second time
            model = self.model(seed)
            check_same_graph(model.class_names_, model.node_ids_.tolist(), model.tensors_, graph, self.path)
        else:
            header, tensors = self.saved(seed)
            check_same_graph(header["class_names"], header["node_ids"], tensors, graph, self.path)
        return graph

    def predictions(self, seed: int) -> Predictions:
        """The calibrated predictions of a seed's model for the graph of its fit."""
        from ..estimators.predictions import of_fit

        return of_fit(self.model(seed), self.graph(seed))

    def new_graph(self, nodes: Path | None, edges: Path | None) -> Graph:
        """A graph of other files, read as the run read its own; what isn't given are the run's own nodes or edges."""
        return self.extension(nodes, edges).graph

    def extension(self, nodes: Path | None, edges: Path | None, fitted_on: Graph | None = None) -> Extension:
        """The nodes of other files, in a graph of their own or, where their edges name nodes of the run, in its graph.

        Args:
            fitted_on: the graph of the run's fit, where it has been read.
        """
        from ..data import DATASETS
        from .new_files import read_new_files

        if self.spec.dataset in DATASETS:
            raise ConfigError(
                f"'{self.path}' was trained on the data set {self.spec.dataset}, which has no table of columns that "
                "new nodes could be read by; --nodes and --edges are for runs on files of your own."
            )
        older = self.graph(self.seeds[0]) if fitted_on is None else fitted_on
        return read_new_files(self.path, self.spec, nodes, edges, older)

    def _once(self, what: str, seed: int, read: Callable[[], Any]) -> Any:
        """What was read of a seed, as long as no other seed is asked for."""
        if self._seed != seed:
            self._seed, self._of_seed = seed, {}
        if what not in self._of_seed:
            self._of_seed[what] = read()
        return self._of_seed[what]


def load_model(spec: RunSpec, path: Path) -> NodeClassifier:
    """The saved model of the run's method, whole and consistent."""
    from ..estimators import custom, registry

    custom.register(spec.method)
    estimator = registry.method(spec.method).estimator()
    try:
        model = estimator.load(path)
    except (TypeError, AttributeError, KeyError) as cause:  # a header of the wrong shape
        raise DataError(f"{path} is not a model that gdamn saved, or it is damaged ({cause}).") from None
    missing = [] if model.edge_weights_ is None else [name for name in _ATTENTION if name not in model.tensors_]
    if missing:
        raise DataError(f"{path} is damaged: it lacks '{missing[0]}'; train the run again.")
    return model


def check_same_graph(
    classes: Sequence[str], ids: Sequence[Any] | None, tensors: Mapping[str, NDArray[Any]], graph: Graph, run: Path
) -> None:
    """Refuse a graph that the model wasn't trained on: its files may have changed since.

    Args:
        classes: names of the model's classes.
        ids: ids of its nodes; None where they are 0 to N - 1.
        tensors: its arrays.
        graph: the graph as it is read now.
        run: the folder of the run, for the message.
    """
    import numpy as np

    nodes, index = len(tensors["probabilities"]), tensors.get("edge.index")
    if nodes != graph.num_nodes:
        different = f"it knows {nodes} nodes, the graph has {graph.num_nodes}"
    elif list(classes) != list(graph.class_names):
        different = "it knows other classes"
    elif list(map(str, range(nodes) if ids is None else ids)) != list(map(str, graph.node_ids.tolist())):
        different = "it knows other node ids"
    elif index is not None and not np.array_equal(index, np.stack([graph.indices, graph.rows])):
        different = "it knows other edges"
    else:
        return
    raise DataError(
        f"The model of '{run}' was trained on other data than '{graph.name}' holds now ({different}); train it again."
    )
