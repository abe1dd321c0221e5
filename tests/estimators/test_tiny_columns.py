"""Numbers so small that their squares underflow: a Gaussian says so, or tells the classes apart."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tallybayes import GaussianNB, NaiveBayes
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


@pytest.mark.parametrize("value", [0.0, 1e-300, 3.0])
def test_constants_are_no_reason(value):
    assert not fitted(GaussianNB(), np.full((400, 1), value))[1]


def test_families_that_cut_cells_read_such_numbers():
    found, warned = fitted(NaiveBayes(), X * 1e-160)
    assert not warned
    assert (found.predict(X * 1e-160) == Y).mean() > 0.9
