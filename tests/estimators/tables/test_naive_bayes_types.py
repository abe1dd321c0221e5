"""A type as a key of columns=: Python's own, and the dtypes of every frame library."""

from __future__ import annotations

import datetime
import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tallybayes import NaiveBayes, load
from tallybayes.errors import ModelFileError
from tallybayes.families import Bernoulli, Binned, Categorical, Gaussian, Poisson

Y = list("abab")
VALUES = {
    "whole": [1, 2, 3, 4],
    "real": [1.5, 2.5, 0.5, 4.0],
    "word": ["x", "y", "x", "z"],
    "yes": [True, False, True, True],
    "day": [datetime.date(2020, 1, d) for d in (1, 2, 3, 4)],
    "price": [decimal.Decimal(t) for t in ("1.10", "2.20", "0.30", "4.40")],
}


def families(x, columns):
    model = NaiveBayes(columns).fit(x, Y)
    return dict(zip(model.schema_["column"], model.schema_["family"], strict=True))


def is_chosen(x, key, family, words, names):
    """The key gives the family to these columns and to no other."""
    plain = families(x, "auto")
    found = families(x, {key: family})
    for name in plain:
        if name in names:
            assert found[name].startswith(words), (key, name)
        else:
            assert found[name] == plain[name], (key, name)


def frames():
    words = pd.Series(VALUES["word"], dtype="category")
    polars = pl.DataFrame(VALUES).with_columns(pl.col("word").cast(pl.Categorical))
    stamps = pd.DataFrame({**VALUES, "word": words, "day": pd.to_datetime(VALUES["day"])})
    return {"dicts": pl.DataFrame(VALUES).to_dicts(), "pandas": stamps, "polars": polars}


PYTHON = {
    int: (Poisson(), "Poisson", {"whole"}),
    float: (Binned(bins=2), "binned, 2", {"real", "price"}),
    decimal.Decimal: (Binned(bins=2), "binned, 2", {"real", "price"}),
    str: (None, "left out", {"word"}),
    bool: (Bernoulli(), "Bernoulli", {"yes"}),
    datetime.date: (Gaussian(ddof=1), "Gaussian", {"day"}),
}


@pytest.mark.parametrize("key", PYTHON)
@pytest.mark.parametrize("frame", frames())
def test_types_of_python(key, frame):
    is_chosen(frames()[frame], key, *PYTHON[key])


DTYPES = [
    (pd.DataFrame({"x": [1, 2, 3, 4]}), key, True)
    for key in (np.int64, np.dtype("int64"), np.int32, np.dtype("uint8"), pl.Int64, pa.int64())
]
DTYPES += [
    (pd.DataFrame({"x": [1, 2, 3, 4]}), key, False)
    for key in (np.float64, np.dtype("float32"), np.bool_, pl.String, pa.date32(), np.str_)
]
DTYPES += [
    (pd.DataFrame({"x": pd.array([1, None, 3, 4], dtype="Int64")}), pd.Int64Dtype(), True),
    (pd.DataFrame({"x": pd.array([1.5, None, 3, 4], dtype="Float64")}), pd.Float64Dtype(), True),
    (pl.DataFrame({"x": [1, 2, 3, None]}), pl.UInt8, True),
    (pl.DataFrame({"x": [1.5, 2, 3, None]}), pl.Float32, True),
    (pl.DataFrame({"x": VALUES["price"]}), pl.Decimal(10, 2), True),
    (pl.DataFrame({"x": VALUES["day"]}), pl.Date, True),
    (pl.DataFrame({"x": VALUES["day"]}), pl.Datetime("us"), True),
    (pa.table({"x": [1, 2, 3, None]}), pa.int8(), True),
    (pa.table({"x": [1.5, 2, 3, None]}), pa.float64(), True),
    (pa.table({"x": VALUES["price"]}), pa.decimal128(10, 2), True),
    (pa.table({"x": VALUES["day"]}), pa.timestamp("s"), True),
    (pa.table({"x": VALUES["day"]}), pa.int64(), False),
]


