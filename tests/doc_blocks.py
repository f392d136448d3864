"""Blocks of Markdown pages, and the ways to run them: commands of gdamn within this process, all else in a shell."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from gdamn.cli import root as cli

Words = list[str]


class Block(NamedTuple):
    """What stands between two fences.

    Attributes:
        kind: the language that the fence names; empty where it names none.
        line: of the page, where it begins.
    """

    kind: str
    text: str
    line: int

    @property
    def file(self) -> str:
        """The name of the file that its first line says it is; empty for others."""
        found = re.match(r"# ([\w/]+\.\w+)\n", self.text)
        return found[1] if found else ""


def blocks(page: Path) -> list[Block]:
    """All blocks of a page, in their order."""
    text = page.read_text(encoding="utf-8")
    found = re.finditer(r"^```(\w*)\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    return [Block(each[1], each[2], text[: each.start()].count("\n") + 1) for each in found]


def steps(script: str) -> Iterator[str]:
    """The commands of gdamn one by one, and what stands between them in one piece, without comments before it."""
    between: list[str] = []
    for line in [*script.splitlines(), "gdamn "]:
        if line.startswith("gdamn "):
            if between:
                yield "\n".join(between)
            between = []
            if line.strip() != "gdamn":
                yield line
        elif between or (line.strip() and not line.startswith("#")):
            between.append(line)


def called(line: str, monkeypatch: pytest.MonkeyPatch, changed: Callable[[Words], Words]) -> None:
    """A command of gdamn, its words changed to fewer epochs or the like; one meant to fail says with which code."""
    text, _, otherwise = line.partition(" || test $? -eq ")
    monkeypatch.setattr(sys, "argv", changed(shlex.split(text, comments=True)))
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert (ended.value.code or 0) == int(otherwise or 0), line


def in_a_shell(script: str, folder: Path) -> None:
    """Any other commands, as they stand."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    command = ["bash", "-euo", "pipefail", "-c", script]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=folder, env={**os.environ, "PATH": path}, timeout=300, check=False
    )
    assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}"
    print(done.stdout)
