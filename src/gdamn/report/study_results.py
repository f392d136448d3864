"""A finished comparison and a finished search as objects: data frame, plot, save, open."""

from __future__ import annotations

import json
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import DataError, GdamnError
from ..model.metrics import METRICS, NAMES, score_key
from ..runs.compare.engine import Fit, Outcome
from ..runs.spec import RunSpec, read_toml
from ..system import io, reading

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..estimators.base import NodeClassifier


class Comparison(Outcome):
    """A finished comparison.

    Attributes:
        result: what ``compare.json`` holds, as plain data.
        fits: the measurements of every fit, by method and seed.
    """

    @property
    def best(self) -> str | None:
        """The method of the highest mean test accuracy among those that finished every seed."""
        best: str | None = self.result["best"]
        return best

    @property
    def verdict(self) -> str:
        """Who is ahead, and of whom that can be said."""
        return str(self.result["verdict"])

    def frame(self) -> Any:
        """A pandas data frame with a row per method, the best first; accuracies are fractions."""
        rows = []
        for r in self.result["results"]:
            test = self.result["tests"].get(r["method"]) or {}
            scores = {
                f"{part}_{name}": r[f"{part}_accuracy"][name] for part in ("test", "val") for name in ("mean", "std")
            }
            tested = {name: test.get(name) for name in ("difference", "t_p", "wilcoxon_p", "t_p_holm")}
            rows.append({"method": r["method"], "seeds": len(r["protocol"]["seeds"]), **scores, **tested})
        return _pandas().DataFrame(rows)

    def fits_frame(self) -> Any:
        """A pandas data frame with a row per fit."""
        keys = ("test_accuracy", "val_accuracy", "test_balanced_accuracy", "test_macro_f1", "epochs", "seconds")
        rows = [
            {"method": method, "seed": seed, **{key: fit.get(key) for key in keys}}
            for (method, seed), fit in self.fits.items()
        ]
        return _pandas().DataFrame(rows)

    def plot(self, path: str | PathLike[str] | None = None) -> Figure:
        """The figure of ``compare.png``; written to the path where one is given."""
        from .comparison_plot import figure_of

        return _drawn(figure_of(self.result), path)

    def save(self, folder: str | PathLike[str]) -> Path:
        """Write compare.html, compare.json, compare.md, compare.csv and compare.png into a new or own folder."""
        from ..runs.run import working_in
        from .comparison_files import write_all

        out = Path(folder)
        with working_in(out, "comparison"):
            write_all(self, out)
        return out

    @classmethod
    def open(cls, folder: str | PathLike[str]) -> Comparison:
        """The finished comparison in a folder that ``compare`` or ``gdamn compare`` wrote."""
        from ..runs.store import Store

        store = Store(Path(folder))
        result = reading.read_json(store.folder / "compare.json")
        fits: dict[Fit, dict[str, Any]] = {}
        for path in sorted(store.folder.glob("fits/*/seed-*.json")):
            record = store.read_record(str(path.relative_to(store.folder)))
            if record is not None:
                fits[record["config"]["method"], record["config"]["seeds"][0]] = record["result"]
        wanted = [(r["method"], seed) for r in result["results"] for seed in r["protocol"]["seeds"]]
        missing = [fit for fit in wanted if fit not in fits]
        if missing:
            raise DataError(f"'{folder}' lacks the fit of {missing[0][0]} with seed {missing[0][1]}; run it again.")
        return cls(result, {fit: fits[fit] for fit in wanted})

    def __repr__(self) -> str:
        from ..runs.text import spread_text

        methods = ", ".join(f"{r['method']} {spread_text(r['test_accuracy'])}" for r in self.result["results"])
        return f"Comparison({self.result['dataset']}: {methods})"


@dataclass(frozen=True, repr=False)
class Tuning:
    """A finished search.

    Attributes:
        trials: plain data of every finished trial, the best first: ``trial`` (its place in time), the score, the scores
            ``per_seed`` and the ``settings``.
        config: what ``best.toml`` holds: the run with the best settings. It names no data set where the graph was in
            memory and nothing was kept.
    """

    trials: tuple[dict[str, Any], ...]
    config: dict[str, Any]

    @property
    def metric(self) -> str:
        """The validation score that was maximised."""
        return next(metric for metric in METRICS if score_key(metric) in self.trials[0])

    @property
    def best_score(self) -> float:
        """The highest mean validation score, a fraction. It was chosen for being the highest, so it flatters."""
        return float(self.trials[0][score_key(self.metric)])

    @property
    def best_settings(self) -> dict[str, Any]:
        """The searched settings of the best trial."""
        return dict(self.trials[0]["settings"])

    def estimator(self, seed: int = 0) -> NodeClassifier:
        """The method with the best settings, not yet fitted."""
        from ..runs.run import make_estimator

        known = {"dataset": "graph", **self.config, "seeds": [seed]}
        return make_estimator(RunSpec.from_dict(known, "the search"), seed)

    def frame(self) -> Any:
        """A pandas data frame with a row per trial, in the order in which they were made."""
        key = score_key(self.metric)
        rows = sorted(self.trials, key=lambda row: int(row["trial"]))
        return _pandas().DataFrame([{"trial": row["trial"], key: row[key], **row["settings"]} for row in rows])

    def plot(self, path: str | PathLike[str] | None = None) -> Figure:
        """The score of every trial, and the best so far; written to the path where one is given."""
        from .search_plot import figure_of

        key, name = score_key(self.metric), f"validation {NAMES[self.metric]}"
        scores = [row[key] for row in sorted(self.trials, key=lambda row: int(row["trial"]))]
        return _drawn(figure_of(scores, f"{self.config['method']}: {len(scores)} trials", name), path)

    def save(self, folder: str | PathLike[str]) -> Path:
        """Write trials.jsonl, best.toml and tune.png into a new or own folder."""
        import tomli_w

        from ..runs.run import working_in

        out = Path(folder)
        with working_in(out, "search"):
            io.write_text(out / "trials.jsonl", "".join(json.dumps(row) + "\n" for row in self.trials))
            io.write_text(out / "best.toml", tomli_w.dumps(self.config))
            with io.replacing(out / "tune.png") as temporary:
                self.plot().savefig(temporary, dpi=150, format="png", metadata={"Software": None})
        return out

    @classmethod
    def open(cls, folder: str | PathLike[str]) -> Tuning:
        """The search in a folder that ``tune`` or ``gdamn tune`` wrote."""
        path = Path(folder)
        lines = reading.read_bytes(path / "trials.jsonl", reading.MOST_JSON).decode(errors="replace").splitlines()
        try:
            rows = tuple({"trial": at, **json.loads(line)} for at, line in enumerate(lines))
        except (ValueError, TypeError):
            raise DataError(f"'{path / 'trials.jsonl'}' is damaged; run the search again.") from None
        return cls(rows, read_toml(path / "best.toml"))

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={value!r}" for name, value in self.best_settings.items())
        score = f"validation {NAMES[self.metric]} {100 * self.best_score:.1f} %"
        return f"Tuning({self.config['method']}, {len(self.trials)} trials: {score} with {settings})"


def _drawn(figure: Figure, path: str | PathLike[str] | None) -> Figure:
    """The figure, also in a file."""
    if path is not None:
        with io.replacing(Path(path)) as temporary:
            figure.savefig(temporary, dpi=150, format=Path(path).suffix.lstrip(".") or "png")
    return figure


def _pandas() -> Any:
    """pandas, or a sentence."""
    try:
        import pandas
    except ImportError:
        raise GdamnError("A data frame needs pandas; install it: pip install pandas.") from None
    return pandas
