"""Predictions as a table for other programs: pandas where it is installed, else Arrow."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import GraphError
from ..model.temperature import scaled
from .predictions import code_names, likeliest, split_names
from .saving import model_temperature

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch_geometric.data import Data

    from ..graph.graph import Graph
    from .base import NodeClassifier


def frame_columns(
    model: NodeClassifier, graph: Graph | Data | None, nodes: Any, edges: Any, fitted_on: Graph | None
) -> dict[str, NDArray[Any]]:
    """``node``, ``predicted``, ``confidence`` and ``split`` of the nodes that are asked about, or of all of the fit's.

    Labels of validation nodes are read for the confidence, and no others.
    """
    if graph is None and nodes is None and edges is None:
        ids, raw, split = model.node_ids_, model.predict_proba(), split_of_fit(model, fitted_on)
    else:
        from .inductive import asked

        ids, raw, split = asked(model, graph, nodes, edges, fitted_on)
    temperature = model_temperature(model, fitted_on)
    if temperature is None:
        raise GraphError(_earlier("its temperature"))
    probabilities = scaled(raw, temperature.value)
    return {
        "node": ids,
        "predicted": model.classes_[likeliest(raw)],
        "confidence": probabilities.max(axis=1),
        "split": split,
    }


def split_of_fit(model: NodeClassifier, fitted_on: Graph | None) -> NDArray[np.str_]:
    """[N] the part of every node in the fit."""
    graph = fitted_on if fitted_on is not None else model.graph_
    if graph is not None:
        return split_names(graph)
    if model.split_codes_ is None:
        raise GraphError(_earlier("the parts of its nodes"))
    return code_names(model.split_codes_)


def _earlier(what: str) -> str:
    return f"The model was saved by an earlier gdamn, without {what}; pass the graph of the fit as fitted_on."


def frame(columns: Mapping[str, NDArray[Any]]) -> Any:
    """Equally long columns as a pandas data frame, or as an Arrow table where there is no pandas."""
    if importlib.util.find_spec("pandas") is None:
        return arrow_table(columns)
    import pandas as pd

    return pd.DataFrame(dict(columns))


def arrow_table(columns: Mapping[str, NDArray[Any]]) -> Any:
    """Columns as an Arrow table: numbers as they are, all else as text, since ids may be of mixed types."""
    import pyarrow as pa

    def plain(column: NDArray[Any]) -> Any:
        return column if column.dtype.kind in "iufb" else [str(value) for value in column.tolist()]

    return pa.table({name: pa.array(plain(column)) for name, column in columns.items()})
