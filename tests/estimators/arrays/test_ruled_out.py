"""Rows that every class rules out: the class prior and a warning, never NaN."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from estimators.cases import DISCRETE, GENERATIVE, LAYOUTS, assert_sane_posterior, every, peer
from tallybayes import GaussianNB
from tallybayes.errors import RuledOutWarning


def ruling_out(NB):
    """A model of two classes with priors ⅓ and ⅔, and rows of which the first is impossible."""
    x, y = np.array([[1, 0], [0, 1], [0, 1]]), ["a", "b", "b"]
    model = NB(alpha=0.0).fit(x, y)
    return model, np.array([[1, 1], [1, 0], [0, 1]])


@every(*DISCRETE)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_row_that_every_class_rules_out_gets_the_class_prior_and_a_warning(NB, layout):
    """Origin: DESIGN. scikit-learn 1.9.1 gives NaN."""
    model, query = ruling_out(NB)
    query = LAYOUTS[layout](query)
    message = "every class gives probability 0 to 1 of 3 rows.*class prior.*alpha > 0"
    with pytest.warns(RuledOutWarning, match=message):
        posterior = model.predict_proba(query)
    np.testing.assert_allclose(posterior, [[1 / 3, 2 / 3], [1, 0], [0, 1]], rtol=1e-15)
    with pytest.warns(RuledOutWarning, match=message):
        log_posterior = model.predict_log_proba(query)
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(log_posterior, np.log(posterior), rtol=1e-15)
    with pytest.warns(RuledOutWarning, match=message):
        assert model.predict(query).tolist() == ["b", "a", "b"]
    joint = model.predict_joint_log_proba(query)  # says so by itself: no warning
    assert np.isneginf(joint[0]).all()
    assert np.isfinite(joint[1:]).any(axis=1).all()
    if NB in GENERATIVE:
        assert model.score_samples(query)[0] == -np.inf
        assert np.isfinite(model.score_samples(query)[1:]).all()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = peer(NB)(alpha=0.0).fit([[1, 0], [0, 1], [0, 1]], ["a", "b", "b"])
        assert np.isnan(theirs.predict_proba([[1, 1]])).all()


@every(*DISCRETE)
@pytest.mark.parametrize("method", ["predict", "predict_proba", "predict_log_proba"])
def test_the_warning_is_given_once_and_at_the_callers_line(NB, method):
    model, query = ruling_out(NB)
    with pytest.warns(RuledOutWarning) as caught:
        getattr(model, method)(query)
    assert [w.filename for w in caught] == [__file__]


def test_a_row_too_far_from_every_gaussian_gets_the_class_prior_too():
    model = GaussianNB().fit([[0.0], [1.0], [2.0]], [0, 1, 1])
    with pytest.warns(RuledOutWarning):
        posterior = model.predict_proba([[1e300]])
    np.testing.assert_allclose(posterior, [[1 / 3, 2 / 3]], rtol=1e-15)


@every(*DISCRETE)
def test_no_smoothing_and_no_data_in_common_is_still_a_posterior(NB):
    """α = 0 on every pattern of two features: whatever is predicted, it is a distribution."""
    patterns = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    rng = np.random.default_rng(0)
    for _ in range(20):
        pick = rng.integers(0, 4, size=5)
        model = NB(alpha=0.0).partial_fit(patterns[pick], rng.integers(0, 3, 5), classes=[0, 1, 2])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuledOutWarning)
            assert_sane_posterior(model, patterns)
