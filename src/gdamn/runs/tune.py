"""``gdamn tune``: search the settings of a method on a data set by a validation score alone.

Optuna's TPE sampler proposes settings, every trial is the mean validation score over the same seeds (accuracy, unless
another metric is asked for), and test labels are never read. The study lives in a journal file in the output folder
(tune_study.py): a search that was stopped at any moment goes on, and ends with the trials of one that wasn't. The
trials themselves are made in tune_trials.py.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..errors import ConfigError
from ..system import folders
from ..system.extras import need
from . import pool
from .execution import DEFAULT, Execution
from .spec import RunSpec
from .store import Store, stoppable
from .tune_space import Space, checked_space, plain
from .tune_space import read_space as read_space
from .tune_study import finished, open_study
from .tune_trials import Search, fitting, run_trial, write_results

GDAMN_SPACE: Space = {
    "beta": [0.2, 0.4, 0.6, 0.8, 1.0],
    "pseudo_labels": ["soft", "argmax"],
    "annotate_epochs": [1, 50],
    "stable_norm": ["none", "row", "sym"],
    "kl_weight": [0.3, 1.0, 3.0],
    "kl_per": ["edge", "node"],
    "dropout_input": [0.5, 0.8],
    "dropout_labels": [0.0, 0.5, 0.8],
    "decay": ["all", "first"],
    "e_step": ["means", "sums"],
    "restart_q": [False, True],
    "symmetric_q": [False, True],
    "init": ["xavier", "kaiming"],
}
"""The silences of the paper (docs/method.md); its own settings (sizes, schedule, λ, rates) stay as printed."""

NETWORK_SPACE: Space = {
    "hidden": [16, 32, 64],
    "learning_rate": [0.005, 0.01, 0.02, 0.05],
    "weight_decay": [0.0, 1e-4, 5e-4, 1e-3, 5e-3, 1e-2],
    "decay": ["all", "first"],
    "dropout_input": [0.0, 0.2, 0.5, 0.8],
    "dropout_hidden": [0.2, 0.5, 0.8],
}
"""For networks trained on the known labels alone."""

ATTENTION_SPACE: Space = {"hidden": [8, 16], "heads": [4, 8], "dropout_attention": [0.0, 0.3, 0.6]}

OWN_SPACES: dict[str, Space] = {
    "logreg": {"learning_rate": [0.01, 0.05, 0.1, 0.2]},
    "lpa": {
        "alpha": [0.5, 0.8, 0.9, 0.95, 1.0],
        "norm": ["row", "col", "sym"],
        "epochs": [10, 50, 100],
    },
    "gcn": {"layers": [2, 3]},
    "mlp": {"layers": [2, 3]},
    "graphsage": {"layers": [2, 3]},
    "gat": {**ATTENTION_SPACE, "out_heads": [1, 8]},
    "sgc": {
        "steps": [1, 2, 3, 4],
        "learning_rate": [0.05, 0.1, 0.2],
        "weight_decay": [0.0, 1e-6, 3e-6, 1e-5, 3e-5, 1e-4, 5e-4],
    },
    "appnp": {"steps": [5, 10, 20], "teleport": [0.05, 0.1, 0.2, 0.3], "dropout_edges": [0.0, 0.2, 0.5]},
    "dagnn": {"steps": [5, 10, 15, 20], "weight_decay": [0.0, 5e-4, 5e-3, 1e-2, 2e-2]},
    "gcnii": {"layers": [8, 16, 32], "alpha": [0.1, 0.2, 0.5], "theta": [0.5, 1.0, 1.5]},
    "gcn-cs": {
        "correct_alpha": [0.0, 0.5, 0.8, 0.95],
        "smooth_alpha": [0.0, 0.5, 0.7, 0.8, 0.9],
    },
    "gcn-lpa": {"layers": [2, 3, 5], "steps": [1, 2, 3, 5], "lambda_": [0.1, 1.0, 2.0, 5.0, 10.0]},
    "grand": {
        "steps": [2, 4, 5, 8],
        "samples": [2, 4],
        "drop_node": [0.3, 0.5, 0.7],
        "lambda_": [0.5, 0.7, 1.0, 1.5],
        "temperature": [0.1, 0.2, 0.3, 0.5],
        "init": ["xavier", "shifted"],
    },
    "grand-plus": {
        "steps": [4, 6, 10],
        "teleport": [0.1, 0.2, 0.5],
        "top_k": [16, 32, 64],
        "drop_node": [0.3, 0.5, 0.7],
        "labelled_batch": [5, 20, 50],
        "lambda_": [0.5, 1.0, 1.5],
        "temperature": [0.1, 0.2, 0.5],
        "batch_norm": [False, True],
    },
    "gcn-jaccard": {"threshold": [0.01, 0.02, 0.03, 0.04, 0.05, 0.1]},
    "gcn-svd": {"rank": [5, 10, 15, 50, 100, 200]},
    "elastic-gnn": {"lambda1": [0.0, 3.0, 6.0, 9.0], "lambda2": [0.0, 3.0, 6.0, 9.0]},
    "gnnguard": {"threshold": [0.01, 0.05, 0.1, 0.2]},
    "simp-gcn": {
        "hidden": [64, 128],
        "neighbours": [10, 20, 40],
        "own": [0.0, 0.01, 0.1],
        "lambda_": [0.0, 0.1, 0.5, 1.0, 5.0],
    },
    "pro-gnn": {"beta": [0.5, 1.5, 3.0], "lambda_": [0.0, 1e-3, 1e-2], "learning_rate": [1e-3, 1e-2]},
    "rs-gnn": {
        "learning_rate": [1e-3, 1e-2],
        "alpha": [0.003, 0.01, 0.03, 0.3, 3.0],
        "beta": [0.0, 0.03, 0.3],
        "threshold": [0.05, 0.1],
        "neighbours": [0, 50, 100],
    },
    "stable": {
        "alpha": [-0.5, -0.3, 0.3, 0.6],
        "neighbours": [0, 4, 6],
        "jaccard": [0.0, 0.02, 0.03],
        "cosine": [0.1, 0.2, 0.25],
    },
    "gmnn-gat": {"heads": [4, 8]},
    "cs-gnn": {"layers": [2, 3], "cut": [0.0, 0.1, 0.2, 0.4, 0.713], "dropout_attention": [0.0, 0.3, 0.6]},
    "alagcn": {"layers": [2, 3, 5, 7, 9], "weight_decay": [0.0, 5e-6, 5e-4, 5e-2, 0.5]},
    "alagat": {**ATTENTION_SPACE, "layers": [2, 3, 5], "weight_decay": [0.0, 5e-4, 5e-2, 0.5]},
    "deepergcn": {
        "layers": [3, 7, 14],
        "learning_rate": [0.001, 0.003, 0.01],
        "dropout_input": [0.0, 0.5, 0.8],
    },
}
"""What a baseline adds to the space of networks, or has in place of it: the settings that its publication names.

