"""Memory: how much the system has, and in one sentence that it ran out, in whichever shape the error came."""

from __future__ import annotations

import sys
from pathlib import Path, PurePosixPath

from ..errors import TrainingError

_SAID = ("allocate memory", "out of memory", "can't start new thread")
"""What torch, the loader of libraries and the system say."""


def shortage(problem: BaseException) -> TrainingError | None:
    """The error to show if memory ran out; None for any other problem."""
    message = str(problem).lower()
    if not isinstance(problem, MemoryError) and not (
        isinstance(problem, (RuntimeError, OSError, ImportError)) and any(phrase in message for phrase in _SAID)
    ):
        return None
    return TrainingError(
        "There is not enough memory for this; try fewer --jobs, a smaller graph, or a machine with more memory."
    )


def system_bytes() -> dict[str, int]:
    """What the system tells of its memory, by its own names (MemTotal, MemAvailable, …); empty where it doesn't."""
    try:
        lines = [line.split() for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines()]
        return {words[0].rstrip(":"): 1024 * int(words[1]) for words in lines if words[2:] == ["kB"]}
    except (OSError, ValueError, IndexError):
        return {}


def limited_bytes(root: Path = Path("/")) -> list[tuple[int, int]]:
    """Limit and what is left of it, in bytes, for each control group around this process that has a memory limit.

    A process counts in its own group and in all groups above it, in either version of the interface (or both). The
    page cache that the system would give back at once counts as left.

    Args:
        root: where ``proc`` and the mounted groups lie; another folder in tests.
    """
    limits = []
    for mount, group, names in _memory_groups(root):
        for folder in (group, *group.parents):
            if not folder.is_relative_to(mount):
                break
            limit, used = (_number(folder / name) for name in names[:2])
            if limit is not None:
                cache = _statistic(folder / "memory.stat", names[2])
                limits.append((limit, max(0, limit - max(0, (used or 0) - cache))))
    return limits


def process_bytes() -> int:
    """What is left of the limits of this process (``ulimit -d`` and ``-v``); ``sys.maxsize`` without any."""
    try:
        import resource
    except ImportError:  # Windows
        return sys.maxsize
    used = dict(line.split(":", 1) for line in _lines(Path("/proc/self/status")) if line.startswith("Vm"))
    limits = ((resource.RLIMIT_DATA, "VmData"), (resource.RLIMIT_AS, "VmSize"))
    left = [sys.maxsize]
    for kind, name in limits:
        most, words = resource.getrlimit(kind)[0], used.get(name, "").split()
        if most != resource.RLIM_INFINITY and words and words[0].isdigit():
            left.append(max(0, most - 1024 * int(words[0])))
    return min(left)


_VERSION_1 = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
_VERSION_2 = ("memory.max", "memory.current", "inactive_file")


def _memory_groups(root: Path) -> list[tuple[Path, Path, tuple[str, str, str]]]:
    """Mount point, this process's folder below it and the names of its files, for each memory hierarchy."""
    paths: dict[str, str] = {}
    for line in _lines(root / "proc/self/cgroup"):
        number, controllers, path = [*line.split(":", 2), "", ""][:3]
        if number == "0" and not controllers:
            paths["cgroup2"] = path
        elif "memory" in controllers.split(","):
            paths["cgroup"] = path
    groups = []
    for line in _lines(root / "proc/self/mountinfo"):
        before, _, after = line.partition(" - ")
        words, kind = before.split(), (after.split() or [""])[0]
        if kind not in paths or len(words) < 5 or (kind == "cgroup" and "memory" not in after.split()[-1].split(",")):
            continue
        mount = root / words[4].lstrip("/")
        below = PurePosixPath(paths[kind])  # as seen from the root of the hierarchy, of which a part may be mounted
        below = below.relative_to(words[3]) if below.is_relative_to(words[3]) else PurePosixPath()
        group = mount / str(below).lstrip("/")
        groups.append((mount, group, _VERSION_2 if kind == "cgroup2" else _VERSION_1))
    return groups


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def _number(path: Path) -> int | None:
    """The number in a file; None where there is none, or no limit (max)."""
    try:
        return int(path.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def _statistic(path: Path, name: str) -> int:
    words = [line.split() for line in _lines(path)]
    return next((int(pair[1]) for pair in words if len(pair) == 2 and pair[0] == name and pair[1].isdigit()), 0)
