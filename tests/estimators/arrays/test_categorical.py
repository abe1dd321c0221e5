"""CategoricalNB beyond scikit-learn's: the unseen rule, zero counts, sparse rows, codes, declared
levels.
"""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn.naive_bayes

from estimators.cases import (
    LAYOUTS,
    assert_same_counts,
    assert_same_predictions,
    assert_sane_posterior,
    refused,
    rows,
    unchanged,
)
from tallybayes import CategoricalNB
from tallybayes.errors import RuledOutWarning, UnseenLevel


# ---- a level that training did not have ---------------------------------------------------------
def test_scikit_learn_fails_on_an_unseen_category():
    """Origin of the tests below: an IndexError from inside scikit-learn 1.9.1."""
    theirs = sklearn.naive_bayes.CategoricalNB().fit([[0], [1]], [0, 1])
    with pytest.raises(IndexError):
        theirs.predict([[2]])


@pytest.mark.parametrize("alpha", [0.25, 1.0, 3.0])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("code", [3, 4, 1000, 2**31 - 1])
def test_unseen_smooth_gives_alpha_over_the_smoothed_total(alpha, layout, code):
    """The unseen rule of the project's DESIGN: α / (n_cj + α·N_j), N_j the levels found."""
    x = np.array([[0, 1], [1, 1], [2, 0], [2, 1], [2, 1]])
    y = np.array([0, 0, 0, 1, 1])
    model = CategoricalNB(alpha=alpha).fit(x, y)
    query = LAYOUTS[layout](np.array([[code, 1]]))
    joint = model.predict_joint_log_proba(query)[0]
    for k, (m, ones) in enumerate([(3, 2), (2, 2)]):
        unseen = alpha / (m + 3 * alpha)
        known = (ones + alpha) / (m + 2 * alpha)
        assert joint[k] == pytest.approx(np.log(m / 5) + np.log(unseen) + np.log(known), rel=1e-14)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_unseen_ignore_leaves_the_column_out_of_the_product(layout):
    x, y = rows(d=3, dtype=int)
    model = CategoricalNB(unseen="ignore").fit(x, y)
    query = x[:10].copy()
    query[:, 1] = 99
    others = CategoricalNB().fit(x[:, [0, 2]], y)
    np.testing.assert_allclose(
        model.predict_joint_log_proba(LAYOUTS[layout](query)),
        others.predict_joint_log_proba(query[:, [0, 2]]),
        rtol=1e-13,
    )


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    "method", ["predict", "predict_proba", "predict_joint_log_proba", "score_samples"]
)
def test_unseen_error_names_row_column_and_level(method, layout):
    x, y = rows(d=3, dtype=int)
    model = CategoricalNB(unseen="error").fit(x, y)
    query = x.copy()
    query[41, 2] = 7
    query[50, 0] = 9
    with refused(UnseenLevel, r"row 41, column 2 holds the level 7.*codes 0 to 4.*unseen=", model):
        getattr(model, method)(LAYOUTS[layout](query))
    getattr(model, method)(LAYOUTS[layout](x))  # levels that were seen are not an error


def test_unseen_error_does_not_refuse_new_levels_in_training():
    model = CategoricalNB(unseen="error").fit([[0], [1]], [0, 1])
    model.partial_fit([[2]], [1])
    assert model.n_categories_.tolist() == [3]
    assert model.predict([[2]]).tolist() == [1]


def test_levels_found_later_widen_every_class_and_equal_a_fit_of_all_rows():
    x, y = rows(n=90, dtype=int)
    x[60:, 1] += 4
    model = CategoricalNB().partial_fit(x[:50], y[:50], classes=[0, 1, 2])
    narrow = model.n_categories_.tolist()
    model.partial_fit(x[50:], y[50:])
    assert model.n_categories_.tolist() != narrow
    whole = CategoricalNB().fit(x, y)
    assert_same_counts(model, whole)
    assert_same_predictions(model, whole, x)


# ---- alpha = 0 ----------------------------------------------------------------------------------


def test_alpha_zero_rules_out_a_level_no_class_has_seen():
    model = CategoricalNB(alpha=0.0).fit([[0], [1], [1]], ["a", "b", "b"])
    with pytest.warns(RuledOutWarning):
        assert model.predict([[2]]).tolist() == ["b"]
    assert np.isneginf(model.predict_joint_log_proba([[2]])).all()
    assert CategoricalNB(alpha=0.0, unseen="ignore").fit([[0], [1], [1]], [0, 1, 1]).predict(
        [[2]]
    ).tolist() == [1]


