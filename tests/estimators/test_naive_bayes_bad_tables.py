"""Bad tables: each row of the table of outcomes in docs/decisions/0007-tables.md, by frame library.

Where a table is refused, the model stays as it was.
"""

from __future__ import annotations

import datetime
import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.exceptions import NotFittedError

from tallybayes import NaiveBayes
from tallybayes.families import Binned, Categorical, Gaussian

N = 120
RNG = np.random.default_rng(5)
Y = np.where(RNG.random(N) < 0.4, "yes", "no")
DATA = {
    "age": (40.0 + 9.0 * (Y == "yes") + RNG.normal(0, 6, N)).round(1).tolist(),
    "visits": RNG.poisson(1.0 + 2.0 * (Y == "yes")).tolist(),
    "job": np.where(RNG.random(N) < 0.7, np.where(Y == "yes", "cook", "clerk"), "nurse").tolist(),
}
FRAMES = {
    "pandas": pd.DataFrame,
    "polars": lambda data: pl.DataFrame(data, strict=False),
    "pyarrow": pa.table,
    "dicts": lambda data: [
        dict(zip(data, row, strict=True)) for row in zip(*data.values(), strict=True)
    ],
}
EVERY = pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
TABLES = pytest.mark.parametrize(  # what has columns even where it has no row
    "frame", [FRAMES[name] for name in ("pandas", "polars", "pyarrow")], ids=list(FRAMES)[:3]
)
WHOLE = NaiveBayes().fit(pd.DataFrame(DATA), Y)
EXPECTED = WHOLE.predict_proba(pd.DataFrame(DATA))


def decided(model):
    """The rows of schema_, by column."""
    return model.schema_.set_index("column")


def refused(words, call, model=None):
    """A ValueError with these words; the model predicts as before."""
    with pytest.raises(ValueError, match=words):
        call()
    if model is not None:
        assert np.array_equal(model.predict_proba(pd.DataFrame(DATA)), EXPECTED)


def trained():
    return NaiveBayes().fit(pd.DataFrame(DATA), Y)


