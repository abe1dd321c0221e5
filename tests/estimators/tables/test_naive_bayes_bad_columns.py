"""Bad tables, by frame library: columns without anything to say, strings, and names.

The outcomes are those of the table in docs/decisions/0007-tables.md. Where a table is
refused, the model stays as it was.
"""

from __future__ import annotations

import datetime
import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from estimators.small_table import (
    DATA,
    EVERY,
    EXPECTED,
    FRAMES,
    TABLES,
    WHOLE,
    N,
    Y,
    decided,
    refused,
    trained,
)
from tallybayes import NaiveBayes, WeightedNaiveBayes
from tallybayes.errors import LeftOutWarning
from tallybayes.families import Binned, Categorical, Gaussian


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
    "pandas category": pd.Series(pd.Categorical([None] * N, categories=["u", "v"])),
    "pandas date": pd.to_datetime(pd.Series([None] * N)),
    "polars NaN": pl.Series([np.nan] * N),
    "polars String": pl.Series([None] * N, dtype=pl.String),
    "polars Decimal": pl.Series([None] * N, dtype=pl.Decimal(5, 1)),
    "pyarrow float": pa.array([None] * N, pa.float32()),
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
            expected = "strings" if values[0] == "x" else "numbers"
            assert decided(later).loc["empty", "holds"] == expected


@pytest.mark.parametrize("value", [3, 2.5, "same", True, datetime.date(2020, 2, 29)], ids=str)
def test_a_constant_column_says_nothing(value):
    wide = pd.DataFrame({**DATA, "constant": [value] * N})
    model = NaiveBayes(alpha=1e-9).fit(wide, Y)
    assert decided(model).loc["constant", "family"] != "left out"
    alone = NaiveBayes(alpha=1e-9).fit(pd.DataFrame(DATA), Y)
    np.testing.assert_allclose(
        model.predict_proba(wide), alone.predict_proba(pd.DataFrame(DATA)), rtol=1e-9
    )


@pytest.mark.parametrize("family", [Gaussian(), Binned()], ids=["Gaussian", "Binned"])
def test_a_constant_column_with_a_declared_family_says_nothing(family):
    wide = pd.DataFrame({**DATA, "constant": [7] * N})
    got = NaiveBayes({"constant": family}).fit(wide, Y).predict_proba(wide)
    np.testing.assert_allclose(got, EXPECTED, rtol=1e-9)


# ---- strings --
def test_an_identifier_is_left_out_with_a_warning_unless_a_family_is_declared():
    data = {**DATA, "key": [f"id{i}" for i in range(N)]}
    model = NaiveBayes().fit(pd.DataFrame(data), Y)
    with pytest.warns(UserWarning, match=f"column 'key' is left out: its {N} strings are all diff"):
        assert decided(model).loc["key", "family"] == "left out"
    assert np.array_equal(model.predict_proba(pd.DataFrame(data)), EXPECTED)
    silenced = NaiveBayes({"key": None}).fit(pd.DataFrame(data), Y)
    assert np.array_equal(silenced.predict_proba(pd.DataFrame(data)), EXPECTED)
    declared = NaiveBayes({"key": Categorical()}).fit(pd.DataFrame(data), Y)
    assert decided(declared).loc["key", "family"] == f"categorical, {N} levels"
    assert not np.array_equal(declared.predict_proba(pd.DataFrame(data)), EXPECTED)


@pytest.mark.parametrize("rows", [49, 50])
def test_a_column_is_an_identifier_from_50_rows_on(rows):
    strings = pd.DataFrame({"key": [f"id{i}" for i in range(rows)]})
    model = NaiveBayes().fit(strings, Y[:rows])
    if rows == 49:
        assert decided(model).loc["key", "family"] == "categorical, 49 levels"
    else:
        with pytest.warns(UserWarning, match="column 'key' is left out"):
            assert decided(model).loc["key", "family"] == "left out"


def test_an_identifier_is_used_as_soon_as_a_text_comes_twice():
    strings = pd.DataFrame({"key": [f"id{i}" for i in range(60)]})
    model = NaiveBayes().fit(strings, Y[:60]).partial_fit(strings[:1], Y[:1])
    assert decided(model).loc["key", "family"] == "categorical, 60 levels"


