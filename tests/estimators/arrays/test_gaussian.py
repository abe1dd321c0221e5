"""GaussianNB where scikit-learn 1.9.1 is wrong or silent: order, batches, zero variance, scale."""

import warnings

import numpy as np
import pytest
import sklearn.naive_bayes
from sklearn.datasets import load_iris

from estimators.cases import (
    LAYOUTS,
    assert_same_counts,
    assert_same_predictions,
    assert_sane_posterior,
    fit_parts,
)
from tallybayes import GaussianNB

X, Y = load_iris(return_X_y=True)
CLASSES = [0, 1, 2]


def assert_same_model(a, b, x, rtol=1e-12):
    """The same means, variances, smoothing and prior, and predictions that follow from them."""
    assert np.array_equal(a.class_count_, b.class_count_)
    np.testing.assert_allclose(a.theta_, b.theta_, rtol=rtol, atol=0)
    np.testing.assert_allclose(a.var_, b.var_, rtol=rtol, atol=0)
    np.testing.assert_allclose(a.epsilon_, b.epsilon_, rtol=rtol, atol=0)
    np.testing.assert_allclose(
        a.predict_joint_log_proba(x), b.predict_joint_log_proba(x), rtol=1e-9
    )
    assert np.array_equal(a.predict(x), b.predict(x))


# ---- batches and order -------------------------------------------------------------------------
def test_one_row_at_a_time_is_fit():
    """Origin: the project's issue 1, "trained one row at a time gives no NaN and the same model".

    scikit-learn adds epsilon into ``var_`` and recomputes it from each batch; of one row it is 0.
    """
    model, theirs = GaussianNB(), sklearn.naive_bayes.GaussianNB()
    for i in range(len(X)):
        model.partial_fit(X[i : i + 1], Y[i : i + 1], classes=CLASSES)
        theirs.partial_fit(X[i : i + 1], Y[i : i + 1], classes=CLASSES)
        assert_sane_posterior(model, X[: i + 1])
    assert_same_model(model, GaussianNB().fit(X, Y), X)
    assert theirs.epsilon_ == 0.0
    assert model.epsilon_ == pytest.approx(1e-9 * X.var(axis=0).max(), rel=1e-12)


