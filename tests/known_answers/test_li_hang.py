"""Li Hang, 统计学习方法 (2nd ed., 2019), example 4.1, exercised in equations (9) to (12) of
orion-orion, "统计学习:朴素贝叶斯模型(Numpy实现)" (2021): fifteen rows, two columns, the label of
x = (2, S). By maximum likelihood, and with λ = 1.
"""

from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest

from known_answers.naive_bayes_by_fractions import ExactNaiveBayes
from tallybayes import NaiveBayes
from tallybayes.families import Categorical

X1 = [1] * 5 + [2] * 5 + [3] * 5
X2 = list("SMMSSSMMLLLMMLL")
Y = [-1, -1, 1, 1, -1, -1, -1, 1, 1, 1, 1, 1, 1, 1, -1]
TABLE = pd.DataFrame({"X1": X1, "X2": X2})
SPACE = list(product([1, 2, 3], "SML"))
QUERY = {"X1": 2, "X2": "S"}

# λ, the class prior of (−1, 1), the scores of (−1, 1), and the scores as the book prints them
ANSWERS = pytest.mark.parametrize(
    ("smoothing", "prior", "scores", "printed"),
    [
        (0, (Fraction(6, 15), Fraction(9, 15)), (Fraction(1, 15), Fraction(1, 45)), None),
        (
            1,
            (Fraction(7, 17), Fraction(10, 17)),
            (
                Fraction(7, 17) * Fraction(3, 9) * Fraction(4, 9),
                Fraction(10, 17) * Fraction(4, 12) * Fraction(2, 12),
            ),
            ("0.0610", "0.0327"),
        ),
    ],
    ids=["maximum likelihood", "smoothed"],
)


def fitted(smoothing):
    columns = {name: Categorical(alpha=smoothing) for name in TABLE}
    return NaiveBayes(columns, class_alpha=smoothing).fit(TABLE, Y)


@ANSWERS
def test_example_4_1(smoothing, prior, scores, printed):
    model = fitted(smoothing)
    assert model.classes_.tolist() == [-1, 1]
    np.testing.assert_allclose(
        np.exp(model.class_log_prior_), [float(p) for p in prior], rtol=1e-15
    )
    joint = np.exp(model.predict_joint_log_proba([QUERY]))
    np.testing.assert_allclose(joint, [[float(s) for s in scores]], rtol=1e-14)
    if printed:
        assert tuple(f"{s:.4f}" for s in joint[0]) == printed
    assert model.predict([QUERY]).tolist() == [-1]
    assert model.predict_one(QUERY) == -1


@ANSWERS
def test_every_row_of_the_space_is_that_of_exact_arithmetic(smoothing, prior, scores, printed):
    exact = ExactNaiveBayes([[1, 2, 3], "SML"], [-1, 1], smoothing)
    exact.fit(list(zip(X1, X2, strict=True)), Y)
    assert tuple(exact.joint((2, "S"))) == scores
    joint = np.exp(fitted(smoothing).predict_joint_log_proba(pd.DataFrame(SPACE, columns=[*TABLE])))
    expected = [[float(p) for p in exact.joint(row)] for row in SPACE]
    np.testing.assert_allclose(joint, expected, rtol=1e-14)


def test_the_models_own_smoothing_is_the_families():
    """alpha= of the model is that of each column without one, and strings are levels undeclared."""
    strings = TABLE.astype({"X1": str})
    model = NaiveBayes(alpha=1.0, class_alpha=1.0).fit(strings, Y)
    got = model.predict_proba(strings)
    assert got.tolist() == fitted(1).predict_proba(TABLE).tolist()
