"""PartitionedRun: the one reader of what ``gdamn train`` wrote of a partitioned graph."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...data.files.reader import load_parts
from ...data.progress import Progress, silent
from ...errors import DataError, in_short
from ...estimators.chosen_epoch import before_em, before_em_sentence
from ...estimators.model_file import is_epoch, is_temperature
from ...estimators.weighted_edges import no_attention
from ...graph.parts import Part, PartitionedGraph, mapped_array
from ...model.fitted_state import ATTENTION
from ...model.temperature import Temperature, scaled
from ...runs.partitioned.files import NETWORKS, part_file
from ...system import reading
from ...system.folders import is_parts
from ..run_folder import RunFolder

_HEAD = {"method": str, "settings": dict, "class_names": list, "best_epoch": dict, "temperature": dict, "digest": str}
"""What the head of the networks holds."""


class PartitionedRun(RunFolder):
    """The folder of a run on a partitioned graph; what belongs to a part is read when it is asked for."""

    @cached_property
    def seeds(self) -> list[int]:
        """The seeds whose networks are in the folder, in order."""
        names = [path.parent.name for path in self._config().parent.glob(f"seed-*/{NETWORKS}")]
        seeds = sorted(int(match[1]) for match in (re.fullmatch(r"seed-(\d+)", name) for name in names) if match)
        if not seeds:
            raise DataError(f"The run '{self.path}' has no networks (seed-N/{NETWORKS}); train it again.")
        return seeds

    @cached_property
    def parts(self) -> PartitionedGraph:
        """The graph that was trained on."""
        if not is_parts(self.spec.dataset):
            raise DataError(
                f"There is no partitioned graph at '{self.spec.dataset}', which '{self.path}' was trained on; put it "
                "back there."
            )
        return load_parts(self.spec.dataset, self.spec.options)

    def networks(self, seed: int) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """How the networks of a seed were trained, and their parameters by name."""
        saved: tuple[dict[str, Any], dict[str, NDArray[Any]]]
        saved = self._once("networks", seed, lambda: read_networks(self.seed_folder(seed) / NETWORKS))
        head = saved[0]
        if head["digest"] != self.parts.digest or head["class_names"] != list(self.parts.class_names):
            raise DataError(
                f"'{self.path}' was trained on another graph than '{self.spec.dataset}' holds now; train it again."
            )
        return saved

    def temperature(self, seed: int, calibrate: bool = True) -> Temperature:
        """What calibrates the confidence."""
        known = Temperature(**self.networks(seed)[0]["temperature"])
        return known if calibrate else Temperature(1.0, False, "not asked for", known.nodes)

    def best(self, seed: int) -> dict[str, Any]:
        """The record of the chosen epoch."""
        best: dict[str, Any] = self.networks(seed)[0]["best_epoch"]
        return best

    def history(self, seed: int) -> list[dict[str, Any]]:
        """A record per epoch."""
        path = self.seed_folder(seed) / "history.jsonl"
        try:
            records = [json.loads(line) for line in reading.read_text(path, reading.MOST_JSON).splitlines()]
        except (ValueError, RecursionError) as problem:
            raise DataError(f"'{path}' can't be read ({in_short(problem)}); train the run again.") from None
        if not all(isinstance(record, dict) and is_epoch(record) for record in records):
            raise DataError(f"'{path}' is no history of a fit; train the run again.")
        return records

    def attends(self, seed: int) -> bool:
        """Whether there are weights of the edges."""
        return reading.is_there(self.seed_folder(seed) / "edges")

    def labels_before_em(self, seed: int) -> str | None:
        """What people should know of labels that come from before EM, in a sentence."""
        early = before_em(self.best(seed), self.history(seed), self.attends(seed))
        return before_em_sentence([seed] if early else [], 1)

    def each(self, what: str, progress: Progress = silent) -> Iterator[Part]:
        """The parts, one after the other; each is checked, since compiled loops rely on it."""
        parts = self.parts.parts
        for part in parts:
            progress(what, part.number, len(parts))
            part.check()
            yield part
        progress(what, len(parts), len(parts))

    def probabilities(self, seed: int, part: Part, kind: str = "probabilities") -> NDArray[np.float32]:
        """[n, C] by q, not calibrated, of the part's nodes; or their pseudo-labels, as ``kind`` says."""
        path = self._there(seed, kind, part)
        array = mapped_array(path, "train the run again")
        if array.dtype != np.float32 or array.shape != (part.num_nodes, self.parts.num_classes):
            raise DataError(f"'{path}' holds {array.dtype} of shape {array.shape}; train the run again.")
        if not bool(((array >= 0) & (array <= 1.001)).all()):
            raise DataError(f"'{path}' holds numbers that are no probabilities; train the run again.")
        return array

    def calibrated(self, seed: int, part: Part, nodes: Any = slice(None)) -> NDArray[np.float64]:
        """[n, C] the same, calibrated, of some of the part's nodes."""
        return scaled(np.array(self.probabilities(seed, part)[nodes]), self.temperature(seed).value)

    def edges(self, seed: int, part: Part, purpose: str, columns: Sequence[str] = ATTENTION) -> dict[str, NDArray[Any]]:
        """Columns [e] of the part's entries, in the order of its CSR.

        Args:
            purpose: what a model without attention can't be used for.
        """
        if not self.attends(seed):
            raise no_attention(self.networks(seed)[0]["method"], purpose)
        return self._table(self._there(seed, "edges", part), columns, part.num_entries)

    def _table(self, path: Path, columns: Sequence[str], rows: int) -> dict[str, NDArray[Any]]:
        import pyarrow as pa
        from pyarrow import parquet

        try:
            table = parquet.read_table(path, columns=list(columns))
            found = {name: table.column(name).to_numpy() for name in columns}
        except (OSError, ValueError, KeyError, pa.ArrowException) as problem:
            raise DataError(f"'{path}' can't be read ({in_short(problem)}); train the run again.") from None
        numbers = [found[name] for name in columns if name not in ("source", "target")]
        if table.num_rows != rows or any(values.dtype.kind != "f" for values in numbers):
            raise DataError(f"'{path}' isn't the table of a part with {rows} rows; train the run again.")
        if not all(bool(((values >= 0) & np.isfinite(values)).all()) for values in numbers):
            raise DataError(f"'{path}' holds weights that can't be; train the run again.")
        return found

    def _there(self, seed: int, kind: str, part: Part) -> Path:
        """The file of a part, which must be there."""
        path = part_file(self.seed_folder(seed), kind, part.number)
        if not reading.is_there(path):
            raise DataError(
                f"There is no '{path}': copy the files of every machine that trained into one folder, or train again."
            )
        reading.check_own(path)
        return path


def read_networks(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The head and the parameters in a file of networks."""
    from safetensors import SafetensorError, safe_open

    reading.check_own(path)
    try:
        with safe_open(path, framework="numpy") as file:
            head = json.loads((file.metadata() or {})["gdamn"])
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            right = isinstance(head, Mapping) and all(isinstance(head.get(key), kind) for key, kind in _HEAD.items())
    except (SafetensorError, KeyError, TypeError, AttributeError, ValueError, OSError, RecursionError) as problem:
        raise DataError(f"'{path}' holds no networks that gdamn saved ({in_short(problem)}); train again.") from None
    right = right and is_temperature(head["temperature"]) and is_epoch(head["best_epoch"])
    if not right or not all(isinstance(value, np.ndarray) and value.dtype.kind in "fiu" for value in tensors.values()):
        raise DataError(f"'{path}' holds no networks that gdamn saved; train the run again.")
    return dict(head), tensors
