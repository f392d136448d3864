"""The setting ``class_weight``: how much a known label of each class counts in the loss of q and of the baselines.

Weights of single labels (``sample_weight`` of ``fit``) come beside it.

It is ``none``, ``balanced``, or a weight by class name, ``spam=3,ham=1``. A name with a comma, a quote or blanks at its
ends stands in quotes, as JSON writes them: ``"ham, eggs"=3``.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ConfigError

FORM = "it must be none, balanced, or weights by class name such as spam=3,ham=1"
_PAIR = re.compile(r'\s*(?:("(?:[^"\\]|\\.)*")\s*|([^,"][^,]*))=([^,=]*)(?:,|$)')
_NEEDS_QUOTES = re.compile(r'^\s|\s$|[,"]|^$')


def as_text(value: Any) -> str:
    """The setting as a text in one form, from a text or from ``{name: weight}``; refuses what can't be one."""
    if isinstance(value, str) and value.strip() in ("none", "balanced"):
        return value.strip()
    if isinstance(value, Mapping):
        weights = {str(name): _positive(str(name), weight) for name, weight in value.items()}
    elif isinstance(value, str):
        weights = parse(value)
    else:
        raise ConfigError(f"Setting 'class_weight' is {value!r}, but it must be of type str or dict.")
    if not weights:
        raise ConfigError(f"Setting 'class_weight' is empty, but {FORM}.")
    return ",".join(f"{_quoted(name)}={repr(weight).removesuffix('.0')}" for name, weight in weights.items())


def parse(text: str) -> dict[str, float]:
    """The weights by class name of such a text."""
    weights: dict[str, float] = {}
    at = 0
    while at < len(text):
        pair = _PAIR.match(text, at)
        if pair is None:
            raise ConfigError(f"Setting 'class_weight' is {text!r}, but {FORM}.")
        name = pair[2].strip() if pair[1] is None else _unquoted(pair[1], text)
        if name in weights:
            raise ConfigError(f"Setting 'class_weight' names the class '{name}' twice; name it once.")
        weights[name] = _positive(name, pair[3])
        at = pair.end()
    return weights


def _positive(name: str, weight: Any) -> float:
    try:
        number = math.nan if isinstance(weight, (bool, np.bool_)) else float(weight)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not (math.isfinite(number) and number > 0):
        text = weight.strip() if isinstance(weight, str) else weight
        raise ConfigError(
            f"Setting 'class_weight' gives the class '{name}' the weight {text!r}, but a weight must be a positive, "
            "finite number."
        )
    return number


def _quoted(name: str) -> str:
    return json.dumps(name, ensure_ascii=False) if _NEEDS_QUOTES.search(name) else name


def _unquoted(name: str, text: str) -> str:
    try:
        return str(json.loads(name))
    except ValueError:
        raise ConfigError(f"Setting 'class_weight' is {text!r}, but {FORM}.") from None


def class_weights(setting: str, class_names: Sequence[str], counts: NDArray[Any]) -> NDArray[np.float64] | None:
    """[C] the factor of each class, scaled so that its mean over the training nodes is 1; None where all count alike.

    ``balanced`` is scikit-learn's n / (C n_c), for n training nodes of which n_c are of class c, C being the classes
    that occur. A class without a name in the setting weighs 1. With a mean of 1 the loss is the weighted mean: its
    scale stays, whatever the weights are.

    Args:
        counts: [C] training nodes of each class.
    """
    if setting == "none":
        return None
    total = int(counts.sum())
    if setting == "balanced":
        weights = total / (np.count_nonzero(counts) * np.maximum(counts, 1))
    else:
        weights = _by_name(parse(setting), class_names)
    weights = np.where(counts > 0, weights, 0.0)  # a class without a training label weighs nothing
    weights = weights / weights.max()
    return np.asarray(weights * (total / (weights @ counts)), np.float64)


def label_weights(
    given: NDArray[Any] | None,
    train: NDArray[np.int64],
    train_labels: NDArray[np.int64],
    of_classes: NDArray[np.float64] | None,
) -> NDArray[np.float64] | None:
    """[N] the factor of each known label, scaled so that its mean times the class's is 1; None where all count alike.

    Args:
        given: [N] weights, of which those of the training nodes count (``sample_weight``).
        train, train_labels: [L] the training nodes and their classes.
        of_classes: [C] the factors of :func:`class_weights`.
    """
    if given is None:
        return None
    weights = given.astype(np.float64)
    counted = weights[train] * (1.0 if of_classes is None else of_classes[train_labels])
    return np.asarray(weights * (len(train) / max(counted.sum(), np.finfo(float).tiny)))


def _by_name(named: Mapping[str, float], class_names: Sequence[str]) -> NDArray[np.float64]:
    for name in named:
        if name not in class_names:
            listed = ", ".join(class_names[:10]) + (", …" if len(class_names) > 10 else "")
            raise ConfigError(f"Setting 'class_weight' names the class '{name}', but the graph's are {listed}.")
    return np.array([named.get(name, 1.0) for name in class_names])
