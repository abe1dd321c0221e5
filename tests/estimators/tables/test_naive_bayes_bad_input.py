"""Bad tables, by frame library: labels, rows, columns, names and values.

The outcomes are those of the table in docs/decisions/0007-tables.md. Where a table is
refused, the model stays as it was.
"""

import copy
import datetime
import decimal
import warnings
from types import MappingProxyType

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

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
from tallybayes import (
    GaussianNB,
    LazyNaiveBayes,
    NaiveBayes,
    TextNB,
    WeightedNaiveBayes,
    leave_one_out,
)
from tallybayes.errors import FamilyWarning, LeftOutWarning, UnseenLevel, UnseenWarning
from tallybayes.families import Binned, Categorical, Gaussian, NormalInverseGamma, Poisson

MISSING = {
    "None": ["yes", None],
    "NaN": [1.0, np.nan],
    "NaN among strings": ["yes", np.nan],
    "NA": np.array(["yes", pd.NA], dtype=object),
    "pandas str": pd.Series(["yes", None], dtype="str"),
    "pandas string": pd.Series(["yes", None], dtype="string"),
    "pandas category": pd.Series(["yes", None], dtype="category"),
    "pandas Int64": pd.Series([1, None], dtype="Int64"),
    "pandas boolean": pd.Series([True, None], dtype="boolean"),
    "NaT": pd.Series([pd.Timestamp("2026-01-01"), None]),
    "polars": pl.Series(["yes", None]),
    "pyarrow": pa.array(["yes", None]),
}


@pytest.mark.parametrize("y", MISSING.values(), ids=MISSING)
def test_a_target_with_gaps_is_refused(y):
    table = pd.DataFrame({name: column[:2] for name, column in DATA.items()})
    words = "contains (NaN|NA|NaT|None): row 1 has no label. Drop such rows from X and y"
    refused(words, lambda: NaiveBayes().fit(table, y))
    model = trained()
    refused(words, lambda: model.partial_fit(table, y), model)
    refused(words, lambda: model.forget(table, y), model)
    refused(words, lambda: model.score(table, y), model)
    refused(words, lambda: leave_one_out(model, table, y, groups=[0, 1]), model)


@pytest.mark.parametrize("y", [["yes", np.nan], ["yes", None], pd.Series(["yes", None])], ids=str)
def test_who_judges_rows_refuses_one_without_a_label(y):
    """It is neither right nor wrong; scikit-learn has it wrong, or compares None with strings."""
    rows, x, labels = [{"age": 1.0}, {"age": 2.0}], np.array([[1.0], [2.0]]), ["yes", "no"]
    arrays, texts = GaussianNB().fit(x, labels), TextNB().fit(["a", "b"], labels)
    table = NaiveBayes().fit(rows, labels)
    costs = {"yes": {"yes": 0, "no": 1}, "no": {"yes": 1, "no": 0}}
    for judge in (
        lambda: arrays.score(x, y),
        lambda: texts.score(["a", "b"], y),
        lambda: table.score(rows, y),
        lambda: table.with_costs(costs).score(rows, y),
        lambda: table.report(rows, y),
    ):
        refused(r"contains (NaN|None): row 1 has no label. Drop such rows from X and y", judge)


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
    """A class of one row has no spread of its own and takes that of the others, whatever ddof."""
    labels = Y.copy()
    labels[3] = "once"
    model = NaiveBayes(columns).fit(frame(DATA), labels)
    assert model.class_count_[1] == 1
    assert np.isfinite(model.predict_joint_log_proba(frame(DATA))).all()
    got = model.predict_proba(frame(DATA))
    np.testing.assert_allclose(got.sum(axis=1), 1.0, rtol=1e-12)
    if columns != "auto":  # which chooses among all of these
        assert (got[:, 1] > 0.0).all()
        assert (got[:, 1] < 0.5).all()


MODELS = [NaiveBayes(), NaiveBayes(calibrate="temperature"), WeightedNaiveBayes()]


@pytest.mark.parametrize("model", MODELS, ids=["plain", "calibrated", "weighted"])
def test_a_series_is_a_row_as_its_dict_is(model):
    frame = pd.DataFrame({"n": [1.0, 2.0, None, 9.0] * 5, "t": ["x", "y", "x", "z"] * 5})
    model = clone(model).fit(frame, list("abba") * 5)
    for row in (frame.iloc[1], frame.iloc[2]):
        series, mapping = row, MappingProxyType(dict(row))
        for one in (series, mapping):
            assert model.predict_one(one) == model.predict_one(dict(row))
            assert model.predict_proba_one(one) == model.predict_proba_one(dict(row))
            assert str(model.explain_one(one)) == str(model.explain_one(dict(row)))
            other, same = copy.deepcopy(model), copy.deepcopy(model)
            other.learn_one(one, "a").learn_one(one, "b").forget_one(one, "a")
            same.learn_one(dict(row), "a").learn_one(dict(row), "b").forget_one(dict(row), "a")
            assert other.tally_ == same.tally_


