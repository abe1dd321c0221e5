"""save and load: the same model bit for bit, in a file that is replaced whole or not at all."""

import os
import stat
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import tallybayes
from estimators.cases import (
    GENERATIVE,
    PREDICTING,
    assert_same_predictions,
    every,
    rows,
    saved,
    state,
    unchanged,
)
from tallybayes import (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianNB,
    MultinomialNB,
)
from tallybayes.errors import ModelFileError

LABELS = {
    "int": [3, 1, 2],
    "int8": np.array([3, 1, 2], dtype=np.int8),
    "uint64": np.array([2**63 + 5, 1, 2], dtype=np.uint64),
    "float": [2.0**60, 1.0, -3.0],
    "bool": [True, False],
    "str": ["tea", "café", "牛奶"],
    "object": np.array(["tea", "", "mil\x00k"], dtype=object),
    "tricky": ['"sha256":"' + "0" * 64, "\\", "\n 🍵"],
}
DECLARED = {"levels": [["a", "b", "c", "d", "e"], [0, 1, 2, 3, 4], [0.0, 1.5], [False, True]]}
VARIANTS = [
    pytest.param(GaussianNB, {}, id="Gaussian"),
    pytest.param(GaussianNB, {"var_smoothing_of": "feature", "class_alpha": 1}, id="of feature"),
    pytest.param(GaussianNB, {"priors": np.array([0.2, 0.3, 0.5])}, id="prior array"),
    pytest.param(GaussianNB, {"priors": (0.2, 0.3, 0.5)}, id="prior tuple"),
    pytest.param(MultinomialNB, {"alpha": [0.1, 0.2, 0.3, 0.4]}, id="alpha list"),
    pytest.param(MultinomialNB, {"alpha": np.float32([0.1, 0.2, 0.3, 0])}, id="alpha float32"),
    pytest.param(MultinomialNB, {"alpha": np.float64(0.1), "fit_prior": False}, id="uniform"),
    pytest.param(ComplementNB, {"norm": True, "alpha": 1 / 3}, id="Complement"),
    pytest.param(ComplementNB, {"alpha": np.array([0.1, 0.2, 0.3, 0.0])}, id="Complement array"),
    pytest.param(BernoulliNB, {"binarize": 1.5, "alpha": 0.0}, id="Bernoulli"),
    pytest.param(BernoulliNB, {"binarize": None}, id="Bernoulli of bits"),
    pytest.param(CategoricalNB, {"unseen": "ignore"}, id="Categorical"),
    pytest.param(CategoricalNB, {"min_categories": np.array([5, 6, 7, 8])}, id="least levels"),
    pytest.param(CategoricalNB, DECLARED, id="declared"),
]


def trained(NB, params, labels=(0, 1, 2), dtype=np.float64):
    """A model with these parameters, and rows that it reads."""
    x, y = rows(classes=np.arange(len(labels)), dtype=dtype)
    y = np.asarray(labels)[y]
    if params.get("binarize", 0) is None:
        x = x % 2
    if params.get("levels"):
        x = pd.DataFrame(x.astype(int), columns=["w", "x", "y", "z"])
        x["w"] = x["w"].map(dict(enumerate("abcde")))
        x["y"], x["z"] = 1.5 * (x["y"] % 2), x["z"] > 2
    return NB(**params).fit(x, y), x, y


# ---- there and back again ----------------------------------------------------------------------
@pytest.mark.parametrize(("NB", "params"), VARIANTS)
@pytest.mark.filterwarnings("ignore::tallybayes.errors.RuledOutWarning")
def test_a_loaded_model_is_the_saved_one_bit_for_bit(NB, params, tmp_path):
    model, x, y = trained(NB, params)
    with unchanged(model):
        path = saved(model, tmp_path)
    loaded = tallybayes.load(path)
    assert type(loaded) is NB
    assert_same_predictions(loaded, model, x)
    assert loaded.tally_ == model.tally_
    for name, value in model.get_params().items():
        again = loaded.get_params()[name]
        assert np.array_equal(np.array(again, dtype=object), np.array(value, dtype=object)), name
        assert type(again) is type(value) or isinstance(value, np.generic), name
    held, again = state(model), state(loaded)
    assert {k: v for k, v in held.items() if k in ("counts", "schema", "reading")} == {
        k: v for k, v in again.items() if k in ("counts", "schema", "reading")
    }
    if NB in GENERATIVE:
        assert loaded.score_samples(x).tolist() == model.score_samples(x).tolist()
        assert np.array_equal(
            loaded.sample(9, random_state=0)[0], model.sample(9, random_state=0)[0]
        )
    loaded.partial_fit(x, y).forget(x, y)  # and goes on
    assert state(loaded + model).keys() == held.keys()


@every()
@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_labels_of_any_type_come_back(NB, labels, tmp_path):
    model, x, _ = trained(NB, {}, labels)
    loaded = tallybayes.load(saved(model, tmp_path))
    assert loaded.classes_.dtype == model.classes_.dtype
    assert loaded.classes_.tolist() == model.classes_.tolist()
    assert_same_predictions(loaded, model, x)


@every()
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_attributes_follow_the_same_type_of_x(NB, dtype, tmp_path):
    model, x, _ = trained(NB, {}, dtype=dtype)
    loaded = tallybayes.load(saved(model, tmp_path))
    assert_same_predictions(loaded, model, x)
    if NB is GaussianNB:
        assert loaded.theta_.dtype == model.theta_.dtype


