"""The files of checkpoints: one line with the format and a SHA-256, then safetensors with JSON in their header.

A file is written whole or not at all, and the last two of a fit are kept: where the newest is damaged, it is named
and the one before takes its place. Nothing of a file is trusted before its checksum is found right, and nothing in it
is ever executed.
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import DataError
from ..system.reading import check_own

if TYPE_CHECKING:
    from torch import Tensor

FORMAT = 1
KEPT = 2
"""Checkpoints of a fit that are kept: the newest, and one in case that it is damaged."""

Tree = Any
"""Tensors and plain data in dicts and lists."""

log = logging.getLogger("gdamn")
_TENSOR = "__tensor__"
_FIRST_LINE = re.compile(rb"gdamn checkpoint (\d{1,9}) ([0-9a-f]{64})\n")


def write_tree(folder: Path, tree: Tree) -> Path:
    """Write a checkpoint after those that are there, and remove all but the last two."""
    from ..system.io import write_bytes

    before = numbered(folder)
    path = folder / f"{before[0][0] + 1 if before else 1:06d}.checkpoint"
    payload = to_bytes(tree)
    head = f"gdamn checkpoint {FORMAT} {hashlib.sha256(payload).hexdigest()}\n".encode()
    write_bytes(path, head + payload)
    for _, old in before[KEPT - 1 :]:
        old.unlink(missing_ok=True)
    return path


def newest(folder: Path) -> dict[str, Tree] | None:
    """The newest checkpoint that is whole; what is passed over is told. None where there is none."""
    for _, path in numbered(folder):
        try:
            return read_tree(path)
        except DataError as problem:
            log.warning("%s It is passed over.", problem)
    return None


def numbered(folder: Path) -> list[tuple[int, Path]]:
    """The checkpoints of a folder with their numbers, the newest first."""
    matches = [(re.fullmatch(r"(\d+)\.checkpoint", path.name), path) for path in folder.glob("*.checkpoint")]
    return sorted(((int(match[1]), path) for match, path in matches if match is not None), reverse=True)


def read_tree(path: Path) -> dict[str, Tree]:
    """The content of a checkpoint; one that isn't as it was written is refused."""
    check_own(path)
    try:
        content = path.read_bytes()
    except OSError as cause:
        raise DataError(f"Can't read the checkpoint '{path}': {cause.strerror or cause}.") from None
    first = _FIRST_LINE.match(content)
    if first is None:
        raise DataError(f"'{path}' is not a checkpoint, or its beginning is damaged.")
    if int(first[1]) != FORMAT:
        raise DataError(f"The checkpoint '{path}' has format {int(first[1])}, and this gdamn writes {FORMAT}.")
    payload = content[first.end() :]
    if hashlib.sha256(payload).hexdigest() != first[2].decode():
        raise DataError(f"The checkpoint '{path}' is damaged: its content doesn't have the checksum it was given.")
    return from_bytes(payload, path)


def to_bytes(tree: Tree) -> bytes:
    """Safetensors with the tree in their header; a tensor that the tree has twice is written once."""
    from safetensors.numpy import save

    arrays: dict[str, Any] = {}
    names: dict[tuple[Any, ...], str] = {}

    def outline(value: Tree) -> Any:
        if hasattr(value, "items"):
            return {str(name): outline(item) for name, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [outline(item) for item in value]
        return {_TENSOR: name_of(value)} if hasattr(value, "data_ptr") else value

    def name_of(tensor: Tensor) -> str:
        same = tensor.data_ptr(), tuple(tensor.shape), tensor.stride(), str(tensor.dtype), str(tensor.device)
        if same not in names:
            names[same] = str(len(names))
            arrays[names[same]] = tensor.detach().cpu().contiguous().numpy()
        return names[same]

    header = json.dumps(outline(tree))
    return save(arrays, metadata={"tree": header})


def from_bytes(payload: bytes, path: Path) -> dict[str, Tree]:
    """The tree that :func:`to_bytes` wrote."""
    import torch
    from safetensors import SafetensorError
    from safetensors.numpy import load

    def whole(value: Any) -> Tree:
        if isinstance(value, dict):
            if set(value) == {_TENSOR}:
                tensor = torch.from_numpy(arrays[value[_TENSOR]].copy())
                if tensor.is_floating_point() and bool(tensor.isnan().any()):
                    raise ValueError("a number of a fit that goes on is none")
                return tensor
            return {name: whole(item) for name, item in value.items()}
        return [whole(item) for item in value] if isinstance(value, list) else value

    try:
        size = int.from_bytes(payload[:8], "little")
        header = json.loads(payload[8 : 8 + size])["__metadata__"]["tree"]
        arrays = load(payload)
        tree = whole(json.loads(header))
    except (SafetensorError, KeyError, TypeError, ValueError, RecursionError) as problem:
        raise DataError(f"The checkpoint '{path}' can't be read ({type(problem).__name__}).") from None
    if not isinstance(tree, dict) or not _is_whole(tree) or not _is_loop(tree.get("loop")):
        raise DataError(f"The checkpoint '{path}' lacks what a fit needs to go on.")
    return tree


def _is_whole(tree: dict[str, Any]) -> bool:
    """Whether parts, finished loops and seconds are what :meth:`gdamn.fit.checkpoint.Checkpoint.write` puts there."""
    finished, seconds = tree.get("finished", []), tree.get("seconds", 0.0)
    keys = isinstance(finished, list) and all(type(key) is int for key in finished)
    time = type(seconds) in (int, float) and 0 <= seconds < math.inf
    return isinstance(tree.get("parts"), dict) and keys and time


def _is_loop(loop: Any) -> bool:
    """Whether a loop tells how far it is; the rest is judged by whoever goes on with it."""
    whole = isinstance(loop, dict) and {"key", "done", "adam", "part"} <= set(loop)
    return whole and type(loop["done"]) is int and loop["done"] >= 0