# ---- sparse rows ---------------------------------------------------------------------------------
@pytest.mark.parametrize("layout", ["csr", "csc"])
@pytest.mark.parametrize("seed", range(5))
def test_fractional_weights_of_sparse_rows_leave_exact_zeros(layout, seed):
    """Absent entries have the code 0. What is left of a class when the stored ones are removed
    is rounding where there is no absent entry: it must not become a count, nor a negative one."""
    x, y = rows(n=90, seed=seed)
    x[y == 1, 0] += 1.0  # class 1 never has code 0 in column 0
    w = np.random.default_rng(seed).uniform(0.01, 3.0, size=90)
    dense = CategoricalNB(alpha=0.0).fit(x, y, w)
    thin = CategoricalNB(alpha=0.0).fit(LAYOUTS[layout](x), y, w)
    assert dense.category_count_[0][1, 0] == 0.0
    for mine, theirs in zip(thin.category_count_, dense.category_count_, strict=True):
        assert ((mine == 0.0) == (theirs == 0.0)).all()
        np.testing.assert_allclose(mine, theirs, rtol=1e-12)
    assert_sane_posterior(thin, x)


# ---- codes --------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8", "?"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_codes_of_any_type_count_the_same(dtype, layout):
    x, y = rows(dtype=int)
    x = x % 2
    held = LAYOUTS[layout](x.astype(dtype))
    model, reference = CategoricalNB().fit(held, y), CategoricalNB().fit(x, y)
    assert_same_counts(model, reference)
    assert model.predict_proba(held).tolist() == reference.predict_proba(x).tolist()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_fractional_codes_are_an_error_by_default_and_truncated_on_request(layout):
    """scikit-learn truncates them silently."""
    x, y = rows()
    fractional = LAYOUTS[layout](np.where(x > 0, x + 0.75, x))
    with refused(ValueError, r"level codes, whole numbers.*row \d+, column \d holds \d\.75"):
        CategoricalNB().fit(fractional, y)
    truncating = CategoricalNB(non_integer="truncate").fit(fractional, y)
    assert_same_counts(truncating, CategoricalNB().fit(x, y))
    assert np.array_equal(truncating.predict(fractional), CategoricalNB().fit(x, y).predict(x))
    theirs = sklearn.naive_bayes.CategoricalNB().fit(np.where(x > 0, x + 0.75, x), y)
    assert np.array_equal(theirs.category_count_[0], truncating.category_count_[0])


def test_truncation_does_not_reach_values_that_are_no_codes():
    model = CategoricalNB(non_integer="truncate").fit([[0.5], [1.5]], [0, 1])
    for wrong, message in [(np.nan, "NaN"), (np.inf, "infinity"), (-1.5, "Negative")]:
        with refused(ValueError, rf"{message}.*row 0, column 0", model):
            model.predict([[wrong]])


@pytest.mark.parametrize("non_integer", ["error", "truncate"])
def test_a_code_beyond_all_integers_is_as_unseen_as_any_other(non_integer):
    """A code is unseen however large it is, and in whatever type it comes."""
    model = CategoricalNB(non_integer=non_integer).fit([[0], [1]], [0, 1])
    expected = model.predict_proba([[2]]).tolist()
    for query in ([[2**40]], [[2.0**40]], [[1e300]], np.array([[2**63 + 5]], dtype=np.uint64)):
        with unchanged(model):
            assert model.predict_proba(query).tolist() == expected, query


@pytest.mark.parametrize("method", ["fit", "partial_fit", "forget"])
def test_training_refuses_a_code_that_would_need_a_huge_table(method):
    model = CategoricalNB().fit([[0, 1], [1, 0]], [0, 1])
    with refused(ValueError, r"row 1, column 0 holds 2147483648.*OrdinalEncoder", model):
        getattr(model, method)([[0, 1], [2**31, 0]], [0, 1])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([3, 2, 2], "should have shape"),
        ([[3, 2], [2, 4]], "should have shape"),
        ([2.5, 2.0], "integral"),
        ([2, 0], "at least 1"),
        ("abc", "min_categories"),
        (0, "min_categories"),
    ],
    ids=str,
)
def test_min_categories_that_do_not_fit_are_refused(given, message):
    model = CategoricalNB(min_categories=given)
    with refused(ValueError, message, model):
        model.fit([[0, 0], [1, 1]], [0, 1])


