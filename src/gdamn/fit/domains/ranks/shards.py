"""Checkpoints of a fit on a partitioned graph: rank 0 writes a head, and each rank the shards of its parts.

    000012.part-00003       what the nodes and entries of part 3 have, written first
    000012.checkpoint       everything else, with the hash of every shard; it alone makes the checkpoint whole

A shard belongs to a part, not to a rank, so a run goes on with any number of ranks, as long as each shard lies on the
disk of one of them. The format is that of every checkpoint (checkpoint_file.py): nothing in it is ever executed, where
the metadata of torch.distributed.checkpoint are a pickle.
"""

from __future__ import annotations

import hashlib
import logging
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ....errors import DataError, OutputError
from ....graph.parts import Part
from ....system.io import write_bytes
from ....system.reading import is_file
from ...checkpoint_file import KEPT, Tree, from_bytes, numbered, read_tree, to_bytes, write_tree
from .checkpoints import RankCheckpoint, per_part

if TYPE_CHECKING:
    pass

log = logging.getLogger("gdamn")
_SHARD = "__shard__"
_NAME = re.compile(r"(\d+)\.part-(\d+)")


@dataclass
class ShardedCheckpoint(RankCheckpoint):
    """A checkpoint of which this rank reads and writes the shards of its ``own`` parts."""

    own: tuple[Part, ...] = ()

    def put(self, tree: Tree) -> None:
        """Write the shards, and when all ranks have done so the head."""
        assert self.share is not None
        group = self.share.group
        before = numbered(self.folder) if group.leads else []
        number = int(group.tell_word(before[0][0] + 1 if before else 1))
        head, arrays = taken_apart(tree)
        hashes: dict[str, str] = {}
        problem = None
        try:
            for part in self.own:
                payload = to_bytes(self.shard(arrays, part))
                write_bytes(self.path(number, part.number), payload)
                hashes[str(part.number)] = hashlib.sha256(payload).hexdigest()
        except OutputError as unwritten:
            problem = str(unwritten)
        answers = group.ask_all([problem, hashes])
        for rank, (refused, _) in enumerate(answers):
            if refused:
                raise OutputError(refused if rank == group.rank else f"Rank {rank}: {refused}")
        content = b""
        if group.leads:
            shards = {part: digest for _, known in answers for part, digest in known.items()}
            content = write_tree(self.folder, {**head, "shards": shards}).read_bytes()
        self._keep_head(number, group.tell(content))
        self._remove_before(number - KEPT + 1)

    def _keep_head(self, number: int, content: bytes) -> None:
        """On a disk of its own a rank keeps the head, too: after a restart another one may lead."""
        path = self.folder / f"{number:06d}.checkpoint"
        if not path.exists():
            write_bytes(path, content)
            for _, old in numbered(self.folder)[KEPT:]:
                old.unlink(missing_ok=True)

    def shard(self, arrays: dict[str, Tensor], part: Part) -> Tree:
        """What a checkpoint keeps of one part, in the shape of a checkpoint's file."""
        cut = {name: x[self._slice(name, part)].contiguous() for name, x in arrays.items()}
        return {"parts": cut, "loop": {"key": 0, "done": 0, "adam": {}, "part": {}}}

    def _slice(self, name: str, part: Part) -> slice:
        """Where the rows (n…) or entries (e…) of a part lie in those of this rank."""
        assert self.share is not None
        if name.startswith("n"):
            begin = part.first_node - self.share.node_slice.start
            return slice(begin, begin + part.num_nodes)
        begin = part.first_entry + part.first_node - self.share.entry_slice.start
        return slice(begin, begin + part.num_entries + part.num_nodes)

    def path(self, number: int, part: int) -> Path:
        """The file of a shard."""
        return self.folder / f"{number:06d}.part-{part:05d}"

    def _remove_before(self, number: int) -> None:
        """Remove this rank's shards of checkpoints that are no longer kept."""
        mine = {part.number for part in self.own}
        for path in self.folder.glob("*.part-*"):
            found = _NAME.fullmatch(path.name)
            if found is not None and int(found[1]) < number and int(found[2]) in mine:
                path.unlink(missing_ok=True)

    def read(self) -> Tree | None:
        """The newest checkpoint whose head and shards are whole; what is passed over is told.

        It may be any rank's: one that lacks a head or a shard gets it from one that has it.
        """
        assert self.share is not None
        group = self.share.group
        known = dict(numbered(self.folder))
        for number in sorted({number for numbers in group.ask_all(list(known)) for number in numbers}, reverse=True):
            content = self._from_holder(_whole_head(known.get(number)))
            if not content:
                continue
            head = from_bytes(content, self.folder)
            arrays, problem = self._arrays(number, head.get("shards", {}))
            if not any(problems := group.ask_all(problem)):
                return put_together(head, arrays)
            if group.leads:
                log.warning("%s It is passed over.", next(text for text in problems if text))
        return None

    def _from_holder(self, content: bytes) -> bytes:
        """What the first rank that could read something gives, on every rank."""
        assert self.share is not None
        group = self.share.group
        holders = [rank for rank, there in enumerate(group.ask_all(bool(content))) if there]
        return group.shared(content if holders and holders[0] == group.rank else b"")

    def _arrays(self, number: int, hashes: dict[str, Any]) -> tuple[dict[str, Tensor], str | None]:
        """The rows and entries of this rank, from the shards of its parts; or what is wrong with them."""
        assert self.share is not None

        def shard(part: int) -> bytes:
            return _with_hash(self.path(number, part), hashes.get(str(part)))

        mine = {part.number: shard(part.number) for part in self.own}
        missing = {part for parts in self.share.group.ask_all([p for p in mine if not mine[p]]) for part in parts}
        for part in sorted(missing):
            content = self._from_holder(shard(part))
            if part in mine:
                mine[part] = content
        found: dict[str, list[Tensor]] = {}
        for part, content in mine.items():
            if not content:
                path = self.path(number, part)
                return (
                    {},
                    f"The shard '{path}' is missing or damaged: its content doesn't have the checksum of its head.",
                )
            for name, rows in from_bytes(content, self.path(number, part))["parts"].items():
                found.setdefault(name, []).append(rows)
        return {name: torch.cat(rows) for name, rows in found.items()}, None