def test_100_000_levels():
    n = 100_000
    data = {"code": [f"level {i // 2}" for i in range(2 * n)]}
    labels = np.array(["no", "yes", "yes", "yes"] * (n // 2))
    model = NaiveBayes().fit(pd.DataFrame(data), labels)
    assert decided(model).loc["code", "family"] == "categorical, 100000 levels"
    rows = np.array([n / 2, 3 * n / 2])  # of "no" and "yes"
    for level, counts in (("level 0", [1, 1]), ("level 1", [0, 2]), ("never", [0, 0])):
        expected = (rows + 1) * (np.array(counts) + 1) / (rows + n)
        got = model.predict_proba(pd.DataFrame({"code": [level]}))[0]
        np.testing.assert_allclose(got, expected / expected.sum(), rtol=1e-12)


def test_mixed_types_of_which_most_are_no_numbers_are_levels():
    mixed = [1, "one", 2.0, "two", None, 2, "one", decimal.Decimal("1.5"), "1.5"]
    labels = ["a", "b", "a", "b", "a", "b", "a", "a", "b"]
    records = [{"x": value} for value in mixed]
    models = [
        NaiveBayes().fit(table, labels)
        for table in (records, pd.DataFrame({"x": mixed}), np.array(mixed, dtype=object)[:, None])
    ]
    for model in models:  # "1", "one" twice, "2" twice, "two", "1.5" twice
        assert model.schema_["family"].tolist() == ["categorical, 5 levels"]
    by_hand = NaiveBayes().fit(
        pd.DataFrame({"x": ["1", "one", "2", "two", None, "2", "one", "1.5", "1.5"]}), labels
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
    refused("row 7, column 'age' holds the string 'old'", lambda: model.predict(spoiled), model)
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


@pytest.mark.parametrize("call", ["predict", "predict_proba"])
def test_an_array_for_a_model_of_named_columns_is_told_so(call):
    frame = pd.DataFrame({"age": [1.0, 2.0, 3.0], "pay": [3.0, 1.0, 2.0]})
    model = NaiveBayes().fit(frame, ["a", "b", "a"])
    with pytest.raises(ValueError, match=r"X has no column names, .* \['age', 'pay'\]"):
        getattr(model, call)(frame.to_numpy())


def test_dates_as_texts_for_a_column_of_dates_are_read():
    frame = pd.DataFrame({"day": pd.date_range("2020-01-31", periods=4)})
    model = NaiveBayes().fit(frame, list("abab"))
    assert np.array_equal(model.predict_proba(frame.astype(str)), model.predict_proba(frame))
    with pytest.raises(ValueError, match=r"row 1, .*'31.1.2020', but .* as dates"):
        model.predict(pd.DataFrame({"day": ["2020-01-31", "31.1.2020"]}))
    numbers = NaiveBayes({"day": Gaussian()}).fit(pd.DataFrame({"day": [1, 2, 5, 7]}), list("abab"))
    with pytest.raises(ValueError, match=r"row 0, .*'2020-01-31'.* pandas.to_datetime"):
        numbers.predict(frame.astype(str))


NESTED = [{"z": [i], "q": {"a": i}, "n": i % 7 + 3.0 * (i % 2)} for i in range(40)]
LIBRARIES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.Table.from_pylist}


@pytest.mark.parametrize("frame", LIBRARIES)
@pytest.mark.parametrize("model", [NaiveBayes, WeightedNaiveBayes])
def test_nested_columns_of_a_frame_are_left_out_and_said_so(model, frame):
    x, y = LIBRARIES[frame](NESTED), [0, 1] * 20
    with pytest.warns(LeftOutWarning, match="column '[zq]' holds values of the type") as said:
        fitted = model().fit(x, y)
    assert [str(w.message).split("'")[1] for w in said if w.category is LeftOutWarning] == [
        "z",
        "q",
    ]
    numbers = LIBRARIES[frame]([{"n": row["n"]} for row in NESTED])
    assert fitted.schema_["column"].tolist() == ["n"]
    np.testing.assert_array_equal(fitted.predict_proba(x), model().fit(numbers, y).predict_proba(x))
    needed = LIBRARIES[frame]([{"n": [row["n"]]} for row in NESTED])
    for ask in (fitted.predict, lambda x: fitted.partial_fit(x, y), lambda x: fitted.forget(x, y)):
        with pytest.raises(ValueError, match="column 'n' holds"):
            ask(needed)
    before = fitted.tally_
    with pytest.warns(LeftOutWarning, match="column '[zq]'"):
        fitted.partial_fit(x, y).forget(x, y)
    assert fitted.tally_ == before
    with pytest.raises(ValueError, match="column 'z' holds"):
        model({"z": Categorical()}).fit(x, y)


def test_nested_values_of_rows_as_dicts_are_refused_but_where_nothing_reads_them():
    with pytest.raises(ValueError, match="column 'z' holds"):
        NaiveBayes().fit(NESTED, [0, 1] * 20)
    with pytest.raises(ValueError, match="column 'q' holds"):
        NaiveBayes({"z": None}).fit(NESTED, [0, 1] * 20)
    numbers = [{"n": row["n"]} for row in NESTED]
    fitted = NaiveBayes().fit(numbers, [0, 1] * 20)
    np.testing.assert_array_equal(fitted.predict_proba(NESTED), fitted.predict_proba(numbers))
    with pytest.raises(ValueError, match="column 'z' holds"):
        fitted.partial_fit(NESTED, [0, 1] * 20)


def test_a_value_that_is_nested_among_others_is_refused():
    with pytest.raises(ValueError, match=r"column 'a' holds \[2\], a list"):
        NaiveBayes().fit(pd.DataFrame({"a": [1, [2]], "n": [1, 2]}), ["u", "v"])
    array = np.array([[[1], 1.0], [[2], 2.0]], dtype=object)
    with pytest.raises(ValueError, match=r"column '0' holds \[1\], a list"):
        NaiveBayes().fit(array, ["u", "v"])


@pytest.mark.parametrize("frame", ["dicts", *LIBRARIES])
@pytest.mark.parametrize("model", [NaiveBayes, WeightedNaiveBayes])
def test_a_column_that_is_left_out_may_hold_what_cannot_be_read(model, frame):
    rows, y = NESTED, [0, 1] * 20
    x = LIBRARIES[frame](rows) if frame in LIBRARIES else rows
    fitted = model({"z": None, "q": None}).fit(x, y)
    numbers = [{"n": row["n"]} for row in rows]
    expected = model().fit(numbers, y).predict_proba(numbers)
    np.testing.assert_array_equal(fitted.predict_proba(x), expected)
    np.testing.assert_allclose(
        list(fitted.predict_proba_one(rows[0]).values()), expected[0], rtol=1e-12
    )
    fitted.partial_fit(x, y).forget(x, y).learn_one(rows[0], 0).forget_one(rows[0], 0)
    assert fitted.class_count_.tolist() == [20.0, 20.0]
    assert fitted.schema_["family"].tolist()[:2] == ["left out", "left out"]