@pytest.mark.parametrize(("x", "key", "chosen"), DTYPES, ids=lambda v: str(v)[:30])
def test_dtypes_of_columns_of_numbers(x, key, chosen):
    is_chosen(x, key, Binned(bins=3), "binned, 3", {"x"} if chosen else set())


WORDS = [
    (pd.Series(VALUES["word"]), pd.StringDtype(), True),
    (pd.Series(VALUES["word"], dtype="category"), pd.CategoricalDtype(), True),
    (pd.Series(VALUES["word"], dtype="category"), np.str_, False),
    (pd.Series(VALUES["word"], dtype=object), np.dtype(object), True),
    (pd.Series(VALUES["yes"]), np.bool_, True),
    (pd.Series([True, None, False, True], dtype="boolean"), pd.BooleanDtype(), True),
    (pl.Series(VALUES["word"]), pl.String, True),
    (pl.Series(VALUES["word"], dtype=pl.Categorical), pl.Categorical, True),
    (pl.Series(VALUES["word"], dtype=pl.Enum(["x", "y", "z"])), pl.Enum(["x", "y", "z"]), True),
    (pl.Series(VALUES["yes"]), pl.Boolean, True),
    (pl.Series(VALUES["yes"]), pl.String, False),
    (pa.array(VALUES["word"]), pa.string(), True),
    (pa.array(VALUES["word"]), pa.large_string(), True),
    (pa.array(VALUES["word"]).dictionary_encode(), pa.dictionary(pa.int32(), pa.string()), True),
    (pa.array(VALUES["yes"]), pa.bool_(), True),
]


@pytest.mark.parametrize(("column", "key", "chosen"), WORDS, ids=lambda v: str(v)[:30].split()[0])
def test_dtypes_of_columns_of_levels(column, key, chosen):
    make = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}[
        type(column).__module__.partition(".")[0]
    ]
    is_chosen(make({"x": column}), key, None, "left out", {"x"} if chosen else set())


def test_a_name_overrides_a_type_and_the_last_type_holds():
    x = pd.DataFrame({"a": [1, 2, 3, 4], "b": [4, 3, 2, 1]})
    found = families(x, [(int, Poisson()), (["b"], Gaussian()), (np.int64, Binned(bins=2))])
    assert found == {"a": "binned, 2 bins", "b": "Gaussian"}


@pytest.mark.parametrize("key", [complex, list, np.complex128, pl.List(pl.Int64), pa.binary()])
def test_a_type_that_no_column_has_is_refused(key):
    with pytest.raises(ValueError, match="columns= names the type"):
        NaiveBayes({key: Gaussian()}).fit([{"x": 1}], [0])


def test_types_travel_with_a_file(tmp_path):
    columns = {int: Poisson(), np.float32: Gaussian(), np.dtype("bool"): Bernoulli()}
    columns |= {str: Categorical(alpha=2.0)}
    model = NaiveBayes(columns).fit([{"a": 1, "b": 1.5, "c": None}], ["x"])
    model.save(tmp_path / "m.tally")
    loaded = load(tmp_path / "m.tally")
    assert [np.dtype(k) if k is np.float32 else k for k in columns] == list(loaded.columns)
    loaded.learn_one({"a": 2, "b": 2.5, "c": True, "d": 3}, "y")
    found = dict(zip(loaded.schema_["column"], loaded.schema_["family"], strict=True))
    assert found == {"a": "Poisson", "b": "Gaussian", "c": "Bernoulli", "d": "Poisson"}
    foreign = NaiveBayes({pl.Int64: Poisson()}).fit([{"a": 1}], ["x"])
    with pytest.raises(ModelFileError, match="a model file cannot hold"):
        foreign.save(tmp_path / "n.tally")
