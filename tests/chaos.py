"""Kill gdamn's long commands at random moments, start them again, and compare what they leave with undisturbed runs.

    python tests/chaos.py --kills 100 --seed 0

Every round is a command in a folder of its own that is killed (SIGKILL) and started again until it ends; its files must
then be those of the undisturbed run, byte for byte, but for times and memory. Checkpoints are written every two epochs,
not every half minute, so that many kills fall into the writing of one. Most starts are forks of a process that has
everything imported, which is quick; one in eight is a new process, so that kills fall into its beginning, too.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import io
import json
import os
import random
import re
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FIT = [*("pretrain_epochs=12", "epochs=6", "em_iterations=2", "start=auto", "restart_q=true", "average=0.9")]
GRAPH = [*("num_nodes=90", "num_classes=3", "train_per_class=5", "val_per_class=5")]
SPACE = "pretrain_epochs = [6, 10]\nepochs = [4, 6]\nbeta = [0.2, 1.0]\nem_iterations = [2]\n"


def _options(name: str, pairs: list[str]) -> str:
    return " ".join(f"{name} {pair}" for pair in pairs)


OWN = f"{_options('--option', GRAPH)} {_options('--set', FIT)}"
PAPER = "--datasets karate --seeds 1"
COMMANDS = {
    "train": f"train sbm --seeds 2 {OWN}",
    "compare": f"compare sbm --methods gdamn,gcn,lpa --seeds 2 {OWN}",
    "tune": "tune karate --trials 3 --seeds 2 --space SPACE",
    "reproduce table2": f"reproduce table2 --methods gdamn,gmnn {PAPER} {_options('--set', FIT[:3])}",
    "reproduce fig6": f"reproduce fig6 {PAPER} --set epochs=6 --set gdamn.pretrain_epochs=8 "
    "--set gdamn.em_iterations=1",
    "reproduce convergence": f"reproduce convergence {PAPER} --set epochs=3 --set pretrain_epochs=6",
}
ORDER = [turn for last in list(COMMANDS)[3:] for turn in ("train", "compare", "tune", last)]
TIMES = {"seconds_per_seed", "peak_rss_mb", "seconds"}
IMPORTS = (
    "gdamn.cli",
    "gdamn.runs.run",
    "gdamn.estimators.gdamn",
    "gdamn.runs.tune",
)
IMPORTS += (
    "gdamn.report.page",
    "gdamn.report.comparison_plot",
    "gdamn.experiments.fig6",
    "optuna.samplers",
    "matplotlib.pyplot",
)


def often() -> None:
    """Checkpoints every two epochs."""
    from gdamn.fit import checkpoint

    checkpoint.EVERY_EPOCHS, checkpoint.EVERY_SECONDS, checkpoint.PHASE_SECONDS = 2, 0.0, 0.0


if __name__ == "__mp_main__":  # a worker of a command that this file runs
    often()


def run(words: list[str]) -> None:
    """Be the command."""
    from gdamn.cli import root as cli

    often()
    sys.argv = ["gdamn", *words]
    cli.main()


@dataclass
class Tally:
    """What happened."""

    kills: int = 0
    rounds: int = 0
    by_command: dict[str, int] = field(default_factory=dict)
    where: dict[str, int] = field(default_factory=dict)
    different: list[str] = field(default_factory=list)

    def count(self, command: str, what: str) -> None:
        self.kills += 1
        self.by_command[command] = self.by_command.get(command, 0) + 1
        self.where[what] = self.where.get(what, 0) + 1


class Started:
    """A command in a process that leads a group of its own."""

    def __init__(self, words: list[str], folder: Path, fresh: bool) -> None:
        self.told = folder / "stderr.txt"
        self.code: int | None = None
        self._alive, theirs = os.pipe()  # its end tells that the last worker has ended, too
        self.pid = os.fork()
        if self.pid == 0:
            self._child(words, theirs, fresh)
        os.close(theirs)

    def _child(self, words: list[str], alive: int, fresh: bool) -> None:
        """Become the command; never returns."""
        try:
            os.setsid()
            os.dup2(os.open(self.told, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            os.set_inheritable(alive, True)
            if fresh:
                os.execv(sys.executable, [sys.executable, __file__, "--run", *words])
            run(words)
            code = 0
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 1
        except BaseException as problem:  # told in its file, as a process of its own would
            print(repr(problem), file=sys.stderr)
            code = 99
        finally:
            sys.stderr.flush()
        os._exit(code)

    def wait(self, seconds: float | None, until_changed: Path | None = None) -> int | None:
        """The exit code; None where it isn't done in time, or before a file in the folder changes."""
        end = None if seconds is None else time.monotonic() + seconds
        before = state(until_changed)
        while self.code is None and state(until_changed) == before:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
            elif end is not None and time.monotonic() >= end:
                return None
            else:
                time.sleep(0.002)
        return self.code

    def kill(self, workers_too: bool) -> None:
        """End it without a farewell; workers that are spared must end by themselves."""
        (os.killpg if workers_too else os.kill)(self.pid, signal.SIGKILL)
        self.wait(None)

    def all_ended(self, seconds: float) -> bool:
        """Whether the last worker ended in time."""
        import select

        ready, _, _ = select.select([self._alive], [], [], seconds)
        os.close(self._alive)
        return bool(ready)


