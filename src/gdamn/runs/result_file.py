"""Reading results that anyone may have made or changed: every number is in its place, or a sentence tells."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import ConfigError, DataError, in_short
from ..model.metrics import score_key
from ..system.reading import read_json
from .class_scores import PARTS, SCORES
from .spec import RunSpec

__all__ = ["check_result", "read_json"]

MOST = 1e15
"""No count of seconds or epochs is larger."""


def check_result(result: Any, path: Path) -> dict[str, Any]:
    """The result, if it is as ``gdamn train`` writes it: config, protocol and accuracies of the same seeds."""
    try:
        problem_text = _first_problem(result)
        if not problem_text:
            RunSpec.from_dict(result["config"], str(path))
    except ConfigError as problem:
        problem_text = f"its config can't be ({in_short(problem)})"
    if problem_text:
        raise DataError(f"'{path}' isn't a result of gdamn train: {problem_text}.")
    checked: dict[str, Any] = result
    return checked


def _first_problem(result: Any) -> str:
    """The first thing that can't be, in words; empty where all can."""
    if not isinstance(result, dict):
        return "it lacks config, test_accuracy and protocol"
    for name in ("config", "protocol", "test_accuracy", "val_accuracy", "dataset", "method"):
        if not isinstance(result.get(name), str if name in ("dataset", "method") else dict):
            return f"it lacks {name}, or that has the wrong type"
    protocol = result["protocol"]
    seeds = protocol.get("seeds")
    if not isinstance(seeds, list) or not all(type(seed) is int for seed in seeds) or len(set(seeds)) < len(seeds):
        return "the seeds of its protocol aren't whole numbers, each once"
    if not all(isinstance(protocol.get(name), str) for name in ("split", "selection")):
        return "its protocol doesn't tell split and selection"
    for name in ("test_accuracy", "val_accuracy"):
        if not _is_spread(result[name], len(seeds)):
            return f"its {name} isn't mean, std and a share per seed"
    return _problem_of_extras(result, len(seeds))


def _problem_of_extras(result: Mapping[str, Any], seeds: int) -> str:
    """What is wrong with the entries that not every result has."""
    for name in ("seconds_per_seed", "epochs_per_seed"):
        values = result.get(name, [0] * seeds)
        if not isinstance(values, list) or len(values) != seeds or not all(_is_number(each, MOST) for each in values):
            return f"its {name} isn't a number per seed"
    if not isinstance(result.get("versions", {}), dict):
        return "its versions have the wrong type"
    cross_fitted = result.get("cross_fitted_accuracy")
    if cross_fitted is not None and not (isinstance(cross_fitted, dict) and _is_spread(cross_fitted, seeds)):
        return "its cross_fitted_accuracy isn't mean, std and a share per seed"
    for key in (score_key(metric, part) for part in PARTS for metric in SCORES):
        if key in result and not (isinstance(result[key], dict) and _is_spread(result[key], seeds)):
            return f"its {key} isn't mean, std and a share per seed"
    if not _are_recalls(result.get("recall", {}), seeds):
        return "its recall isn't a share per class and seed"
    if not _are_texts(result.get("remarks", [])):
        return "its remarks aren't texts"
    if not _are_texts(result.get("processors", [])):
        return "its processors aren't texts"
    return "" if is_reference(result.get("reference", {})) else "its reference has the wrong form"


def is_reference(value: Any) -> bool:
    """Whether it is what :func:`gdamn.runs.reference.table.reference` makes."""
    if not isinstance(value, dict) or not _are_texts(value.get("notes", [])):
        return False
    verdicts, methods = [value[name] for name in ("edges", "gdamn") if name in value], value.get("methods", [])
    if not isinstance(methods, list) or (methods and len(verdicts) < 2):
        return False
    if not all(isinstance(each, dict) and isinstance(each.get("sentence"), str) for each in verdicts):
        return False
    return all(_is_measured(method) for method in methods)


def _is_measured(method: Any) -> bool:
    """Whether it is a method with its accuracy, nodes and interval."""
    if not isinstance(method, dict) or not isinstance(method.get("title"), str):
        return False
    ends = method.get("interval_95")
    if not isinstance(ends, list) or len(ends) != 2:
        return False
    return _is_count(method.get("nodes")) and all(_is_number(each, 1) for each in (method.get("accuracy"), *ends))


def _are_texts(value: Any) -> bool:
    """Whether it is a list of texts."""
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _are_recalls(recall: Any, seeds: int) -> bool:
    """Whether it is what :func:`gdamn.runs.class_scores.over_seeds` makes."""
    if not isinstance(recall, dict) or not set(recall) <= set(PARTS):
        return False
    if not all(isinstance(rows, list) for rows in recall.values()):
        return False
    rows = [row for rows in recall.values() for row in rows]
    return all(isinstance(r, dict) and isinstance(r.get("class"), str) and _is_spread(r, seeds) for r in rows)


def _is_spread(spread: Mapping[str, Any], seeds: int) -> bool:
    """Whether it is what :func:`gdamn.runs.spread` makes."""
    each = spread.get("per_seed")
    if not isinstance(each, list) or len(each) != seeds or not all(v is None or _is_number(v, 1) for v in each):
        return False
    nodes = spread.get("nodes", [None] * seeds)
    if not isinstance(nodes, list) or len(nodes) != seeds or not all(n is None or _is_count(n) for n in nodes):
        return False
    ends = spread.get("interval_95", [None] * seeds)
    if not isinstance(ends, list) or len(ends) != seeds or not all(e is None or _is_interval(e) for e in ends):
        return False
    mean, std = spread.get("mean"), spread.get("std")
    if mean is None:
        return std is None and all(v is None for v in each)
    return _is_number(mean, 1) and _is_number(std, 1)


def _is_interval(value: Any) -> bool:
    """Whether it is a low and a high share."""
    return isinstance(value, list) and len(value) == 2 and all(_is_number(end, 1) for end in value)


def _is_count(value: Any) -> bool:
    """Whether it is a whole number of things."""
    return type(value) is int and 0 <= value <= MOST


def _is_number(value: Any, most: float) -> bool:
    """Whether it is a number from 0 to ``most``; nan is none."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= most
