"""Whatever a model went through, it has counted the rows that are left; copies of every kind stay
apart.
"""

import copy
import pickle
import warnings

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import tallybayes
from estimators.cases import (
    LAYOUTS,
    assert_same_counts,
    assert_same_predictions,
    assert_sane_posterior,
    every,
    refused,
    rows,
    state,
)
from tallybayes import CategoricalNB, GaussianNB, MultinomialNB
from tallybayes.errors import RuledOutWarning

STEPS = ["learn", "learn", "forget", "merge", "copy", "save", "look"]


class History:
    """A model that is led through random steps, and the batches that it should hold."""

    def __init__(self, NB, seed, folder):
        self.rng = np.random.default_rng(seed)
        self.NB, self.folder = NB, folder
        self.features = int(self.rng.integers(1, 6))
        self.classes = np.arange(self.rng.integers(1, 5))
        smoothing = self.rng.choice([0.0, 1e-3, 1.0])
        name = "var_smoothing" if NB is GaussianNB else "alpha"
        self.params = {name: float(smoothing), "class_alpha": float(self.rng.integers(0, 2))}
        if NB is CategoricalNB:
            self.params["min_categories"] = 5
        self.batches = [self.batch()]
        self.model = self.of(self.batches)

    def batch(self):
        """Rows of a random type, their labels, and weights of which the first is not 0."""
        n = int(self.rng.choice([1, 2, 3, 17, 60]))
        dtype = self.rng.choice(["f4", "f8", "i1", "i8"])
        x = self.rng.integers(0, 5, (n, self.features)).astype(dtype)
        w = self.rng.integers(0, 4, n).astype(float)
        w[0] = 2.0
        return x, self.rng.choice(self.classes, n), w

    def hold(self, x):
        return LAYOUTS[self.rng.choice(list(LAYOUTS))](x)

    def of(self, batches):
        """A fresh model of some batches at once."""
        x, y, w = (np.concatenate([batch[i] for batch in batches]) for i in range(3))
        model = self.NB(**self.params)
        return model.partial_fit(x.astype(np.float64), y, classes=self.classes, sample_weight=w)

    def step(self):
        getattr(self, self.rng.choice(STEPS))()

    def learn(self):
        x, y, w = self.batch()
        self.model.partial_fit(self.hold(x), y, sample_weight=w)
        self.batches.append((x, y, w))

    def forget(self):
        if len(self.batches) > 1:
            x, y, w = self.batches.pop(int(self.rng.integers(len(self.batches))))
            self.model.forget(self.hold(x), y, w)

    def merge(self):
        self.batches.append(self.batch())
        other = self.of(self.batches[-1:])
        self.model = self.rng.choice([self.model + other, other + self.model])

    def copy(self):
        before, how = self.model, self.rng.integers(3)
        self.model = (copy.copy, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m)))[how](
            before
        )
        before.partial_fit(np.ones((1, self.features)), self.classes[:1])  # is not noticed

    def save(self):
        self.model.save(self.folder / "model")
        self.model = tallybayes.load(self.folder / "model")

    def look(self):
        _ = self.model.tally_
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuledOutWarning)
            self.model.predict_proba(np.ones((2, self.features)))


@every()
@pytest.mark.parametrize("seed", range(20))
def test_the_counts_are_those_of_the_rows_that_are_left(NB, seed, tmp_path):
    history = History(NB, seed, tmp_path)
    for _ in range(int(history.rng.integers(1, 12))):
        history.step()
    fresh = history.of(history.batches)
    if NB is GaussianNB:
        np.testing.assert_array_equal(history.model.class_count_, fresh.class_count_)
        np.testing.assert_allclose(history.model.theta_, fresh.theta_, rtol=1e-6)
        np.testing.assert_allclose(history.model.var_, fresh.var_, rtol=1e-5)  # maybe float32
    else:
        assert_same_counts(history.model, fresh)
    x = history.rng.integers(0, 5, (20, history.features)).astype(float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuledOutWarning)
        for layout in LAYOUTS.values():
            assert_sane_posterior(history.model, layout(x))
            posterior = history.model.predict_proba(layout(x))
            np.testing.assert_allclose(posterior, fresh.predict_proba(x), rtol=1e-4, atol=1e-6)
            chosen = np.searchsorted(history.classes, history.model.predict(layout(x)))
            best = posterior[np.arange(20), chosen]
            np.testing.assert_allclose(best, posterior.max(axis=1), rtol=1e-6)


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
