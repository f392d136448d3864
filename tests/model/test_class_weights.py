"""class_weight: its text, its sentences, and the weights that it means."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.utils.class_weight import compute_class_weight

from gdamn import GDAMN
from gdamn.cli.parsing import parse_pairs
from gdamn.errors import ConfigError
from gdamn.model.class_weights import as_text, class_weights, parse
from gdamn.model.settings import Settings

NAMES = ("ham", "spam", "a=b, c")
LABELS = np.array([0] * 9 + [1] * 3 + [2])
COUNTS = np.bincount(LABELS, minlength=len(NAMES))


@pytest.mark.parametrize("value", ["spam=3,ham=1", " spam = 3 , ham=1.0", {"spam": 3, "ham": np.float32(1)}])
def test_a_dict_and_a_text_are_one_setting(value):
    assert Settings.make(class_weight=value).class_weight == "spam=3,ham=1"
    assert GDAMN(class_weight=value).get_params()["class_weight"] == "spam=3,ham=1"


@pytest.mark.parametrize("text", ["balanced", "none", "spam=3,ham=1", '"a=b, c"=2.5', "a=b=2", "1=3,0=1", "é=1e-3"])
def test_the_command_line_gives_the_same_text(text):
    assert as_text(parse_pairs("--set", [f"class_weight={text}"])["class_weight"]) == as_text(text)


weights = st.floats(min_value=0, exclude_min=True, allow_nan=False, allow_infinity=False)


@given(st.dictionaries(st.text(), weights, min_size=1))
def test_every_name_and_weight_comes_back_from_the_text(named):
    text = as_text(named)
    assert parse(text) == named
    assert as_text(text) == text


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ("spam=0", "the class 'spam' the weight '0', but a weight must be a positive, finite number"),
        ("spam=-1", "positive, finite number"),
        ("spam=nan", "positive, finite number"),
        ("spam=inf,ham=1", "positive, finite number"),
        ("spam=much", "the weight 'much'"),
        ({"spam": True}, "positive, finite number"),
        ({"spam": None}, "positive, finite number"),
        ({}, "is empty, but it must be none, balanced, or weights by class name"),
        ("", "is empty"),
        ("even", "must be none, balanced, or weights by class name such as spam=3,ham=1"),
        ("spam=1,spam=2", "names the class 'spam' twice"),
        (3.0, "must be of type str or dict"),
    ],
)
def test_what_is_no_weight_is_refused_in_one_sentence(value, sentence):
    with pytest.raises(ConfigError, match=sentence) as raised:
        GDAMN(class_weight=value)
    assert "\n" not in str(raised.value)


def test_balanced_is_that_of_scikit_learn():
    wanted = compute_class_weight("balanced", classes=np.arange(3), y=LABELS)
    np.testing.assert_allclose(class_weights("balanced", NAMES, COUNTS), wanted)
    assert class_weights("none", NAMES, COUNTS) is None


def test_a_class_without_a_training_label_weighs_nothing():
    found = class_weights("balanced", (*NAMES, "never"), np.append(COUNTS, 0))
    np.testing.assert_allclose(found[:3], class_weights("balanced", NAMES, COUNTS))
    assert found[3] == 0
    assert class_weights("never=1e300", (*NAMES, "never"), np.append(COUNTS, 0)).tolist() == [1, 1, 1, 0]


@pytest.mark.parametrize("text", ["spam=3", 'ham=0.1,"a=b, c"=40', "ham=1e308,spam=1e308", "spam=1e-300"])
def test_named_weights_keep_their_ratios_and_a_mean_of_one(text):
    found, named = class_weights(text, NAMES, COUNTS), parse(text)
    assert found[LABELS].mean() == pytest.approx(1)
    asked = np.array([named.get(name, 1.0) for name in NAMES])
    np.testing.assert_allclose(found / found.max(), asked / asked.max())


def test_a_class_that_is_not_there_is_refused():
    with pytest.raises(ConfigError, match="names the class 'eggs', but the graph's are ham, spam, a=b, c"):
        class_weights("eggs=2", NAMES, COUNTS)
