"""What people know nodes by, beside their ids: a name or text from a column, or the picture that its features are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..data.files import is_path
from ..errors import ConfigError
from .text import visible

if TYPE_CHECKING:
    from ..graph.graph import Graph
    from ..using.run_folder import RunFolder

PICTURES = {"digits": (8, 8)}
"""Data sets whose features are the pixels of a picture, from 0 to 1: rows and columns."""


@dataclass(frozen=True)
class NodeNames:
    """Names and pictures of nodes.

    Attributes:
        texts: by id; None where no column was asked for.
        picture: rows and columns of the pictures; None where there are none.
    """

    texts: dict[str, str] | None = None
    picture: tuple[int, int] | None = None

    def columns(self, graph: Graph, nodes: NDArray[np.int64]) -> dict[str, Any]:
        """What the page keeps of some nodes: ``name``, and ``picture`` with a hexadecimal digit per pixel."""
        found: dict[str, Any] = {}
        if self.texts is not None:
            ids = graph.node_ids[nodes].tolist()
            found["name"] = [visible(self.texts.get(str(name), "")) for name in ids]
        if self.picture is not None:
            pixels = np.clip(np.rint(np.asarray(graph.features)[nodes] * 15), 0, 15).astype(np.uint8)
            signs = np.frombuffer(b"0123456789abcdef", np.uint8)[pixels]
            found["picture"] = [row.tobytes().decode("ascii") for row in signs]
            found["pixels"] = list(self.picture)
        return found


def node_names(run: RunFolder, column: str | None) -> NodeNames:
    """The names of a run's nodes.

    Args:
        column: of the table of nodes that the run was trained on.
    """
    picture = PICTURES.get(run.spec.dataset)
    if column is None:
        return NodeNames(picture=picture)
    if not is_path(run.spec.dataset):
        raise ConfigError(
            f"'{run.path}' was trained on the data set {run.spec.dataset}, which has no columns; --name is for runs on "
            "files of your own."
        )
    from ..data.files.node_texts import node_texts

    return NodeNames(node_texts(run.spec.dataset, run.spec.options, column), picture)
