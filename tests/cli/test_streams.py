"""Output that can't be written, and encodings that don't know every character."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from several import several
from typer.testing import CliRunner

from gdamn.cli import display
from gdamn.cli import root as cli

FULL = Path("/dev/full")
ASCII = ({"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONUTF8": "0"})


def called(
    words: str, out: Path | None = None, err: Path | None = None, **env: str
) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own, with its streams led into files."""
    with (out or Path(os.devnull)).open("w") as stdout, (err or Path(os.devnull)).open("w") as stderr:
        return subprocess.run(
            [sys.executable, "-m", "gdamn", *words.split()],
            stdout=stdout if out else subprocess.PIPE,
            stderr=stderr if err else subprocess.PIPE,
            encoding="utf-8",
            timeout=120,
            check=False,
            env={**os.environ, "NO_COLOR": "1", **env},
        )


@pytest.mark.skipif(not FULL.exists(), reason="no /dev/full")
@pytest.mark.parametrize("words", ["methods", "--help", "--version", "data info karate", "inspect karate --json"])
def test_a_full_disk_behind_the_output(words: str) -> None:
    done = called(words, out=FULL)
    assert done.returncode == 2
    assert done.stderr == "error: Can't print the output: the disk is full; free some space or choose another folder.\n"


@pytest.mark.skipif(not FULL.exists(), reason="no /dev/full")
def test_a_full_disk_behind_the_errors() -> None:
    assert called("methods", out=FULL, err=FULL).returncode == 2
    assert called("data info nosuch", err=FULL).returncode == 2


def test_streams_that_are_closed() -> None:
    code = (
        "import os, sys; os.close(1); os.close(2); os.execv(sys.executable, [sys.executable, '-m', 'gdamn', 'methods'])"
    )
    done = subprocess.run([sys.executable, "-c", code], timeout=120, check=False)
    assert done.returncode == 0


@pytest.mark.parametrize("env", ASCII, ids=lambda env: next(iter(env)))
def test_encodings_that_know_ascii_alone(env: dict[str, str], tmp_path: Path) -> None:
    nodes = "id,label,x\n" + "".join(f"nü{i},{'äö'[i % 2]},{i}\n" for i in range(20))
    (tmp_path / "n.csv").write_text(nodes, encoding="utf-8")
    (tmp_path / "e.csv").write_text("source,target\nnü0,nü1\nnü1,nü3\n", encoding="utf-8")
    files = f"{tmp_path / 'n.csv'} {tmp_path / 'e.csv'}"
    commands = [f"inspect {files}", f"inspect {files} --json", "data info nosüch"]
    shown, told, refused = several([command.split() for command in commands], **env)
    assert shown.code == 0, shown.err
    assert "| ?     |" in shown.out
    assert told.out.isascii()
    assert json.loads(told.out)["labels"]["classes"] == {"ä": 10, "ö": 10}  # JSON means the same
    assert refused.code == 2
    assert refused.err.startswith("error: There is no data set 'nos")


def test_a_file_whose_name_the_locale_cannot_read(tmp_path: Path) -> None:
    (tmp_path / "mü.csv").write_text("id,label\na,b\n")
    done = called(f"train {tmp_path}/mü.csv --edges {tmp_path}/mü.csv --out {tmp_path}/o", LC_ALL="C", PYTHONUTF8="0")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "PYTHONUTF8=1" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["mü.csv"]


def test_json_of_any_text(capsys: pytest.CaptureFixture[str]) -> None:
    display.print_json('"a\udcff"')
    assert capsys.readouterr().out == '"a\\udcff"\n'


def test_a_path_that_the_system_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a command forgets to ask before: one sentence."""

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", "some/file")

    monkeypatch.setattr(display, "show_rows", refuse)
    done = CliRunner().invoke(cli.app, ["methods"])
    assert done.exit_code == 2
    assert done.stderr == "error: Can't use 'some/file': Permission denied.\n"
