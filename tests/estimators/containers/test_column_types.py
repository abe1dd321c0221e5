"""Each type of column of each frame library is read as docs/column-types.md says, by each class."""

import functools
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tallybayes as tb
from estimators.containers.column_types import COLUMN_TYPES, KINDS, NUMBERS_AS_WORDS, page
from tallybayes.errors import LeftOutWarning, MixedColumnWarning
from tallybayes.text import CountVectorizer

DOCS = Path(__file__).parents[3] / "docs"
Y = ["p", "q", "p", "q", "q", "p", "q", "p"]
BESIDE = [3, 1, 4, 1, 5, 9, 2, 6]
ARRAYS = (tb.GaussianNB, tb.MultinomialNB, tb.ComplementNB, tb.BernoulliNB, tb.CategoricalNB)
CASES = [
    pytest.param(one, missing, id=f"{one.library}-{one.name}{'-missing' * missing}")
    for one in COLUMN_TYPES
    for missing in (False, True)
    if one.has_missing or not missing
]
every = pytest.mark.parametrize(("column", "missing"), CASES)
each = pytest.mark.parametrize("column", COLUMN_TYPES, ids=lambda c: f"{c.library}-{c.name}")


def test_the_page_is_current():
    assert (DOCS / "column-types.md").read_text(encoding="utf-8") == page()


def with_column(frame, name, values):
    """The frame with another column."""
    if isinstance(frame, pd.DataFrame):
        return frame.assign(**{name: values})
    if isinstance(frame, pl.DataFrame):
        return frame.with_columns(pl.Series(name, values))
    return frame.append_column(name, pa.array(values))


def read_values(column):
    """The two values as a table reads them: categories of numbers are strings."""
    if column.kind == "categories of numbers":
        return tuple(map(str, column.read))
    return column.read


def rows_of(column, missing):
    """The rows as dicts of what the values are read as."""
    cells = column.cells(read_values(column), missing=missing)
    if KINDS[column.kind].tables.startswith("left out"):
        return [{"b": b} for b in BESIDE]
    return [{"a": a, "b": b} for a, b in zip(cells, BESIDE, strict=True)]


def frame_of(column, missing):
    return with_column(column.frame(missing=missing), "b", BESIDE)


def like(kind, values):
    """The first type of this kind that is read as these values."""
    return next(c for c in COLUMN_TYPES if c.kind == kind and read_values(c) == values)


@functools.cache
def weighted(kind, values):
    rows = rows_of(like(kind, values), False)
    return tb.WeightedNaiveBayes(parts=1).fit(rows * 3, Y * 3)


@every
def test_tables(column, missing):
    frame, expected = frame_of(column, missing), KINDS[column.kind].tables
    if expected == "refused":
        with pytest.raises(ValueError, match="row 0, column 'a' holds"):
            tb.NaiveBayes().fit(frame, Y)
        return
    rows = rows_of(column, missing)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", LeftOutWarning)
        warnings.simplefilter("ignore", MixedColumnWarning)
        model = tb.NaiveBayes().fit(frame, Y)
        of_rows = tb.NaiveBayes().fit(rows, Y)
    assert [w.category for w in told] == [LeftOutWarning] * (expected == "left out, with a warning")
    assert model.tally_ == of_rows.tally_
    assert model.predict_proba(frame).tolist() == of_rows.predict_proba(rows).tolist()
    if expected.startswith("left out"):
        with pytest.raises(ValueError, match="row 0, column 'a' holds"):
            tb.NaiveBayes({"a": tb.families.Categorical()}).fit(frame, Y)
        return
    assert of_rows.forget(frame, Y).class_count_.tolist() == []
    model = weighted(column.kind, read_values(column))
    assert model.predict_proba(frame).tolist() == model.predict_proba(rows).tolist()


