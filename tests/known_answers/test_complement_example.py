"""The example of the article "补集朴素贝叶斯(Complement NB)" on 一亩三分地, to every printed digit.

The method is Rennie, Shih, Teevan and Karger, "Tackling the Poor Assumptions of Naive Bayes Text
Classifiers" (ICML 2003). Trained on float32 and asked with a list of ints, as printed there.
"""

from fractions import Fraction

import numpy as np
import pytest

from tallybayes import ComplementNB

ROWS = [[1, 2, 3, 4], [2, 3, 4, 5], [5, 6, 7, 8], [6, 7, 8, 9], [21, 23, 25, 27]]
LABELS = [0, 0, 0, 0, 1]
QUERY = [[6, 7, 8, 9]]
PRINTED_WEIGHTS = [
    ["1.51412773", "1.42711636", "1.34707365", "1.27296568"],
    ["1.7227666", "1.48637782", "1.29532258", "1.13497993"],
]
PRINTED_SCORES = ["41.30786115", "41.31864438"]
COMPLEMENTS = [
    [Fraction(22, 100), Fraction(24, 100), Fraction(26, 100), Fraction(28, 100)],
    [Fraction(15, 84), Fraction(19, 84), Fraction(23, 84), Fraction(27, 84)],
]


@pytest.fixture
def model():
    return ComplementNB().fit(np.array(ROWS, dtype=np.float32), np.array(LABELS))


def printed(values, digits=8):
    """Numbers as NumPy prints an array: eight decimals, no trailing zeros."""
    return [f"{value:.{digits}f}".rstrip("0") for value in values]


def test_the_weights_to_every_printed_digit(model):
    assert [printed(row) for row in model.feature_log_prob_] == PRINTED_WEIGHTS


def test_the_scores_to_every_printed_digit(model):
    assert printed(model.predict_joint_log_proba(QUERY)[0]) == PRINTED_SCORES


def test_the_label(model):
    assert model.predict(QUERY).tolist() == [1]


def test_the_text_that_numpy_prints(model):
    assert str(model.predict_joint_log_proba(QUERY)) == "[[41.30786115 41.31864438]]"
    assert str(model.predict(QUERY)) == "[1]"


def test_the_steps_of_the_article(model):
    """Totals, sums of each class, and the smoothed shares of the complements, as fractions."""
    assert model.feature_all_.tolist() == [35, 41, 47, 53]
    assert model.feature_count_.tolist() == [[14, 18, 22, 26], [21, 23, 25, 27]]
    shares = [[float(share) for share in row] for row in COMPLEMENTS]
    np.testing.assert_allclose(np.exp(-model.feature_log_prob_), shares, rtol=1e-15)


def test_the_scores_by_fractions_and_their_logarithms(model):
    expected = [
        sum(-n * np.log(float(p)) for n, p in zip(QUERY[0], row, strict=True))
        for row in COMPLEMENTS
    ]
    np.testing.assert_allclose(model.predict_joint_log_proba(QUERY)[0], expected, rtol=1e-15)


def test_the_article_is_right_that_the_row_seems_to_belong_to_the_other_class(model):
    """QUERY is a training row of class 0; without the length bias that ``norm`` removes it is 0."""
    assert QUERY[0] in ROWS[:4]
    normed = ComplementNB(norm=True).fit(np.array(ROWS, dtype=np.float32), LABELS)
    assert normed.feature_log_prob_.sum(axis=1).tolist() == pytest.approx([1.0, 1.0], rel=1e-15)
