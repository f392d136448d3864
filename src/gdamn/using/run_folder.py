"""A run's folder, opened again: its configuration, one of its models and the graph that the model was trained on."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ConfigError, DataError, GraphError
from ..model.fitted_state import WEIGHTS
from ..runs.spec import RunSpec
from ..system.reading import is_there
from .new_files import load_like

if TYPE_CHECKING:
    from ..estimators.base import NodeClassifier
    from ..graph.graph import Graph

MODEL = "model.gdamn"
_NEEDED = ("edge.used", "pseudo_labels", "p_probabilities", *(f"loop.{name}" for name in WEIGHTS))
"""What a model with attention holds beside the weights of its edges; reading it has checked their shapes."""


@dataclass(frozen=True, eq=False)
class Opened:
    """One seed of a run.

    Attributes:
        run: the run's folder.
        spec: what was run.
        seed: which of its models this is.
        model: the model, as it was saved.
        data_root: where named data sets lie.
    """

    run: Path
    spec: RunSpec
    seed: int
    model: NodeClassifier
    data_root: Path | None = None

    def graph(self) -> Graph:
        """The graph of the fit, loaded again and checked to be the one that the model knows."""
        graph = load_training_graph(self.run, self.spec, self.seed, self.data_root)
        check_same_graph(self.model, graph, self.run)
        return graph

    def new_graph(self, nodes: Path | None, edges: Path | None) -> Graph:
        """A graph of other files, read as the run read its own; what isn't given are the run's own nodes or edges."""
        from .. import data

        if self.spec.dataset in data.DATASETS:
            raise ConfigError(
                f"'{self.run}' was trained on the data set {self.spec.dataset}, which has no table of columns that "
                "new nodes could be read by; --nodes and --edges are for runs on files of your own."
            )

        graph: Graph = load_like(self.run, nodes, edges, seed=self.seed)
        return graph


def open_run(run: Path, seed: int | None = None, data_root: Path | None = None) -> Opened:
    """The model of a seed, by default the first that the run has."""
    spec = read_spec(run)
    chosen = choose_seed(run, saved_seeds(run), seed)
    model = load_model(spec, run / f"seed-{chosen}" / MODEL)
    return Opened(run, spec, chosen, model, data_root)


def read_spec(run: Path) -> RunSpec:
    """The configuration in the run's folder; what isn't a run is told apart from what isn't there."""
    if not is_there(run):
        raise DataError(f"There is no run at '{run}'; train one with: gdamn train DATASET --out {run}.")
    if not run.is_dir():
        raise DataError(f"'{run}' is a file, not a run; name the folder that gdamn train wrote.")
    if not (run / "config.toml").is_file():
        raise DataError(f"'{run}' isn't a run: it has no config.toml; name the folder that gdamn train wrote.")
    return RunSpec.from_toml(run / "config.toml")


def saved_seeds(run: Path) -> list[int]:
    """The seeds whose models are in the folder, in order."""
    found = (re.fullmatch(r"seed-(\d+)", folder.name) for folder in run.glob("seed-*") if (folder / MODEL).is_file())
    seeds = sorted(int(match[1]) for match in found if match)
    if not seeds:
        raise DataError(f"The run '{run}' has no model (seed-N/{MODEL}); train it again.")
    return seeds


def choose_seed(run: Path, seeds: list[int], wanted: int | None) -> int:
    """The seed that is asked for, or the first."""
    if wanted is None:
        return seeds[0]
    if wanted not in seeds:
        raise ConfigError(f"The run '{run}' has no seed {wanted}; it has {', '.join(map(str, seeds))}.")
    return wanted


def load_model(spec: RunSpec, path: Path) -> NodeClassifier:
    """The saved model of the run's method, whole and consistent."""
    from ..estimators import custom as own_methods
    from ..estimators import registry as methods

    own_methods.register(spec.method)
    estimator = methods.method(spec.method).estimator()
    try:
        model = estimator.load(path)
    except (TypeError, AttributeError, KeyError) as cause:  # a header of the wrong shape
        raise DataError(f"{path} is not a model that gdamn saved, or it is damaged ({cause}).") from None
    missing = [] if model.edge_weights_ is None else [name for name in _NEEDED if name not in model.tensors_]
    if missing:
        raise DataError(f"{path} is damaged: it lacks '{missing[0]}'; train the run again.")
    return model


def load_training_graph(run: Path, spec: RunSpec, seed: int, data_root: Path | None) -> Graph:
    """The graph of a seed's fit: a named data set, or the user's own files."""
    from .. import data
    from ..runs import run as runs

    if spec.dataset in data.DATASETS:
        return runs.load_graph(spec, data_root, seed)

    graph: Graph = load_like(run, None, None, seed=seed)
    return graph


def check_same_graph(model: NodeClassifier, graph: Graph, where: object) -> None:
    """Refuse a graph that the model wasn't trained on: files may have changed since."""
    import numpy as np

    changed = "the data have changed since the run was trained; train it again"
    if graph.num_nodes != len(model.probabilities_):
        known = len(model.probabilities_)
        raise GraphError(f"The model of '{where}' knows {known} nodes, but its graph has {graph.num_nodes}: {changed}.")
    if tuple(graph.class_names) != tuple(model.class_names_):
        raise GraphError(f"The model of '{where}' knows other classes than its graph: {changed}.")
    if list(map(str, graph.node_ids)) != list(map(str, model.node_ids_)):
        raise GraphError(f"The model of '{where}' knows other node ids than its graph: {changed}.")
    index = model.tensors_.get("edge.index")
    if index is not None and not np.array_equal(index, np.stack([graph.indices, graph.rows])):
        raise GraphError(f"The model of '{where}' knows other edges than its graph: {changed}.")
