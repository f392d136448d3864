"""scikit-learn's conventions: settings as attributes, tags, whether a model is fitted, and what it has learned.

Nothing here imports scikit-learn; where one of its functions asks, it is there already.
"""

from __future__ import annotations

import dataclasses
import difflib
import inspect
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from ..errors import NotFittedError, UnknownAttributeError
from ..graph.node_ids import id_array
from ..model.fitted_state import FittedState
from ..model.settings import BaseSettings

FITTED = (
    *("best_epoch_", "class_names_", "epochs_", "graph_", "history_", "node_ids_", "protocol_", "seconds_"),
    *("settings_", "tensors_", "timings_"),
)
"""What a fit sets; asked for before, it gets the sentence of a model that isn't fitted."""
OVER_RANKS = ("gdamn", "gdamn-plus", "gmnn", "gcn", "sgc", "appnp")
"""The methods that several ranks can train together."""
PARTED = f"{', '.join(OVER_RANKS[:-1])} and {OVER_RANKS[-1]}"
"""The same in a sentence."""


class Conventions:
    """What scikit-learn's functions rely on, for :class:`gdamn.estimators.base.NodeClassifier`."""

    method: ClassVar[str] = ""
    settings_class = BaseSettings  # without an annotation, so that a type checker takes a subclass's own
    settings: BaseSettings
    settings_: BaseSettings
    tensors_: dict[str, NDArray[Any]]
    class_names_: tuple[str, ...]
    best_epoch_: dict[str, Any]
    history_: list[dict[str, Any]]
    timings_: list[float]
    num_features_: int | None = None

    def _constrains(self) -> bool:
        """Whether the fit held edges that a person confirmed for certain."""
        return False

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """All settings as plain values."""
        return dataclasses.asdict(self.settings)

    if not TYPE_CHECKING:  # type checkers know what is declared, and nothing else

        def __getattr__(self, name: str) -> Any:
            """A setting by its name, as in ``model.hidden``."""
            known = getattr(type(self), name, None)
            if isinstance(known, property) and known.fget is not None:
                return known.fget(self)  # it failed; here is its own error
            settings = vars(self).get("settings")
            if settings is not None and (name == "random_state" or name in settings.names()):
                return getattr(settings, name)
            if name in FITTED:
                raise NotFittedError(self._not_fitted())
            raise AttributeError(f"{type(self).__name__} has no attribute '{name}'{self._hint(name)}")

        def __setattr__(self, name: str, value: Any) -> None:
            """``model.hidden = 3`` is ``set_params(hidden=3)``; a name that nobody declared is refused."""
            if name == "random_state" or name in self.settings_class.names():
                self.set_params(**{name: value})
            elif name.startswith("_") or name.endswith("_") or self._declares(name):
                object.__setattr__(self, name, value)
            else:
                raise UnknownAttributeError(
                    f"{type(self).__name__} has no setting or attribute '{name}'{self._hint(name, declare=True)}"
                )

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.settings_class.names()]

    @classmethod
    def _declares(cls, name: str) -> bool:
        """Whether the class or one that it comes from has the name, as an attribute or as an annotation."""
        return hasattr(cls, name) or any(name in vars(base).get("__annotations__", {}) for base in cls.__mro__)

    def _hint(self, name: str, declare: bool = False) -> str:
        """The end of a sentence about a name that isn't there."""
        public = [each for each in dir(type(self)) if not each.startswith("_")]
        close = difflib.get_close_matches(name, [*self.settings_class.names(), *FITTED, *public], n=2)
        if close:
            return f"; did you mean {' or '.join(close)}?"
        own = declare and not type(self).__module__.startswith("gdamn.")
        return f"; declare it in the class, as in '{name}: int'." if own else "."

    def __repr__(self) -> str:
        changed = [
            f"{f.name}={getattr(self.settings, f.name)!r}"
            for f in dataclasses.fields(self.settings)
            if getattr(self.settings, f.name) != f.default
        ]
        return f"{type(self).__name__}({', '.join([*changed, *self._shapes()])})"

    def _shapes(self) -> list[str]:
        """What a fitted model knows, for its line."""
        probabilities = self.state_.probabilities
        if probabilities is None:
            return []
        nodes, classes = probabilities.shape
        features = "" if self.num_features_ is None else f"{self.num_features_:,} features, "
        return [f"fitted=[{nodes:,} nodes, {features}{classes} classes]"]

    _estimator_type = "classifier"  # what scikit-learn asked for before 1.6, which has tags

    def __sklearn_tags__(self) -> Any:
        """A classifier whose input is a graph; labels come with it, so that y isn't needed."""
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=False),
            transformer_tags=None,
            classifier_tags=ClassifierTags(),
            regressor_tags=None,
            input_tags=InputTags(two_d_array=False, sparse=False),
        )

    def __sklearn_is_fitted__(self) -> bool:
        """For ``sklearn.utils.validation.check_is_fitted``."""
        return self.state_.probabilities is not None

    def _fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(self._not_fitted())

    def _not_fitted(self) -> str:
        return f"This {type(self).__name__} has not been fitted yet; call fit(graph) first."

    @property
    def state_(self) -> FittedState:
        """What ``tensors_`` means; without any array before the fit."""
        return FittedState.of(vars(self).get("tensors_", {}))

    @property
    def probabilities_(self) -> NDArray[np.float32]:
        """[N, C] class probabilities of every node."""
        self._fitted()
        return cast("NDArray[np.float32]", self.state_.probabilities)

    @property
    def edge_weights_(self) -> dict[str, NDArray[np.float32]] | None:
        """Attention per edge, in the order of the graph's CSR; None for methods without attention."""
        self._fitted()
        return self.state_.attention

    @property
    def classes_(self) -> NDArray[Any]:
        """[C] the classes as ``predict`` names them: whole numbers where all their names are, else texts."""
        self._fitted()
        return class_array(self.class_names_)

    @property
    def n_features_in_(self) -> int:
        """Number of features of the graph of the fit."""
        self._fitted()
        if self.num_features_ is None:
            raise AttributeError("The model was saved by an earlier gdamn, which didn't keep its number of features.")
        return self.num_features_


def show_settings(cls: type[Conventions]) -> None:
    """Show the settings in the signature and the docstring of a class, for help() and editors."""
    parameters = [
        inspect.Parameter(f.name, inspect.Parameter.KEYWORD_ONLY, default=f.default, annotation=f.type)
        for f in dataclasses.fields(cls.settings_class)
    ]
    cls.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    if cls.__doc__:
        cls.__doc__ = f"{inspect.cleandoc(cls.__doc__)}\n\n{cls.settings_class.documentation()}\n"


def class_array(names: tuple[str, ...]) -> NDArray[Any]:
    """[C] names of classes as they are shown: as whole numbers where each is written as one."""
    return id_array(map(int, names) if names and all(map(is_whole, names)) else names)


def is_whole(name: str) -> bool:
    """Whether a name is a whole number as Python writes it: 7 or -1, not 07 or +7."""
    digits = name.removeprefix("-")
    return digits.isascii() and digits.isdigit() and len(digits) < 19 and str(int(name)) == name
