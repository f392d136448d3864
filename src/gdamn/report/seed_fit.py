"""One seed of a run as a report needs it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..estimators.calibration import calibrated
from ..estimators.chosen_epoch import before_em
from ..graph.graph import Graph
from ..model.fitted_state import FittedState
from ..model.temperature import Temperature

if TYPE_CHECKING:
    from ..using.run_folder import RunFolder

EVALUATED = {"test": "test", "val": "validation", "train": "training"}
"""The node sets that a report may speak of, the best one first, and how they are called."""


class Learned(Protocol):
    """What learning curves are drawn from; those of :class:`SeedFit`, or of a fit whose graph isn't in memory."""

    @property
    def seed(self) -> int:
        """The seed."""

    @property
    def temperature(self) -> Temperature:
        """What calibrated the confidence."""

    @property
    def history(self) -> list[dict[str, Any]]:
        """A record per epoch."""

    @property
    def best(self) -> Mapping[str, Any]:
        """The one that was chosen."""


@dataclass(frozen=True)
class SeedFit:
    """One seed of a run: its graph, and what its model says.

    Attributes:
        probabilities: [N, C] calibrated, as everywhere that people see them.
        temperature: what calibrated them.
        weights: ``hard``, ``soft`` and ``stable`` [E], or None for a method without attention.
        state: the arrays of the fitted model, by their meaning.
        history: a record per epoch; ``best`` is the one that was chosen.
    """

    seed: int
    graph: Graph
    probabilities: NDArray[np.float64]
    temperature: Temperature
    weights: Mapping[str, NDArray[np.float32]] | None
    state: FittedState
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


def read_seed(run: RunFolder, seed: int) -> SeedFit:
    """Load the model of a seed, and the graph that it was trained on."""
    header, tensors = run.saved(seed)
    graph = run.graph(seed)
    probabilities, temperature = calibrated(tensors["probabilities"], graph, best=header["best_epoch"])
    state = FittedState.of(tensors)
    return SeedFit(
        seed=seed,
        graph=graph,
        probabilities=probabilities,
        temperature=temperature,
        weights=state.attention,
        state=state,
        history=run.history(seed),
        best=header["best_epoch"],
    )
