"""Groups of correlated numbers: ("alcohol", "hue"): Gaussian(covariance="full")."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal
from sklearn.datasets import load_iris, load_wine
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis

from tallybayes import GaussianNB, NaiveBayes, load
from tallybayes.errors import NegativeTally
from tallybayes.families import Gaussian, Multinomial, NormalInverseWishart
from tallybayes.tally import CrossMoments

NAMES = ("u", "v", "w")
RNG = np.random.default_rng(4)
Y = RNG.choice(["a", "b", "c"], 90)
MIX = RNG.normal(size=(3, 3))


def some(n, rng):
    return pd.DataFrame(rng.normal(size=(n, 3)) @ MIX + [1.0, 50.0, -3.0], columns=list(NAMES))


X = some(90, RNG) + np.searchsorted(list("abc"), Y)[:, None]
QUERY = some(40, RNG)
MISSING = QUERY.mask(RNG.random(QUERY.shape) < 0.3)
ROWS = X.to_dict("records")
FULL = Gaussian(covariance="full")
WISHART = NormalInverseWishart(0.0, 1.0, 5.0, 2.0)
FAMILIES = {
    "plain": FULL,
    "posterior": Gaussian(covariance="full", estimate="posterior"),
    "prior": Gaussian(covariance="full", prior=WISHART, estimate="map"),
}


def grouped(family=FULL, **options):
    return NaiveBayes({NAMES: family}, class_alpha=0.0, **options)


def one_by_one(model, rows=ROWS, labels=Y, **more):
    for row, label in zip(rows, labels, strict=True):
        model.learn_one(row, label, **more)
    return model


def equal(model, other, rtol=1e-9):
    for query in (QUERY, MISSING):
        a, b = (m.predict_joint_log_proba(query) for m in (model, other))
        np.testing.assert_allclose(a, b, rtol=rtol)
    np.testing.assert_allclose(model.class_count_, other.class_count_, rtol=1e-12)


every_family = pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)


# ---- known answers -------------------------------------------------------------------------------
@pytest.mark.parametrize("data", [load_iris, load_wine])
def test_one_group_of_all_columns_is_quadratic_discriminant_analysis(data):
    x, y = data(return_X_y=True, as_frame=True)
    theirs = QuadraticDiscriminantAnalysis(priors=[1 / 3] * 3, store_covariance=True).fit(x, y)
    # the divisor of its covariance was n − 1 up to scikit-learn 1.7 and is n since
    ddof = float(np.isclose(theirs.covariance_[0][0, 0], x[y == 0].iloc[:, 0].var(ddof=1)))
    family = Gaussian(covariance="full", ddof=ddof, var_smoothing=0.0)
    model = NaiveBayes({tuple(x.columns): family}, class_prior=[1 / 3] * 3, class_alpha=0.0)
    model.fit(x, y)
    np.testing.assert_allclose(
        model.predict_proba(x), theirs.predict_proba(x), rtol=1e-8, atol=1e-12
    )
    assert np.array_equal(model.predict(x), theirs.predict(x))
    apart = model.predict_joint_log_proba(x) - theirs.decision_function(x)
    np.testing.assert_allclose(apart - apart[:, :1], 0.0, atol=1e-9)


def test_the_likelihood_is_that_of_scipy_beside_other_columns():
    wide, query = X.assign(job=np.where(X["u"] > 2, "cook", "nurse")), QUERY.assign(job="cook")
    model = NaiveBayes({("w", "u"): FULL, "v": Gaussian()}).fit(wide, Y)
    rest = NaiveBayes({"v": Gaussian()}).fit(wide[["v", "job"]], Y)
    expected = rest.predict_joint_log_proba(query[["v", "job"]])
    for k, label in enumerate("abc"):
        rows = X.loc[label == Y, ["w", "u"]]
        cov = np.cov(rows.T, ddof=0) + 1e-9 * np.diag(X[["w", "u"]].var(ddof=0))
        expected[:, k] += multivariate_normal(rows.mean(), cov).logpdf(query[["w", "u"]])
    np.testing.assert_allclose(model.predict_joint_log_proba(query), expected, rtol=1e-10)
    read = model.schema_.set_index("column")
    assert read.loc["w", "family"] == "Gaussian of 2 columns, full covariance"
    assert read.loc["u", "holds"] == "numbers"
    assert read.loc["w", "why"] == "declared"


def test_independent_columns_are_near_gaussian_nb_and_correlated_ones_beat_it():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 2000)
    z = rng.normal(size=(2000, 2))
    x = np.column_stack([z[:, 0], np.where(y == 1, z[:, 0], -z[:, 0]) + 0.3 * z[:, 1]])
    table = pd.DataFrame(x, columns=["a", "b"])
    full = NaiveBayes({("a", "b"): FULL}).fit(table, y)
    assert full.score(table, y) > 0.85
    assert GaussianNB().fit(x, y).score(x, y) < 0.6
    plain = pd.DataFrame(z + y[:, None], columns=["a", "b"])
    full = NaiveBayes({("a", "b"): FULL}).fit(plain, y)
    apart = NaiveBayes({"a": Gaussian(), "b": Gaussian()}).fit(plain, y)
    np.testing.assert_allclose(full.predict_proba(plain), apart.predict_proba(plain), atol=0.05)


def test_a_single_column_is_read_as_a_gaussian():
    for given, plain in (
        (FULL, Gaussian()),
        (
            Gaussian(covariance="full", prior=NormalInverseWishart(1.0, 2.0, 4.0, 6.0)),
            Gaussian(prior=NormalInverseWishart(1.0, 2.0, 4.0, 6.0).of_one_column()),
        ),
    ):
        a = NaiveBayes({"u": given}).fit(X[["u"]], Y)
        b = NaiveBayes({"u": plain}).fit(X[["u"]], Y)
        assert np.array_equal(a.predict_proba(QUERY[["u"]]), b.predict_proba(QUERY[["u"]]))
    assert a.columns["u"].covariance == "full"


# ---- gaps ----------------------------------------------------------------------------------------
def test_only_whole_rows_are_counted_and_all_rows_are_scored():
    holes = X.mask(np.random.default_rng(1).random(X.shape) < 0.2)
    whole = holes.notna().all(axis=1).to_numpy()
    assert 10 < whole.sum() < 80
    model, fewer = grouped().fit(holes, Y), grouped().fit(X[whole], Y[whole])
    tally = model.tally_.groups[0]
    assert isinstance(tally, CrossMoments)
    assert tally.n.sum() == whole.sum()
    assert model.class_count_.sum() == 90
    for query in (QUERY, MISSING):
        apart = model.predict_joint_log_proba(query) - model.class_log_prior_
        expected = fewer.predict_joint_log_proba(query) - fewer.class_log_prior_
        np.testing.assert_allclose(apart, expected, rtol=1e-10)
    rows = [{k: v for k, v in row.items() if v == v} for row in holes.to_dict("records")]
    equal(grouped().fit(rows, Y), model)
    equal(one_by_one(grouped(), rows), model)


def test_a_row_of_gaps_says_nothing_and_gaps_are_no_evidence():
    nothing = QUERY.mask(QUERY.notna())
    for missing in ("ignore", "level"):
        model = grouped(missing=missing).fit(X, Y)
        joint = model.predict_joint_log_proba(nothing)
        assert np.array_equal(joint, np.broadcast_to(model.class_log_prior_, joint.shape))
        assert model.predict_proba_one({}) == model.predict_proba_one({"u": None})


def test_without_a_whole_row_the_group_is_left_out():
    gaps = X.assign(u=np.where(np.arange(90) % 2, np.nan, X["u"]))
    gaps["w"] = np.where(np.arange(90) % 2, X["w"], np.nan)
    model = grouped().fit(gaps, Y)
    assert set(model.schema_["why"]) == {"no row was seen that has all columns of the group"}
    joint = model.predict_joint_log_proba(QUERY)
    assert np.array_equal(joint, np.broadcast_to(model.class_log_prior_, joint.shape))
    equal(model.partial_fit(X, Y), grouped().fit(pd.concat([gaps, X]), np.tile(Y, 2)))


# ---- learning ------------------------------------------------------------------------------------
def test_rows_that_were_not_learned_are_not_forgotten():
    whole = grouped().fit(X, Y)
    with pytest.raises(NegativeTally, match=r"feature 0 .'u'.* would be left with"):
        whole.forget(X + 1e6, Y)
    equal(whole, grouped().fit(X, Y), 0.0)


def test_decay_and_half_life():
    model = grouped().fit(X, Y).decay(0.25)
    assert model.tally_.groups[0].n.sum() == 22.5
    shares = model.predict_proba(QUERY)
    np.testing.assert_allclose(shares, grouped().fit(X, Y).predict_proba(QUERY), rtol=1e-9)
    aged = grouped(half_life=20.0)
    equal(one_by_one(copy.deepcopy(aged)), aged.fit(X, Y), rtol=1e-8)


@pytest.mark.parametrize("kind", [np.float32, np.int64, np.int8, bool])
def test_numbers_of_any_type(kind):
    x = X.sub([1.0, 50.0, -3.0]).round() if kind is not bool else X.gt(X.mean())
    narrow, wide = x.astype(kind), x.astype(float)
    a = NaiveBayes({NAMES: Gaussian(covariance="full", var_smoothing=1e-3)}).fit(narrow, Y)
    b = NaiveBayes({NAMES: Gaussian(covariance="full", var_smoothing=1e-3)}).fit(wide, Y)
    assert np.array_equal(a.predict_proba(narrow), b.predict_proba(wide))


# ---- one row -------------------------------------------------------------------------------------
@every_family
def test_one_row_is_as_in_a_batch(family):
    stream, whole = one_by_one(grouped(family)), grouped(family).fit(X, Y)
    equal(stream, whole)
    for query in (QUERY, MISSING):
        rows = query.to_dict("records")
        expected = stream.predict_proba(query)
        found = [list(stream.predict_proba_one(row).values()) for row in rows]
        np.testing.assert_allclose(found, expected, rtol=1e-11)
        assert [stream.predict_one(row) for row in rows] == stream.predict(query).tolist()
    text = {name: str(value) for name, value in ROWS[0].items()}
    assert stream.predict_one(text) == stream.predict([text]).tolist()[0]
    with pytest.raises(ValueError, match="column 'u' holds the string 'x'"):
        stream.predict_one({**ROWS[0], "u": "x"})


def test_a_refused_row_counts_nowhere():
    model = one_by_one(grouped())
    for row, words in (
        ({"u": 1.0, "v": "x", "w": 2.0}, "column 'v' holds the string 'x'"),
        ({"u": 1.0, "v": np.inf, "w": 2.0}, "infinity"),
        ({"u": 1.0, "v": 1e200, "w": 2.0}, "too large"),
        ({"u": 1.0, "v": np.datetime64("2020-01-01"), "w": 2.0}, "column 'v' holds dates"),
    ):
        with pytest.raises(ValueError, match=words):
            model.learn_one(row, "a")
    equal(model, grouped().fit(X, Y))


# ---- what is read --------------------------------------------------------------------------------
@every_family
@pytest.mark.parametrize("query", [QUERY, MISSING], ids=["whole", "gaps"])
def test_contributions_add_up_by_the_order_of_the_group(family, query):
    model = grouped(family).fit(X, Y)
    shares = model.explain(query)
    joint = model.predict_joint_log_proba(query)
    total = shares.base + shares.contributions.sum(axis=2)
    np.testing.assert_allclose(total, joint, rtol=1e-12)
    assert not shares.contributions[query["v"].isna()][:, :, 1].any()
    alone = model.predict_joint_log_proba(query.assign(v=np.nan, w=np.nan))
    np.testing.assert_allclose(shares.contributions[:, :, 0] + shares.base, alone, rtol=1e-10)
    assert "u" in str(model.explain_one(ROWS[0]))


@every_family
def test_saved_copied_and_pickled(family, tmp_path):
    model = grouped(family).fit(X, Y)
    expected = model.predict_joint_log_proba(MISSING).tolist()
    model.save(tmp_path / "m.tally")
    for other in (
        load(tmp_path / "m.tally"),
        copy.deepcopy(model),
        pickle.loads(pickle.dumps(model)),
    ):
        assert other.predict_joint_log_proba(MISSING).tolist() == expected
        assert repr(other.columns) == repr(model.columns)
        assert other.tally_ == model.tally_
        equal(other.partial_fit(X, Y), grouped(family).fit(pd.concat([X, X]), np.tile(Y, 2)))


def test_intervals_surround_the_probability():
    model = grouped(FAMILIES["posterior"]).fit(X, Y)
    lower, upper = model.predict_proba_interval(MISSING, level=0.98)
    shares = model.predict_proba(MISSING)
    assert (lower <= upper).all()
    assert ((lower <= shares + 0.05) & (shares <= upper + 0.05)).all()
    assert (upper - lower).max() > 0.05


def test_the_evidence_is_the_sum_of_one_row_after_the_other():
    family = Gaussian(covariance="full", prior=WISHART, estimate="posterior", var_smoothing=0.0)
    model = NaiveBayes({NAMES: family}, classes=["a", "b", "c"])
    x, y = X[:12], Y[:12]
    total = np.log(1 / 3)
    total += float(NaiveBayes({NAMES: family}, classes=["a", "b", "c"]).fit(x[:1], y[:1])
                   .log_evidence_) - np.log(1 / 3)  # fmt: skip
    for i in range(1, 12):
        model = NaiveBayes({NAMES: family}, classes=["a", "b", "c"]).fit(x[:i], y[:i])
        joint = model.predict_joint_log_proba(x[i : i + 1])[0]
        total += joint[model.classes_.tolist().index(y[i])]
    whole = NaiveBayes({NAMES: family}, classes=["a", "b", "c"]).fit(x, y)
    assert whole.log_evidence_ == pytest.approx(total, rel=1e-9)
    with pytest.raises(AttributeError, match=r"prior=NormalInverseWishart\(…\)"):
        _ = NaiveBayes({NAMES: FULL}).fit(X, Y).log_evidence_


# ---- distributions -------------------------------------------------------------------------------
@every_family
def test_the_group_is_a_distribution(family):
    model = grouped(family).fit(X.assign(job="cook"), Y)
    rows = model.class_conditional_
    law = rows["v"]
    assert (law.batch_shape, law.event_shape) == ((3,), (3,))
    assert law.features == list(NAMES)
    query = QUERY.to_numpy()
    each = np.column_stack([f.logpdf(query) for f in law.frozen])
    np.testing.assert_allclose(law.log_prob(query), each, rtol=1e-9)
    joint = model.predict_joint_log_proba(MISSING.assign(job="cook"))
    both = rows.log_prob(MISSING.assign(job="cook")) + model.class_log_prior_
    np.testing.assert_allclose(both, joint, rtol=1e-12)
    assert law.log_prob([np.inf, 1.0, 1.0]).tolist() == [-np.inf] * 3
    drawn = law.sample(40_000, random_state=0)
    assert drawn.shape == (40_000, 3, 3)
    np.testing.assert_allclose(drawn.mean(axis=0), law.mean(), atol=0.15)
    for k in range(3):
        np.testing.assert_allclose(np.cov(drawn[:, k].T), law.covariance()[k], rtol=0.15, atol=0.3)
    np.testing.assert_allclose(law.stddev() ** 2, law.variance())
    np.testing.assert_allclose(-law.log_prob(drawn[:, 1])[:, 1].mean(), law.entropy()[1], rtol=0.01)
    np.testing.assert_allclose(rows.mean()["w"], law.mean()[:, 2])
    assert model.fit(X, Y).class_conditional_.entropy() == pytest.approx(
        model.class_conditional_["u"].entropy()
    )
    table, labels = model.joint_.sample(50, random_state=0)
    assert list(table.columns) == list(NAMES)
    assert set(labels) <= set("abc")
    assert model.score(table, labels) > 0.4


# ---- what is refused -----------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({("u",): FULL}, "one column has no covariance: name it by itself, 'u'"),
        ([(["u", "v"], FULL)], "name them in a tuple"),
        ({float: FULL}, "name them in a tuple"),
        ({("u", "v", "u"): FULL}, "names 'u' twice in the group"),
        ({("u", "nix"): FULL}, "names 'nix', which X does not have"),
        ({("u", "v"): FULL, "v": Gaussian()}, "has 'v' in a group and elsewhere"),
        ({("u", "v"): FULL, ("v", "w"): Multinomial()}, "has 'v' in a group and elsewhere"),
    ],
)
def test_what_cannot_be_declared(columns, words):
    with pytest.raises(ValueError, match=words):
        NaiveBayes(columns).fit(X, Y)


def test_texts_and_dates_are_no_numbers():
    with pytest.raises(ValueError, match="row 0, column 'job' holds the string 'cook'"):
        NaiveBayes({("u", "job"): FULL}).fit(X.assign(job="cook"), Y)
    when = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(90), unit="D")
    with pytest.raises(ValueError, match=r"column 'day' holds dates, .* takes numbers"):
        NaiveBayes({("u", "day"): FULL}).fit(X.assign(day=when), Y)
    numbers = X.astype(str)  # strings that are all numbers are numbers
    equal(NaiveBayes({NAMES: FULL}, class_alpha=0.0).fit(numbers, Y), grouped().fit(X, Y))


def test_infinite_and_too_large_numbers_are_refused_by_name():
    for bad, words in ((np.inf, "row 7, column 'v' holds inf"), (1e200, "column 'v' is too large")):
        wrong = X.assign(v=np.where(np.arange(90) == 7, bad, X["v"]))
        model = grouped().fit(X, Y)
        for call in (lambda: grouped().fit(wrong, Y), lambda: model.partial_fit(wrong, Y)):  # noqa: B023
            with pytest.raises(ValueError, match=words):
                call()
        equal(model, grouped().fit(X, Y), 0.0)
    with pytest.raises(ValueError, match="row 7, column 'v' holds inf"):
        model.predict(X.assign(v=np.where(np.arange(90) == 7, np.inf, X["v"])))


def test_a_prior_of_other_columns_is_refused_before_anything_is_learned():
    family = Gaussian(covariance="full", prior=NormalInverseWishart([0.0, 1.0], 1.0, 5.0, 1.0))
    with pytest.raises(ValueError, match="the prior's mean is for 2 columns, but the group has 3"):
        grouped(family).fit(X, Y)
