"""Tables at 80 columns, the bar of a run, and what a warning looks like."""

from __future__ import annotations

import io
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.text import Text

from gdamn.cli import display
from gdamn.cli.progress import Plan, ProgressView
from gdamn.cli.tables import make_table, middle

IDS = ("https://library.example.org/collection/paper-10", "https://library.example.org/collection/paper-11")


def drawn(width: int, *arguments: object) -> list[str]:
    stream = io.StringIO()
    Console(file=stream, width=width, highlight=False).print(make_table(*arguments, width))  # type: ignore[arg-type]
    return stream.getvalue().splitlines()


@pytest.mark.parametrize("wrap", [True, False])
def test_numbers_and_both_ends_of_ids_stay(wrap: bool) -> None:
    names = ("neighbour", "label", "confidence", "hard", "soft", "stable", "adds", "share")
    rows = [(name, "birds of the north", "99.6 %", "0.925", "0.176", "0.163", "+0.895", "16.1 %") for name in IDS]
    lines = drawn(80, "What counted", names, rows, names[2:], wrap)
    assert max(map(len, lines)) <= 80
    text = "\n".join(lines)
    assert text.count("99.6 %   0.925   0.176    0.163   +0.895   16.1 %") == 2
    assert all(each in text for each in ("-10", "-11", *names))


def test_the_widest_text_gives_way_and_breaks_between_words() -> None:
    long = "citations of machine learning papers with bags of words as features and a public split of their own"
    lines = drawn(60, "Data", ("name", "edges", "description"), [("cora", "5,278", long)], ("edges",), True)
    assert max(map(len, lines)) <= 60
    words = " ".join(line[17:].strip() for line in lines[4:]).split()
    assert words == long.split()
    assert any("cora" in line and "5,278" in line for line in lines)


@given(st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=60), st.integers(8, 30))
def test_a_shortened_text_has_its_ends(text: str, width: int) -> None:
    short = middle(text, width)
    assert len(short) <= max(width, len(text) if len(text) <= width else width)
    assert short == text or (short[0] == text[0] and short[-1] == text[-1] and "…" in short)
    assert middle(f"{'long' * 9} 99.5 %", width).endswith(" 99.5 %" if width >= 8 else "%")


def test_a_warning_is_yellow_where_there_is_colour(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(display, "console", lambda stderr=False: Console(file=stream, force_terminal=True, width=80))
    display.warning("too few nodes")
    assert stream.getvalue().startswith("\x1b[1;33mWarning: \x1b[0m")
    monkeypatch.undo()
    display.warning("too few nodes")
    assert capsys.readouterr().out == "Warning: too few nodes\n"


def test_cells_may_have_colour() -> None:
    table = make_table("t", ("a", "b"), [("x", Text("1", style="green"))], ("b",), True, 80)
    assert next(iter(table.columns[1].cells)).style == "green"  # type: ignore[union-attr]


def phases(view: ProgressView, task: int, names: list[tuple[str, int]]) -> list[float]:
    """The share that is done after every epoch."""
    shares = []
    for name, epochs in names:
        for epoch in range(epochs):
            view.update(task, name, epoch, epochs, {})
            done, total = view.whole()
            shares.append(done / total)
    return shares


def test_the_share_of_a_run_only_rises_and_ends_at_one(capsys: pytest.CaptureFixture[str]) -> None:
    settings = SimpleNamespace(judge_edges=False, start="auto", pretrain_epochs=4, em_iterations=2, epochs=3)
    view = ProgressView()
    view.expect(2, Plan.of(settings))
    pretraining = [(f"pre-train{name}", 4) for name in ("", " (similar)", " (features)")]
    em = [(f"{step} {iteration}", 3) for iteration in (1, 2) for step in ("M-step", "E-step")]
    shares = phases(view, 0, pretraining + em)
    assert shares == sorted(shares)
    assert shares[-1] == 0.5
    assert shares[0] == pytest.approx(1 / 48)
    later = phases(view, 1, pretraining + em)
    assert [*shares, *later] == sorted([*shares, *later])
    assert later[-1] == 1
    assert capsys.readouterr().err.splitlines()[0] == "seed 0: pre-train, 4 epochs"


def test_a_fit_that_ends_early_counts_as_whole_when_the_next_begins() -> None:
    view = ProgressView()
    view.expect(2, Plan(1, 4, 2, 3))
    phases(view, 0, [("pre-train", 4), ("M-step 1", 3), ("E-step 1", 3)])
    assert phases(view, 1, [("pre-train", 4), ("M-step 1", 3), ("E-step 1", 3)])[-1] == pytest.approx(20 / 26)


def test_few_labels_have_one_pre_training() -> None:
    settings = SimpleNamespace(judge_edges=True, start="auto", pretrain_epochs=10, em_iterations=1, epochs=5)
    assert Plan.of(settings).later("pre-train (multihop)", 1) == 10
    assert Plan.of(settings).later("pre-train", 1) == 50
    assert Plan.of(SimpleNamespace(epochs=200)).later("train", 1) == 0


def test_every_file_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("summary.json", "report.html", ".gdamn.json", "seed-0/model.gdamn", "seed-1/model.gdamn"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    display.show_written(tmp_path)
    said = capsys.readouterr().out
    assert said == (
        f"Written to {tmp_path}: report.html, summary.json\n"
        f"Written to {tmp_path / 'seed-0'} (and for 1 more): model.gdamn\n"
    )
