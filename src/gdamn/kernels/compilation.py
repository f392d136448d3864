"""Tell when a kernel is compiled: on the first use after an installation, and never again while its cache is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def on_compilation(told: Callable[[], None]) -> Iterator[None]:
    """Call ``told`` whenever numba begins to compile a kernel; not where it loads one from its cache."""
    from numba.core import event

    class Told(event.Listener):  # type: ignore[misc]  # numba has no types
        def on_start(self, event: Any) -> None:
            told()

        def on_end(self, event: Any) -> None:
            """The next epoch is shown by itself."""

    with event.install_listener("numba:compile", Told()):
        yield