def _whole_head(path: Path | None) -> bytes:
    """The content of a head; empty where there is none, or where it is damaged, which is told."""
    if path is None:
        return b""
    try:
        return to_bytes(read_tree(path))
    except DataError as problem:
        log.warning("%s It is passed over.", problem)
        return b""


def _with_hash(path: Path, digest: str | None) -> bytes:
    """The content of a file; empty where it can't be read, or is not what was written."""
    try:
        content = path.read_bytes() if is_file(path) else b""
    except OSError:
        return b""
    return content if hashlib.sha256(content).hexdigest() == digest else b""


def taken_apart(tree: Tree) -> tuple[Tree, dict[str, Tensor]]:
    """The tree without what is per node and per entry, and these arrays by names, n0, n1, … and e0, e1, …."""
    arrays: dict[str, Tensor] = {}
    names: dict[tuple[int, torch.Size], str] = {}

    def moved(x: Tensor, kind: str) -> Tree:
        same = x.data_ptr(), x.shape
        if same not in names:
            names[same] = f"{kind}{len(names)}"
            arrays[names[same]] = x
        return {_SHARD: names[same]}

    return per_part(tree, lambda x: moved(x, "n"), lambda x: moved(x, "e")), arrays


def put_together(tree: Tree, arrays: dict[str, Tensor]) -> Tree:
    """The tree with its arrays."""
    if isinstance(tree, dict):
        if set(tree) == {_SHARD}:
            if tree[_SHARD] not in arrays:
                raise DataError("A shard of a checkpoint lacks an array.")
            return arrays[tree[_SHARD]]
        return {name: put_together(value, arrays) for name, value in tree.items() if name != "shards"}
    return [put_together(value, arrays) for value in tree] if isinstance(tree, list) else tree