@pytest.mark.parametrize("row", [[1.0, "x"], "nx", 3, None, pd.DataFrame({"n": [1.0]})], ids=repr)
@pytest.mark.parametrize("model", MODELS, ids=["plain", "calibrated", "weighted"])
def test_what_is_no_row_is_refused_and_changes_nothing(model, row):
    frame = pd.DataFrame({"n": [1.0, 2.0, 3.0, 9.0] * 5, "t": ["x", "y", "x", "z"] * 5})
    model = clone(model).fit(frame, list("abba") * 5)
    before = model.predict_proba(frame).tobytes()
    for call in (model.predict_one, model.predict_proba_one, model.explain_one):
        with pytest.raises(TypeError, match="a row is a dict of values by column"):
            call(row)
    for call in (model.learn_one, model.forget_one):
        with pytest.raises(TypeError, match="a row is a dict of values by column"):
            call(row, "a")
    assert model.class_count_.tolist() == [10.0, 10.0]
    assert model.predict_proba(frame).tobytes() == before


@pytest.mark.parametrize("model", [NaiveBayes, WeightedNaiveBayes])
def test_a_column_of_which_no_level_was_seen_is_told(model):
    rng = np.random.default_rng(0)
    x = pd.DataFrame({"on": rng.random(200) < 0.5, "n": rng.normal(size=200)})
    fitted = model().fit(x, np.where(x["on"] ^ (rng.random(200) < 0.2), "a", "b"))
    other = x.assign(on=x["on"].map({True: "yes", False: "no"}))
    with pytest.warns(UserWarning, match="'on': none of its levels in 200 rows was seen in train"):
        fitted.predict(other)
    fitted.predict(other[:19])  # few rows may all be new
    fitted.predict(other.assign(on=[*other["on"][1:], "True"]))


@pytest.mark.parametrize("given", [3, 2.5, True, datetime.date(2020, 1, 2)], ids=str)
@pytest.mark.parametrize("model", [NaiveBayes, WeightedNaiveBayes])
def test_a_column_of_levels_that_arrives_as_other_values_is_told_as_strings_are(model, given):
    x = pd.DataFrame({"city": list("BPO") * 20, "n": range(60)})
    fitted = model().fit(x, np.where((x["city"] == "B") ^ (x["n"] % 7 == 0), "a", "b"))
    with pytest.warns(UserWarning, match="'city': none of its levels in 60 rows was seen in train"):
        fitted.predict(x.assign(city=given))


def test_new_levels_of_many_are_no_surprise():
    x = pd.DataFrame({"ticket": [f"t{i // 2}" for i in range(200)]})
    model = NaiveBayes().fit(x, np.arange(200) % 2)
    model.predict("new " + x)


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


@pytest.mark.parametrize("make", [NaiveBayes, WeightedNaiveBayes])
@pytest.mark.parametrize("kind", ["parquet", "arrow", "polars"])
def test_the_index_of_a_shuffled_frame_is_no_column(make, kind, tmp_path):
    """pandas writes it beside the columns, as __index_level_0__; in CSV it has no name."""
    frame = pd.DataFrame({"a": [0, 1, 1, 0, 1, 0] * 20, "y": ["p", "q"] * 60})
    frame = frame.sample(frac=1.0, random_state=0)
    frame.to_parquet(path := str(tmp_path / "rows.parquet"))
    source = {
        "parquet": path,
        "arrow": pa.Table.from_pandas(frame),
        "polars": pl.read_parquet(path),
    }
    with pytest.warns(LeftOutWarning, match="'__index_level_0__' is left out: it is the index"):
        found = make().fit(source[kind], "y").predict_proba(frame[["a"]])
    assert np.array_equal(found, make().fit(frame[["a"]], frame["y"]).predict_proba(frame[["a"]]))
    declared = NaiveBayes({"__index_level_0__": Gaussian()}).fit(source[kind], "y")
    with pytest.raises(ValueError, match="lacks the column"):
        declared.predict(frame[["a"]])


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


ILL = np.repeat(["a", "b"], 100)


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "calls": rng.poisson(np.where(ILL == "a", 2, 6)),
            "ill": rng.random(200) < np.where(ILL == "a", 0.2, 0.8),
        }
    )


