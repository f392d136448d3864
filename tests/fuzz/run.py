"""Fuzz every reader of gdamn with Atheris for some minutes in all: python tests/fuzz/run.py --minutes 60.

The time is shared out equally, in rounds. Each turn of a target is a forked process of its own, because libFuzzer never
returns and a crash ends it. An error that isn't gdamn's own is written down with the input that led to it, once per
place, and the fuzzing goes on; crashes, inputs that take too long and those that need too much memory end the turn, and
libFuzzer keeps them. All of them are in WORK/found, and the exit code is 1 where there are any.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import importlib
import io
import json
import logging
import os
import re
import resource
import shutil
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any

import atheris

GUIDES = ["gdamn", "zipfile", "tomllib", "csv"]
COMPILED = ["gdamn.fit.domains", "gdamn.kernels"]
"""Whose branches guide the fuzzer; what Numba compiles must stay as it is."""

HEAVY = (
    *("torch_geometric.data", "sklearn.feature_extraction.text", "scipy.sparse.linalg", "matplotlib.figure", "pandas"),
    *(
        "gdamn.estimators.gdamn",
        "gdamn.data.files.npz",
        "gdamn.data.files.torch_file",
        "gdamn.data.files.graphml",
    ),
)
"""What readers import when they need it, and every turn would import again."""

with contextlib.redirect_stderr(io.StringIO()), atheris.instrument_imports(include=GUIDES, exclude=COMPILED):
    from fuzz_kinds import Target, attempt
    from fuzz_targets import TARGETS

    for each in HEAVY:
        importlib.import_module(each)

LONGEST = 16_384
SECONDS = 20
MEGABYTES = 3_000
"""Of one input: how long it is, how long it may take, and how much memory more than at the start."""

TURN = 30
"""Seconds that a target has before the next one's turn."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10, help="of fuzzing in all; what starts up comes on top")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--work", type=Path, default=Path("build/fuzz"), help="folder for the inputs")
    parser.add_argument("--target", action="append", choices=list(TARGETS), help="only this one; may be given again")
    options = parser.parse_args()
    work = options.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    chosen = [TARGETS[name] for name in options.target or TARGETS]
    left = round(60 * options.minutes)
    rows: dict[str, dict[str, Any]] = {each.name: {"inputs": 0, "seconds": 0, "found": []} for each in chosen}
    turn = 0
    while left > 0:
        target = chosen[turn % len(chosen)]
        seconds = max(1, min(TURN, left, round(60 * options.minutes / len(chosen))))
        found = take_turn(target, seconds, options.seed + turn, work, rows[target.name])
        turn, left = turn + 1, left - seconds
        total = sum(row["inputs"] for row in rows.values())
        print(f"{turn:4} {target.name:20} {total:>12,} inputs in all, {left} s left", flush=True)
        for each in found:
            print(f"     FOUND {each}", flush=True)
        (work / "summary.json").write_text(json.dumps(rows, indent=2), encoding="utf-8")
    for name, row in rows.items():
        print(f"{name:20} {row['inputs']:>12,} inputs in {row['seconds']} s, {len(row['found'])} found")
    return 1 if any(row["found"] for row in rows.values()) else 0


def take_turn(target: Target, seconds: int, seed: int, work: Path, row: dict[str, Any]) -> list[str]:
    """Fuzz a target in a process of its own, and add what it did to its row; what is new is returned."""
    log = work / f"{target.name}.log"
    fast = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(prefix="gdamn-fuzz-", dir=fast if os.access(fast, os.W_OK) else work))
    child = os.fork()
    if child == 0:
        handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        os.dup2(handle, 1)
        os.dup2(handle, 2)
        fuzz(target, seconds, seed, work, folder)
        os._exit(70)  # libFuzzer never returns
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    shutil.rmtree(folder, ignore_errors=True)
    text = log.read_text(encoding="utf-8", errors="replace")
    executed = re.findall(r"stat::number_of_executed_units:\s*(\d+)", text) or re.findall(r"^#(\d+)\s", text, re.M)[-1:]
    row["inputs"] += sum(map(int, executed))
    taken = re.findall(r"Done \d+ runs in (\d+) second", text)
    row["seconds"] += int(taken[0]) if taken else 0  # a turn that ended early isn't counted
    found = re.findall(r"^FOUND (.*)$", text, re.MULTILINE)
    if code != 0:
        lines = [line for line in text.splitlines() if "ERROR" in line or "Error" in line] or ["it ended"]
        found.append(f"code {code}: {lines[-1].strip()}")
        shutil.copy(log, log.with_suffix(f".{seed}.log"))
    row["found"] += found
    return found


def fuzz(target: Target, seconds: int, seed: int, work: Path, folder: Path) -> None:
    """What a turn's process does."""
    logging.disable(logging.CRITICAL)
    corpus, kept = work / "corpus" / target.name, work / "found" / target.name
    for path in (corpus, kept):
        path.mkdir(parents=True, exist_ok=True)
    for content in target.seeds():
        (corpus / hashlib.sha256(content).hexdigest()[:16]).write_bytes(content)
        attempt(target, folder, content)  # what is imported and compiled on first use is there before memory is limited
    words = work / f"{target.name}.dict"
    words.write_text("".join(f'"{_quoted(word)}"\n' for word in target.words), encoding="utf-8")
    limit_memory()
    seen: set[str] = set()

    def one_input(content: bytes) -> None:
        try:
            attempt(target, folder, content)
        except Exception as problem:
            place = where(problem)
            if place not in seen:
                seen.add(place)
                (kept / hashlib.sha256(content).hexdigest()[:12]).write_bytes(content)
                print(f"FOUND {place}: {str(problem)[:200]!r}", flush=True)
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()

    flags = [
        *(f"-max_total_time={seconds}", f"-seed={seed}", f"-max_len={LONGEST}", "-print_final_stats=1"),
        *(f"-timeout={SECONDS}", f"-rss_limit_mb={2 * MEGABYTES}", f"-artifact_prefix={kept}/"),
        *([f"-dict={words}"] if target.words else []),
        *("-len_control=0", str(corpus)),
    ]
    atheris.Setup([sys.argv[0], *flags], one_input)
    atheris.Fuzz()


def where(problem: BaseException) -> str:
    """The kind of an error and its last place in gdamn: what is found there again is no news."""
    frames = [each for each in traceback.extract_tb(problem.__traceback__) if "/gdamn/" in each.filename]
    place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "the target"
    return f"{type(problem).__name__} at {place}"


def _quoted(word: str) -> str:
    """A word as libFuzzer's dictionaries have it; \\xHH stays."""
    return word if word.startswith("\\x") else word.replace("\\", "\\\\").replace('"', '\\"')


def limit_memory() -> None:
    """An input that asks for gigabytes gets a MemoryError, which is no error of gdamn's own."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    most = pages * resource.getpagesize() + (MEGABYTES << 20)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


if __name__ == "__main__":
    sys.exit(main())