# ---- large tables --------------------------------------------------------------------------------
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("late", [None, 7, 300])
def test_levels_that_come_late_in_a_large_table_are_counted(late, weighted):
    """Large tables are counted as if the first rows had every level, and again where not."""
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 4, size=(20_000, 3)), rng.integers(0, 2, 20_000)
    if late is not None:
        x[-1, 1] = late
    w = rng.uniform(size=len(y)) if weighted else None
    model = CategoricalNB().fit(x, y, w)
    assert model.n_categories_.tolist() == [4, 4 if late is None else late + 1, 4]
    for j, counts in enumerate(model.category_count_):
        for k in (0, 1):
            rows = y == k
            expected = np.bincount(
                x[rows, j], weights=None if w is None else w[rows], minlength=counts.shape[1]
            )
            np.testing.assert_allclose(counts[k], expected, rtol=1e-12)


def test_what_is_wrong_late_in_a_large_table_is_named():
    x, y = np.zeros((20_000, 2)), np.arange(20_000) % 2
    x[19_999, 1] = 0.5
    with refused(ValueError, "row 19999, column 1 holds 0.5", model := CategoricalNB()):
        model.fit(x, y)


WEATHER = [["sun", "rain", "snow"], ["calm", "wind"]]
DAYS = [["sun", "calm"], ["rain", "wind"], ["rain", "calm"], ["sun", "wind"], ["sun", "calm"]]
PLANS = ["out", "in", "in", "out", "out"]


def as_object(days):
    return np.array(days, dtype=object)


def as_pandas(days):
    return pd.DataFrame(days, columns=["sky", "air"])


def as_polars(days):
    return pl.DataFrame(days, schema=["sky", "air"], orient="row")


HOLDERS = {"list": list, "array": np.array, "object": as_object, "pandas": as_pandas}
HOLDERS["polars"] = as_polars


@pytest.mark.parametrize("holder", HOLDERS.values(), ids=HOLDERS)
def test_declared_levels_are_counted_in_the_order_of_their_declaration(holder):
    model = CategoricalNB(levels=WEATHER).fit(holder(DAYS), PLANS)
    sky, air = model.category_count_
    assert sky.tolist() == [[0, 2, 0], [3, 0, 0]]  # classes "in", "out"; levels sun, rain, snow
    assert air.tolist() == [[1, 1], [2, 1]]
    assert model.n_categories_.tolist() == [3, 2]
    np.testing.assert_allclose(np.exp(model.feature_log_prob_[0]).sum(axis=1), 1.0, rtol=1e-15)
    np.testing.assert_allclose(
        np.exp(model.feature_log_prob_[0]), [[1 / 5, 3 / 5, 1 / 5], [4 / 6, 1 / 6, 1 / 6]]
    )
    assert model.predict(holder([["sun", "wind"], ["snow", "wind"]])).tolist() == ["out", "in"]


def test_declared_levels_are_the_same_model_as_their_codes():
    codes = np.array([[WEATHER[j].index(v) for j, v in enumerate(day)] for day in DAYS])
    by_value = CategoricalNB(levels=WEATHER).fit(DAYS, PLANS)
    by_code = CategoricalNB(min_categories=[3, 2]).fit(codes, PLANS)
    assert_same_counts(by_value, by_code)
    assert by_value.predict_proba(DAYS).tolist() == by_code.predict_proba(codes).tolist()


def test_columns_of_different_types_can_be_declared():
    frame = pd.DataFrame({"size": [1.5, 2.5, 2.5], "n": [3, 4, 3], "ok": [True, False, True]})
    levels = [[1.5, 2.5], [3, 4], [False, True]]
    model = CategoricalNB(levels=levels).fit(frame, ["a", "b", "b"])
    assert [column.tolist() for column in model.category_count_] == [
        [[1, 0], [0, 2]],
        [[1, 0], [1, 1]],
        [[0, 1], [1, 1]],
    ]


