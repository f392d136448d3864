"""gdamn doctor: it finds a sound installation sound, and tells of what isn't."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from gdamn.cli import installation as doctor

pytestmark = pytest.mark.usefixtures("one_thread")


def found(name: str) -> doctor.Finding:
    return next(finding for finding in doctor.examine() if finding.name == name)


@pytest.fixture(autouse=True)
def no_data_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GDAMN_DATA", raising=False)


def test_as_a_process() -> None:
    done = subprocess.run([sys.executable, "-m", "gdamn", "doctor", "--json"], capture_output=True, check=False)
    assert done.returncode == 0, done.stdout
    told = json.loads(done.stdout)
    assert told["well"] is True
    findings = {finding["name"]: finding for finding in told["findings"]}
    assert list(findings) == list(doctor.CHECKS)
    assert {"torch", "numba", "safetensors"} <= set(findings["packages"]["facts"])
    assert 0 <= max(findings["kernels"]["facts"].values()) <= doctor.AGREE


def test_kernels_that_are_wrong_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    from gdamn.kernels import paths

    values = doctor._kernel_values

    def wrong() -> dict[str, object]:
        right = values()
        return {**right, "spmm": right["spmm"] + (0.01 if paths._forced == "fast" else 0)}

    monkeypatch.setattr(doctor, "_kernel_values", wrong)
    state, told, _ = doctor.kernels()
    assert state == doctor.BAD
    assert "spmm differs from torch by" in told


def test_kernels_that_give_nan_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    values = doctor._kernel_values
    monkeypatch.setattr(doctor, "_kernel_values", lambda: {**values(), "gram": values()["gram"] * float("nan")})
    assert doctor.kernels()[0] == doctor.BAD


def test_packages_outside_of_their_range_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    ranges = ["numpy>=999", "rich>=1", "no-such-thing>=1", 'optuna>=999; extra == "tune"']
    monkeypatch.setattr("importlib.metadata.requires", lambda name: ranges)
    state, told, facts = doctor.packages()
    assert state == doctor.BAD
    assert "is outside of >=999" in told
    assert "no-such-thing is missing" in told
    assert set(facts) == {"numpy", "rich", "no-such-thing"}


def test_a_data_root_that_is_not_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GDAMN_DATA", str(tmp_path / "none"))
    assert doctor.data()[0] == doctor.BAD
    monkeypatch.setenv("GDAMN_DATA", str(tmp_path))
    assert doctor.data()[:2] == (doctor.GOOD, f"in {tmp_path}")


def test_a_look_that_fails_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> doctor.Result:
        raise ImportError("no module\nnamed x")

    monkeypatch.setattr(doctor, "CHECKS", {"broken": broken})
    assert found("broken").state == doctor.BAD
    assert found("broken").told == "could not be checked: ImportError: no module named x"


def test_little_room_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "LEAST_DISK", 1e9)
    monkeypatch.setattr(doctor, "LEAST_MEMORY", 1e9)
    assert doctor.disk()[0] == doctor.WARN
    assert doctor.memory()[0] in (doctor.WARN, doctor.GOOD)
    if Path("/proc/meminfo").exists():
        assert doctor.memory()[0] == doctor.WARN
