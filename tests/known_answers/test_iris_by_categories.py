"""The program of orion-orion, "统计学习:朴素贝叶斯模型(Numpy实现)" (2021), on Iris.

Every measurement is a category; the sets A_j are all values of the whole data, λ = 1, half of the
rows train (``test_size=0.5, random_state=0``). The article prints an accuracy of "0.9": 7 of the
75 test rows are misclassified.
"""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import train_test_split

from known_answers.naive_bayes_by_fractions import ExactNaiveBayes
from tallybayes import CategoricalNB

X, Y = load_iris(return_X_y=True)
VALUES = [sorted(set(column)) for column in X.T.tolist()]
X_TRAIN, X_TEST, Y_TRAIN, Y_TEST = train_test_split(X, Y, test_size=0.5, random_state=0)


@pytest.fixture(scope="module")
def model():
    return CategoricalNB(alpha=1.0, class_alpha=1.0, levels=VALUES).fit(X_TRAIN, Y_TRAIN)


@pytest.fixture(scope="module")
def exact():
    return ExactNaiveBayes(VALUES, [0, 1, 2], 1).fit(X_TRAIN.tolist(), Y_TRAIN.tolist())


def test_7_of_75_rows_are_misclassified(model):
    assert len(Y_TEST) == 75
    assert int((model.predict(X_TEST) != Y_TEST).sum()) == 7
    assert f"{model.score(X_TEST, Y_TEST):.1f}" == "0.9"  # as the article prints it


def test_every_prediction_is_that_of_exact_arithmetic(model, exact):
    expected = [exact.predict(row) for row in X_TEST.tolist()]
    assert model.predict(X_TEST).tolist() == expected


def test_every_probability_is_that_of_exact_arithmetic(model, exact):
    rows = X_TEST.tolist()
    expected = [[float(p) for p in exact.posterior(row)] for row in rows]
    np.testing.assert_allclose(model.predict_proba(X_TEST), expected, rtol=1e-13)
    joint = [[float(p) for p in exact.joint(row)] for row in rows]
    np.testing.assert_allclose(np.exp(model.predict_joint_log_proba(X_TEST)), joint, rtol=1e-13)
    evidence = [float(exact.evidence(row)) for row in rows]
    np.testing.assert_allclose(np.exp(model.score_samples(X_TEST)), evidence, rtol=1e-13)


def test_every_entry_of_the_lookup_tables_is_that_of_exact_arithmetic(model, exact):
    for j, table in enumerate(model.feature_log_prob_):
        expected = [[float(exact.likelihood(j, a, c)) for a in VALUES[j]] for c in (0, 1, 2)]
        np.testing.assert_allclose(np.exp(table), expected, rtol=1e-14)
    prior = [float(exact.prior(c)) for c in (0, 1, 2)]
    np.testing.assert_allclose(np.exp(model.class_log_prior_), prior, rtol=1e-14)


def test_many_columns_do_not_underflow():
    """The article's program multiplies probabilities, and gives up at 0."""
    wide = np.tile(X, (1, 150))
    model = CategoricalNB(class_alpha=1.0, levels=VALUES * 150).fit(wide, Y)
    assert model.predict_joint_log_proba(wide).max() < np.log(np.finfo(np.float64).tiny)
    np.testing.assert_allclose(model.predict_proba(wide).sum(axis=1), 1.0, rtol=1e-12)
    assert model.score(wide, Y) > 0.9
