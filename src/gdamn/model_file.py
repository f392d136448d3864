"""Reading a model file that anyone may have made: nothing in it is executed, and nothing of it is believed unseen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import DataError
from .reading import check_own, is_folder, is_there

FORMAT = 1
"""Version of the file that ``save`` writes; a newer one is refused with a clear message."""

HEADER: dict[str, type] = {
    "format": int,
    "method": str,
    "settings": dict,
    "class_names": list,
    "node_ids": list,
    "best_epoch": dict,
    "protocol": dict,
    "history": list,
}
"""What the header of a model file holds; the node ids may be null, where they are just 0 to N - 1."""


def read_model(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Header and tensors of a saved model; every way in which the file can be wrong has its sentence."""
    from safetensors import SafetensorError, safe_open

    if not is_there(path) or is_folder(path):
        raise DataError(f"There is no model file at {path}.")
    check_own(path)
    try:
        with safe_open(path, framework="numpy") as file:
            header = json.loads((file.metadata() or {})["gdamn"])
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, KeyError, TypeError, AttributeError, ValueError, OSError, RecursionError) as error:
        told = " ".join(str(error).split())[:200]
        raise DataError(f"{path} is not a model that gdamn saved, or it is damaged ({told}).") from None
    version = header.get("format") if isinstance(header, dict) else None
    if isinstance(version, int) and version > FORMAT:
        raise DataError(f"{path} was saved by a newer gdamn (format {version}); upgrade gdamn to open it.")
    missing = sorted(set(HEADER) - set(header)) if isinstance(header, dict) else ["header"]
    if missing or "probabilities" not in tensors:
        lacks = ", ".join(missing) or "probabilities"
        raise DataError(f"{path} is not a whole model: it lacks {lacks}; save it again.")
    wrong = _wrong_type(header) or _wrong_shape(header, tensors["probabilities"])
    if wrong:
        raise DataError(f"{path} is not a model that gdamn saved: {wrong}.")
    return header, tensors


def _wrong_type(header: dict[str, Any]) -> str:
    """The first entry of the header that can't be, in words; empty where all can."""
    for name, kind in HEADER.items():
        value = header[name]
        if name == "node_ids" and value is None:
            continue
        if not isinstance(value, kind) or isinstance(value, bool):
            return f"its {name} is of a wrong type"
    if header["format"] < 1:
        return "there is no such format"
    if not all(isinstance(name, str) for name in header["class_names"]):
        return "a class name is not text"
    if not all(isinstance(record, dict) for record in header["history"]):
        return "its history is not a list of epochs"
    if not all(type(node) in (int, float, str) for node in header["node_ids"] or []):
        return "a node id is neither number nor text"
    return ""


def _wrong_shape(header: dict[str, Any], probabilities: NDArray[Any]) -> str:
    """What is wrong with the probabilities; empty where they can be."""
    if probabilities.ndim != 2 or probabilities.size == 0 or probabilities.dtype != np.float32:
        return "its probabilities are not a table of float32"
    nodes, classes = probabilities.shape
    if classes != len(header["class_names"]):
        return f"it has {classes} columns of probabilities for {len(header['class_names'])} classes"
    if header["node_ids"] is not None and len(header["node_ids"]) != nodes:
        return f"it has probabilities of {nodes} nodes, but ids of {len(header['node_ids'])}"
    if not np.isfinite(probabilities).all():
        return "a probability is not a finite number"
    return ""
