"""What ``gdamn reproduce`` can make: one small table. A new experiment is a file beside the others and a line here."""

from __future__ import annotations

import difflib
import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from ..errors import ConfigError

if TYPE_CHECKING:
    from .experiment import Experiment

ALL = "all"
TABLES = "tables"
"""The module of the tables that are compared cell by cell."""


@dataclass(frozen=True)
class Target:
    """A table, a figure or a statement of the paper, or an experiment of our own.

    Attributes:
        name: what the command line knows it by.
        title: what it shows.
        module: the file in this package that makes it (:class:`gdamn.experiments.experiment.Experiment`).
        of_paper: whether the paper has it; what it hasn't is no part of ``all``.
    """

    name: str
    title: str
    module: str
    of_paper: bool = True

    @property
    def is_table(self) -> bool:
        """Whether it is compared cell by cell (tables.py)."""
        return self.module == TABLES

    def experiment(self) -> Experiment:
        """The module, imported when it is needed."""
        return cast("Experiment", importlib.import_module(f".{self.module}", __package__))


_ALL = (
    Target("table1", "Statistics of the data sets (Table 1)", "table1"),
    Target("fig1a", "A GCN and the share of edges between classes (Figure 1a)", "fig1a"),
    Target("fig1b", "A GCN with similarity or dissimilarity as attention (Figure 1b)", "fig1b"),
    Target("fig6", "A GCN retrained on GDAMN's weights (Figure 6)", "fig6"),
    Target("time", "The cost of an epoch (time complexity)", "time_cost"),
    Target("convergence", "Accuracy over the EM iterations", "convergence"),
    Target("fig5", "Connectivity strength between the classes (Figure 5)", "fig5"),
    Target("table2", "Test accuracy on five graphs (Table 2)", TABLES),
    Target("ablation", "The parts of GDAMN left out one by one (ablation study)", "ablation"),
    Target("fig4", "Stable re-weighting against sampled structures (Figure 4)", "fig4"),
    Target("table3", "Accuracy on ogbn-arxiv (Table 3)", TABLES),
    Target("noise", "Accuracy under noise of several kinds and rates", "noise", of_paper=False),
)

TARGETS: dict[str, Target] = {target.name: target for target in _ALL}
"""Every target by name, in the order of ``all``: the quick ones first, and a table before those that use its fits."""


def find(name: str) -> Target:
    """The target called so, or an error with the one that is close."""
    key = name.strip().lower()
    if key not in TARGETS:
        close = difflib.get_close_matches(key, [*TARGETS, ALL], n=1)
        hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(TARGETS)} and {ALL}."
        raise ConfigError(f"There is no target '{name}'; {hint}")
    return TARGETS[key]