@every()
def test_what_was_learned_forgotten_and_merged_is_saved(NB, tmp_path):
    x, y = rows(n=90)
    model = NB().fit(x[:60], y[:60]).partial_fit(x[60:], y[60:], sample_weight=np.full(30, 0.3))
    model.forget(x[:9], y[:9]).merge(NB().fit(x, y + 1))
    model = model.with_class_prior([0.1, 0.2, 0.3, 0.4])
    loaded = tallybayes.load(saved(model, tmp_path))
    assert loaded.tally_ == model.tally_
    assert_same_predictions(loaded, model, x)


@every()
def test_a_file_is_as_large_for_many_rows_as_for_few(NB, tmp_path):
    x, y = rows(n=1_000)
    few, many = NB().fit(x, y), NB().fit(np.tile(x, (1_000, 1)), np.tile(y, 1_000))
    assert few.class_count_.sum() == 1_000
    assert many.class_count_.sum() == 1_000_000
    few.save(tmp_path / "few")
    many.save(tmp_path / "many")
    assert (tmp_path / "few").stat().st_size == (tmp_path / "many").stat().st_size


def test_a_path_may_be_a_string_and_in_this_directory(tmp_path, monkeypatch):
    model, x, _ = trained(GaussianNB, {})
    monkeypatch.chdir(tmp_path)
    model.save("here")
    assert_same_predictions(tallybayes.load("here"), model, x)


@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX")
def test_the_file_has_the_permissions_of_any_new_file(tmp_path):
    path = saved(trained(GaussianNB, {})[0], tmp_path)
    (tmp_path / "plain").write_bytes(b"")
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE((tmp_path / "plain").stat().st_mode)


def test_a_file_holds_no_code(tmp_path):
    """It is a safetensors file: no byte of it is executed, and other tools can look into it."""
    from safetensors.numpy import load_file

    model, _, _ = trained(MultinomialNB, {})
    arrays = load_file(saved(model, tmp_path))
    assert np.array_equal(arrays["class_count"], model.class_count_)
    assert np.array_equal(arrays["group0.sums"], model.feature_count_)


# ---- what cannot be saved ----------------------------------------------------------------------
class Own(GaussianNB):
    """A class that this library does not know."""


@pytest.mark.parametrize(
    "model",
    [
        lambda: MultinomialNB(alpha=pd.Series([0.1, 0.2, 0.3, 0.4])),
        lambda: CategoricalNB(levels=[range(5)] * 4),
        Own,
    ],
    ids=["a Series as parameter", "ranges as levels", "a subclass"],
)
def test_what_a_file_cannot_hold_is_refused_when_it_is_saved(model, tmp_path):
    """Not when it is loaded, which may be too late."""
    model = model().fit(*rows())
    path = tmp_path / "model"
    path.write_bytes(b"what was there")
    with pytest.raises(ModelFileError, match=r"cannot hold a (Series|range)|Own"):
        model.save(path)
    assert path.read_bytes() == b"what was there"
    assert os.listdir(tmp_path) == ["model"]


@pytest.mark.parametrize("unit", ["ns", "us", "D"])
def test_labels_that_are_times_are_refused_whatever_numpy_makes_of_them(unit, tmp_path):
    """Nanoseconds became whole numbers, and the file could not be loaded."""
    x, _ = rows()
    times = np.where(np.arange(len(x)) % 2, "2026-01-01", "2026-01-02")
    model = GaussianNB().fit(x, times.astype(f"datetime64[{unit}]"))
    with pytest.raises(ModelFileError, match=rf"cannot hold a datetime64\[{unit}\]"):
        model.save(tmp_path / "model")
    assert not os.listdir(tmp_path)


# ---- replaced whole or not at all --------------------------------------------------------------
@pytest.mark.parametrize("failing", ["replace", "fsync", "chmod"])
def test_a_save_that_fails_leaves_the_file_that_was_there(tmp_path, monkeypatch, failing):
    model, x, y = trained(GaussianNB, {})
    path = saved(model, tmp_path)
    before = path.read_bytes()
    other = GaussianNB().fit(x[:30], y[:30])

    def fail(*_, **__):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr(os, failing, fail)
        with pytest.raises(OSError, match="No space left"):
            other.save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == [path.name]
    other.save(path)
    assert_same_predictions(tallybayes.load(path), other, x)


def test_an_interrupted_save_leaves_the_file_that_was_there(tmp_path, monkeypatch):
    model, _, _ = trained(MultinomialNB, {})
    path = saved(model, tmp_path)
    before = path.read_bytes()

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as hasty:
        hasty.setattr(os, "replace", interrupt)
        with pytest.raises(KeyboardInterrupt):
            model.save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == [path.name]


def test_saving_into_a_folder_that_is_not_there_is_an_oserror(tmp_path):
    with pytest.raises(FileNotFoundError, match="no such folder") as caught:
        trained(GaussianNB, {})[0].save(tmp_path / "no" / "model")
    assert caught.value.filename == str(tmp_path / "no")
    assert not Path(tmp_path / "no").exists()


def test_saving_over_a_folder_is_an_oserror_that_writes_nothing(tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError, match="name a file in it") as caught:
        trained(GaussianNB, {})[0].save(tmp_path / "folder")
    assert caught.value.filename == str(tmp_path / "folder")
    assert [p.name for p in tmp_path.rglob("*")] == ["folder"]


@every()
def test_predictions_of_a_loaded_model_are_those_of_another_process(NB, tmp_path):
    """By every method, as bytes: nothing depends on what happened to the saved object."""
    model, x, _ = trained(NB, {})
    expected = [getattr(model, m)(x).tobytes() for m in PREDICTING]
    path = saved(model, tmp_path)
    del model
    loaded = tallybayes.load(path)
    assert [getattr(loaded, m)(x).tobytes() for m in PREDICTING] == expected