def state(out: Path | None) -> set[tuple[str, int]]:
    """The files of a folder with the times of their last change; no locks, which come and go."""
    found = set()
    for folder, _, names in os.walk(out) if out is not None else ():
        for name in names:
            with suppress(FileNotFoundError):
                found |= {(name, Path(folder, name).stat().st_mtime_ns)} if ".lock" not in name else set()
    return found


def content(out: Path) -> dict[str, str]:
    """A hash of every file of a folder, without times and memory."""
    return {str(path.relative_to(out)): _hash(path) for path in sorted(out.rglob("*")) if path.is_file()}


def _hash(path: Path) -> str:
    told = path.read_bytes()
    if path.suffix == ".json":
        told = json.dumps(timeless(json.loads(told))).encode()
    elif path.suffix == ".csv":
        rows = list(csv.DictReader(io.StringIO(told.decode())))
        told = json.dumps(timeless(rows)).encode()
    elif path.name == "compare.md":  # the last column has the seconds
        told = re.sub(rb"\| [\d.]+ \|$", b"|", told, flags=re.MULTILINE)
    elif path.suffix == ".html":
        told = b"a page" if len(told) > 1000 and told.rstrip().endswith(b"</html>") else b"no page"
    elif path.suffix == ".journal":  # of Optuna, with times and given-up trials; trials.jsonl has what came out
        told = b"a journal" if told.endswith(b"\n") else b"half a journal"
    return hashlib.sha256(told).hexdigest()


def timeless(value: Any) -> Any:
    """Plain data without the entries that differ each time."""
    if isinstance(value, dict):
        return {name: timeless(item) for name, item in value.items() if name not in TIMES}
    return [timeless(item) for item in value] if isinstance(value, list) else value


def moment(out: Path) -> str:
    """Roughly where a command is, by what its folder holds."""
    names = [path.name for path in out.rglob("*")] if out.exists() else []
    if any(re.fullmatch(r"\.[^.]+-[a-z0-9_]{8}\.\w+", name) for name in names):
        return "while a file was written"
    if any(name.endswith(".checkpoint") for name in names):
        return "within a fit that has a checkpoint"
    if any(re.fullmatch(r"seed-\d+\.json|summary\.json|value\.json|trials\.jsonl", name) for name in names):
        return "between two fits, or while results were written"
    return "before the first fit, or between two trials"


