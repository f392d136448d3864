"""``gdamn tune``: search the settings of a method on a data set by a validation score alone.

Optuna's TPE sampler proposes settings, every trial is the mean validation score over the same seeds (accuracy, unless
another metric is asked for), and test labels are never read. The study lives in a journal file in the output folder
(tune_study.py): a search that was stopped at any moment goes on, and ends with the trials of one that wasn't.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError, TrainingError
from ..model.metrics import NAMES, score_key
from ..system import folders, io
from .spec import RunSpec, read_toml
from .store import Store, stoppable
from .tune_study import FAILED, STARTUP, ask, failed_in_a_row, finished, keep_value, kept_value, open_study

if TYPE_CHECKING:
    import optuna

    from ..graph.graph import Graph

Space = dict[str, list[Any]]

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

BEHIND = 0.012
"""A trial whose first two seeds are this far behind the best mean is not finished."""

HOPELESS = 5
"""So many trials in a row that can't be trained end a search."""

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


def read_space(path: Path) -> Space:
    """A search space from a TOML file: a list of values per setting."""
    space = read_toml(path)
    if "seed" in space:
        raise ConfigError(f"'{path}' searches over 'seed', which is no setting of a search; pass --seeds N.")
    if "metric" in space:
        raise ConfigError(f"'{path}' searches over 'metric', by which trials are compared; pass --metric NAME.")
    for name, values in space.items():
        if not isinstance(values, list) or not values:
            raise ConfigError(f"'{path}' gives {values!r} for '{name}'; a space has a list of values per setting.")
    return space


@dataclass(frozen=True)
class Search:
    """What every trial of a search has in common: the run with the settings that all share, and each seed's graph."""

    spec: RunSpec
    out: Path
    space: Space
    graphs: dict[int, Graph]

    @property
    def metric(self) -> str:
        """The validation score that is maximised."""
        return str(self.spec.settings.get("metric", "accuracy"))


def tune(
    spec: RunSpec,
    out: Path,
    *,
    trials: int,
    space: Space | None = None,
    data_root: Path | None = None,
    sampler_seed: int = 0,
    report: Report | None = None,
) -> dict[str, Any]:
    """Search until the study has ``trials`` finished trials; write trials.jsonl and best.toml; return the best.

    Args:
        spec: data set, method, seeds and noise; its settings are those of every trial, ``metric`` what is maximised.
        space: the values of each setting that is searched; the method's own when left out.
        report: called after each trial with its number, the trials asked for, and the best value so far.
    """
    import optuna

    from .run import working_in

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    folders.check(out, "search")
    spec.resolved()  # a wrong setting is refused before anything is read
    graphs = load_graphs(spec.dataset, spec.seeds, spec.noise, data_root)
    search = Search(spec, out, space or space_of(spec.method), graphs)
    with working_in(out, "search"):
        Store(out).remove_leftovers(["trials.jsonl", "best.toml"])
        conditions = {"seeds": list(spec.seeds), "noise": spec.noise, "space": search.space}
        conditions |= {"metric": search.metric, "settings": dict(spec.settings)}
        study = open_study(out, f"{spec.dataset}/{spec.method}", conditions)
        done = list(finished(study))
        with stoppable(done, trials, "trials"):
            while len(done) < trials:
                run_trial(search, study, sampler_seed)
                done[:] = finished(study)
                if report is not None and done:
                    report(len(done), trials, study.best_value)
        nodes = [int(graphs[seed].val_mask.sum()) for seed in spec.seeds]
        return {**write_results(study, search, out), "val_nodes": nodes}


def run_trial(search: Search, study: optuna.Study, sampler_seed: int) -> None:
    """Propose settings, measure them and report the result to the study, a failure too."""
    import optuna
    from optuna.trial import TrialState

    trial = ask(study, sampler_seed)
    settings = {name: trial.suggest_categorical(name, values) for name, values in search.space.items()}
    try:
        study.tell(trial, validation_score(search, settings, trial, study))
    except optuna.TrialPruned:
        study.tell(trial, state=TrialState.PRUNED)
    except TrainingError as problem:
        trial.set_user_attr(FAILED, str(problem))
        study.tell(trial, state=TrialState.FAIL)
        if failed_in_a_row(study) >= HOPELESS:
            raise TrainingError(f"{HOPELESS} trials in a row could not be trained; the last: {problem}") from None
    Store(search.out).forget()


def load_graphs(dataset: str, seeds: Sequence[int], noise: float, data_root: Path | None) -> dict[int, Graph]:
    """The graph of each seed; one object for all seeds where split and noise don't depend on it."""
    from .. import data

    graphs = {seed: data.load(dataset, data_root=data_root, seed=seed, noise=noise) for seed in seeds}
    first = graphs[seeds[0]]
    same = noise == 0 and all((g.train_mask == first.train_mask).all() for g in graphs.values())
    return dict.fromkeys(seeds, first) if same else graphs


def validation_score(search: Search, settings: dict[str, Any], trial: optuna.Trial, study: optuna.Study) -> float:
    """Mean validation score of the chosen epochs over the seeds; a hopeless trial ends after two."""
    import optuna

    accuracies: list[float] = []
    for count, seed in enumerate(search.spec.seeds, start=1):
        accuracies.append(fitted(search, settings, seed))
        trial.report(sum(accuracies) / count, count)
        done = finished(study)
        if count == 2 < len(search.graphs) and len(done) >= STARTUP and sum(accuracies) / 2 < study.best_value - BEHIND:
            raise optuna.TrialPruned
    trial.set_user_attr("per_seed", accuracies)
    return sum(accuracies) / len(accuracies)


def fitted(search: Search, settings: dict[str, Any], seed: int) -> float:
    """Validation score of one fit: kept from an attempt that was ended, or by fitting, from its checkpoints."""
    from ..estimators.registry import make
    from ..fit.checkpoint import keeping
    from ..system.versions import versions

    spec, settings = search.spec, {**search.spec.settings, **settings}
    data = {"dataset": spec.dataset, "noise": spec.noise, "seed": seed}
    config = {**data, "method": spec.method, "settings": settings, "versions": versions()}
    key = score_key(search.metric)
    value = kept_value(search.out, config, key)
    if value is None:
        model = make(spec.method, spec.dataset, seed=seed, overrides=settings)
        with keeping(Store(search.out).checkpoints(config)):
            value = float(model.fit(search.graphs[seed]).best_epoch_[key])
        keep_value(search.out, config, value, key)
    return value


def write_results(study: optuna.Study, search: Search, out: Path) -> dict[str, Any]:
    """trials.jsonl, best first, and best.toml, which ``gdamn train --config`` takes."""
    import tomli_w

    spec, key = search.spec, score_key(search.metric)
    ranked = sorted(finished(study), key=lambda t: -(t.value or 0))
    rows: list[dict[str, Any]] = [
        {key: t.value, "per_seed": t.user_attrs.get("per_seed"), "settings": t.params} for t in ranked
    ]
    io.write_text(out / "trials.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    best = rows[0]
    settings = {**spec.settings, **best["settings"]}
    config = {"dataset": spec.dataset, "method": spec.method, "seeds": list(spec.seeds), "settings": settings}
    name = f"mean validation {NAMES[search.metric]}"
    summary = f"{len(rows)} trials by {name} over {len(spec.seeds)} seeds: {best[key]:.4f}"
    io.write_text(out / "best.toml", f"# Best of {summary}\n" + tomli_w.dumps(config))
    return {"trials": len(rows), **best}
