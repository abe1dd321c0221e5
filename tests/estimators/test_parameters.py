"""Parameters are checked whenever they change, and no sooner than needed."""

from typing import ClassVar

import numpy as np
import pytest
from sklearn.utils._param_validation import InvalidParameterError

from tallybayes import BernoulliNB, GaussianNB, MultinomialNB, NaiveBayes, WeightedNaiveBayes
from tallybayes.estimators import base

X = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 1.0], [0.0, 1.0]])
Y = np.array([0, 0, 1, 1])


@pytest.mark.parametrize(
    ("model", "name", "good", "bad"),
    [
        (MultinomialNB(), "alpha", 1.0, -1.0),
        (MultinomialNB(), "fit_prior", True, "yes"),
        (BernoulliNB(), "binarize", 0.0, "0"),
        (GaussianNB(), "var_smoothing", 1e-9, None),
        (GaussianNB(), "var_smoothing_of", "largest", "all"),
        (NaiveBayes(), "class_alpha", 1.0, -0.5),
        (WeightedNaiveBayes(), "interactions", 0, -1),
    ],
)
def test_a_bad_value_is_refused_after_a_good_one(model, name, good, bad):
    for _ in range(3):
        model.set_params(**{name: good}).fit(X, Y)
        with pytest.raises(InvalidParameterError, match=f"'{name}'"):
            model.set_params(**{name: bad}).fit(X, Y)
        setattr(model, name, good)
        model.fit(X, Y)


@pytest.mark.parametrize(("number", "flag"), [(1.0, True), (0.0, False), (1, True)])
def test_equal_values_of_another_type_are_another_value(number, flag):
    """1 == True, but a flag is not a number of classes."""
    GaussianNB(var_smoothing=number).fit(X, Y)
    MultinomialNB(fit_prior=flag).fit(X, Y)
    with pytest.raises(InvalidParameterError, match="fit_prior"):
        MultinomialNB(fit_prior=float(number)).fit(X, Y)


def test_values_that_can_change_are_checked_each_time():
    prior = [0.5, 0.5]
    model = GaussianNB(priors=prior).fit(X, Y)
    prior[0] = 0.7
    with pytest.raises(ValueError, match="sum of the priors"):
        model.fit(X, Y)
    weights = {0: 1.0}
    model = GaussianNB(class_weight=weights).fit(X, Y)
    weights[0] = -1.0
    with pytest.raises(ValueError, match="class_weight"):
        model.fit(X, Y)


def test_a_class_with_other_rules_checks_by_them():
    class Lenient(MultinomialNB):
        _parameter_constraints: ClassVar = MultinomialNB._parameter_constraints | {
            "fit_prior": [str, bool]
        }

    Lenient(fit_prior="yes").fit(X, Y)
    with pytest.raises(InvalidParameterError, match="fit_prior"):
        MultinomialNB(fit_prior="yes").fit(X, Y)


def test_no_more_are_remembered_than_a_few(monkeypatch):
    class Other(MultinomialNB):
        pass

    monkeypatch.setattr(base, "MAX_ACCEPTED", 3)
    for alpha in np.linspace(0.5, 1.0, 9).tolist():
        assert Other(alpha=alpha).fit(X, Y).predict(X).shape == (4,)
        assert 1 <= len(Other._accepted) <= 3
