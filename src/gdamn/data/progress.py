"""Progress of reading: readers report it, and listeners show it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Listener = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is."""

_listeners: list[Listener] = []


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Call the listener with what readers report in this block."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def report(what: str, done: int, total: int) -> None:
    """Pass progress on to the listeners, if there are any."""
    for listener in _listeners:
        listener(what, done, total)
