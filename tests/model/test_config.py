"""Every setting is documented and checked, and every preset is one that the settings accept."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle

import numpy as np
import pytest

from gdamn import GDAMN, Settings
from gdamn.data import DATASETS
from gdamn.errors import ConfigError
from gdamn.estimators.registry import METHODS, make
from gdamn.model.plus_settings import PlusSettings
from gdamn.model.presets import preset, presets
from gdamn.model.removed_settings import REMOVED, removed_from
from gdamn.model.setting import checked, kinds_of, setting
from gdamn.model.settings import BaseSettings

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
    default = checked(field, field.default, kinds_of(cls)[field.name])
    assert default == field.default
    assert type(default) is type(field.default)


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


MAKERS = {
    "constructor": lambda cls, **values: cls(**values),
    "make": lambda cls, **values: cls.make(**values),
    "replace": lambda cls, **values: dataclasses.replace(cls(), **values),
}
every_maker = pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS)


@every_maker
@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"hiden": 3}, r"There is no setting 'hiden'; did you mean hidden\?"),
        ({"hidden": "3"}, "Setting 'hidden' is '3', but it must be of type int."),
        ({"hidden": 0}, "Setting 'hidden' is 0, but it must be at least 1."),
        ({"hidden": True}, "Setting 'hidden' is True, but it must be of type int."),
        ({"kl_per": "graph"}, "Setting 'kl_per' is 'graph', but it must be one of edge, node."),
        ({"beta": "best"}, "Setting 'beta' is 'best', but it must be a number or auto."),
        ({"lambda_": float("nan")}, "Setting 'lambda_' is nan, but it must be at least 0."),
        ({"device": "meta"}, "Setting 'device' is 'meta', which holds no numbers; choose cpu or auto."),
    ],
)
def test_settings_check_themselves_however_they_are_made(maker, values, sentence):
    for cls in (Settings, PlusSettings):
        with pytest.raises(ConfigError, match=f"^{sentence}$"):
            maker(cls, **values)


@every_maker
def test_values_get_their_own_type_however_they_are_made(maker):
    made = maker(Settings, learning_rate=1, hidden=np.int64(3), beta=np.float32(0.5))
    assert [type(v) for v in (made.learning_rate, made.hidden, made.beta)] == [float, int, float]
    assert made == Settings(learning_rate=1.0, hidden=3, beta=0.5)


def test_settings_survive_copies_and_pickles():
    made = Settings(hidden=3)
    assert copy.deepcopy(made) == pickle.loads(pickle.dumps(made)) == made


OLD = [(cls, name, old) for cls in KINDS.values() for name, old in removed_from(cls).items() if name not in cls.names()]


@pytest.mark.parametrize(("cls", "name", "old"), OLD, ids=[f"{cls.__name__}.{name}" for cls, name, _ in OLD])
def test_a_removed_setting_is_read_at_its_old_default_alone(cls, name, old):
    assert cls.make(**{name: old}) == cls()
    for maker in (cls, cls.make):
        with pytest.raises(
            ConfigError, match=f"^Setting '{name}' was removed, since .* default, {old!r}, is what.*\\.$"
        ):
            maker(**{name: "something else"})


def test_what_was_removed_is_a_setting_of_no_class_that_had_it():
    classes = {base.__name__: base for cls in KINDS.values() for base in cls.__mro__}
    for name, removed in REMOVED.items():
        assert not removed.keys() & set(classes[name].names())


def test_a_subclass_may_have_fields_that_are_its_own_to_check():
    @dataclasses.dataclass(frozen=True)
    class Mine(BaseSettings):
        widths: tuple[int, ...] = (1, 2)
        scale: float = setting(1.0, "A number without a range.")

    assert Mine(widths=(3,)).widths == (3,)
    with pytest.raises(ConfigError, match="Setting 'scale' is nan, but it must be a number"):
        Mine(scale=float("nan"))


def test_settings_show_in_the_signature():
    assert list(inspect.signature(GDAMN).parameters) == Settings.names()
