"""The worked example of Manning, Raghavan and Schütze, *Introduction to Information Retrieval*
(Cambridge University Press, 2008), chapter 13: four training documents about China or not, one
test document. Table 13.1 with example 13.1 (multinomial) and example 13.2 (Bernoulli).

Words are typed in by hand, in alphabetical order; the numbers are the book's.
"""

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from tallybayes import BernoulliNB, MultinomialNB

WORDS = ["Beijing", "Chinese", "Japan", "Macao", "Shanghai", "Tokyo"]
TRAINING = [
    ("Chinese Beijing Chinese", "China"),
    ("Chinese Chinese Shanghai", "China"),
    ("Chinese Macao", "China"),
    ("Tokyo Japan Chinese", "not China"),
]
TEST = "Chinese Chinese Chinese Tokyo Japan"
HOLDERS = pytest.mark.parametrize(
    "hold", [np.array, sparse.csr_array, sparse.csc_array], ids=["dense", "csr", "csc"]
)


def counted(text):
    return [text.split().count(word) for word in WORDS]


X = [counted(text) for text, _ in TRAINING]
Y = [label for _, label in TRAINING]


def close(got, expected):
    np.testing.assert_allclose(got, np.array(expected, dtype=float), rtol=1e-14)


@HOLDERS
def test_example_13_1_multinomial(hold):
    model = MultinomialNB().fit(hold(X), Y)
    assert model.classes_.tolist() == ["China", "not China"]
    close(np.exp(model.class_log_prior_), [Fraction(3, 4), Fraction(1, 4)])
    given_china = [Fraction(2, 14), Fraction(6, 14), Fraction(1, 14)]
    given_china += [Fraction(2, 14), Fraction(2, 14), Fraction(1, 14)]
    given_other = [Fraction(1, 9), Fraction(2, 9), Fraction(2, 9)]
    given_other += [Fraction(1, 9), Fraction(1, 9), Fraction(2, 9)]
    close(np.exp(model.feature_log_prob_), [given_china, given_other])
    joint = [
        Fraction(3, 4) * Fraction(3, 7) ** 3 * Fraction(1, 14) * Fraction(1, 14),
        Fraction(1, 4) * Fraction(2, 9) ** 3 * Fraction(2, 9) * Fraction(2, 9),
    ]
    close(np.exp(model.predict_joint_log_proba(hold([counted(TEST)]))), [joint])
    assert [f"{float(p):.4f}" for p in joint] == ["0.0003", "0.0001"]  # as the book rounds
    close(model.predict_proba(hold([counted(TEST)])), [[p / sum(joint) for p in joint]])
    assert model.predict(hold([counted(TEST)])).tolist() == ["China"]


@HOLDERS
def test_example_13_2_bernoulli(hold):
    model = BernoulliNB().fit(hold(X), Y)
    close(np.exp(model.class_log_prior_), [Fraction(3, 4), Fraction(1, 4)])
    given_china = [Fraction(2, 5), Fraction(4, 5), Fraction(1, 5)]
    given_china += [Fraction(2, 5), Fraction(2, 5), Fraction(1, 5)]
    given_other = [Fraction(1, 3), Fraction(2, 3), Fraction(2, 3)]
    given_other += [Fraction(1, 3), Fraction(1, 3), Fraction(2, 3)]
    close(np.exp(model.feature_log_prob_), [given_china, given_other])
    joint = [
        Fraction(3, 4) * Fraction(4, 5) * Fraction(1, 5) ** 2 * Fraction(3, 5) ** 3,
        Fraction(1, 4) * Fraction(2, 3) ** 3 * Fraction(2, 3) ** 3,
    ]
    close(np.exp(model.predict_joint_log_proba(hold([counted(TEST)]))), [joint])
    assert [f"{float(p):.3f}" for p in joint] == ["0.005", "0.022"]  # as the book rounds
    close(model.predict_proba(hold([counted(TEST)])), [[p / sum(joint) for p in joint]])
    assert model.predict(hold([counted(TEST)])).tolist() == ["not China"]


def test_the_two_models_differ_because_one_counts_and_the_other_does_not():
    """The remark after example 13.2: three times "Chinese" are one presence to Bernoulli."""
    once = [min(n, 1) for n in counted(TEST)]
    assert BernoulliNB().fit(X, Y).predict_proba([once]).tolist() == (
        BernoulliNB().fit(X, Y).predict_proba([counted(TEST)]).tolist()
    )
    assert MultinomialNB().fit(X, Y).predict([once]).tolist() == ["not China"]