def test_a_single_row_has_a_posterior_where_scikit_learn_has_nan():
    """Origin: scikit-learn 1.9.1, ``GaussianNB().fit([[1., 2.]], [0]).predict_proba([[1., 2.]])``
    is NaN: its variance is 0 and so is the epsilon that should prevent that."""
    x = np.array([[1.0, 2.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert np.isnan(sklearn.naive_bayes.GaussianNB().fit(x, [0]).predict_proba(x)).all()
    model = GaussianNB().fit(x, [0])
    assert model.predict_proba(x).tolist() == [[1.0]]
    assert model.var_.tolist() == [[1.0, 1.0]]  # a column constant throughout: the stated rule
    assert np.isfinite(model.predict_joint_log_proba([[1.0, 2.0], [1e6, -1e6]])).all()


@pytest.mark.parametrize("var_smoothing", [0.0, 1e-9, 1e-2, 1.0])
@pytest.mark.parametrize("seed", range(6))
def test_any_split_in_any_order_is_fit_under_any_smoothing(var_smoothing, seed):
    """Origin: the project's STYLE, "smoothing stored in state: results depend on the order of
    batches", and the issue, "any split into batches, in any order, under any var_smoothing"."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(X))
    cuts = np.sort(rng.choice(np.arange(1, len(X)), size=rng.integers(1, 30), replace=False))
    parts = [(X[part], Y[part]) for part in np.split(order, cuts)]
    model = fit_parts(GaussianNB, parts, CLASSES, var_smoothing=var_smoothing)
    assert_same_model(model, GaussianNB(var_smoothing=var_smoothing).fit(X, Y), X)


def test_scikit_learn_depends_on_batches_which_is_why_the_test_above_is_there():
    parts = [(X[i::5], Y[i::5]) for i in range(5)]
    theirs = fit_parts(sklearn.naive_bayes.GaussianNB, parts, CLASSES, var_smoothing=1e-2)
    whole = sklearn.naive_bayes.GaussianNB(var_smoothing=1e-2).fit(X, Y)
    assert np.abs(theirs.var_ / whole.var_ - 1.0).max() > 1e-4


@pytest.mark.parametrize("distance", [1e3, 1e6, 1e9])
def test_a_first_row_far_from_the_rest_costs_no_precision(distance):
    """Origin: the issue, "a first row 1e9 standard deviations away from the rest". The origin of
    the moments is the first row, so the sums are then far larger than the spread."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(500, 2))
    y = np.arange(500) % 2
    far = np.array([[distance, -distance]])
    model = GaussianNB().partial_fit(far, [2], classes=CLASSES)
    for i in range(0, 500, 50):
        model.partial_fit(x[i : i + 50], y[i : i + 50])
    for c in (0, 1):
        np.testing.assert_allclose(model.theta_[c], x[y == c].mean(axis=0), rtol=1e-10, atol=1e-10)
        expected = x[y == c].var(axis=0) + model.epsilon_
        np.testing.assert_allclose(model.var_[c], expected, rtol=1e-10)
    model.forget(far, [2])
    near = GaussianNB(var_smoothing=0.0).fit(x, y)
    kept = model.tally_.groups[0].mean_and_squares()[1][:2] / 250
    np.testing.assert_allclose(kept, near.var_, rtol=1e-10)


# ---- smoothing ---------------------------------------------------------------------------------
def tiny_beside_huge():
    """Column 0 separates the classes at a scale of 1e-6, column 1 is noise at 1e6."""
    rng = np.random.default_rng(0)
    y = np.arange(400) % 2
    x = np.column_stack([(y + 0.1 * rng.normal(size=400)) * 1e-6, 1e6 * rng.normal(size=400)])
    return x, y


def test_a_tiny_column_beside_a_huge_one_keeps_its_information_with_smoothing_of_the_feature():
    """Origin: scikit-learn adds a share of the largest variance of all columns to each of them,
    which here is 1e9 times the variance of the column that matters."""
    x, y = tiny_beside_huge()
    assert GaussianNB(var_smoothing_of="feature").fit(x, y).score(x, y) == 1.0
    assert sklearn.naive_bayes.GaussianNB().fit(x, y).score(x, y) < 0.7


@pytest.mark.parametrize("weighted", [False, True])
def test_smoothing_of_the_feature_adds_a_share_of_each_columns_own_weighted_variance(weighted):
    weights = np.random.default_rng(3).uniform(0.1, 5.0, size=len(X)) if weighted else None
    model = GaussianNB(var_smoothing=0.25, var_smoothing_of="feature").fit(X, Y, weights)
    plain = GaussianNB(var_smoothing=0.0).fit(X, Y, weights)
    mean = np.average(X, axis=0, weights=weights)
    variance = np.average((X - mean) ** 2, axis=0, weights=weights)
    np.testing.assert_allclose(model.epsilon_, 0.25 * variance, rtol=1e-12)
    np.testing.assert_allclose(model.var_, plain.var_ + model.epsilon_, rtol=1e-12)


def test_epsilon_is_weighted():
    """A documented deviation: scikit-learn takes the unweighted variance, so that a row of weight 2
    and the row given twice differ there."""
    weights = np.where(Y == 0, 4.0, 1.0)
    weighted = GaussianNB(var_smoothing=0.1).fit(X, Y, weights)
    repeated = GaussianNB(var_smoothing=0.1).fit(
        np.repeat(X, weights.astype(int), axis=0), np.repeat(Y, weights.astype(int))
    )
    assert_same_model(weighted, repeated, X)
    theirs = sklearn.naive_bayes.GaussianNB(var_smoothing=0.1).fit(X, Y, weights)
    assert abs(theirs.epsilon_ / weighted.epsilon_ - 1.0) > 1e-3


# ---- zero variance -----------------------------------------------------------------------------


def rows_at_once(x, y, w):
    return GaussianNB(var_smoothing=0.0).fit(x, y, w)


def row_by_row(x, y, w):
    model = GaussianNB(var_smoothing=0.0)
    for i in range(len(y)):
        model.partial_fit(x[i : i + 1], y[i : i + 1], [0, 1], w[i : i + 1])
    return model


def sparse_rows(x, y, w):
    return GaussianNB(var_smoothing=0.0).fit(LAYOUTS["csr"](x), y, w)


def two_parts(x, y, w):
    return rows_at_once(x[::2], y[::2], w[::2]) + rows_at_once(x[1::2], y[1::2], w[1::2])


WAYS = [rows_at_once, row_by_row, sparse_rows, two_parts]  # not forgetting: decision 0005 says why


@pytest.mark.parametrize("way", WAYS, ids=lambda w: w.__name__)
@pytest.mark.parametrize("weights", ["one", "whole", "fractional"])
def test_a_variance_of_zero_is_seen_on_every_way_to_it(way, weights):
    """Rounding leaves some 1e-16 of it, which is not a variance: taken for one, a class would be as
    sure of its column as if it had measured it."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        y = np.array([1, 0, 0, 0, 0, 1, 1, 1])  # so that the origin is elsewhere
        x = np.where(y == 0, rng.normal(), rng.normal(size=8))[:, None]
        w = {
            "one": np.ones(8),
            "whole": rng.integers(1, 9, 8).astype(float),
            "fractional": rng.uniform(0.1, 2.0, 8),
        }[weights]
        model = way(x, y, w)
        mean = np.average(x[:, 0], weights=w)
        variance = np.average((x[:, 0] - mean) ** 2, weights=w)
        assert model.var_[0, 0] == pytest.approx(1e-9 * variance, rel=1e-6), seed


@pytest.mark.parametrize("var_smoothing", [0.0, 1e-9])
def test_a_constant_column_says_nothing_about_any_class(var_smoothing):
    """scikit-learn 1.9.1 gives NaN for var_smoothing=0."""
    constant = np.column_stack([X, np.full(len(X), 7.0)])
    params = {"var_smoothing": var_smoothing}
    with_it, without = GaussianNB(**params).fit(constant, Y), GaussianNB(**params).fit(X, Y)
    np.testing.assert_allclose(
        with_it.predict_proba(constant), without.predict_proba(X), rtol=1e-9, atol=1e-15
    )
    assert_sane_posterior(with_it, constant)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = sklearn.naive_bayes.GaussianNB(var_smoothing=0.0).fit(constant, Y)
        assert np.isnan(theirs.predict_proba(constant)).any()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_constant_columns_alone_leave_the_class_prior(layout):
    x, y = LAYOUTS[layout](np.ones((4, 3))), [0, 0, 0, 1]
    model = GaussianNB(var_smoothing=0.0).fit(x, y)
    assert model.var_.tolist() == [[1.0] * 3] * 2
    np.testing.assert_allclose(model.predict_proba(x), [[0.75, 0.25]] * 4, rtol=1e-15)


# ---- input -------------------------------------------------------------------------------------
@pytest.mark.parametrize("layout", ["csr", "csc"])
def test_sparse_rows_train_and_score_as_dense_ones(layout):
    """Asked of scikit-learn since 2017 (its GaussianNB refuses sparse input)."""
    x = np.where(np.random.default_rng(5).random(X.shape) < 0.5, 0.0, X)
    held = LAYOUTS[layout](x)
    dense, thin = GaussianNB().fit(x, Y), GaussianNB().fit(held, Y)
    assert_same_model(dense, thin, x)
    np.testing.assert_allclose(
        thin.predict_joint_log_proba(held), dense.predict_joint_log_proba(x), rtol=1e-9
    )
    thin.partial_fit(held, Y)
    dense.partial_fit(x, Y)
    assert_same_counts(thin, dense)
    thin.forget(held, Y)
    assert_same_counts(thin, GaussianNB().fit(x, Y))
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        sklearn.naive_bayes.GaussianNB().fit(held, Y)


@pytest.mark.parametrize("layout", ["csr", "csc"])
def test_a_sparse_column_of_narrow_spread_far_from_zero_does_not_cancel(layout):
    """(x−μ)² expanded into x² and x would lose every digit here."""
    rng = np.random.default_rng(6)
    y = np.arange(60) % 2
    x = 1e6 + y[:, None] * 1e-3 + 1e-4 * rng.normal(size=(60, 2))
    model = GaussianNB(var_smoothing=0.0).fit(x, y)
    assert_same_predictions(model, model, x)
    np.testing.assert_allclose(
        model.predict_joint_log_proba(LAYOUTS[layout](x)),
        model.predict_joint_log_proba(x),
        rtol=1e-9,
    )
    assert model.score(LAYOUTS[layout](x), y) == 1.0


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, np.int64, np.uint16, bool])
def test_types_of_the_same_values_count_the_same(dtype):
    x = (np.round(X) % 2).astype(dtype)
    model, reference = GaussianNB().fit(x, Y), GaussianNB().fit(x.astype(np.float64), Y)
    assert model.tally_ == reference.tally_
    follows = np.float32 if dtype == np.float32 else np.float64
    for name in ("theta_", "var_", "class_prior_"):
        assert getattr(model, name).dtype == follows, name
    assert model.class_count_.dtype == np.float64


def test_a_float32_score_beyond_the_range_of_float32_is_minus_infinity_without_a_warning():
    """Every log-probability is finite or −inf; a cast is not news to the user."""
    model = GaussianNB().fit(X.astype(np.float32), Y)
    far = np.full((1, 4), 1e30, dtype=np.float32)
    assert np.isneginf(model.predict_joint_log_proba(far)).all()