@functools.cache
def lazy_answers(kind, values, missing):
    """The probabilities by a source of the plain values."""
    rows = rows_of(like(kind, values), missing)
    if kind == "numbers and strings":
        rows = [row | {"a": None if row["a"] is None else str(row["a"])} for row in rows]
    source = pl.DataFrame([row | {"y": y} for row, y in zip(rows, Y, strict=True)])
    return tb.LazyNaiveBayes(source, "y").predict_proba(rows)


@each
def test_lazy_models(column):
    missing = column.has_missing
    source = with_column(frame_of(column, missing), "y", Y)
    expected = KINDS[column.kind].lazy
    if expected == "refused":
        with pytest.raises(ValueError, match="column 'a'"):
            tb.LazyNaiveBayes(source, "y").predict_proba(frame_of(column, missing))
        return
    found = tb.LazyNaiveBayes(source, "y").predict_proba(frame_of(column, missing))
    expected = lazy_answers(column.kind, read_values(column), missing)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def refused_or_same(NB, frame, numbers, message):
    """Whether a class of arrays reads a frame as these numbers, or refuses it in these words, when
    it learns and when it predicts."""
    model = NB().fit(pd.DataFrame({"a": 1.0, "b": BESIDE}), Y)
    if message is not None:
        for call in (
            lambda: NB().fit(frame, Y),
            lambda: NB().partial_fit(frame, Y, ["p", "q"]),
            lambda: model.partial_fit(frame, Y),
            lambda: model.forget(frame, Y),
            lambda: model.predict_proba(frame),
            lambda: tb.leave_one_out(model, frame, Y),
        ):
            with pytest.raises((ValueError, TypeError), match=message):
                call()
        return
    named = NB().fit(frame, Y)
    of_numbers = NB().fit(numbers, Y)
    assert named.predict_proba(frame).tolist() == of_numbers.predict_proba(numbers).tolist()
    for name, array in of_numbers.tally_.arrays().items():
        assert np.array_equal(named.tally_.arrays()[name], array), name


@every
def test_arrays(column, missing):
    frame, expected = frame_of(column, missing), KINDS[column.kind].arrays
    message, cells = None, column.cells(column.read, missing=missing)
    if expected == "refused":
        message = r"row 0, column (0 \(\'a\'\)|'a') holds|Complex data not supported"
    elif expected.startswith("numbers where"):
        for NB in ARRAYS:
            refused_or_same(NB, frame, None, r"row [01], column 0 \('a'\) holds 'up'")
        digits = NUMBERS_AS_WORDS
        if column.kind == "bytes":
            digits = tuple(text.encode() for text in digits)
        if column.kind == "numbers and strings":
            digits = (10, "01")
        held = column.hold(column.cells(digits, missing=missing))
        frame, cells = with_column(held, "b", BESIDE), column.cells((10, 1), missing=missing)
    if missing or column.kind == "nothing":
        message = message or r"Input X contains NaN: row [03], column 0 \('a'\) holds nan"
    numbers = None if message else np.array([cells, BESIDE], dtype=np.float64).T
    for NB in ARRAYS[::4] if missing else ARRAYS:  # a gap is found by what they share
        refused_or_same(NB, frame, numbers, message)


@each
def test_texts(column):
    documents, models = (
        column.frame(missing=False)["a"],
        (lambda: tb.TextNB(ridge=False), CountVectorizer),
    )
    if KINDS[column.kind].text != "documents":
        for make in models:
            with pytest.raises((ValueError, TypeError, AttributeError)):
                make().fit(documents, Y)
        return
    strings = column.cells(column.read, missing=False)
    for make in models if column.has_missing else ():
        with pytest.raises(ValueError, match="document 3 is a missing value"):
            make().fit(column.frame(missing=True)["a"], Y)
    assert models[0]().fit(documents, Y) == models[0]().fit(strings, Y)
    assert (
        CountVectorizer().fit(documents).vocabulary_ == CountVectorizer().fit(strings).vocabulary_
    )