WAYS = {
    "frame": lambda model, row: model.predict_proba(pd.DataFrame([row])),
    "dicts": lambda model, row: model.predict_proba([row]),
    "one": lambda model, row: model.predict_proba_one(row),
    "best": lambda model, row: model.predict_one(row),
}


def learned(table, live, **options):
    model = NaiveBayes({"calls": Poisson()}, **options).fit(table, ILL)
    if live:  # the score follows rows that are learned one by one
        model.predict_one({"calls": 2, "ill": True})
        model.learn_one({"calls": 2, "ill": False}, "a")
    return model


@pytest.mark.parametrize("live", [False, True])
@pytest.mark.parametrize("way", WAYS)
def test_a_fraction_in_a_column_of_counts_is_warned_of_once(table, way, live):
    model, ask = learned(table, live), WAYS[way]
    ask(model, {"calls": 3.0, "ill": None})
    with pytest.warns(
        FamilyWarning, match=r"row 0, column 'calls' holds 1.5, which is not a whole"
    ) as w:
        ask(model, {"calls": 1.5, "ill": True})
    assert w[0].filename == __file__
    ask(model, {"calls": 2.5, "ill": True})


@pytest.mark.parametrize("live", [False, True])
@pytest.mark.parametrize(("way", "value"), [*zip(WAYS, [2, -1, 1.5, "yes"], strict=True)])
def test_another_value_in_a_column_of_booleans_is_warned_of_once(table, way, live, value):
    model, ask = learned(table, live), WAYS[way]
    for usual in (True, 1, 0.0, "True", None, np.nan, np.True_, np.int64(1)):
        ask(model, {"calls": 3, "ill": usual})
    with pytest.warns(UnseenWarning, match=rf"row 0, column 'ill' holds '{value}', but") as w:
        ask(model, {"calls": 1, "ill": value})
    assert w[0].filename == __file__
    ask(model, {"calls": 2, "ill": value})


def test_what_is_no_count_at_all_is_refused(table):
    model = learned(table, False)
    for value, why in ((-1, "counts are not negative"), ("two", "holds the string 'two'")):
        for ask in WAYS.values():
            with pytest.raises(ValueError, match=why):
                ask(model, {"calls": value, "ill": True})


def test_the_row_is_named(table):
    rows = pd.DataFrame({"calls": [1, np.nan, 2.5], "ill": [True, 2, None]})
    model = learned(table, False)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        model.predict(rows)
    assert [str(w.message).partition(",")[0] for w in found] == ["row 2", "row 1"]


def test_a_level_that_is_refused_is_not_warned_of(table):
    model = learned(table, False, unseen="error")
    with pytest.raises(UnseenLevel):
        model.predict([{"calls": 1, "ill": 2}])


def test_a_weighted_model_says_so_too(table):
    model = WeightedNaiveBayes().fit(table, ILL)
    with pytest.warns(UnseenWarning, match="column 'ill' holds '2'"):
        model.predict_one({"calls": 1, "ill": 2})


def test_a_lazy_model_says_so_and_understands_bits(table):
    model = LazyNaiveBayes(table.assign(y=ILL), "y", columns={"calls": Poisson()})
    asked = model.predict_proba([{"calls": 1, "ill": v} for v in (True, 1, False, 0.0)])
    assert np.array_equal(asked[0], asked[1])
    assert np.array_equal(asked[2], asked[3])
    with pytest.warns(FamilyWarning, match=r"column 'calls' holds 1.5"):
        model.predict([{"calls": 1.5, "ill": True}])
    with pytest.warns(UnseenWarning, match="column 'ill' holds '2'"):
        model.predict([{"calls": 1, "ill": 2}])
    model.predict([{"calls": 1.5, "ill": 2}])


@pytest.mark.parametrize("factor", [-0.1, 1.5, np.nan, np.inf, "0.5", None, [0.5]])
def test_decay_takes_a_number_from_0_to_1(factor):
    model = NaiveBayes().fit([{"a": "x"}, {"a": "y"}], [0, 1])
    before = model.class_count_.tolist()
    with pytest.raises(ValueError, match="decay takes a factor from 0 to 1, got"):
        model.decay(factor)
    assert model.class_count_.tolist() == before


def test_a_model_without_rows_says_just_that():
    """And not that the keys of the row that is asked about are unknown."""
    model = NaiveBayes().fit([{"a": "x"}, {"a": "y"}], [0, 1]).decay(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match="holds no rows"):
            model.predict([{"a": "x"}])
