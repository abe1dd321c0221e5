"""Strings to codes, from every layout in which Arrow holds strings, against the twin."""

from __future__ import annotations

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference import encode_strings
from tallybayes import _kernels

TYPES = [pa.string(), pa.large_string(), pa.string_view()]

# the words that are compared end at 8 and 16 bytes, a view holds 12; strings that differ in their
# last byte only, or in a zero byte, must not be taken for one another
SIZES = [0, 1, 3, 4, 7, 8, 9, 11, 12, 13, 15, 16, 17, 23, 24, 25, 100]
ALIKE = ["x" * n + end for n in SIZES for end in ("", "\0", "\0\0", "a", "ä", "語")]
STRINGS = st.lists(st.none() | st.sampled_from(ALIKE) | st.text(max_size=30), max_size=80)


def stream_of(column):
    column = pa.chunked_array([column]) if isinstance(column, pa.Array) else column
    return column.__arrow_c_stream__()


def encoded(*columns, threads=2):
    return _kernels.encode_strings([stream_of(column) for column in columns], threads)


def need_equal(read, strings):
    codes, levels = read
    expected_codes, expected_levels = encode_strings(strings)
    assert codes.dtype == np.int32
    assert codes.tolist() == expected_codes.tolist()
    assert levels == expected_levels


@pytest.mark.parametrize("kind", TYPES, ids=str)
@given(strings=STRINGS)
def test_texts_of_every_layout_get_the_codes_of_the_twin(kind, strings):
    (read,) = encoded(pa.array(strings, type=kind))
    need_equal(read, strings)


@pytest.mark.parametrize("kind", TYPES, ids=str)
@given(parts=st.lists(STRINGS, max_size=4), start=st.integers(0, 20))
def test_parts_that_begin_in_the_midst_of_their_buffers_are_read(kind, parts, start):
    """Chunks are slices: their missing values and their strings begin at an offset."""
    chunks = [pa.array(strings, type=kind)[start:] for strings in parts]
    (read,) = encoded(pa.chunked_array(chunks, type=kind))
    need_equal(read, [text for strings in parts for text in strings[start:]])


@given(strings=STRINGS)
def test_polars_texts_get_the_codes_of_the_twin(strings):
    (read,) = encoded(pl.Series("a", strings, dtype=pl.String))
    need_equal(read, strings)


@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_many_texts_are_told_apart(kind):
    strings = [f"{'a long text number ' * (i % 3)}{i}" for i in range(5000)] * 2
    (read,) = encoded(pa.array(strings, type=kind))
    need_equal(read, strings)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_texts_that_differ_in_one_byte_are_told_apart(kind, size):
    strings = ["x" * i + "y" + "x" * (size - i - 1) for i in range(size)] + ["x" * size]
    (read,) = encoded(pa.array(strings, type=kind))
    need_equal(read, strings)


def test_columns_come_back_in_order_on_any_number_of_threads():
    columns = [[f"{j} {i * i % (j + 2)}" for i in range(20_000)] for j in range(9)]
    for threads in (1, 2, 8):
        read = encoded(*(pa.array(strings) for strings in columns), threads=threads)
        for one, strings in zip(read, columns, strict=True):
            need_equal(one, strings)


def test_codes_outlive_the_column():
    column = pa.array(["a", None, "b"])
    codes, levels = encoded(column)[0]
    del column
    assert (codes.tolist(), levels) == ([0, -1, 1], ["a", "b"])
    codes[0] = 5  # and are the caller's own


def test_a_column_of_numbers_is_refused():
    with pytest.raises(TypeError, match="strings"):
        encoded(pa.array([1, 2]))


def test_what_is_no_stream_is_refused():
    with pytest.raises((TypeError, ValueError)):
        _kernels.encode_strings([object()], 1)
    stream = stream_of(pa.array(["a"]))
    _kernels.encode_strings([stream], 1)
    (again,) = _kernels.encode_strings([stream], 1)
    assert again[1] == []  # a stream is read once


def test_bytes_that_are_no_text_raise():
    broken = pa.array([b"ok", b"\xff"]).view(pa.string())
    with pytest.raises(UnicodeDecodeError):
        encoded(broken)
