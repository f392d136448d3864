"""Names that have moved: imports of the old ones work for one release, with a warning that says the new one."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
import warnings
from collections.abc import Sequence
from functools import partial
from types import ModuleType

MOVED = {
    "gdamn.after": "gdamn.using",
    "gdamn.after.calibration": "gdamn.estimators.calibration",
    "gdamn.after.inductive": "gdamn.estimators.inductive",
    "gdamn.after.transforms": "gdamn.estimators.transforms",
    "gdamn.base": "gdamn.estimators.base",
    "gdamn.checkpoint": "gdamn.fit.checkpoint",
    "gdamn.config": "gdamn.model",
    "gdamn.gdamn": "gdamn.estimators.gdamn",
    "gdamn.methods": "gdamn.estimators.registry",
    "gdamn.own": "gdamn.data.files",
    "gdamn.using.inductive": "gdamn.estimators.inductive",
}
"""What the documentation of 0.1.0 named, and where it is now."""


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds a module by its old name."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The place of an old name; None for all others."""
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True) if fullname in MOVED else None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        """An empty module, which :meth:`exec_module` links to the new one."""

    def exec_module(self, module: ModuleType) -> None:
        """Answer for the module of the new name."""
        new = MOVED[module.__name__]
        warnings.warn(
            f"{module.__name__} is {new} now; the old name goes with the next release.", FutureWarning, stacklevel=2
        )
        module.__getattr__ = partial(getattr, importlib.import_module(new))  # type: ignore[method-assign]


def install() -> None:
    """Let old names be found, after all others."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.append(_Finder())
