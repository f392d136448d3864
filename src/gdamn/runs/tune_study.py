"""The study of a search: Optuna's journal in its folder, and the trials that a killed process may have left in it.

A resumed search makes the same trials as one that was never stopped. Each trial has a sampler of its own, seeded by its
number among those that ended. A trial that was stopped is proposed again, with its finished fits and its checkpoints.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import DataError, OutputError
from ..system import io, reading
from .store import Store

if TYPE_CHECKING:
    import optuna

JOURNAL = "study.journal"
STARTUP = 20
"""Trials that are drawn at random before the sampler learns from them."""
FAILED = "failed"
"""The attribute of a trial whose fit came to no end, with the reason: it isn't proposed again."""


def open_study(out: Path, name: str, conditions: Mapping[str, Any]) -> optuna.Study:
    """The study in the folder, new or as it was left; a search of something else is refused."""
    import optuna
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend
    from optuna.trial import TrialState

    path = out / JOURNAL
    mend(path)
    try:
        storage = JournalStorage(JournalFileBackend(str(path)))
        study = optuna.create_study(study_name=name, storage=storage, direction="maximize", load_if_exists=True)
        recorded = study.user_attrs.get("asked")
    except OSError as cause:
        raise io.output_error(path, cause) from cause
    except (ValueError, KeyError, TypeError):
        raise DataError(f"'{path}' is damaged; remove it to begin the search anew, or choose another --out.") from None
    now = json.loads(io.to_json(conditions))
    recorded = (
        None if recorded is None else {"metric": "accuracy", "settings": {}, "options": {}, **recorded}
    )  # of older searches
    for key, value in now.items():
        if recorded is not None and recorded.get(key) != value:
            raise OutputError(f"'{out}' holds a search with another {key}; choose another --out.")
    if recorded is None:
        study.set_user_attr("asked", now)
    for trial in study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
        study.tell(trial.number, state=TrialState.FAIL)
    return study


def mend(path: Path) -> None:
    """Undo what a process left that was killed while it wrote: half a line, and Optuna's own lock.

    Only for who is alone in the folder.
    """
    for lock in path.parent.glob(f"{path.name}.lock*"):
        lock.unlink(missing_ok=True)
    if not reading.is_there(path):
        return
    content = reading.read_bytes(path, reading.MOST_JSON)
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        os.truncate(path, whole)


def ask(study: optuna.Study, seed: int) -> optuna.Trial:
    """The next trial; the same one for the same trials before it."""
    import numpy as np
    from optuna.samplers import TPESampler

    sampler_seed = np.random.SeedSequence((seed, len(ended(study)))).generate_state(1)[0]
    study.sampler = TPESampler(seed=int(sampler_seed), n_startup_trials=STARTUP)
    return study.ask()


def ended(study: optuna.Study) -> list[optuna.trial.FrozenTrial]:
    """The trials that came to an end of their own, be it a failure; not those whose process was killed."""
    from optuna.trial import TrialState

    states = TrialState.COMPLETE, TrialState.PRUNED, TrialState.FAIL
    trials = study.get_trials(deepcopy=False, states=states)
    return [trial for trial in trials if trial.state != TrialState.FAIL or FAILED in trial.user_attrs]


def finished(study: optuna.Study) -> list[optuna.trial.FrozenTrial]:
    """The trials that ran to their end."""
    from optuna.trial import TrialState

    return study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))


def failed_in_a_row(study: optuna.Study) -> int:
    """How many of the last trials failed, one after the other."""
    count = 0
    for trial in reversed(ended(study)):
        if FAILED not in trial.user_attrs:
            break
        count += 1
    return count


def keep_value(out: Path, config: Mapping[str, Any], value: float, key: str = "val_accuracy") -> None:
    """Keep the validation score of a finished fit beside its checkpoints, until its trial has ended."""
    Store(out).write(_value_path(out, config), {key: value})


def kept_value(out: Path, config: Mapping[str, Any], key: str = "val_accuracy") -> float | None:
    """The validation score of a fit that an earlier attempt at the trial finished; None where it must be fitted."""
    value = Store(out).read(_value_path(out, config)).get(key)
    return float(value) if isinstance(value, (int, float)) else None


def _value_path(out: Path, config: Mapping[str, Any]) -> str:
    return str(Store(out).checkpoints(config).relative_to(out) / "value.json")
