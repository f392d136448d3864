"""Labels, probabilities and confidence of all nodes, part after part, as one table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...data.progress import Progress, silent
from ...estimators.accuracy import measured
from ...estimators.calibration import BINS, Calibration
from ...estimators.predictions import likeliest, probability_columns
from ...graph.parts import Part
from ...model.temperature import ENOUGH, Temperature, nll, scaled
from ...runs.partitioned.writing import splits_of
from ...runs.tables import write_blocks

if TYPE_CHECKING:
    from .folder import PartitionedRun

Raw = Callable[[Part], NDArray[Any]]
"""The probabilities [n, C] of a part's nodes, not calibrated."""


def empty_calibration() -> Calibration:
    """Bins of no nodes."""
    return Calibration(np.zeros(BINS, np.int64), np.zeros(BINS), np.zeros(BINS, np.int64))


@dataclass
class Scored:
    """Sums over labelled nodes of one kind: how many are right, and how far off their confidence is."""

    nodes: int = 0
    right: int = 0
    before: Calibration = field(default_factory=empty_calibration)
    after: Calibration = field(default_factory=empty_calibration)
    losses: tuple[float, float] = (0.0, 0.0)

    def add(self, raw: NDArray[Any], calibrated: NDArray[Any], labels: NDArray[np.int64]) -> None:
        """More nodes."""
        if len(labels) == 0:
            return
        self.nodes += len(labels)
        self.right += int((raw.argmax(axis=1) == labels).sum())
        self.before, self.after = (
            self.before + Calibration.of(raw, labels),
            self.after + Calibration.of(calibrated, labels),
        )
        sums = (total + len(labels) * nll(p, labels) for total, p in zip(self.losses, (raw, calibrated), strict=True))
        self.losses = tuple(sums)  # type: ignore[assignment]

    def report(self, enough: bool, likelihoods: bool) -> dict[str, Any] | None:
        """Plain data, as an ordinary run reports it; None without nodes."""
        if not self.nodes:
            return None
        errors = self.before.error, self.after.error
        found = {
            **measured(self.right / self.nodes, self.nodes),
            **{
                name: error if enough else None for name, error in zip(("ece_before", "ece_after"), errors, strict=True)
            },
        }
        means = {name: total / self.nodes for name, total in zip(("nll_before", "nll_after"), self.losses, strict=True)}
        return found | ({"ece_after_cross_fitted": None, **means} if likelihoods else {})


@dataclass
class Totals:
    """What a report tells of a table that was written block by block."""

    classes: NDArray[np.int64]
    nodes: int = 0
    new: int = 0
    confidence: float = 0.0
    scored: dict[str, Scored] = field(default_factory=lambda: {name: Scored() for name in ("val", "test", "new")})

    def add(
        self, raw: NDArray[Any], calibrated: NDArray[Any], labels: NDArray[np.int64], split: NDArray[np.str_]
    ) -> None:
        """More nodes."""
        self.nodes, self.new = self.nodes + len(labels), self.new + int((split == "new").sum())
        self.confidence += float(calibrated.max(axis=1).sum())
        self.classes += np.bincount(calibrated.argmax(axis=1), minlength=len(self.classes))
        for name, scored in self.scored.items():
            chosen = (split == name) & (labels >= 0)
            scored.add(raw[chosen], calibrated[chosen], labels[chosen])

    def report(self, names: Sequence[str], temperature: Temperature) -> dict[str, Any]:
        """Plain data."""
        val = self.scored["val"]
        enough = {name: min(scored.nodes, temperature.nodes) >= ENOUGH for name, scored in self.scored.items()}
        return {
            "nodes": self.nodes,
            "new_nodes": self.new,
            "temperature": temperature.value,
            "calibrated": temperature.fitted,
            "temperature_reason": temperature.reason,
            "warning": temperature.warning,
            "validation": val.report(val.nodes >= ENOUGH, True),
            "test": self.scored["test"].report(enough["test"], False),
            "predicted": {str(name): int(count) for name, count in zip(names, self.classes, strict=True)},
            "mean_confidence": self.confidence / max(self.nodes, 1),
            "new_labelled": self.scored["new"].report(enough["new"], False),
        }


def predict(
    run: PartitionedRun, seed: int, out: Path, calibrate: bool = True, progress: Progress = silent
) -> dict[str, Any]:
    """Write the table of the run's own nodes, in the order of the parts; returns its report, as plain data.

    Test labels are read for the report, and change nothing.
    """
    parts = run.each("predicting", progress)
    return write_predictions(run, seed, out, parts, lambda part: run.probabilities(seed, part), calibrate=calibrate)


def write_predictions(
    run: PartitionedRun,
    seed: int,
    out: Path,
    parts: Iterator[Part],
    raw_of: Raw,
    split_of: Callable[[Part], NDArray[np.str_]] = splits_of,
    calibrate: bool = True,
) -> dict[str, Any]:
    """Write the table of parts whose probabilities are known; returns its report."""
    names, temperature = run.parts.class_names, run.temperature(seed, calibrate)
    totals = Totals(np.zeros(len(names), np.int64))

    def blocks() -> Iterator[dict[str, NDArray[Any]]]:
        for part in parts:
            raw, split = np.array(raw_of(part)), split_of(part)
            probabilities = scaled(raw, temperature.value)
            totals.add(raw, probabilities, np.array(part.array("labels")), split)
            yield {
                "node": np.array(part.array("node_ids")),
                "predicted": np.array(names, dtype=object)[likeliest(probabilities)],
                "confidence": probabilities.max(axis=1),
                "split": split,
                **probability_columns(probabilities, names),
            }

    write_blocks(out, blocks())
    return {
        "run": str(run.path),
        "method": run.spec.method,
        "dataset": run.spec.dataset,
        "seeds": [seed],
        **totals.report(names, temperature),
        "notes": [],
        "labels_before_em": run.labels_before_em(seed),
    }
