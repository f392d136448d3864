"""Wall time from the start of Python to the end of ``import gdamn`` and of ``gdamn --help``."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from typing import Any

COMMANDS = {
    "python": ["-c", "pass"],
    "import": ["-c", "import gdamn"],
    "help": ["-m", "gdamn", "--help"],
}


def startup(count: int = 5) -> dict[str, Any]:
    """Best and median of ``count`` starts of each command, taken in turn after one start that isn't counted."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    found: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for turn in range(count + 1):
        for name, command in COMMANDS.items():
            start = time.perf_counter()
            subprocess.run([sys.executable, *command], check=True, stdout=subprocess.DEVNULL, env=environment)
            if turn:
                found[name].append(time.perf_counter() - start)
    return {
        "commands": {
            name: {"best": min(values), "median": statistics.median(values), "count": count}
            for name, values in found.items()
        }
    }