def test_a_row_of_different_types_can_be_a_list():
    """A nested list with a string makes NumPy turn every number into a string."""
    model = CategoricalNB(levels=[["sun", "rain"], [0, 1]])
    model.fit([["sun", 0], ["rain", 1]], ["out", "in"])
    assert model.predict([["sun", 0]]).tolist() == ["out"]


def test_levels_of_different_types_can_be_declared_for_one_column():
    x = np.array([[1], ["a"], [1]], dtype=object)
    model = CategoricalNB(levels=[[1, "a"]]).fit(x, [0, 1, 0])
    assert model.category_count_[0].tolist() == [[2, 0], [0, 1]]


@pytest.mark.parametrize("unseen", ["smooth", "ignore", "error"])
@pytest.mark.parametrize("learn", ["fit", "partial_fit", "forget"])
def test_training_refuses_a_value_that_is_not_declared(learn, unseen):
    model = CategoricalNB(levels=WEATHER, unseen=unseen).fit(DAYS, PLANS)
    wrong = [*DAYS[:3], ["sun", "storm"]]
    with refused(UnseenLevel, r"row 3, column 1 holds 'storm'.*'calm', 'wind'.*declare it", model):
        getattr(model, learn)(wrong, PLANS[:4])


def test_an_undeclared_value_in_a_frame_is_named_by_its_column():
    model = CategoricalNB(levels=WEATHER, unseen="error").fit(as_pandas(DAYS), PLANS)
    with refused(UnseenLevel, r"row 0, column 1 \('air'\) holds 'storm'", model):
        model.predict(as_pandas([["sun", "storm"]]))


def test_predicting_an_undeclared_value_follows_unseen():
    smooth = CategoricalNB(levels=WEATHER).fit(DAYS, PLANS)
    ignore = CategoricalNB(levels=WEATHER, unseen="ignore").fit(DAYS, PLANS)
    refuse = CategoricalNB(levels=WEATHER, unseen="error").fit(DAYS, PLANS)
    query = [["fog", "calm"]]
    table = {"in": (2, 5, 2 / 4), "out": (3, 6, 3 / 5)}  # rows, n + 3α, P(calm)
    for k, (rows_of, total, calm) in enumerate(table.values()):
        prior = np.log(rows_of / 5) + np.log(calm)
        assert smooth.predict_joint_log_proba(query)[0, k] == pytest.approx(
            prior + np.log(1 / total), rel=1e-14
        )
        assert ignore.predict_joint_log_proba(query)[0, k] == pytest.approx(prior, rel=1e-14)
    with refused(UnseenLevel, "row 0, column 0 holds 'fog'", refuse):
        refuse.predict(query)


@pytest.mark.parametrize("missing", [None, np.nan], ids=["None", "NaN"])
@pytest.mark.parametrize("unseen", ["smooth", "error"])
def test_a_missing_value_is_no_unseen_level(missing, unseen):
    """NaN is refused everywhere else; taken for a level, it would be scored without a word."""
    model = CategoricalNB(levels=WEATHER, unseen=unseen).fit(DAYS, PLANS)
    query = np.array([["sun", "calm"], [missing, "calm"]], dtype=object)
    with refused(ValueError, "row 1, column 0", model):
        model.predict(query)


@pytest.mark.parametrize("layout", ["csr", "csc"])
def test_declared_levels_refuse_sparse_rows(layout):
    x = LAYOUTS[layout](np.eye(2))
    with refused(
        TypeError, r"[Ss]parse.*X\.toarray\(\)", model := CategoricalNB(levels=[[0, 1]] * 2)
    ):
        model.fit(x, [0, 1])


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        ([["sun"]], "levels declares 1 columns, X has 2"),
        ([*WEATHER, ["x"]], "levels declares 3 columns, X has 2"),
        ([["sun", "rain"], []], r"levels\[1\] must be a list of at least one value"),
        ([["sun", "rain", "sun"], ["calm", "wind"]], r"levels\[0\] declares a value twice"),
        ([["sun", "rain"], "calm"], r"levels\[1\] must be a list"),
        ([["sun", "rain"], [["calm"], ["wind"]]], r"levels\[1\] must be a list"),
        ("ab", "levels"),
        (7, "levels"),
    ],
    ids=str,
)
def test_declarations_that_do_not_fit_are_refused(levels, message):
    model = CategoricalNB(levels=levels)
    with refused(ValueError, message, model):
        model.fit(DAYS, PLANS)
