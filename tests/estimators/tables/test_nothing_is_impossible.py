"""The class prior has a share of ε = ½ / (n + ½) in each prediction of a weighted model."""

from __future__ import annotations

import copy

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax

from tallybayes import WeightedNaiveBayes, leave_one_out
from tallybayes.weighted.ways import mixed, prior_share

pytestmark = pytest.mark.filterwarnings("ignore::tallybayes.errors.TallyWarning")


def separable(n):
    """Columns of which each alone tells the class."""
    y = np.arange(n) % 2
    return pd.DataFrame({f"c{j}": np.where(y, "u", "v") for j in range(4)}).assign(z=y * 1e6), y


@pytest.mark.parametrize("n", [4, 60, 5000])
@pytest.mark.parametrize("weight", [None, 1e6, 1e-6])
def test_no_probability_is_0_or_1(n, weight):
    x, y = separable(n)
    w = None if weight is None else np.full(n, weight)
    model = WeightedNaiveBayes().fit(x, y, w)
    proba = np.concatenate([model.predict_proba(x), np.exp(leave_one_out(model, x, y, w))])
    assert (proba > 0.0).all()
    assert (proba < 1.0).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-12)
    assert (model.predict_log_proba(x) < 0.0).all()
    np.testing.assert_allclose(np.exp(model.predict_log_proba(x)), model.predict_proba(x))


def test_it_is_the_mean_of_the_posterior_and_the_prior():
    x, y = separable(60)
    y[:5] = 1 - y[:5]
    model = WeightedNaiveBayes().fit(x, y)
    share = 0.5 / 60.5
    joint = model.predict_joint_log_proba(x)
    expected = (1.0 - share) * softmax(joint, axis=1) + share * np.exp(model.class_log_prior_)
    np.testing.assert_allclose(model.predict_proba(x), expected, rtol=1e-12)
    told = model.explain(x)
    np.testing.assert_allclose(told.probabilities, expected, rtol=1e-12)
    np.testing.assert_allclose(told.base + told.contributions.sum(axis=2), joint, rtol=1e-12)
    one = model.predict_proba_one(x.iloc[0].to_dict())
    np.testing.assert_allclose(list(one.values()), expected[0], rtol=1e-12)


def test_the_rows_are_effective_rows_when_weights_were_learned():
    x, y = separable(60)
    weight = np.where(np.arange(60) < 30, 4.0, 1.0)
    model = WeightedNaiveBayes().fit(x, y, weight)
    n = weight.sum() ** 2 / (weight**2).sum()
    assert model._model.prior_share == pytest.approx(0.5 / (n + 0.5), rel=1e-6)
    grown = copy.copy(model).partial_fit(x, y)
    assert grown._model.prior_share == model._model.prior_share
    again = copy.copy(grown).reweight(x, y)
    assert again._model.prior_share < model._model.prior_share


def test_the_label_is_the_most_probable_one():
    """Where a rare class is ahead by a hair, the share of the prior decides."""
    rng = np.random.default_rng(0)
    y = (rng.random(50) < 0.1).astype(int)
    x = pd.DataFrame({"a": np.where(rng.random(50) < 0.5, "u", "v")})
    model = WeightedNaiveBayes(class_prior=[0.5, 0.5]).fit(x, y)
    for prior in (0.3, 0.5, 0.51):
        other = model.with_class_prior([prior, 1.0 - prior])
        proba = other.predict_proba(x)
        np.testing.assert_array_equal(other.predict(x), proba.argmax(axis=1))


@pytest.mark.parametrize("given", [[1.0, 0.0], [0.0, 1.0]])
def test_a_prior_of_0_rules_a_class_out(given):
    x, y = separable(60)
    model = WeightedNaiveBayes(class_prior=given).fit(x, y)
    np.testing.assert_allclose(model.predict_proba(x), np.tile(given, (60, 1)), atol=1e-15)
    assert np.isneginf(model.predict_log_proba(x)[:, given.index(0.0)]).all()
    assert np.isneginf(leave_one_out(model, x, y)[:, given.index(0.0)]).all()
    assert set(model.predict(x)) == {given.index(1.0)}


def test_of_one_class_nothing_is_mixed():
    model = WeightedNaiveBayes().fit(pd.DataFrame({"a": ["u", "v"]}), [3, 3])
    assert model.predict_proba(pd.DataFrame({"a": ["u"]})).tolist() == [[1.0]]


def test_mixing_by_itself():
    p = np.array([0.9, 0.1])
    assert prior_share(0.0) == 1.0
    found = mixed(np.array([[1.0, 0.0], [0.0, 1.0], [0.25, 0.75]]), p, 0.1)
    np.testing.assert_allclose(found, [[0.99, 0.01], [0.09, 0.91], [0.315, 0.685]])
    assert (mixed(np.array([[1.0, 0.0]]), p, 1e-18) < 1.0).all()
