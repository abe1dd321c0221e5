"""Groups of columns that count together: ("w1", "w2"): Multinomial()."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.special import gammaln
from scipy.stats import dirichlet_multinomial
from sklearn.naive_bayes import MultinomialNB

from tallybayes import NaiveBayes, load
from tallybayes.errors import NegativeTally
from tallybayes.families import Dirichlet, Multinomial

RNG = np.random.default_rng(4)
WORDS = ("w1", "w2", "w3")
Y = RNG.choice(["a", "b", "c"], 80)
COUNTS = RNG.poisson(np.array([[1, 3, 2], [4, 1, 0.2], [2, 2, 2]])[np.searchsorted(list("abc"), Y)])
X = pd.DataFrame(COUNTS, columns=list(WORDS))
QUERY = pd.DataFrame(RNG.poisson(2.0, (40, 3)), columns=list(WORDS))
ROWS = X.to_dict("records")


def grouped(family=None, **options):
    return NaiveBayes({WORDS: family or Multinomial()}, class_alpha=0.0, **options)


def one_by_one(model, rows=ROWS, labels=Y):
    for row, label in zip(rows, labels, strict=True):
        model.learn_one(row, label)
    return model


def equal(model, other, rtol=1e-12):
    for call in ("predict_joint_log_proba", "predict_proba"):
        a, b = (getattr(m, call)(QUERY) for m in (model, other))
        np.testing.assert_allclose(a, b, rtol=rtol)
    np.testing.assert_array_equal(model.class_count_, other.class_count_)


@pytest.mark.parametrize("alpha", [1.0, 0.25])
def test_a_group_is_multinomial_nb(alpha):
    expected = MultinomialNB(alpha=alpha).fit(COUNTS, Y).predict_joint_log_proba(QUERY.to_numpy())
    for model in (grouped(Multinomial(alpha=alpha)), grouped(alpha=alpha)):
        model.fit(X, Y)
        np.testing.assert_allclose(model.predict_joint_log_proba(QUERY), expected, rtol=1e-12)
        assert set(model.schema_["family"]) == {"multinomial of 3 columns"}


def test_a_group_beside_other_columns_adds_its_score():
    wide = X.assign(job=np.where(COUNTS[:, 0] > 2, "cook", "nurse"))
    query = QUERY.assign(job="cook")
    model = NaiveBayes({WORDS: Multinomial()}).fit(wide, Y)
    job = NaiveBayes().fit(wide[["job"]], Y)
    words = grouped().fit(X, Y)
    expected = job.predict_joint_log_proba(query[["job"]]) + (
        words.predict_joint_log_proba(QUERY) - words.class_log_prior_
    )
    np.testing.assert_allclose(model.predict_joint_log_proba(query), expected, rtol=1e-12)


def test_gaps_are_zeros():
    gaps = X.astype(float).where(COUNTS > 0)
    assert gaps.isna().to_numpy().any()
    rows = [{k: v for k, v in row.items() if v} for row in ROWS]
    whole = grouped().fit(X, Y)
    for model in (grouped().fit(gaps, Y), grouped().fit(rows, Y), one_by_one(grouped(), rows)):
        equal(model, whole)
    queried = whole.predict_proba(QUERY.astype(float).where(QUERY > 0))
    np.testing.assert_array_equal(queried, whole.predict_proba(QUERY))


def test_a_negative_count_is_refused_everywhere():
    wrong = X.assign(w2=np.where(np.arange(len(X)) == 7, -1, X["w2"]))
    words = r"row 7, column 'w2' holds -1(\.0)?.*not negative"
    model = grouped().fit(X, Y)
    for call in (
        lambda: grouped().fit(wrong, Y),
        lambda: model.partial_fit(wrong, Y),
        lambda: model.forget(wrong, Y),
        lambda: model.predict(wrong),
        lambda: model.explain(wrong),
    ):
        with pytest.raises(ValueError, match=words):
            call()
    row = {"w1": 1, "w2": -1, "w3": 0}
    with pytest.raises(ValueError, match="not negative"):
        model.learn_one(row, "a")
    with pytest.raises(ValueError, match="column 'w2'"):
        model.predict_one(row)
    equal(model, grouped().fit(X, Y))


def test_counts_that_were_not_learned_are_not_forgotten():
    with pytest.raises(NegativeTally, match="forget would remove more"):
        grouped().fit(X, Y).forget([{"w1": 10_000}], ["a"])


@pytest.mark.parametrize(
    "family",
    [Multinomial(), Multinomial(estimate="posterior"), Multinomial(prior=Dirichlet(2.0))],
    ids=repr,
)
def test_explained_by_member_and_saved(family, tmp_path):
    model = grouped(family).fit(X, Y)
    shares = model.explain(QUERY)
    joint = model.predict_joint_log_proba(QUERY)
    np.testing.assert_allclose(
        shares.base + shares.contributions.sum(axis=2), joint, rtol=1e-12, atol=0.0
    )
    assert shares.contributions.shape == (40, 3, 3)
    assert not shares.contributions[QUERY["w1"] == 0][:, :, 0].any()
    model.save(tmp_path / "m.tally")
    loaded = load(tmp_path / "m.tally")
    assert loaded.predict_joint_log_proba(QUERY).tolist() == joint.tolist()
    assert repr(loaded.columns) == repr(model.columns)


def test_integrated_out_is_dirichlet_multinomial():
    model = grouped(Multinomial(alpha=0.5, estimate="posterior")).fit(X, Y)
    joint = model.predict_joint_log_proba(QUERY) - model.class_log_prior_
    for k, label in enumerate("abc"):
        concentration = COUNTS[label == Y].sum(axis=0) + 0.5
        n = QUERY.to_numpy().sum(axis=1)
        whole = dirichlet_multinomial.logpmf(QUERY.to_numpy(), concentration, n)
        orders = np.array(
            [dirichlet_multinomial.logpmf(q, np.ones(3), q.sum()) for q in COUNTS[:1]]
        )
        assert np.isfinite(orders).all()
        # without the coefficient: what every class shares
        expected = whole - _coefficient(QUERY.to_numpy())
        np.testing.assert_allclose(joint[:, k], expected, rtol=1e-11, atol=1e-12)
    assert set(model.schema_["family"]) == {"Dirichlet-multinomial of 3 columns"}
    rows = QUERY.to_dict("records")
    expected = model.predict_proba(QUERY)
    assert [list(model.predict_proba_one(r).values()) for r in rows] == expected.tolist()


def _coefficient(counts):
    """log of n! / Π x_j!."""
    return gammaln(counts.sum(axis=1) + 1.0) - gammaln(counts + 1.0).sum(axis=1)


def test_fractions_of_counts_are_integrated_out_in_full():
    """Of a row whose counts sum to less than 1, too."""
    model = grouped(Multinomial(estimate="posterior")).fit(X, Y)
    row = pd.DataFrame({"w1": [0.25], "w2": [0.5], "w3": [0.0]})
    for k, label in enumerate("abc"):
        a = COUNTS[label == Y].sum(axis=0) + 1.0
        x = row.to_numpy()[0]
        expected = (gammaln(a + x) - gammaln(a)).sum() + gammaln(a.sum()) - gammaln(a.sum() + 0.75)
        joint = model.predict_joint_log_proba(row)[0, k] - model.class_log_prior_[k]
        assert joint == pytest.approx(expected, rel=1e-10)
