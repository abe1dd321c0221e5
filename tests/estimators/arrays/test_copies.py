"""Copies of every kind: pickle, copy, deepcopy, clone, joblib, memory maps."""

from __future__ import annotations

import copy
import pickle

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from estimators.cases import (
    assert_same_counts,
    assert_same_predictions,
    every,
    refused,
    rows,
    state,
)
from tallybayes import CategoricalNB, GaussianNB, MultinomialNB


def through_joblib(model, folder, **more):
    joblib.dump(model, folder / "model.joblib", compress=more.pop("compress", 0))
    return joblib.load(folder / "model.joblib", **more)


COPIES = {
    "copy": lambda model, folder: copy.copy(model),
    "deepcopy": lambda model, folder: copy.deepcopy(model),
    "pickle": lambda model, folder: pickle.loads(pickle.dumps(model)),
    "old pickle": lambda model, folder: pickle.loads(pickle.dumps(model, protocol=2)),
    "joblib": through_joblib,
    "compressed joblib": lambda model, folder: through_joblib(model, folder, compress=3),
    "memory map r": lambda model, folder: through_joblib(model, folder, mmap_mode="r"),
    "memory map c": lambda model, folder: through_joblib(model, folder, mmap_mode="c"),
}
KINDS = pytest.mark.parametrize("kind", COPIES)


@every()
@KINDS
def test_a_copy_predicts_bit_for_bit_alike(NB, kind, tmp_path):
    x, y = rows(classes=("a", "b", "c"))
    model = NB().fit(x, y)
    held = state(model)
    for _ in range(2):  # before and after it has predicted
        twin = COPIES[kind](model, tmp_path)
        assert twin is not model
        assert type(twin) is NB
        assert state(twin) == state(model) == held
        assert_same_predictions(twin, model, x)
        assert twin.get_params() == model.get_params()


@every()
@KINDS
@pytest.mark.parametrize("rows_at_once", [1, 9_000])
def test_a_copy_and_its_original_learn_apart(NB, kind, rows_at_once, tmp_path):
    """Also where the copy's arrays are a file that is open for reading only."""
    x, y = rows()
    model = NB().fit(x, y)
    more_x, more_y = rows(n=max(rows_at_once, 3), seed=3)
    more_x, more_y = more_x[:rows_at_once], more_y[:rows_at_once]
    twin, held = COPIES[kind](model, tmp_path), state(model)
    twin.partial_fit(more_x, more_y)
    assert state(model) == held
    assert_same_counts(twin, NB().fit(np.r_[x, more_x], np.r_[y, more_y]))
    held = state(twin)
    model.partial_fit(more_x[:1], more_y[:1]).forget(x[:9], y[:9])
    assert state(twin) == held
    twin.forget(more_x, more_y)
    held = state(twin)
    model.fit(x[:9], y[:9])
    assert state(twin) == held


@every()
@pytest.mark.parametrize("mode", ["r", "c"])
def test_a_memory_map_is_read_and_never_written(NB, mode, tmp_path):
    x, y = rows()
    model = NB().fit(x, y)
    twin = through_joblib(model, tmp_path, mmap_mode=mode)
    before = (tmp_path / "model.joblib").read_bytes()
    assert isinstance(twin.tally_.classes.count, np.memmap)
    twin.partial_fit(x, y).forget(x[:5], y[:5])
    twin.merge(model)
    _ = twin + model, twin.with_class_prior([0.2, 0.3, 0.5]), twin.probability_tables_
    assert (tmp_path / "model.joblib").read_bytes() == before
    assert_same_counts(joblib.load(tmp_path / "model.joblib"), model)


@every()
def test_a_bad_batch_leaves_a_memory_mapped_model_as_it_was(NB, tmp_path):
    x, y = rows()
    twin = through_joblib(NB().fit(x, y), tmp_path, mmap_mode="r")
    x[3, 1] = np.nan
    with refused(ValueError, "row 3, column 1", twin):
        twin.partial_fit(x, y)


@every()
def test_a_chain_of_copies_stays_apart(NB):
    """A shallow copy shares the counts until one of them changes; which one must not matter."""
    x, y = rows()
    first = NB().fit(x, y)
    second = copy.copy(first)
    third = copy.copy(second)
    expected = {id(m): state(m) for m in (first, second, third)}
    for changing, others in [(second, (first, third)), (first, (third,))]:
        changing.partial_fit(x[:1], y[:1])
        for other in others:
            assert state(other) == expected[id(other)]
    third.partial_fit(x[:1], y[:1])
    assert_same_counts(first, third)
    assert_same_counts(second, third)


@every()
def test_a_copy_of_an_unfitted_estimator_is_unfitted(NB, tmp_path):
    for kind in COPIES:
        twin = COPIES[kind](NB(class_alpha=2.0), tmp_path)
        assert twin.get_params() == NB(class_alpha=2.0).get_params()
        with pytest.raises(NotFittedError):
            twin.predict([[0.0]])


@every()
def test_clone_takes_the_parameters_and_nothing_counted(NB):
    prior = np.array([0.2, 0.3, 0.5])
    params = {"priors" if NB is GaussianNB else "class_prior": prior}
    model = NB(**params).fit(*rows())
    fresh = clone(model)
    assert vars(fresh).keys() == vars(NB()).keys()
    for name, value in model.get_params().items():
        assert np.array_equal(fresh.get_params()[name], value)
    with pytest.raises(NotFittedError):
        fresh.predict([[0.0] * 4])
    assert_same_predictions(fresh.fit(*rows()), model, rows()[0])


@every()
def test_parameters_are_kept_as_they_were_given(NB):
    """scikit-learn's contract: __init__ and fit store, they do not convert."""
    for name, default in NB().get_params().items():
        marker = object()
        assert getattr(NB(**{name: marker}), name) is marker
        assert getattr(NB(), name) is default or getattr(NB(), name) == default
    alpha = [1.0, 2.0, 3.0, 4.0]
    model = MultinomialNB(alpha=alpha).fit(*rows())
    assert model.alpha is alpha


def test_changing_an_array_given_as_parameter_does_not_change_a_fitted_model():
    x, y = rows()
    alpha, prior, levels = np.ones(4), np.array([0.2, 0.3, 0.5]), [np.arange(5)] * 4
    models = [
        MultinomialNB(alpha=alpha, class_prior=prior).fit(x, y),
        GaussianNB(priors=prior).fit(x, y),
        CategoricalNB(levels=levels).fit(x, y),
    ]
    before = [model.predict_proba(x).tolist() for model in models]
    for model in models:  # so that nothing computed is kept
        model.partial_fit(x[:1], y[:1]).forget(x[:1], y[:1])
    alpha[:], prior[:] = 9.0, [0.0, 0.0, 1.0]
    assert [model.predict_proba(x).tolist() for model in models] == before
