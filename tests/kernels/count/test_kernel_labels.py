"""Labels and strings to codes, from every layout, against their twins."""

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference import LAYOUTS, count_classes, encode_strings, rank_labels
from reference.inputs import INTEGERS, WEIGHTS
from reference.rational import rounded
from tallybayes import _kernels

LIMIT = 1 << 22


def ranked(y, limit=LIMIT, threads=2):
    codes = np.full(len(y), -7, dtype=np.int32)
    return _kernels.rank_labels(y, limit, codes, threads), codes


@pytest.mark.parametrize("dtype", [*INTEGERS, np.bool_])
def test_labels_are_ranked_by_value(dtype):
    rng = np.random.default_rng(0)
    low = 0 if np.dtype(dtype).kind in "ub" else -60
    y = rng.integers(low, 2 if dtype is np.bool_ else 60, size=500).astype(dtype)
    values, codes = ranked(y)
    expected_values, expected_codes = rank_labels(y)
    np.testing.assert_array_equal(values.astype(dtype), expected_values)
    np.testing.assert_array_equal(codes, expected_codes)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.uint64])
def test_labels_at_the_ends_of_their_type_are_ranked(dtype):
    info = np.iinfo(dtype)
    for end in (info.min, info.max):
        step = 1 if end == info.min else -1
        y = np.array([end + 2 * step, end, end, end + step], dtype=dtype)
        values, codes = ranked(y)
        np.testing.assert_array_equal(values.astype(dtype), np.unique(y))
        np.testing.assert_array_equal(codes, rank_labels(y)[1])


@pytest.mark.parametrize("layout", ["spaced", "backwards"])
def test_labels_are_read_through_their_strides(layout):
    y = np.random.default_rng(1).integers(-3, 9, size=200)
    strided = LAYOUTS[layout](y[:, None])[:, 0]
    assert strided.strides != y.strides
    np.testing.assert_array_equal(ranked(strided)[1], rank_labels(y)[1])


def test_a_range_at_the_limit_is_left_alone():
    y = np.array([5, 14], dtype=np.int64)  # a range of 9
    values, codes = ranked(y, limit=9)
    assert values is None
    assert (codes == -7).all()
    values, codes = ranked(y, limit=10)
    assert values.tolist() == [5, 14]
    assert codes.tolist() == [0, 1]


def test_the_widest_range_of_int64_is_left_alone():
    info = np.iinfo(np.int64)
    assert ranked(np.array([info.min, info.max]))[0] is None


@pytest.mark.parametrize("dtype", [np.int16, np.int64, np.uint64])
@pytest.mark.parametrize("apart", [126, 127, 128, 129, 255, 256, 257, 5000])
def test_labels_near_the_first_and_far_from_it(dtype, apart):
    """A few around the first label are looked for before all are read."""
    info = np.iinfo(dtype)
    for first in (6000, info.max - 1, info.min + 1):
        around = [first - apart, first - apart + 1, first, first + apart - 1, first + apart]
        y = np.array([first, *(v for v in around if info.min <= v <= info.max)], dtype=dtype)
        values, codes = ranked(y)
        np.testing.assert_array_equal(values.astype(dtype), np.unique(y))
        np.testing.assert_array_equal(codes, rank_labels(y)[1])
        width = int(y.max()) - int(y.min())
        assert ranked(y, limit=width)[0] is None
        assert ranked(y, limit=width + 1)[0] is not None


def test_no_labels_have_no_rank():
    assert ranked(np.empty(0, dtype=np.int64))[0] is None


def test_labels_that_are_no_whole_numbers_are_refused():
    with pytest.raises(TypeError, match="whole numbers"):
        ranked(np.array([0.5, 1.0]))


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_labels_of_several_chunks_are_ranked(threads):
    y = np.random.default_rng(2).integers(-1000, 1000, size=9 * 65536 + 17)
    y[0], y[-1] = 5000, -5000  # seen in one chunk only
    values, codes = ranked(y, threads=threads)
    expected, inverse = np.unique(y, return_inverse=True)
    np.testing.assert_array_equal(values, expected)
    np.testing.assert_array_equal(codes, inverse)


