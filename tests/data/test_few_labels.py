"""Few labels of own files all train; many give a fifth for validation; what is named, or stored earlier, stays."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gdamn.cli import file_options
from gdamn.data import files as own
from gdamn.data.held_out import FEW, FIFTH, validation_share
from gdamn.errors import ConfigError
from gdamn.runs.spec import RunSpec


def write(folder: Path, labels: list[str], split: list[str] | None = None) -> Path:
    """Two tables: a ring of nodes with these labels."""
    n = len(labels)
    head = "id,label,x" + (",part" if split else "")
    parts = [f",{part}" for part in split] if split else [""] * n
    rows = [f"n{i},{label},{i % 7}{parts[i]}" for i, label in enumerate(labels)]
    (folder / "nodes.csv").write_text("\n".join([head, *rows]) + "\n")
    edges = [f"n{i},n{(i + 1) % n}" for i in range(n)]
    (folder / "edges.csv").write_text("\n".join(["source,target", *edges]) + "\n")
    return folder / "nodes.csv"


def read(path: Path, **options):
    return own.load(path, edges=str(path.parent / "edges.csv"), **options)


@pytest.mark.parametrize(("each", "held"), [(FEW - 1, 0.0), (FEW, FIFTH)])
def test_the_rule_counts_labels_a_class_in_the_mean(each, held):
    labels = np.repeat([0, 1, -1], [2 * each - 10, 10, 30])
    assert validation_share("auto", labels >= 0, labels) == held
    assert validation_share(0.3, labels >= 0, labels) == 0.3
    assert validation_share("auto", labels >= 0, labels, test=0.1) == 0.0  # a test set leaves fewer


def test_few_labels_all_train_and_a_note_says_how_to_change_it(tmp_path):
    path = write(tmp_path, ["a", "b", ""] * 20)
    graph = read(path, val_share="auto")
    assert int(graph.train_mask.sum()) == 40
    assert not graph.val_mask.any()
    note = next(note for note in graph.meta["notes"] if note.startswith("Split:"))
    assert "all 40 labelled nodes train" in note
    assert "--val-share 0.2" in note
    assert int(read(path, val_share=0.25).val_mask.sum()) == 10
    assert int(read(path).val_mask.sum()) == 8  # what a stored run without the option did


def test_many_labels_give_a_fifth_the_same_nodes_as_before(tmp_path):
    path = write(tmp_path, ["a", "b"] * FEW)
    graph = read(path, val_share="auto")
    assert np.array_equal(graph.val_mask, read(path, val_share=0.2).val_mask)
    assert int(graph.val_mask.sum()) == FEW * 2 // 5


def test_a_test_set_is_held_out_of_few_labels_too(tmp_path):
    graph = read(write(tmp_path, ["a", "b"] * 20), val_share="auto", test_share=0.25)
    assert [int(graph.mask(part).sum()) for part in ("train", "val", "test")] == [30, 0, 10]
    assert "--val-share 0.2" in graph.meta["notes"][-1]


def test_a_split_column_without_validation_nodes_follows_the_rule(tmp_path):
    path = write(tmp_path, ["a", "b"] * 20, ["train", "train", "test", "test"] * 10)
    graph = read(path, split_column="part", val_share="auto")
    assert [int(graph.mask(part).sum()) for part in ("train", "val", "test")] == [20, 0, 20]
    assert int(read(path, split_column="part").val_mask.sum()) == 4


def test_train_records_the_rule_and_an_older_config_keeps_a_fifth(tmp_path):
    path = write(tmp_path, ["a", "b", ""] * 20)
    spec = RunSpec(str(path), options={"edges": str(tmp_path / "edges.csv")})
    new = file_options.settle(spec, {}, fresh=True, keep_few=True)
    assert new.options["val_share"] == "auto"
    assert file_options.settle(new, {}, fresh=False, keep_few=True) == new
    named = file_options.settle(spec, {"val_share": 0.4}, fresh=True, keep_few=True)
    assert named.options["val_share"] == 0.4
    compared = file_options.settle(spec, {}, fresh=True)
    assert "val_share" not in compared.options
    older = file_options.settle(compared, {}, fresh=False, keep_few=True)
    assert "val_share" not in older.options
    assert int(own.load(older.dataset, **older.options).val_mask.sum()) == 8


def test_other_words_are_no_share(tmp_path):
    with pytest.raises(ConfigError, match="val_share"):
        read(write(tmp_path, ["a", "b"] * 5), val_share="some")