class Chaos:
    """The commands, what each leaves when nobody disturbs it, and how long it takes."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.luck, self.tally = folder, random.Random(seed), Tally()
        self.expected: dict[str, dict[str, str]] = {}
        self.seconds: dict[str, float] = {}
        (folder / "space.toml").write_text(SPACE)

    def words(self, command: str, out: Path, jobs: int) -> list[str]:
        """The command line."""
        words = [str(self.folder / "space.toml") if word == "SPACE" else word for word in COMMANDS[command].split()]
        return [*words, "--jobs", str(jobs), "--out", str(out)]

    def undisturbed(self, command: str) -> None:
        """Run it once to its end."""
        out = self.folder / f"undisturbed {command}"
        started = Started(self.words(command, out, 1), self.folder, fresh=False)
        started.wait(None, until_changed=out)
        begun = time.monotonic()
        if started.wait(None):
            raise SystemExit(f"The undisturbed {command} failed:\n{started.told.read_text()}")
        self.expected[command], self.seconds[command] = content(out), time.monotonic() - begun

    def attempt(self, command: str, out: Path, kill: bool) -> bool:
        """Start the command, and kill it at a random moment where asked; whether it came to its end.

        One kill in five may fall anywhere; the others come after the command has written its first file.
        """
        luck = self.luck
        jobs, fresh = luck.choice([1, 1, 1, 1, 1, 2]), luck.random() < 1 / 8
        started = Started(self.words(command, out, jobs), self.folder, fresh)
        anywhere, patience = luck.random() < 1 / 5, luck.random() * self.seconds[command]
        if not anywhere:
            started.wait(None, until_changed=out)
        if started.wait(patience if kill else None) is None:
            started.kill(workers_too=luck.random() < 0.5)
            self.tally.count(command, moment(out))
        if not started.all_ended(20):
            raise SystemExit(f"Workers of {command} are still there 20 s after it was killed.")
        if started.code not in (0, -signal.SIGKILL):
            raise SystemExit(f"{command} failed with code {started.code}:\n{started.told.read_text()}")
        return started.code == 0

    def rounds(self, kills: int, each: int, order: list[str]) -> Iterator[Tally]:
        """Kill so many times, the commands in turn, each so many times a round; gives the tally after every start."""
        while self.tally.kills < kills:
            command = order[self.tally.rounds % len(order)]
            if command not in self.expected:
                self.undisturbed(command)
            out, left = self.folder / f"round-{self.tally.rounds}", min(each, kills - self.tally.kills)
            before = self.tally.kills
            while not self.attempt(command, out, kill=self.tally.kills - before < left):
                yield self.tally
            found, expected = content(out), self.expected[command]
            self.tally.different += [
                f"{command}: {name}" for name in sorted({*found, *expected}) if found.get(name) != expected.get(name)
            ]
            self.tally.rounds += 1
            yield self.tally


def main() -> int:
    """Entry of ``make chaos``."""
    reader = argparse.ArgumentParser(description="Kill gdamn at random moments and compare what it leaves.")
    reader.add_argument("--kills", type=int, default=100)
    reader.add_argument("--seed", type=int, default=0)
    reader.add_argument("--each", type=int, default=4, help="kills of a command before it may end")
    reader.add_argument("--commands", default=",".join(ORDER), help="which, in this order, again and again")
    reader.add_argument("--run", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    asked = reader.parse_args()
    os.environ.update(NO_COLOR="1", OMP_WAIT_POLICY="PASSIVE", OMP_NUM_THREADS="1", NUMBA_NUM_THREADS="1")
    if asked.run:
        run(asked.run)
        return 0
    for name in IMPORTS:
        __import__(name)
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        tally = Tally()
        for tally in Chaos(Path(folder), asked.seed).rounds(asked.kills, asked.each, asked.commands.split(",")):
            print(f"\r{tally.kills} kills, {tally.rounds} rounds", end="", flush=True)
    print(f"\n{tally.kills} kills in {tally.rounds} runs, {time.monotonic() - begun:.0f} s")
    for counted in (tally.by_command, tally.where):
        for what, count in sorted(counted.items()):
            print(f"  {count:4} {what}")
    print("different: " + ", ".join(tally.different) if tally.different else "every file as in the undisturbed runs")
    return 1 if tally.different else 0


if __name__ == "__main__":
    sys.exit(main())
