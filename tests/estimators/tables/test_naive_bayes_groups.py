"""Groups of columns: those that count together, and correlated numbers."""

import copy

import numpy as np
import pandas as pd
import pytest
from scipy.special import gammaln
from scipy.stats import dirichlet_multinomial, multivariate_normal
from sklearn.datasets import load_iris, load_wine
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.naive_bayes import MultinomialNB

from tallybayes import GaussianNB, NaiveBayes, load
from tallybayes.errors import NegativeTally
from tallybayes.families import Dirichlet, Gaussian, Multinomial, NormalInverseWishart
from tallybayes.tally import CrossMoments

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


NAMES = ("u", "v", "w")
OF_NUMBERS = np.random.default_rng(4)
LABELS = OF_NUMBERS.choice(["a", "b", "c"], 90)
MIX = OF_NUMBERS.normal(size=(3, 3))


def some(n, rng):
    return pd.DataFrame(rng.normal(size=(n, 3)) @ MIX + [1.0, 50.0, -3.0], columns=list(NAMES))


NUMBERS = some(90, OF_NUMBERS) + np.searchsorted(list("abc"), LABELS)[:, None]
ASKED = some(40, OF_NUMBERS)
MISSING = ASKED.mask(OF_NUMBERS.random(ASKED.shape) < 0.3)
RECORDS = NUMBERS.to_dict("records")
FULL = Gaussian(covariance="full")
WISHART = NormalInverseWishart(0.0, 1.0, 5.0, 2.0)
FAMILIES = {
    "plain": FULL,
    "posterior": Gaussian(covariance="full", estimate="posterior"),
    "prior": Gaussian(covariance="full", prior=WISHART, estimate="map"),
}


def correlated(family=FULL, **options):
    return NaiveBayes({NAMES: family}, class_alpha=0.0, **options)


def learned_one_by_one(model, rows=RECORDS, labels=LABELS, **more):
    for row, label in zip(rows, labels, strict=True):
        model.learn_one(row, label, **more)
    return model


def assert_equal(model, other, rtol=1e-9):
    for query in (ASKED, MISSING):
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
    wide, query = (
        NUMBERS.assign(job=np.where(NUMBERS["u"] > 2, "cook", "nurse")),
        ASKED.assign(job="cook"),
    )
    model = NaiveBayes({("w", "u"): FULL, "v": Gaussian()}).fit(wide, LABELS)
    rest = NaiveBayes({"v": Gaussian()}).fit(wide[["v", "job"]], LABELS)
    expected = rest.predict_joint_log_proba(query[["v", "job"]])
    for k, label in enumerate("abc"):
        rows = NUMBERS.loc[label == LABELS, ["w", "u"]]
        cov = np.cov(rows.T, ddof=0) + 1e-9 * np.diag(NUMBERS[["w", "u"]].var(ddof=0))
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
        a = NaiveBayes({"u": given}).fit(NUMBERS[["u"]], LABELS)
        b = NaiveBayes({"u": plain}).fit(NUMBERS[["u"]], LABELS)
        assert np.array_equal(a.predict_proba(ASKED[["u"]]), b.predict_proba(ASKED[["u"]]))
    assert a.columns["u"].covariance == "full"


# ---- gaps ----------------------------------------------------------------------------------------
def test_only_whole_rows_are_counted_and_all_rows_are_scored():
    holes = NUMBERS.mask(np.random.default_rng(1).random(NUMBERS.shape) < 0.2)
    whole = holes.notna().all(axis=1).to_numpy()
    assert 10 < whole.sum() < 80
    model, fewer = correlated().fit(holes, LABELS), correlated().fit(NUMBERS[whole], LABELS[whole])
    tally = model.tally_.groups[0]
    assert isinstance(tally, CrossMoments)
    assert tally.n.sum() == whole.sum()
    assert model.class_count_.sum() == 90
    for query in (ASKED, MISSING):
        apart = model.predict_joint_log_proba(query) - model.class_log_prior_
        expected = fewer.predict_joint_log_proba(query) - fewer.class_log_prior_
        np.testing.assert_allclose(apart, expected, rtol=1e-10)
    rows = [{k: v for k, v in row.items() if v == v} for row in holes.to_dict("records")]
    assert_equal(correlated().fit(rows, LABELS), model)
    assert_equal(learned_one_by_one(correlated(), rows), model)


