"""Numbers so small that their squares underflow: a Gaussian says so, or separates the classes."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from tallybayes import GaussianNB, NaiveBayes, leave_one_out
from tallybayes.errors import UnderflowWarning
from tallybayes.families import Gaussian

Y = np.repeat([0, 1], 200)
X = np.random.default_rng(0).normal(size=(400, 1)) + 4.0 * Y[:, None]


def fitted(model, x):
    """The model and whether it warned of underflow."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        model.fit(x, Y)
    return model, any(issubclass(w.category, UnderflowWarning) for w in found)


@pytest.mark.parametrize("model", [GaussianNB(), NaiveBayes({float: Gaussian()})], ids=repr)
@settings(max_examples=60, deadline=None, derandomize=True)
@given(power=st.integers(-320, 150))
def test_it_works_or_warns(model, power):
    """Origin: from 1e-155 on GaussianNB fell to chance without a word."""
    x = X * 10.0**power
    found, warned = fitted(model, x)
    right = (found.predict(x) == Y).mean()
    assert right > 0.95 or warned or not x.any()
    assert not warned or power < -148


def test_the_columns_are_named():
    x = np.hstack([X, X * 1e-160, X * 1e-170])
    with pytest.warns(UnderflowWarning, match=r"columns 1, 2 differ by less"):
        GaussianNB().fit(x, Y)
    with pytest.warns(UnderflowWarning, match=r"columns 1, 2 differ by less"):
        GaussianNB().partial_fit(x, Y, classes=[0, 1])


GROUP = NaiveBayes({("a", "b"): Gaussian(covariance="full")})


@pytest.mark.parametrize("spread", [1.0, 0.0], ids=["spread", "constant in each class"])
@pytest.mark.parametrize("power", [-147, -149, -151, -154, -158, -162, -170])
@pytest.mark.parametrize("model", [GaussianNB(), NaiveBayes({float: Gaussian()}), GROUP], ids=repr)
def test_no_way_to_count_such_numbers_is_silent(model, power, spread):
    x = (spread * X + (1.0 - spread) * Y[:, None]) * 10.0**power @ np.ones((1, 2))
    rows = x if isinstance(model, GaussianNB) else pd.DataFrame(x, columns=["a", "b"])
    found, warned = fitted(clone(model), rows)
    assert warned or (found.predict(rows) == Y).mean() > 0.95
    assert not warned or power < -147


def test_a_warning_comes_when_later_rows_show_it():
    model = GaussianNB().partial_fit([[0.0]], [0], classes=[0, 1])
    with pytest.warns(UnderflowWarning, match="column 0 differ"):
        model.partial_fit(X * 1e-162, Y).predict(X)


@pytest.mark.filterwarnings("ignore::tallybayes.errors.UnderflowWarning")
@pytest.mark.parametrize("estimate", ["mean", "posterior"])
def test_squares_that_underflow_say_nothing(estimate):
    """Degrees of freedom must not follow from which squares of 1e-322 rounding left above 0."""
    x, y = np.array([[1.354e-160], [-9.54e-161], [-4.29e-161]]), np.array([0, 0, 1])
    w = np.array([1.0, 1.7, 0.3])
    model = NaiveBayes({float: Gaussian(estimate=estimate)}, class_alpha=0.5, classes=[0, 1])
    model.fit(x, y, w)
    found = leave_one_out(model, x, y, w)
    for i in range(4):
        rest = np.arange(3) != i  # and all rows
        prior = 0.5 + np.bincount(y[rest], w[rest], 2)
        prior /= prior.sum()
        others = clone(model).fit(x[rest], y[rest], w[rest])
        np.testing.assert_allclose(others.predict_proba(x), np.tile(prior, (3, 1)), rtol=1e-12)
        if i < 3:
            np.testing.assert_allclose(np.exp(found[i]), prior, rtol=1e-12)


@pytest.mark.filterwarnings("ignore::tallybayes.errors.UnderflowWarning")
@pytest.mark.parametrize("model", [GaussianNB(), NaiveBayes({float: Gaussian()})], ids=repr)
@settings(deadline=None)
@example(seed=43360, power=-152.9664779950575, fractions=True)  # -5e-324 is left of one row
@given(seed=st.integers(0, 10**6), power=st.floats(-170.0, -140.0), fractions=st.booleans())
def test_rows_of_tiny_numbers_can_be_forgotten(model, seed, power, fractions):
    """Their squares are rounded by more than they hold, and so may seem less than 0."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    x, y = rng.normal(size=(n, 1)) * 10.0**power, np.arange(n) % 2
    w = rng.choice([0.3, 1.0, 1.7, 30.0] if fractions else [1.0, 2.0], n)
    model = clone(model).fit(x, y, w)
    for i in rng.permutation(n)[:-1]:
        model.forget(x[[i]], y[[i]], w[[i]])
    assert len(model.classes_) == 1


@pytest.mark.parametrize("value", [0.0, 1e-300, 3.0])
def test_constants_are_no_reason(value):
    assert not fitted(GaussianNB(), np.full((400, 1), value))[1]


def test_families_that_cut_cells_read_such_numbers():
    found, warned = fitted(NaiveBayes(), X * 1e-160)
    assert not warned
    assert (found.predict(X * 1e-160) == Y).mean() > 0.9