A decay that is decoupled from the gradient acts with the learning rate, so ALaGCN's and ALaGAT's is on another scale.
"""

IDLE_WITHOUT = {"hard": ("kl_weight", "kl_per", "symmetric_q"), "soft": ()}
"""Settings that do nothing without hard or without soft attention; the norm of A_stable does nothing without both."""

Report = Callable[[int, int, float], None]


def space_of(method: str) -> Space:
    """The search space of a method: of its own settings, those that the spaces name."""
    from ..estimators.registry import method as find

    chosen = find(method)
    names = set(chosen.estimator().settings_class.names())
    space = {**(GDAMN_SPACE if "em_iterations" in names else NETWORK_SPACE), **OWN_SPACES.get(method, {})}
    off = {part for part in IDLE_WITHOUT if chosen.fixed.get(part) is False}
    idle = {name for part in off for name in IDLE_WITHOUT[part]} | ({"stable_norm"} if len(off) == 2 else set())
    return {name: v for name, v in space.items() if name in names and name not in chosen.fixed and name not in idle}


def tune(
    spec: RunSpec,
    out: Path,
    execution: Execution = DEFAULT,
    *,
    trials: int,
    space: Space | None = None,
    sampler_seed: int = 0,
    report: Report | None = None,
) -> dict[str, Any]:
    """Search until the study has ``trials`` finished trials; write trials.jsonl and best.toml; return the best.

    Args:
        spec: data set, method, seeds and noise; its settings are those of every trial, ``metric`` what is maximised.
        execution: ``jobs`` fit the seeds of a trial side by side; after its time budget no further trial begins.
        space: the values or the range of each setting that is searched; the method's own when left out.
        report: called after each trial with its number, the trials asked for, and the best value so far.
    """
    need("A search", "optuna")
    import optuna

    from .run import working_in

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    folders.check(out, "search")
    spec.resolved()  # a wrong setting is refused before anything is read
    space = checked_space(space or space_of(spec.method), spec.method, spec.settings)
    if not space:
        raise ConfigError(f"There is nothing to search of '{spec.method}'; name its settings: --space FILE or --range.")
    search = Search(spec, out, space, execution.data_root)
    nodes = [int(graph.val_mask.sum()) for graph in search.graphs.values()]
    if not all(nodes):
        raise ConfigError(
            f"'{spec.dataset}' has no validation nodes to compare trials on; hold some out (--val-share)."
        )
    with working_in(out, "search"):
        Store(out).remove_leftovers(["trials.jsonl", "best.toml"])
        conditions = {"seeds": list(spec.seeds), "noise": spec.noise, "space": plain(search.space)}
        conditions |= {"metric": search.metric, "settings": dict(spec.settings), "options": dict(spec.options)}
        study = open_study(out, f"{spec.dataset}/{spec.method}", conditions)
        done, over = list(finished(study)), pool.after(execution.time_budget)
        with stoppable(done, trials, "trials"), fitting(search, execution) as fits:
            while len(done) < trials and not (done and over()):
                run_trial(search, study, sampler_seed, fits)
                done[:] = finished(study)
                if report is not None and done:
                    report(len(done), trials, study.best_value)
        return {**write_results(study, search, out), "val_nodes": nodes}
