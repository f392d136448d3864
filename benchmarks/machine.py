"""What the numbers were measured on, and how busy it was with other work."""

from __future__ import annotations

import os
import platform
import resource
import shutil
import subprocess
import time
from importlib import metadata
from pathlib import Path
from typing import Any

PACKAGES = ("gdamn", "torch", "torch-geometric", "numba", "numpy", "scipy")
LSCPU = ("Model name", "CPU(s)", "Thread(s) per core", "L2 cache", "L3 cache", "Hypervisor vendor")


def describe() -> dict[str, Any]:
    """Machine and system, from platform and lscpu."""
    found: dict[str, Any] = {
        "system": platform.platform(),
        "architecture": platform.machine(),
        "cores": os.cpu_count(),
        "usable_cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
    }
    if shutil.which("lscpu"):
        lines = subprocess.run(["lscpu"], capture_output=True, text=True, check=False).stdout.splitlines()
        pairs = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
        found["lscpu"] = {key: pairs[key] for key in LSCPU if key in pairs}
    return found


def versions() -> dict[str, str]:
    """Versions, without importing anything."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = "not installed"
    return found


def commit(root: Path) -> str:
    """The commit that is checked out, marked where files differ from it; empty outside of git."""
    command = ["git", "--no-optional-locks", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    except OSError:
        return ""


class Others:
    """Cores kept busy by other processes while a job ran, and cores taken by other virtual machines (Linux).

    Time near a benchmark that others use makes its number worse; the results keep it, so that it can be seen.
    """

    def __init__(self) -> None:
        self.start, self.busy, self.steal, self.own = time.perf_counter(), *_jiffies(), _own()

    def cores(self) -> dict[str, float | None]:
        seconds = time.perf_counter() - self.start
        busy, steal = _jiffies()
        if busy is None or self.busy is None or steal is None or self.steal is None:
            return {"others_cores": None, "stolen_cores": None}
        others = (busy - self.busy) - (_own() - self.own)
        return {"others_cores": max(0.0, others) / seconds, "stolen_cores": (steal - self.steal) / seconds}


def _jiffies() -> tuple[float | None, float | None]:
    """Seconds of work and of stolen time, summed over all cores since the start of the machine."""
    stat = Path("/proc/stat")
    if not stat.exists():
        return None, None
    user, nice, system, _idle, _wait, irq, soft, steal = map(int, stat.read_text().split("\n", 1)[0].split()[1:9])
    tick = os.sysconf("SC_CLK_TCK")
    return (user + nice + system + irq + soft) / tick, steal / tick


def _own() -> float:
    """CPU seconds of this process and of its children that have ended."""
    usages = (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    return sum(u.ru_utime + u.ru_stime for u in usages)
