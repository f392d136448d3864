"""Every setting is documented and checked, and every preset is one that the settings accept."""

from __future__ import annotations

import dataclasses
import inspect

import pytest

from gdamn import GDAMN, Settings
from gdamn.data import DATASETS
from gdamn.errors import ConfigError
from gdamn.estimators.registry import METHODS, make
from gdamn.model.settings import preset, presets

PRESETS = presets()["gdamn"]
KINDS = {cls.__name__: cls for cls in (m.estimator().settings_class for m in METHODS.values())}
FIELDS = [(cls, f) for cls in KINDS.values() for f in dataclasses.fields(cls)]
each = pytest.mark.parametrize(("cls", "field"), FIELDS, ids=[f"{c.__name__}.{f.name}" for c, f in FIELDS])


@each
def test_documented(cls, field):
    doc = field.metadata["doc"]
    assert len(doc) > 5
    assert doc.endswith((".", ")"))


@each
def test_default_is_valid(cls, field):
    assert cls.make(**{field.name: field.default}) == cls()


@each
def test_range(cls, field):
    low, high = field.metadata["low"], field.metadata["high"]
    kind = type(field.default)
    step = 1 if kind is int else 1e-9
    for bound, outside in ((low, -step), (high, step)):
        if bound is None:
            continue
        assert getattr(cls.make(**{field.name: kind(bound)}), field.name) == bound
        with pytest.raises(ConfigError, match=f"Setting '{field.name}'"):
            cls.make(**{field.name: kind(bound) + outside})


@each
def test_choices(cls, field):
    if field.type != "str" or not field.metadata["choices"]:
        return
    for choice in field.metadata["choices"]:
        assert getattr(cls.make(**{field.name: choice}), field.name) == choice
    with pytest.raises(ConfigError, match="must be one of"):
        cls.make(**{field.name: "something else"})


@each
def test_another_type_is_refused(cls, field):
    for wrong in (None, [1], b"x"):
        with pytest.raises(ConfigError, match=f"Setting '{field.name}' is .* must be of type"):
            cls.make(**{field.name: wrong})


@pytest.mark.parametrize("dataset", PRESETS)
def test_presets(dataset):
    assert dataset in DATASETS
    settings = Settings.make(**preset(dataset))
    for name, value in PRESETS[dataset].items():
        assert getattr(settings, name) == value
    assert GDAMN.preset(dataset).settings == settings


def test_a_preset_is_a_copy_and_an_unknown_one_is_empty():
    preset("cora")["hidden"] = 999
    assert PRESETS["cora"]["hidden"] != 999
    assert preset("nothing") == preset(None) == {}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dataset", [*DATASETS, None])
def test_every_method_has_valid_settings_for_every_data_set(method, dataset):
    model = make(method, dataset, seed=3)
    assert model.settings.seed == 3
    for name, value in METHODS[method].fixed.items():
        assert getattr(model.settings, name) == value


def test_overrides_win():
    assert make("gdamn", "cora", overrides={"hidden": 5}).settings.hidden == 5
    assert make("gdamn-no-hard", overrides={"hard": True}).settings.hard is True


def test_an_int_is_taken_for_a_float_but_not_the_other_way():
    value = Settings.make(learning_rate=1).learning_rate
    assert isinstance(value, float)
    with pytest.raises(ConfigError):
        Settings.make(hidden=16.0)


def test_settings_show_in_the_signature():
    assert list(inspect.signature(GDAMN).parameters) == Settings.names()