def test_a_row_of_gaps_says_nothing_and_gaps_are_no_evidence():
    nothing = ASKED.mask(ASKED.notna())
    for missing in ("ignore", "level"):
        model = correlated(missing=missing).fit(NUMBERS, LABELS)
        joint = model.predict_joint_log_proba(nothing)
        assert np.array_equal(joint, np.broadcast_to(model.class_log_prior_, joint.shape))
        assert model.predict_proba_one({}) == model.predict_proba_one({"u": None})


def test_without_a_whole_row_the_group_is_left_out():
    gaps = NUMBERS.assign(u=np.where(np.arange(90) % 2, np.nan, NUMBERS["u"]))
    gaps["w"] = np.where(np.arange(90) % 2, NUMBERS["w"], np.nan)
    model = correlated().fit(gaps, LABELS)
    assert set(model.schema_["why"]) == {"no row was seen that has all columns of the group"}
    joint = model.predict_joint_log_proba(ASKED)
    assert np.array_equal(joint, np.broadcast_to(model.class_log_prior_, joint.shape))
    assert_equal(
        model.partial_fit(NUMBERS, LABELS),
        correlated().fit(pd.concat([gaps, NUMBERS]), np.tile(LABELS, 2)),
    )


# ---- learning ------------------------------------------------------------------------------------
def test_rows_that_were_not_learned_are_not_forgotten():
    whole = correlated().fit(NUMBERS, LABELS)
    with pytest.raises(NegativeTally, match=r"feature 0 .'u'.* would be left with"):
        whole.forget(NUMBERS + 1e6, LABELS)
    assert_equal(whole, correlated().fit(NUMBERS, LABELS), 0.0)


def test_decay_and_half_life():
    model = correlated().fit(NUMBERS, LABELS).decay(0.25)
    assert model.tally_.groups[0].n.sum() == 22.5
    shares = model.predict_proba(ASKED)
    np.testing.assert_allclose(
        shares, correlated().fit(NUMBERS, LABELS).predict_proba(ASKED), rtol=1e-9
    )
    aged = correlated(half_life=20.0)
    assert_equal(learned_one_by_one(copy.deepcopy(aged)), aged.fit(NUMBERS, LABELS), rtol=1e-8)


@pytest.mark.parametrize("kind", [np.float32, np.int64, np.int8, bool])
def test_numbers_of_any_type(kind):
    x = NUMBERS.sub([1.0, 50.0, -3.0]).round() if kind is not bool else NUMBERS.gt(NUMBERS.mean())
    narrow, wide = x.astype(kind), x.astype(float)
    a = NaiveBayes({NAMES: Gaussian(covariance="full", var_smoothing=1e-3)}).fit(narrow, LABELS)
    b = NaiveBayes({NAMES: Gaussian(covariance="full", var_smoothing=1e-3)}).fit(wide, LABELS)
    assert np.array_equal(a.predict_proba(narrow), b.predict_proba(wide))


# ---- one row -------------------------------------------------------------------------------------
@every_family
def test_one_row_is_as_in_a_batch(family):
    stream, whole = learned_one_by_one(correlated(family)), correlated(family).fit(NUMBERS, LABELS)
    assert_equal(stream, whole)
    for query in (ASKED, MISSING):
        rows = query.to_dict("records")
        expected = stream.predict_proba(query)
        found = [list(stream.predict_proba_one(row).values()) for row in rows]
        np.testing.assert_allclose(found, expected, rtol=1e-11)
        assert [stream.predict_one(row) for row in rows] == stream.predict(query).tolist()
    text = {name: str(value) for name, value in RECORDS[0].items()}
    assert stream.predict_one(text) == stream.predict([text]).tolist()[0]
    with pytest.raises(ValueError, match="column 'u' holds the string 'x'"):
        stream.predict_one({**RECORDS[0], "u": "x"})


def test_a_refused_row_counts_nowhere():
    model = learned_one_by_one(correlated())
    for row, words in (
        ({"u": 1.0, "v": "x", "w": 2.0}, "column 'v' holds the string 'x'"),
        ({"u": 1.0, "v": np.inf, "w": 2.0}, "infinity"),
        ({"u": 1.0, "v": 1e200, "w": 2.0}, "too large"),
        ({"u": 1.0, "v": np.datetime64("2020-01-01"), "w": 2.0}, "column 'v' holds dates"),
    ):
        with pytest.raises(ValueError, match=words):
            model.learn_one(row, "a")
    assert_equal(model, correlated().fit(NUMBERS, LABELS))