@given(
    size=st.sampled_from([0, 1, 3, 4, 8, 12, 15, 16, 17, 28, 40]),
    kinds=st.lists(st.integers(0, 3), max_size=90),
)
def test_items_are_ranked_in_order_of_appearance(size, kinds):
    """Items of any width, which differ in their last byte only."""
    items = np.full((len(kinds), size), 7, dtype=np.uint8)
    items[:, -1:] = np.array(kinds, dtype=np.uint8)[:, None]
    codes = np.full(len(kinds), -7, dtype=np.int32)
    first = _kernels.rank_items(items, codes)
    found = [bytes(item) for item in items]
    order = list(dict.fromkeys(found))
    assert codes.tolist() == [order.index(item) for item in found]
    assert first.tolist() == [found.index(item) for item in order]


def test_many_items_are_ranked():
    items = np.random.default_rng(6).integers(0, 40, (5000, 2)).astype(np.uint8)
    codes = np.empty(5000, dtype=np.int32)
    first = _kernels.rank_items(items, codes)
    _, expected, inverse = np.unique(items, axis=0, return_index=True, return_inverse=True)
    assert sorted(first.tolist()) == sorted(expected.tolist())
    np.testing.assert_array_equal(first[codes], expected[inverse])


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize(("n", "n_classes"), [(0, 3), (1, 1), (1, 100), (700, 4), (700, 100)])
def test_class_counts_are_exact(weights, n, n_classes):
    rng = np.random.default_rng(3)
    codes = rng.integers(0, n_classes, size=n).astype(np.int32)
    w = WEIGHTS[weights](rng, n)
    count = np.zeros(n_classes)
    _kernels.count_classes(codes, w, count, 2)
    np.testing.assert_array_equal(count, rounded(count_classes(codes, w, n_classes)))


def test_class_counts_add_to_what_was_counted():
    count = np.array([10.0, 20.0])
    _kernels.count_classes(np.array([1, 1, 0], dtype=np.int32), None, count, 1)
    assert count.tolist() == [11.0, 22.0]


def test_rows_beyond_two_to_the_24_are_counted():
    codes = np.zeros(2**24 + 3, dtype=np.int32)
    codes[-1] = 1
    count = np.zeros(2)
    _kernels.count_classes(codes, None, count, 2)
    assert count.tolist() == [2.0**24 + 2, 1.0]


@pytest.mark.parametrize("n_classes", [3, 200_000])
def test_several_chunks_are_counted(n_classes):
    rng = np.random.default_rng(4)
    codes = rng.integers(0, n_classes, size=700_000).astype(np.int32)
    w = rng.integers(0, 5, size=len(codes)).astype(float)
    count = np.zeros(n_classes)
    _kernels.count_classes(codes, w, count, 8)
    np.testing.assert_array_equal(count, np.bincount(codes, w, n_classes))


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("n_classes", [1, 3, 5000, 200_000])
@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, 400_003])
def test_rows_are_counted_and_added_to_both_sums(n, n_classes, threads):
    rng = np.random.default_rng(5)
    codes = rng.integers(0, n_classes, size=n).astype(np.int32)
    rows, count = np.full(n_classes, np.nan), np.arange(n_classes, dtype=float)
    squares = 0.5 * count
    _kernels.count_rows(codes, rows, count, squares, threads)
    expected = np.bincount(codes, minlength=n_classes)
    np.testing.assert_array_equal(rows, expected)
    np.testing.assert_array_equal(count, np.arange(n_classes) + expected)
    np.testing.assert_array_equal(squares, 0.5 * np.arange(n_classes) + expected)


@pytest.mark.parametrize("wrong", [-1, 2, 2**31 - 1])
@pytest.mark.parametrize("at", [0, 3, 6])
def test_rows_of_no_class_are_refused(wrong, at):
    codes = np.zeros(7, dtype=np.int32)
    codes[at] = wrong
    count, squares = np.zeros(2), np.zeros(2)
    with pytest.raises(IndexError, match="class code"):
        _kernels.count_rows(codes, np.zeros(2), count, squares, 1)
    assert not count.any()
    assert not squares.any()


@pytest.mark.parametrize("sizes", [(2, 3), (3, 2)])
def test_sums_of_other_classes_are_refused(sizes):
    count, squares = map(np.zeros, sizes)
    with pytest.raises(ValueError, match=r"count|squared_weights"):
        _kernels.count_rows(np.zeros(4, dtype=np.int32), np.zeros(2), count, squares, 1)


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