# ---- columns that say nothing ----
@EVERY
def test_a_column_without_a_value_is_kept_by_name_until_a_value_comes(frame):
    model = NaiveBayes().fit(frame({**DATA, "empty": [None] * N}), Y)
    assert model.n_features_in_ == 4
    assert decided(model).loc["empty", ["holds", "family", "why"]].tolist() == [
        "nothing yet",
        "left out",
        "no value was seen",
    ]
    query = frame({**DATA, "empty": [None] * N})
    assert np.array_equal(model.predict_proba(query), EXPECTED)
    assert np.array_equal(model.predict_proba(frame({**DATA, "empty": ["x"] * N})), EXPECTED)
    model.partial_fit(frame({**DATA, "empty": ["x", "y"] * (N // 2)}), Y)
    assert decided(model).loc["empty", "family"] == "categorical, 2 levels"


GAPS_OF = {
    "pandas float64": pd.Series([np.nan] * N),
    "pandas Int64": pd.Series([None] * N, dtype="Int64"),
    "pandas boolean": pd.Series([None] * N, dtype="boolean"),
    "pandas category": pd.Series(pd.Categorical([None] * N, categories=["u", "v"])),
    "pandas str": pd.Series([None] * N, dtype="string"),
    "pandas date": pd.to_datetime(pd.Series([None] * N)),
    "polars Float64": pl.Series([None] * N, dtype=pl.Float64),
    "polars NaN": pl.Series([np.nan] * N),
    "polars Boolean": pl.Series([None] * N, dtype=pl.Boolean),
    "polars String": pl.Series([None] * N, dtype=pl.String),
    "polars Date": pl.Series([None] * N, dtype=pl.Date),
    "polars Decimal": pl.Series([None] * N, dtype=pl.Decimal(5, 1)),
    "pyarrow float": pa.array([None] * N, pa.float32()),
    "pyarrow NaN": pa.array([np.nan] * N),
    "pyarrow text": pa.array([None] * N, pa.string()),
}


@pytest.mark.parametrize("gaps", GAPS_OF.values(), ids=GAPS_OF)
@pytest.mark.parametrize(
    "columns", ["auto", {"empty": Gaussian()}, {"empty": Categorical()}], ids=repr
)
def test_the_type_of_a_column_without_a_value_does_not_matter(gaps, columns):
    """A batch of a CSV file without a value is one of floats in pandas, whatever follows."""
    library = type(gaps).__module__.split(".")[0]
    frame = FRAMES[library](DATA | {"empty": gaps})
    model = NaiveBayes(columns).fit(frame, Y)
    assert decided(model).loc["empty", ["holds", "why"]].tolist() == [
        "nothing yet",
        "no value was seen",
    ]
    one_by_one = NaiveBayes(columns)
    for row, label in zip(FRAMES["dicts"]({**DATA, "empty": [None] * N}), Y, strict=True):
        one_by_one.learn_one(row, label)
    assert one_by_one.schema_.equals(model.schema_)
    assert np.array_equal(model.predict_proba(frame), EXPECTED)
    if columns == "auto":
        for values in (["x", "y"] * (N // 2), [1.5, 2.5] * (N // 2)):
            later = NaiveBayes().fit(frame, Y)
            later.partial_fit(pd.DataFrame({**DATA, "empty": values}), Y)
            expected = "texts" if values[0] == "x" else "numbers"
            assert decided(later).loc["empty", "holds"] == expected


@EVERY
@pytest.mark.parametrize("value", [3, 2.5, "same", True, datetime.date(2020, 2, 29)], ids=str)
def test_a_constant_column_says_nothing(frame, value):
    wide = frame({**DATA, "constant": [value] * N})
    model = NaiveBayes(alpha=1e-9).fit(wide, Y)
    assert decided(model).loc["constant", "family"] != "left out"
    alone = NaiveBayes(alpha=1e-9).fit(frame(DATA), Y)
    np.testing.assert_allclose(
        model.predict_proba(wide), alone.predict_proba(frame(DATA)), rtol=1e-9
    )


@EVERY
@pytest.mark.parametrize("family", [Gaussian(), Binned()], ids=["Gaussian", "Binned"])
def test_a_constant_column_with_a_declared_family_says_nothing(frame, family):
    wide = frame({**DATA, "constant": [7] * N})
    got = NaiveBayes({"constant": family}).fit(wide, Y).predict_proba(wide)
    np.testing.assert_allclose(got, EXPECTED, rtol=1e-9)


# ---- texts ----
@EVERY
def test_an_identifier_is_left_out_with_a_warning_unless_a_family_is_declared(frame):
    data = {**DATA, "key": [f"id{i}" for i in range(N)]}
    model = NaiveBayes().fit(frame(data), Y)
    with pytest.warns(UserWarning, match=f"column 'key' is left out: its {N} texts are all diff"):
        assert decided(model).loc["key", "family"] == "left out"
    assert np.array_equal(model.predict_proba(frame(data)), EXPECTED)
    silenced = NaiveBayes({"key": None}).fit(frame(data), Y)
    assert np.array_equal(silenced.predict_proba(frame(data)), EXPECTED)
    declared = NaiveBayes({"key": Categorical()}).fit(frame(data), Y)
    assert decided(declared).loc["key", "family"] == f"categorical, {N} levels"
    assert not np.array_equal(declared.predict_proba(frame(data)), EXPECTED)


@pytest.mark.parametrize("rows", [49, 50])
def test_a_column_is_an_identifier_from_50_rows_on(rows):
    texts = pd.DataFrame({"key": [f"id{i}" for i in range(rows)]})
    model = NaiveBayes().fit(texts, Y[:rows])
    if rows == 49:
        assert decided(model).loc["key", "family"] == "categorical, 49 levels"
    else:
        with pytest.warns(UserWarning, match="column 'key' is left out"):
            assert decided(model).loc["key", "family"] == "left out"


def test_an_identifier_is_used_as_soon_as_a_text_comes_twice():
    texts = pd.DataFrame({"key": [f"id{i}" for i in range(60)]})
    model = NaiveBayes().fit(texts, Y[:60]).partial_fit(texts[:1], Y[:1])
    assert decided(model).loc["key", "family"] == "categorical, 60 levels"


@EVERY
def test_100_000_levels(frame):
    n = 100_000
    data = {"code": [f"level {i // 2}" for i in range(2 * n)]}
    labels = np.array(["no", "yes", "yes", "yes"] * (n // 2))
    model = NaiveBayes().fit(frame(data), labels)
    assert decided(model).loc["code", "family"] == "categorical, 100000 levels"
    rows = np.array([n / 2, 3 * n / 2])  # of "no" and "yes"
    for level, counts in (("level 0", [1, 1]), ("level 1", [0, 2]), ("never", [0, 0])):
        expected = (rows + 1) * (np.array(counts) + 1) / (rows + n)
        got = model.predict_proba(frame({"code": [level]}))[0]
        np.testing.assert_allclose(got, expected / expected.sum(), rtol=1e-12)


def test_mixed_types_in_one_column_are_texts():
    mixed = [1, "one", 2.0, True, None, 2, 1.5, datetime.date(2020, 1, 2), decimal.Decimal("1.5")]
    labels = ["a", "b", "a", "b", "a", "b", "a", "b", "a"]
    records = [{"x": value} for value in mixed]
    models = [
        NaiveBayes().fit(table, labels)
        for table in (records, pd.DataFrame({"x": mixed}), np.array(mixed, dtype=object)[:, None])
    ]
    for model in models:  # "1", "one", "2" twice, "True", "1.5" twice, "2020-01-02"
        assert model.schema_["family"].tolist() == ["categorical, 6 levels"]
    by_hand = NaiveBayes().fit(
        pd.DataFrame({"x": ["1", "one", "2", "True", None, "2", "1.5", "2020-01-02", "1.5"]}),
        labels,
    )
    expected = by_hand.predict_proba(pd.DataFrame({"x": ["2", "one", "1.5"]}))
    for query in ([{"x": 2}, {"x": "one"}, {"x": 1.5}], pd.DataFrame({"x": [2.0, "one", "1.5"]})):
        for model in models[:2]:
            assert np.array_equal(model.predict_proba(query), expected)
    assert list(models[0].predict_proba_one({"x": 2}).values()) == pytest.approx(
        expected[0].tolist(), rel=1e-14
    )


@EVERY
def test_a_text_where_the_model_counts_numbers_names_row_and_column(frame):
    model = trained()
    spoiled = frame({**DATA, "age": ["41"] * 7 + ["old"] * (N - 7)})
    refused("row 7, column 'age' holds the text 'old'", lambda: model.predict(spoiled), model)
    numbers = frame({**DATA, "age": [str(v) for v in DATA["age"]]})
    assert np.array_equal(model.predict_proba(numbers), EXPECTED)


# ---- names ----
def test_two_columns_of_one_name_are_refused():
    """polars cannot hold them, and a dict is one row."""
    rows = [[1, 2], [3, 4]]
    twice = pd.DataFrame(rows, columns=["age", "age"])
    arrow = pa.table([[1, 2], [3, 4]], names=["age", "age"])
    as_text = pd.DataFrame(rows, columns=[1, "1"])
    for table, words in ((twice, "'age'"), (arrow, "'age'"), (as_text, "1")):
        refused(f"two columns are named {words}", lambda t=table: NaiveBayes().fit(t, ["a", "b"]))
    refused("same as text", lambda: NaiveBayes().fit([{1: 2, "1": 3}], ["a"]))
    model = trained()
    refused(
        "two columns are named 'age'",
        lambda: model.predict(pd.concat([pd.DataFrame(DATA), pd.DataFrame(DATA)], axis=1)),
        model,
    )


@TABLES
def test_a_column_missing_at_predict_is_refused_in_frames(frame):
    model = trained()
    less = frame({name: DATA[name] for name in ("age", "visits")})
    calls = [
        lambda: model.predict(less),
        lambda: model.partial_fit(less, Y),
        lambda: model.forget(less, Y),
        lambda: model.explain(less),
    ]
    for call in calls:
        refused(r"X lacks the column\(s\) \['job'\]", call, model)


def test_a_column_missing_at_predict_is_a_gap_in_dicts():
    gap = pd.DataFrame(DATA).assign(job=None)
    less = [{"age": a, "visits": v} for a, v in zip(DATA["age"], DATA["visits"], strict=True)]
    assert np.array_equal(WHOLE.predict_proba(less), WHOLE.predict_proba(gap))
    assert list(WHOLE.predict_proba_one(less[0]).values()) == pytest.approx(
        WHOLE.predict_proba(gap)[0].tolist(), rel=1e-13
    )


@EVERY
def test_an_extra_column_at_predict_is_not_looked_at(frame):
    """Not even where it could not be counted."""
    model = trained()
    for extra in ([1] * N, ["a"] * N, [np.inf] * N):
        assert np.array_equal(model.predict_proba(frame({"extra": extra, **DATA})), EXPECTED)
    model.partial_fit(frame({**DATA, "extra": [1] * N}), Y).forget(frame(DATA), Y)
    assert list(model.schema_["column"]) == list(DATA)


# ---- labels and rows ----
GAPS = {
    "None": ["yes", None],
    "NaN": [1.0, np.nan],
    "NA": np.array(["yes", pd.NA], dtype=object),
    "pandas str": pd.Series(["yes", None], dtype="str"),
    "pandas string": pd.Series(["yes", None], dtype="string"),
    "pandas category": pd.Series(["yes", None], dtype="category"),
    "pandas Int64": pd.Series([1, None], dtype="Int64"),
    "pandas boolean": pd.Series([True, None], dtype="boolean"),
    "polars": pl.Series(["yes", None]),
    "pyarrow": pa.array(["yes", None]),
}


@pytest.mark.parametrize("y", GAPS.values(), ids=GAPS)
def test_a_target_with_gaps_is_refused(y):
    table = pd.DataFrame({name: column[:2] for name, column in DATA.items()})
    words = r"(contains (NaN|NA|missing values)|drop the rows without a label)"
    refused(words, lambda: NaiveBayes().fit(table, y))
    model = trained()
    refused(words, lambda: model.partial_fit(table, y), model)
    refused(words, lambda: model.forget(table, y), model)


@pytest.mark.parametrize("label", [None, np.nan, pd.NA, ["a list"]], ids=repr)
def test_a_row_without_a_label_is_refused(label):
    model = trained()
    row = {"age": 40.0, "visits": 1, "job": "cook"}
    error = TypeError if isinstance(label, list) else ValueError
    with pytest.raises(error, match=r"learn_one takes a label|unhashable"):
        model.learn_one(row, label)
    assert np.array_equal(model.predict_proba(pd.DataFrame(DATA)), EXPECTED)
    fresh = NaiveBayes()
    with pytest.raises(error, match=r"learn_one takes a label|unhashable"):
        fresh.learn_one(row, label)
    with pytest.raises(NotFittedError):
        fresh.predict_one(row)


@TABLES
def test_no_rows_are_refused(frame):
    model = trained()
    none = frame(DATA)[:0] if not isinstance(frame(DATA), pa.Table) else frame(DATA).slice(0, 0)
    words = r"Found array with 0 sample\(s\) \(shape=\(0, 3\)\)"
    refused(words, lambda: NaiveBayes().fit(none, []))
    refused(words, lambda: model.partial_fit(none, []), model)
    refused(words, lambda: model.predict(none), model)


def test_no_columns_are_refused():
    words = r"Found array with 0 feature\(s\)"
    for empty in (pd.DataFrame(index=range(N)), [{}] * N, np.empty((N, 0))):
        refused(words, lambda x=empty: NaiveBayes().fit(x, Y))


@EVERY
@pytest.mark.parametrize(
    "columns",
    ["auto", {"age": Gaussian(ddof=1)}, {"age": Binned()}, {"age": Gaussian()}],
    ids=["auto", "ddof=1", "Binned", "Gaussian"],
)
def test_a_class_with_one_row(frame, columns):
    """Where the divisor n − ddof is 0, the variance of all classes together stands in. By maximum
    likelihood the variance is 0, so that only the smoothing of variances is left: as in
    scikit-learn, such a class is all but certain at its own row and all but impossible elsewhere.
    """
    labels = Y.copy()
    labels[3] = "once"
    model = NaiveBayes(columns).fit(frame(DATA), labels)
    assert model.class_count_[1] == 1
    assert np.isfinite(model.predict_joint_log_proba(frame(DATA))).all()
    got = model.predict_proba(frame(DATA))
    np.testing.assert_allclose(got.sum(axis=1), 1.0, rtol=1e-12)
    if columns == {"age": Gaussian()}:
        assert got[3, 1] > 0.99
        assert (got[:, 1] < 1e-6).sum() > 0.9 * N
    elif columns != "auto":  # which chooses among all of these
        assert (got[:, 1] > 0.0).all()
        assert (got[:, 1] < 0.5).all()


# ---- values ----
@EVERY
@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinity_names_row_and_column(frame, value):
    model = trained()
    ages = DATA["age"].copy()
    ages[17] = value
    words = f"row 17, column 'age' holds {value}"
    spoiled = frame({**DATA, "age": ages})
    refused(words, lambda: NaiveBayes().fit(spoiled, Y))
    for call in (model.predict, model.predict_proba, model.explain):
        refused(words, lambda call=call: call(spoiled), model)
    for call in (model.partial_fit, model.forget):
        refused(words, lambda call=call: call(spoiled, Y), model)
    row = {"age": value, "visits": 1, "job": "cook"}
    refused("column 'age' holds", lambda: model.learn_one(row, "no"), model)
    refused("column 'age'", lambda: model.predict_one(row), model)


@pytest.mark.parametrize("dtype", ["float32", "float16", "Float64", "float64[pyarrow]", "object"])
def test_infinity_in_any_type_of_column(dtype):
    column = pd.Series([1.0, np.inf, 2.0]).astype(dtype)
    refused(
        "row 1, column 'x' holds inf",
        lambda: NaiveBayes().fit(pd.DataFrame({"x": column}), list("aba")),
    )


def test_numbers_whose_squares_overflow_are_refused():
    far = pd.DataFrame({"x": [1e308, -1e308, 1e200, 3.0]})
    refused("column 'x' is too large", lambda: NaiveBayes().fit(far, list("abab")))


DAYS = [
    datetime.date(1969, 12, 30) + datetime.timedelta(days=int(d)) for d in RNG.integers(9, 99, N)
]
DATES = {
    "pandas, objects": pd.DataFrame({"day": DAYS}),
    "pandas": pd.DataFrame({"day": pd.to_datetime(pd.Series(DAYS))}),
    "pandas, zone": pd.DataFrame({"day": pd.to_datetime(pd.Series(DAYS)).dt.tz_localize("UTC")}),
    "polars": pl.DataFrame({"day": DAYS}),
    "polars, time": pl.DataFrame({"day": DAYS}).with_columns(pl.col("day").cast(pl.Datetime)),
    "pyarrow": pa.table({"day": DAYS}),
    "pyarrow, 64": pa.table({"day": pa.array(DAYS, pa.date64())}),
    "dicts": [{"day": day} for day in DAYS],
}


@pytest.mark.parametrize("frame", DATES.values(), ids=DATES)
@pytest.mark.parametrize("columns", ["auto", {"day": Gaussian()}], ids=["auto", "Gaussian"])
def test_a_date_is_the_number_of_days_since_1970(frame, columns):
    numbers = pd.DataFrame({"day": [(d - datetime.date(1970, 1, 1)).days for d in DAYS]})
    expected = NaiveBayes(columns).fit(numbers, Y)
    model = NaiveBayes(columns).fit(frame, Y)
    assert np.array_equal(model.predict_proba(frame), expected.predict_proba(numbers))
    assert decided(model).loc["day", "holds"] == "numbers"


# ---- decimals ----
PRICES = [
    None if i % 11 == 0 else decimal.Decimal(int(c)).scaleb(-2)
    for i, c in enumerate(RNG.integers(-500, 9999, N))
]
DECIMALS = {
    "pandas, objects": pd.DataFrame({"price": PRICES}),
    "pandas, arrow": pd.DataFrame(
        {"price": pd.array(PRICES, dtype=pd.ArrowDtype(pa.decimal128(9, 2)))}
    ),
    "polars": pl.DataFrame({"price": pl.Series(PRICES, dtype=pl.Decimal(9, 2))}),
    "pyarrow": pa.table({"price": pa.array(PRICES, pa.decimal128(9, 2))}),
    "pyarrow, 256": pa.table({"price": pa.array(PRICES, pa.decimal256(50, 2))}),
    "dicts": [{"price": price} for price in PRICES],
    "array": np.array(PRICES, dtype=object)[:, None],
}


@pytest.mark.parametrize("frame", DECIMALS.values(), ids=DECIMALS)
@pytest.mark.parametrize("columns", ["auto", "Gaussian"])
def test_decimals_are_numbers(frame, columns):
    """Of the float nearest to each; gaps stay gaps."""
    name = "0" if isinstance(frame, np.ndarray) else "price"
    family = "auto" if columns == "auto" else {name: Gaussian()}
    floats = pd.DataFrame({name: [np.nan if p is None else float(p) for p in PRICES]})
    expected = NaiveBayes(family).fit(floats, Y)
    model = NaiveBayes(family).fit(frame, Y)
    assert decided(model).loc[name, "holds"] == "numbers"
    query = floats.to_numpy() if isinstance(frame, np.ndarray) else floats
    assert np.array_equal(model.predict_proba(frame), expected.predict_proba(floats))
    assert np.array_equal(model.predict_proba(query), expected.predict_proba(floats))


def test_decimals_one_row_at_a_time():
    model = NaiveBayes()
    for price, label in zip(PRICES, Y, strict=True):
        model.learn_one({"price": price}, label)
    whole = NaiveBayes().fit(DECIMALS["polars"], Y)
    assert model.schema_.equals(whole.schema_)
    assert np.array_equal(
        model.predict_proba(DECIMALS["dicts"]), whole.predict_proba(DECIMALS["polars"])
    )
    got = model.predict_proba_one({"price": decimal.Decimal("12.50")})
    expected = whole.predict_proba(pd.DataFrame({"price": [12.5]}))[0]
    assert list(got.values()) == pytest.approx(expected.tolist(), rel=1e-13)


def test_a_decimal_that_is_not_finite_is_a_gap_or_refused():
    rows = [{"price": decimal.Decimal(text)} for text in ("1.5", "NaN", "2.5")]
    model = NaiveBayes({"price": Gaussian()}).fit(rows, ["a", "a", "b"])
    assert model.tally_.groups[0].n[:, 0].tolist() == [1.0, 1.0]
    rows[1] = {"price": decimal.Decimal("-Infinity")}
    refused("row 1, column 'price' holds -inf", lambda: NaiveBayes().fit(rows, ["a", "a", "b"]))
