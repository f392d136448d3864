"""Models to files and back: safetensors with JSON in the header (model_file.py reads what anyone may have made)."""

from __future__ import annotations

import dataclasses
import json
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, GdamnError, GraphError
from ..graph.node_ids import id_array
from ..graph.packed import PREFIX, pack, split_codes, unpack
from ..model.temperature import Temperature
from ..text import safe
from .calibration import temperature_of
from .model_file import FORMAT, SPLIT, read_model

if TYPE_CHECKING:
    from .base import NodeClassifier

    Model = TypeVar("Model", bound=NodeClassifier)

log = logging.getLogger("gdamn")


def save(model: NodeClassifier, path: Path, with_graph: bool = False) -> Path:
    """Write a fitted model, with the graph of its fit where new nodes shall be predicted without it."""
    from safetensors.numpy import save as to_bytes

    from ..system.io import write_bytes

    graph, arrays = model.graph_ or model.kept_graph_, dict(model.tensors_)
    temperature = model_temperature(model)
    header = {
        "format": FORMAT,
        "method": model.method,
        "settings": dataclasses.asdict(model.settings_),
        "class_names": list(model.class_names_),
        "node_ids": None if is_plain(model.node_ids_) else model.node_ids_.tolist(),
        "best_epoch": model.best_epoch_,
        "protocol": model.protocol_,
        "history": model.history_,
        "num_features": model.num_features_,
        "temperature": None if temperature is None else dataclasses.asdict(temperature),
    }
    codes = split_codes(model.graph_) if model.graph_ is not None else model.split_codes_
    if codes is not None:
        arrays[SPLIT] = codes
    if with_graph or (model.graph_ is None and graph is not None):
        if graph is None:
            raise GraphError("A loaded model doesn't hold the graph of its fit, so it can't be saved with it.")
        header["graph"], packed = pack(graph, edges="edge.index" not in arrays)
        arrays |= packed
    content = to_bytes(
        {name: np.ascontiguousarray(value) for name, value in arrays.items()}, metadata={"gdamn": json.dumps(header)}
    )
    write_bytes(path, content)
    if "graph" in header:
        size = sum(array.nbytes for name, array in arrays.items() if name.startswith(PREFIX))
        size += len(json.dumps(header["graph"]))
        log.info("%s has %s bytes, %s of them for the graph of the fit.", path, f"{len(content):,}", f"{size:,}")
    return path


def is_plain(ids: NDArray[Any]) -> bool:
    """Whether node ids are just 0 to N - 1."""
    return ids.dtype.kind in "iu" and bool(np.array_equal(ids, np.arange(len(ids))))


def model_temperature(model: NodeClassifier, graph: Any = None) -> Temperature | None:
    """What calibrates a model's confidence; None for a file of an earlier version without the graph of its fit."""
    fitted_on = graph if graph is not None else model.graph_
    if model.temperature_ is None and fitted_on is not None:
        return temperature_of(model.probabilities_, fitted_on, best=model.best_epoch_)
    return model.temperature_


def load(cls: type[Model], path: Path) -> Model:
    """Read a file that :func:`save` wrote."""
    header, tensors = read_model(path)
    if header["method"] != cls.method:
        raise DataError(f"{path} holds a model of method '{safe(header['method'])}', not '{cls.method}'.")
    try:
        model = cls(**header["settings"])
    except (GdamnError, TypeError, OverflowError) as problem:
        raise DataError(f"{path} has settings that this gdamn doesn't know: {safe(problem)}") from None
    ids = header["node_ids"]
    nodes = len(tensors["probabilities"])
    model.settings_ = model.settings
    model.node_ids_ = np.arange(nodes) if ids is None else id_array(ids)
    model.class_names_ = tuple(header["class_names"])
    model.num_features_ = header.get("num_features")
    model.history_, model.best_epoch_ = header["history"], header["best_epoch"]
    model.protocol_ = header["protocol"]
    temperature = header.get("temperature")
    model.temperature_ = None if temperature is None else Temperature(**temperature)
    model.graph_ = None
    if header.get("graph") is not None:
        try:
            model.kept_graph_ = unpack(
                header["graph"], tensors, header["num_features"], model.node_ids_, model.class_names_
            )
        except DataError as wrong:
            raise DataError(f"{path} is not a model that gdamn saved: {wrong}.") from None
    model.split_codes_ = tensors.pop(SPLIT, None)
    model.tensors_ = {name: array for name, array in tensors.items() if not name.startswith(PREFIX)}
    model.epochs_ = len(model.history_)
    model.seconds_, model.timings_ = float("nan"), []
    return model
