"""Whatever the table is, back ends say what the model says."""

from __future__ import annotations

import warnings

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from export.back_ends import BACK_ENDS
from export.databases import DuckDB, SQLite, check_same
from tallybayes import NaiveBayes, WeightedNaiveBayes
from tallybayes.errors import TallyWarning
from tallybayes.families import Categorical

FEW = st.sampled_from([None, 0.0, -0.0, 1.0, 2.5, 5e-324])
LEARNED = st.one_of(FEW, st.floats(-1e100, 1e100))  # of larger ones there are no squares
NUMBERS = st.one_of(FEW, st.floats(allow_nan=True, allow_infinity=False))
LEVELS = st.one_of(st.none(), st.sampled_from(["a", "b", "", "'", '"', "\\"]), st.text(max_size=3))
BOOLEANS = st.one_of(st.none(), st.booleans())
LABELS = st.sampled_from(["no", "yes", "it's", "4th"])
MODELS = st.sampled_from(
    [
        NaiveBayes(),
        NaiveBayes(missing="level", unseen="ignore"),
        NaiveBayes(alpha=0.0),
        NaiveBayes(estimate="mle", class_alpha=0.0),
    ]
)


def is_text(text):
    """Whether Arrow and DuckDB take a string."""
    try:
        return text is None or text.encode() is not None
    except UnicodeEncodeError:
        return False


@st.composite
def tables(draw):
    """A table to learn, its labels, and a table to score."""
    n, more = draw(st.integers(1, 12)), draw(st.integers(1, 8))

    def column(values, kind, learned=None):
        first = draw(st.lists(values if learned is None else learned, min_size=n, max_size=n))
        return pa.array([*first, *draw(st.lists(values, min_size=more, max_size=more))], kind)

    whole = pa.table(
        {
            "number": column(NUMBERS, pa.float64(), LEARNED),
            "level": column(LEVELS.filter(is_text), pa.string()),
            "flag": column(BOOLEANS, pa.bool_()),
        }
    )
    labels = draw(st.lists(LABELS, min_size=n, max_size=n))
    return whole.slice(0, n), np.array(labels), whole


def held_by(back_end, table):
    """A table, with another string for the empty one where that is a missing value."""
    if back_end.has_empty_string:
        return table
    columns = {name: table[name] for name in table.column_names}
    for name, column in columns.items():
        if pa.types.is_string(column.type):
            columns[name] = pa.array(
                ["no string" if v == "" else v for v in column.to_pylist()], column.type
            )
    return pa.table(columns)


@pytest.fixture(scope="module", params=[DuckDB, SQLite, *BACK_ENDS], ids=lambda kind: kind.dialect)
def back_end(request):
    found = request.param()
    yield found
    found.close()


@settings(max_examples=25)
@given(tables(), MODELS)
def test_a_back_end_says_what_the_model_says(back_end, table, model):
    learned, labels, asked = table
    learned, asked = held_by(back_end, learned), held_by(back_end, asked)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TallyWarning)
        model.fit(learned, labels)
        check_same(back_end, model, asked)


@settings(max_examples=6)
@given(tables())
def test_weighted_models_too(back_end, table):
    learned, labels, asked = table
    learned, asked = held_by(back_end, learned), held_by(back_end, asked)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TallyWarning)
        check_same(back_end, WeightedNaiveBayes().fit(learned, labels), asked)


QUOTES = ["'", '"', "`", "\\", "''", "$$", "U&'", "\\u0027", "\u2019"]
MARKS = [";", "--", "/*", "*/", "(", ")", "]", "?", "$1", "%s", "{0}", "\n", " "]
WORDS = ["DROP TABLE victim", "select", "😀", "é", "x" * 9999]
PIECES = st.sampled_from([*QUOTES, *MARKS, *WORDS])
ODD = st.lists(st.one_of(PIECES, st.text(max_size=2)), min_size=1, max_size=6).map("".join)
NAMES = ODD.filter(is_text).filter(lambda name: name and "\0" not in name)


@settings(max_examples=25)
@given(data=st.data())
def test_no_name_level_or_label_is_read_as_code(back_end, data):
    """Each is itself, and another table is left alone."""
    table_name = data.draw(NAMES)
    columns = data.draw(st.lists(NAMES, min_size=1, max_size=3, unique_by=str.casefold))
    labels = data.draw(st.lists(NAMES, min_size=2, max_size=3, unique_by=str.casefold))
    levels = data.draw(st.lists(ODD.filter(is_text), min_size=2, max_size=12, unique=True))
    victim = pa.table({"here": [1]})
    back_end.hold("victim", victim)
    table = pa.table({name: [*levels[i:], *levels[:i]] for i, name in enumerate(columns)})
    y = np.array([labels[i % len(labels)] for i in range(len(levels))], dtype=object)
    if table_name.casefold() == "victim" or len(set(y)) < 2:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TallyWarning)
        table = held_by(back_end, table)
        model = NaiveBayes(columns={name: Categorical() for name in columns}).fit(table, y)
        check_same(back_end, model, table, name=table_name)
    assert back_end.select("SELECT * FROM victim") == victim
