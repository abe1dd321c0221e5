"""Whatever a model went through, it has counted the rows that were learned and not forgotten."""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pytest

import tallybayes
from estimators.cases import LAYOUTS, assert_same_counts, assert_sane_posterior, every
from tallybayes import CategoricalNB, GaussianNB
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
