"""Session: one run under review. The log is its only memory, so that two tabs, or a kill, change nothing."""

from __future__ import annotations

import re
import shlex
import threading
from collections.abc import Mapping
from datetime import datetime, timezone
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError
from ..estimators.accuracy import measured
from ..graph.decisions import COLUMNS, Decisions, Item, Row, complete_text, row_text
from ..report.text import visible
from ..runs.decided import LOG, came_from, keep_log
from ..system.io import append_text
from ..system.reading import is_there
from ..using.queues import QUEUES, make_queues
from ..using.run_folder import RunFolder
from .views import Views

if TYPE_CHECKING:
    from ..graph.graph import Graph

ANSWERED = ("right", "wrong")


class Session:
    """The queues of one seed's model, and the log that decisions go to.

    Args:
        folder: the run.
        seed: which of its models.
        most: items of each queue.
    """

    def __init__(self, folder: RunFolder, seed: int, most: int) -> None:
        self.folder, self.seed, self.path = folder, seed, folder.path / LOG
        self._lock = threading.Lock()
        self.trained_with = int(folder.spec.decisions.get("rows", 0))
        keep_log(folder.spec, folder.path)  # what the run was trained with stands before what is decided now
        self.log()  # a log that can't be read is refused before the work begins
        predictions = folder.predictions(seed)
        self.graph: Graph = predictions.graph
        self.queues = make_queues(folder.model(seed), predictions, most)
        self.views = Views(folder.model(seed), predictions, folder.spec.dataset)
        self.changes = what_changed(folder, seed, self.graph)
        self.warning = predictions.temperature.warning

    def log(self) -> Decisions:
        """Everything that was decided by now, in whatever tab."""
        return Decisions.read(self.path) if is_there(self.path) else Decisions((), str(self.path), 2)

    def item_of(self, item: Mapping[str, Any]) -> Item:
        """What the log calls an item of a queue."""
        return Row("", item["kind"], item["node"], item.get("other", ""), "unsure", "").item(self.graph.directed)

    def state(self, queue: str = "", log: Decisions | None = None) -> dict[str, Any]:
        """What the page shows: progress of all queues, the next item of one, and how the answers have been."""
        log = self.log() if log is None else log
        last = log.last(self.graph.directed)
        open_items = {
            name: [item for item in each.items if self.item_of(item) not in last] for name, each in self.queues.items()
        }
        if queue not in QUEUES:
            queue = next((name for name in QUEUES if open_items[name]), QUEUES[0])
        progress = {
            name: {"total": len(each.items), "left": len(open_items[name]), "note": visible(each.note, 300)}
            for name, each in self.queues.items()
        }
        return {
            "queue": queue,
            "rows": len(log),
            "queues": progress,
            "item": self.views.item(open_items[queue][0]) if open_items[queue] else None,
            "answers": {kind: self.answers(log, kind) for kind in ("edge", "label", "node")},
            "undoable": self.undoable(log) is not None,
        }

    def about(self) -> dict[str, Any]:
        """What stays the same while the page is open."""
        return {
            "run": visible(self.folder.path.resolve().name),
            "log": visible(self.path, 300),
            "classes": [[name, visible(name)] for name in self.graph.class_names],
            "next": visible(self.next_command(), 600),
            "changes": self.changes,
            "warning": self.warning,
        }

    def answers(self, log: Decisions, kind: str) -> dict[str, Any]:
        """The share that was right among what was decided since the fit: with its number and 95 % interval."""
        rows = [log.rows[at] for at in log.last(self.graph.directed).values() if at >= self.trained_with]
        verdicts = [row.verdict for row in rows if row.kind == kind and row.verdict in ANSWERED]
        right = verdicts.count("right")
        return {"right": right, **measured(right / len(verdicts) if verdicts else None, len(verdicts))}

    def decide(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Write one decision down at once; returns the state after it.

        Args:
            asked: ``queue``, ``kind``, ``node``, ``other``, ``verdict``, ``label``, and ``rows``, how long the log was
                that the page had seen.
        """
        texts = {name: asked.get(name, "") for name in ("queue", *COLUMNS[1:])}
        if not all(isinstance(text, str) for text in texts.values()) or not isinstance(asked.get("rows"), int):
            raise ConfigError("A decision has texts, and the number of rows that the page had seen.")
        queue = self.queues.get(texts["queue"])
        kind, node, other, verdict, label = (texts[name] for name in COLUMNS[1:])
        row = Row(now(), kind, node, other, verdict, label)
        directed = self.graph.directed
        items = [] if queue is None else [self.item_of(item) for item in queue.items if item["kind"] == kind]
        if row.item(directed) not in items or verdict not in ("right", "wrong", "unsure"):
            raise ConfigError("There is no such item or verdict in the queue.")
        if label and label not in self.graph.class_names:
            raise ConfigError("There is no such class.")
        with self._lock:
            log = self.log()
            seen = log.beginning(asked["rows"]).last(directed)
            if row.item(directed) in log.last(directed) and row.item(directed) not in seen:
                return {**self.state(texts["queue"], log), "said": "Decided in another tab; here is the next."}
            self.append(row)
            return self.state(texts["queue"])

    def undo(self) -> dict[str, Any]:
        """Take the latest decision back; its queue is shown again, with the item in it."""
        with self._lock:
            row = self.undoable(self.log())
            if row is None:
                return {**self.state(), "said": "There is nothing to undo."}
            self.append(row._replace(time=now(), verdict="undo", label=""))
            return {**self.state(f"{row.kind}s"), "said": "Undone."}

    def undoable(self, log: Decisions) -> Row | None:
        """The latest decision that stands and is no part of what the run was trained with."""
        standing = [at for at in log.last(self.graph.directed).values() if at >= self.trained_with]
        return log.rows[max(standing)] if standing else None

    def append(self, row: Row) -> None:
        """One row, in one write, on the disk before it is answered."""
        Decisions((row,))  # refused where the log could not be read again
        append_text(self.path, row_text(row), row_text(COLUMNS), complete_text)

    def next_command(self) -> str:
        """How to train with the decisions."""
        run = self.folder.path if self.folder.path.name not in ("", "..") else self.folder.path.resolve()
        name = re.sub(r"-reviewed(-\d+)?$", "", run.name)
        names = chain([f"{name}-reviewed"], (f"{name}-reviewed-{number}" for number in count(2)))
        out = next(out for out in map(run.with_name, names) if not is_there(out))
        words = ["gdamn", "train", "--config", self.folder.path / "config.toml", "--decisions", self.path, "--out", out]
        if len(self.folder.spec.seeds) > 1:  # noise and splits may be other ones with another seed
            words += ["--seeds", 1, "--first-seed", self.seed]
        return shlex.join(map(str, words))

    def ending(self) -> str:
        """What to do next, in a sentence."""
        made = len(self.log()) - self.trained_with
        if made <= 0:
            return "Nothing was decided."
        return f"The decisions are in {self.path}; train with them: {self.next_command()}"


def what_changed(folder: RunFolder, seed: int, graph: Graph) -> dict[str, Any] | None:
    """What training with decisions changed against the run that was reviewed; None where there were none."""
    record = graph.meta.get("decisions")
    if record is None:
        return None
    counts = {name: record[name] for name in ("confirmed", "cut", "corrected", "added", "dropped")}
    before = came_from(folder.spec, folder.path)
    changed = None if before is None else predictions_changed(folder, RunFolder(before), seed)
    return {**counts, "nodes": graph.num_nodes, "changed": changed, "from": before and visible(before.name)}


def predictions_changed(folder: RunFolder, before: RunFolder, seed: int) -> int | None:
    """How many nodes are predicted otherwise than by the same seed of another run; None where that can't be told."""
    if not (before.seed_folder(seed) / "model.gdamn").is_file():
        return None
    (header, ours), (other, theirs) = folder.saved(seed), before.saved(seed)
    first, second = ours["probabilities"], theirs["probabilities"]
    if first.shape != second.shape or header["node_ids"] != other["node_ids"]:
        return None
    return int((first.argmax(1) != second.argmax(1)).sum())


def now() -> str:
    """The time of a decision."""
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def open_session(run: Path, data_root: Path | None, seed: int | None, most: int) -> Session:
    """The session of a run's first model, or of the seed that is asked for."""
    folder = RunFolder(run, data_root)
    return Session(folder, folder.choose_seed(seed), most)
