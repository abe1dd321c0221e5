"""The examples of Nova, "贝叶斯推断方法" (2017): a dog that barks at night (section 3), and a cold
by age group and headache with an age group that training never saw (section 4.4).

The cold example has levels but no rows in the article; twenty are typed here, none of them 少年.

Where the article is wrong:

- Its Laplace correction divides by |D_c| + N with N the number of *classes*. The corrected
  probabilities of a column with N_i levels then sum to (|D_c| + N_i) / (|D_c| + N), above 1 for the
  three age groups. Right is N_i, the column's own number of levels, as the article defines it and
  then does not use it. The two agree for a yes/no column and two classes.
- It tells of the probability 0 for a cold only. As the level is missing from the whole of training,
  the probability is 0 without a cold as well, and no class is left at all.
"""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from tallybayes import NaiveBayes
from tallybayes.errors import RuledOutWarning
from tallybayes.families import Categorical

AGES = ["少年", "中年", "老年"]
# 年龄, 是否头痛, 是否感冒, rows
COUNTS = [
    ("中年", "是", "是", 5),
    ("中年", "否", "是", 1),
    ("老年", "是", "是", 2),
    ("中年", "是", "否", 2),
    ("中年", "否", "否", 4),
    ("老年", "是", "否", 1),
    ("老年", "否", "否", 5),
]
ROWS = [{"年龄": age, "是否头痛": ache} for age, ache, _, n in COUNTS for _ in range(n)]
COLD = [cold for *_, cold, n in COUNTS for _ in range(n)]
D = {"是": 8, "否": 12}  # |D_c|
ACHES = {"是": 7, "否": 3}  # |D_c, 头痛=是|
YOUNG = {"年龄": "少年", "是否头痛": "是"}
ACHE = Categorical(levels=["是", "否"])


def prior(label):
    """The article's corrected class prior, with N = 2."""
    return Fraction(D[label] + 1, 20 + 2)


def joint(n_ages):
    """P(c) P(少年 | c) P(头痛 | c) of 否 and 是, by the article's formula with this denominator."""
    return [
        prior(c) * Fraction(0 + 1, D[c] + n_ages) * Fraction(ACHES[c] + 1, D[c] + 2)
        for c in ("否", "是")
    ]


def check(model, n_ages):
    np.testing.assert_allclose(
        np.exp(model.class_log_prior_), [float(prior(c)) for c in ("否", "是")], rtol=1e-15
    )
    expected = joint(n_ages)
    got = model.explain([YOUNG])
    np.testing.assert_allclose(
        np.exp(got.contributions[0, :, 0]),
        [float(Fraction(1, D[c] + n_ages)) for c in ("否", "是")],
        rtol=1e-14,
    )
    np.testing.assert_allclose(
        np.exp(model.predict_joint_log_proba([YOUNG])), [[float(p) for p in expected]], rtol=1e-14
    )
    shares = [float(p / sum(expected)) for p in expected]
    np.testing.assert_allclose(list(model.predict_proba_one(YOUNG).values()), shares, rtol=1e-14)
    assert model.predict([YOUNG]).tolist() == ["是"]


def test_the_right_denominator_counts_the_columns_own_levels():
    """N_i = 3 declared age groups: (0 + 1) / (感冒的总人数 + 3)."""
    model = NaiveBayes({"年龄": Categorical(levels=AGES), "是否头痛": ACHE})
    check(model.fit(ROWS, COLD), 3)


def test_the_articles_denominator_counts_the_classes():
    """N = 2 gives the article's (0 + 1) / (感冒的总人数 + 2). The library gives it too where no
    levels are declared, as two age groups were found: by coincidence, not by the article's rule.
    """
    check(NaiveBayes().fit(ROWS, COLD), 2)


@pytest.mark.parametrize("label", ["是", "否"])
def test_declared_levels_make_a_distribution_and_the_articles_denominator_does_not(label):
    declared = NaiveBayes({"年龄": Categorical(levels=AGES), "是否头痛": ACHE}).fit(ROWS, COLD)
    k = ["否", "是"].index(label)
    ages = [{"年龄": age} for age in AGES]

    def total(model):
        return np.exp(model.explain(ages).contributions[:, k, 0]).sum()

    assert total(declared) == pytest.approx(1.0, rel=1e-14)
    by_article = total(NaiveBayes().fit(ROWS, COLD))
    assert by_article == pytest.approx(float(Fraction(D[label] + 3, D[label] + 2)), rel=1e-14)


def test_without_the_correction_every_class_is_ruled_out():
    """P(年龄=少年 | 感冒=是) = 0, and the same for 否: the class prior is all that is left."""
    ages = Categorical(alpha=0.0, levels=AGES)
    model = NaiveBayes({"年龄": ages}, class_alpha=0.0).fit(ROWS, COLD)
    assert np.isneginf(model.predict_joint_log_proba([YOUNG])).all()
    with pytest.warns(RuledOutWarning):
        shares = model.predict_proba([YOUNG])
    np.testing.assert_allclose(shares, [[12 / 20, 8 / 20]], rtol=1e-14)


def test_a_declared_level_is_the_same_in_every_frame_and_batch():
    columns = {"年龄": Categorical(levels=AGES), "是否头痛": ACHE}
    expected = NaiveBayes(columns).fit(ROWS, COLD).predict_proba([YOUNG]).tolist()
    frame = pd.DataFrame(ROWS)
    category = frame.astype({"年龄": pd.CategoricalDtype(AGES)})
    parts = NaiveBayes(columns).fit(frame[::2], COLD[::2]) + NaiveBayes(columns).fit(
        frame[1::2], COLD[1::2]
    )
    one_by_one = NaiveBayes(columns)
    for row, label in zip(ROWS, COLD, strict=True):
        one_by_one.learn_one(row, label)
    for model in (NaiveBayes(columns).fit(category, COLD), parts, one_by_one):
        assert model.predict_proba([YOUNG]).tolist() == expected


def test_the_dog_and_the_burglary():
    """0.00058: two burglaries in 20 years, a dog that barks three nights in seven, and with
    probability 0.9 when there is one. Nights are weights; the article's year has 365 nights.
    """
    nights = 20 * 365
    barks = nights * Fraction(3, 7)
    weights = [
        ("barks", "burglary", Fraction(9, 10) * 2),
        ("silent", "burglary", Fraction(1, 10) * 2),
        ("barks", "none", barks - Fraction(9, 10) * 2),
        ("silent", "none", nights - barks - Fraction(1, 10) * 2),
    ]
    dog, burglary, weight = zip(*weights, strict=True)
    model = NaiveBayes(alpha=0.0, class_alpha=0.0)
    model.fit(pd.DataFrame({"dog": dog}), burglary, [float(w) for w in weight])
    got = model.predict_proba_one({"dog": "barks"})["burglary"]
    assert got == pytest.approx(float(Fraction(9, 10) * Fraction(1, 3650) / Fraction(3, 7)))
    assert f"{got:.5f}" == "0.00058"
