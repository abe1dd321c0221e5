"""Fitted attributes: readings of the tally, there after fitting and not before it."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

from estimators.cases import ALL, DISCRETE, assert_same_predictions, every, rows
from tallybayes import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB


@every()
def test_attributes_are_missing_before_fitting_and_there_after_it(NB):
    attributes = ["classes_", "class_count_", "tally_", "probability_tables_", "n_features_in_"]
    attributes += {
        GaussianNB: ["theta_", "var_", "epsilon_", "class_prior_"],
        CategoricalNB: [
            "category_count_",
            "n_categories_",
            "feature_log_prob_",
            "class_log_prior_",
        ],
        ComplementNB: ["feature_all_", "feature_count_", "feature_log_prob_", "class_log_prior_"],
    }.get(NB, ["feature_count_", "feature_log_prob_", "class_log_prior_"])
    model = NB()
    for name in attributes:
        with pytest.raises(AttributeError, match=name):
            getattr(model, name)
    model.fit(*rows())
    for name in attributes:
        assert getattr(model, name) is not None


@pytest.mark.parametrize(
    ("NB", "name"),
    [(NB, name) for NB in ALL for name in ("class_count_", "classes_")]
    + [(NB, "feature_log_prob_") for NB in DISCRETE]
    + [(CategoricalNB, "category_count_"), (GaussianNB, "theta_"), (GaussianNB, "var_")],
)
def test_writing_into_an_attribute_does_not_change_the_model(NB, name):
    """An attribute is a reading of the tally, and there is nothing to set by it."""
    x, y = rows()
    model, untouched = NB().fit(x, y), NB().fit(x, y)
    value = getattr(model, name)
    for array in value if isinstance(value, list) else [value]:
        with contextlib.suppress(ValueError):  # read-only will do
            array[...] = 99
    for now, was in zip(getattr(model, name), getattr(untouched, name), strict=True):
        assert now.tolist() == was.tolist()
    assert_same_predictions(model, untouched, x)


def test_complement_offers_no_likelihood():
    model = ComplementNB().fit(*rows())
    assert not hasattr(model, "score_samples")
    assert not hasattr(model, "sample")


def test_bernoulli_is_about_presence_only():
    x, y = rows()
    assert np.array_equal(
        BernoulliNB().fit(x, y).feature_count_, BernoulliNB().fit(5 * x, y).feature_count_
    )
