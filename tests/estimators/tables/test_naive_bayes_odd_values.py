"""Infinity, dates and decimals in the columns of a table, by frame library.

The outcomes are those of the table in docs/decisions/0007-tables.md.
"""

from __future__ import annotations

import datetime
import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from estimators.small_table import DATA, EVERY, N, Y, decided, refused, trained
from tallybayes import NaiveBayes, leave_one_out
from tallybayes.families import Gaussian, NormalInverseGamma

RNG = np.random.default_rng(6)


@EVERY
def test_infinity_names_row_and_column(frame):
    model, value = trained(), np.inf
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
    "pandas, zone": pd.DataFrame({"day": pd.to_datetime(pd.Series(DAYS)).dt.tz_localize("UTC")}),
    "polars": pl.DataFrame({"day": DAYS}),
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
    "pandas": pd.DataFrame({"price": PRICES}),
    "polars": pl.DataFrame({"price": pl.Series(PRICES, dtype=pl.Decimal(9, 2))}),
    "pyarrow, 256": pa.table({"price": pa.array(PRICES, pa.decimal256(50, 2))}),
    "dicts": [{"price": price} for price in PRICES],
    "array": np.array(PRICES, dtype=object)[:, None],
}


@pytest.mark.parametrize("frame", DECIMALS.values(), ids=DECIMALS)
@pytest.mark.parametrize("columns", ["auto", "Gaussian"])
def test_decimals_are_numbers(frame, columns):
    """Of the float nearest to each; missing values stay missing values."""
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


@pytest.mark.parametrize("value", [1e3, 1e6, 1e9, 1e12])
def test_a_likelihood_far_from_zero_leaves_the_class_prior_its_digits(value):
    """Without its only value a column says the same of both classes, however little it is."""
    x, y = pd.DataFrame({"a": [value, *[np.nan] * 4]}), ["p", "p", "q", "q", "q"]
    family = {"a": Gaussian(prior=NormalInverseGamma(0, 1, 2, 1))}
    found = np.exp(leave_one_out(NaiveBayes(family).fit(x, y), x, y))[0]
    assert found == pytest.approx(NaiveBayes(family).fit(x[1:], y[1:]).predict_proba(x[:1])[0])
