"""One dict is read as the first of several: by a short way for Python's own types."""

from __future__ import annotations

import datetime
import decimal
import math
import uuid
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallybayes.models.base import same
from tallybayes.tables import read_table
from tallybayes.tables.columns import read_objects, read_value

VALUES = st.one_of(
    st.none(),
    st.text(max_size=4),
    st.floats(),
    st.integers(),
    st.sampled_from([2**53, 2**53 - 1, -(2**53), 1 - 2**53, 10**30, True, False]),
    st.sampled_from([np.float32(1.5), np.nan, np.int8(3), np.bool_(True), np.str_("a"), pd.NA]),
    st.sampled_from([pd.NaT, pd.Timestamp(5), decimal.Decimal("1.5"), Fraction(1, 3), b"ab"]),
    st.sampled_from([datetime.date(2020, 1, 2), datetime.timedelta(1), np.datetime64("2020")]),
)


@given(value=VALUES)
def test_a_value_is_read_as_a_column_of_one(value):
    one, other = read_value(value, "a"), read_objects([value], "a")
    assert type(one) is type(other)
    assert same(vars(one), vars(other))
    for name, held in vars(other).items():
        assert getattr(vars(one)[name], "dtype", None) == getattr(held, "dtype", None)


@pytest.mark.parametrize(
    "value",
    [[1], {"a": 1}, (1, 2), np.zeros(2), uuid.UUID(int=7), Path("a"), object()],
    ids=["list", "dict", "tuple", "array", "UUID", "path", "object"],
)
def test_a_value_that_is_not_a_scalar_is_refused_alike(value):
    one, other = read_value(value, "a"), read_objects([value], "a")
    assert same(vars(one), vars(other))


@pytest.mark.parametrize("value", [1j, decimal.Decimal("sNaN")], ids=["complex", "sNaN"])
def test_an_unknown_value_is_refused_alike(value):
    with pytest.raises(ValueError, match="column") as one:
        read_value(value, "a")
    with pytest.raises(ValueError, match="column") as other:
        read_objects([value], "a")
    assert str(one.value) == str(other.value)
    assert read_value(value, "a", ("a",)).n_rows == 1  # the column is left out


def test_one_dict_has_its_keys_as_columns():
    table = read_table([{"a": 1.5, 7: "x", "b": None, "c": math.nan}])
    assert list(table.columns) == ["a", "7", "b", "c"]
    assert table.n_rows == 1
    with pytest.raises(ValueError, match="the same as text"):
        read_table([{"7": 1, 7: 2}])