# ---- what is read --------------------------------------------------------------------------------
@every_family
@pytest.mark.parametrize("query", [ASKED, MISSING], ids=["whole", "gaps"])
def test_contributions_add_up_by_the_order_of_the_group(family, query):
    model = correlated(family).fit(NUMBERS, LABELS)
    shares = model.explain(query)
    joint = model.predict_joint_log_proba(query)
    total = shares.base + shares.contributions.sum(axis=2)
    np.testing.assert_allclose(total, joint, rtol=1e-12)
    assert not shares.contributions[query["v"].isna()][:, :, 1].any()
    alone = model.predict_joint_log_proba(query.assign(v=np.nan, w=np.nan))
    np.testing.assert_allclose(shares.contributions[:, :, 0] + shares.base, alone, rtol=1e-10)
    assert "u" in str(model.explain_one(RECORDS[0]))


def test_intervals_surround_the_probability():
    model = correlated(FAMILIES["posterior"]).fit(NUMBERS, LABELS)
    lower, upper = model.predict_proba_interval(MISSING, level=0.98)
    shares = model.predict_proba(MISSING)
    assert (lower <= upper).all()
    assert ((lower <= shares + 0.05) & (shares <= upper + 0.05)).all()
    assert (upper - lower).max() > 0.05


def test_the_evidence_is_the_sum_of_one_row_after_the_other():
    family = Gaussian(covariance="full", prior=WISHART, estimate="posterior", var_smoothing=0.0)
    model = NaiveBayes({NAMES: family}, classes=["a", "b", "c"])
    x, y = NUMBERS[:12], LABELS[:12]
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
        _ = NaiveBayes({NAMES: FULL}).fit(NUMBERS, LABELS).log_evidence_


# ---- distributions -------------------------------------------------------------------------------
@every_family
def test_the_group_is_a_distribution(family):
    model = correlated(family).fit(NUMBERS.assign(job="cook"), LABELS)
    rows = model.class_conditional_
    law = rows["v"]
    assert (law.batch_shape, law.event_shape) == ((3,), (3,))
    assert law.features == list(NAMES)
    query = ASKED.to_numpy()
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
    assert model.fit(NUMBERS, LABELS).class_conditional_.entropy() == pytest.approx(
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
        NaiveBayes(columns).fit(NUMBERS, LABELS)


def test_texts_and_dates_are_no_numbers():
    with pytest.raises(ValueError, match="row 0, column 'job' holds the string 'cook'"):
        NaiveBayes({("u", "job"): FULL}).fit(NUMBERS.assign(job="cook"), LABELS)
    when = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(90), unit="D")
    with pytest.raises(ValueError, match=r"column 'day' holds dates, .* takes numbers"):
        NaiveBayes({("u", "day"): FULL}).fit(NUMBERS.assign(day=when), LABELS)
    numbers = NUMBERS.astype(str)  # strings that are all numbers are numbers
    assert_equal(
        NaiveBayes({NAMES: FULL}, class_alpha=0.0).fit(numbers, LABELS),
        correlated().fit(NUMBERS, LABELS),
    )


def test_infinite_and_too_large_numbers_are_refused_by_name():
    for bad, words in ((np.inf, "row 7, column 'v' holds inf"), (1e200, "column 'v' is too large")):
        wrong = NUMBERS.assign(v=np.where(np.arange(90) == 7, bad, NUMBERS["v"]))
        model = correlated().fit(NUMBERS, LABELS)
        for learn in (correlated().fit, model.partial_fit):
            with pytest.raises(ValueError, match=words):
                learn(wrong, LABELS)
        assert_equal(model, correlated().fit(NUMBERS, LABELS), 0.0)
    with pytest.raises(ValueError, match="row 7, column 'v' holds inf"):
        model.predict(NUMBERS.assign(v=np.where(np.arange(90) == 7, np.inf, NUMBERS["v"])))


def test_a_prior_of_other_columns_is_refused_before_anything_is_learned():
    family = Gaussian(covariance="full", prior=NormalInverseWishart([0.0, 1.0], 1.0, 5.0, 1.0))
    with pytest.raises(ValueError, match="the prior's mean is for 2 columns, but the group has 3"):
        correlated(family).fit(NUMBERS, LABELS)
