"""Reading a model file that anyone may have made: nothing in it is executed, and nothing of it is believed unseen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from ..graph.node_ids import KEPT
from ..graph.packed import KEPT_OF_GRAPH
from ..model.fitted_state import ATTENTION, JUDGED, WEIGHTS, shapes
from ..system.reading import check_own, is_folder, is_there

SPLIT = "split"
"""The array that tells each node's part in the fit (graph/packed.py)."""

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

LATER: dict[str, type] = {"num_features": int, "temperature": dict, "graph": dict}
"""What files of earlier versions don't hold; null where it isn't known."""

TEMPERATURE: dict[str, tuple[type, ...]] = {
    "value": (float, int),
    "fitted": (bool,),
    "reason": (str,),
    "nodes": (int,),
    "kind": (str,),
    "accuracy": (float, int, type(None)),
}


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
        reason = " ".join(str(error).split())[:200]
        raise DataError(f"{path} is not a model that gdamn saved, or it is damaged ({reason}).") from None
    version = header.get("format") if isinstance(header, dict) else None
    if isinstance(version, int) and version > FORMAT:
        raise DataError(f"{path} was saved by a newer gdamn (format {version}); upgrade gdamn to open it.")
    missing = sorted(set(HEADER) - set(header)) if isinstance(header, dict) else ["header"]
    if missing or "probabilities" not in tensors:
        lacks = ", ".join(missing) or "probabilities"
        raise DataError(f"{path} is not a whole model: it lacks {lacks}; save it again.")
    wrong = _wrong_type(header) or _wrong_shape(header, tensors["probabilities"]) or _wrong_arrays(tensors)
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
    for record in (*header["history"], header["best_epoch"]):
        if not is_epoch(record):
            return "an epoch of its history tells no iteration or phase"
    if not _is_cross_fitted(header["best_epoch"]):
        return "what its chosen epoch tells of cross-fitting can't be"
    if not all(type(node) in KEPT for node in header["node_ids"] or []):
        return "a node id is neither number nor text"
    return _wrong_later(header)


def _wrong_later(header: dict[str, Any]) -> str:
    """The first entry that earlier versions didn't write and that can't be, in words; empty where all can."""
    for name, kind in LATER.items():
        value = header.get(name)
        if value is not None and (not isinstance(value, kind) or isinstance(value, bool)):
            return f"its {name} is of a wrong type"
    features, temperature, graph = (header.get(name) for name in LATER)
    if features is not None and not 0 <= features < 2**31:
        return "its number of features can't be"
    if graph is not None and (
        features is None or not all(isinstance(graph.get(key, {}), dict) for key in KEPT_OF_GRAPH)
    ):
        return "what it tells of its graph can't be"
    return "" if temperature is None or is_temperature(temperature) else "its temperature can't be"


def is_epoch(record: dict[str, Any]) -> bool:
    """Whether a record of an epoch tells its iteration and phase as records do, where it tells them."""
    return type(record.get("iteration", 0)) is int and isinstance(record.get("phase", ""), str)


def is_temperature(temperature: dict[str, Any]) -> bool:
    """Whether plain data describe a temperature (:class:`gdamn.model.temperature.Temperature`)."""
    typed = temperature.keys() == TEMPERATURE.keys() and all(
        type(temperature[name]) in kinds for name, kinds in TEMPERATURE.items()
    )
    return typed and 1e-3 < temperature["value"] < 1e6


def _is_cross_fitted(best: dict[str, Any]) -> bool:
    """Whether the temperature of a chosen epoch, where it has one, is a positive number with the nodes it rests on."""
    if "temperature" not in best and "cross_fitted" not in best:
        return True
    numbers = best.get("temperature"), *map((best.get("cross_fitted") or {}).get, ("accuracy", "nodes"))
    plain = all(isinstance(each, (int, float)) and not isinstance(each, bool) for each in numbers)
    return plain and 0 < numbers[0] < 1e6 and 0 <= numbers[1] <= 1 and 0 <= numbers[2] < 2**53


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
    if probabilities.min() < 0 or probabilities.max() > 1 + 1e-3:
        return "a probability is below 0 or above 1"
    ids = header["node_ids"]
    if ids is not None and len(set(map(str, ids))) < nodes:
        return "two of its nodes have the same id"
    return ""


def _wrong_arrays(tensors: dict[str, NDArray[Any]]) -> str:
    """What is wrong with the other arrays, which loops and exports rely on; empty where all can be."""
    for name, array in tensors.items():
        if array.dtype.kind == "f" and np.isnan(array).any():
            return f"'{name}' has a value that is not a number"
    (nodes, classes), edges = tensors["probabilities"].shape, 0
    split = tensors.get(SPLIT)
    if split is not None and (split.shape != (nodes,) or split.dtype != np.uint8 or (split > 3).any()):
        return f"'{SPLIT}' doesn't tell the part of each node in the fit"
    weighs, judges = (any(f"edge.{name}" in tensors for name in names) for names in (WEIGHTS, JUDGED))
    if weighs or judges or "edge.index" in tensors:
        wanted = ("index", *(JUDGED if judges else ()), *(ATTENTION if weighs or not judges else ()))
        missing = next((name for name in wanted if f"edge.{name}" not in tensors), None)
        if missing:
            return f"it lacks 'edge.{missing}'"
        wrong = _wrong_edges(tensors["edge.index"], nodes)
        if wrong:
            return wrong
        edges = tensors["edge.index"].shape[1]
    for name, shape in shapes(nodes, classes, edges).items():
        if name not in tensors or name == "edge.index":
            continue
        array = tensors[name]
        if array.shape != shape or array.dtype != np.float32:
            return f"'{name}' is {array.dtype} of shape {array.shape}, not float32 of {shape}"
        if array.size and (not np.isfinite(array).all() or array.min() < 0):
            return f"'{name}' has a value that is not finite, or below 0"
    return ""


def _wrong_edges(index: NDArray[Any], nodes: int) -> str:
    """What is wrong with the edges: each must stand once, in order, between two of the nodes."""
    if index.ndim != 2 or index.shape[0] != 2 or index.dtype.kind not in "iu":
        return f"'edge.index' is {index.dtype} of shape {index.shape}, not whole numbers of shape (2, edges)"
    if index.size == 0:
        return ""
    if index.min() < 0 or index.max() >= nodes:
        bad = int(index.min()) if index.min() < 0 else int(index.max())
        return f"'edge.index' names node {bad}, but the model knows nodes 0 to {nodes - 1}"
    place = index[1].astype(np.int64) * nodes + index[0]
    if (index[0] == index[1]).any() or (np.diff(place) <= 0).any():
        return "'edge.index' is not sorted by targets and sources, or has an edge twice or from a node to itself"
    return ""
