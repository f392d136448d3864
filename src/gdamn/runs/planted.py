"""How a fit dealt with edges that were planted: what it cut, kept and ranked."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..graph.graph import Graph


def noise_report(graph: Graph, weights: Mapping[str, NDArray[np.float32]]) -> dict[str, float] | None:
    """How well the hard attention tells planted edges from true ones; None where none were planted.

    An edge counts as cut where its hard attention is below a half. The edge weight between classes is compared
    between the noisy graph as it was given and the same graph under the stable weights.
    """
    planted: NDArray[np.bool_] | None = graph.meta.get("planted")
    if planted is None or not planted.any():
        return None
    from sklearn.metrics import roc_auc_score

    hard = weights["hard"]
    cut = hard < 0.5
    true = ~planted
    return {
        "planted": int(planted.sum()) // (1 if graph.directed else 2),
        "cut_share": float(cut[planted].mean()),
        "true_kept_share": float(1 - cut[true].mean()) if true.any() else math.nan,
        "hard_auc": float(roc_auc_score(true, hard)) if true.any() else math.nan,
        "inter_class_weight_before": graph.inter_class_share(graph.weights),
        "inter_class_weight_after": graph.inter_class_share(weights["stable"]),
    }
