"""The interval of a number by buckets is the one that comparisons find."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallybayes.export.expression import Query
from tallybayes.export.terms import Columns, buckets_of, cell_of, score_of
from tallybayes.score import Formula, NumberCells

WHOLE = st.lists(st.integers(-3000, 3000).map(float), min_size=6, max_size=30, unique=True)
QUARTERS = WHOLE.map(lambda starts: [x / 4 for x in starts])
ANY = st.lists(st.floats(-1e6, 1e6), min_size=6, max_size=30, unique=True)
STARTS = st.one_of(WHOLE, QUARTERS, ANY).map(lambda starts: np.sort(np.array(starts)))


def nearby(starts):
    """Starts, the numbers just below and above them, and numbers between."""
    edges = np.concatenate([starts, np.nextafter(starts, -np.inf), np.nextafter(starts, np.inf)])
    tiny = np.array([0.0, -0.0, 5e-324, -5e-324, 1e-20, -1e-20, 1e300, -1e300])
    return np.concatenate([edges, (starts[1:] + starts[:-1]) / 2.0, tiny])


def said(duckdb, starts, x, *, scores=None):
    """The cells of numbers as DuckDB finds them, or their scores."""
    formula = Formula(
        classes=np.array(["a", "b"]),
        offset=np.zeros(2),
        terms=[],
        ruled_out=np.zeros(2),
        fallback=0,
        kinds={"x": "number"},
    )
    query = Query("duckdb")
    columns, cells = Columns(formula, query, {}, formula.kinds), NumberCells("x", starts)
    if scores is None:
        name = cell_of(cells, columns)
    else:
        name = query.name("s", score_of(cells, scores, columns))
    order = query.name("k", query.column("i"))
    duckdb.hold("numbers", pa.table({"i": np.arange(len(x)), "x": x}))
    found = duckdb.select(query.select(["numbers"], [(order, "i"), (name, "c")]))
    return found.sort_by("i")["c"].to_numpy()


@given(STARTS)
def test_cells_are_those_of_a_search(starts):
    from export.databases import DuckDB as Database

    database, x = Database(), nearby(starts)
    try:
        expected = 1 + np.searchsorted(starts, x, side="right")
        np.testing.assert_array_equal(said(database, starts, x), 1 + expected)
        scores = np.random.default_rng(0).normal(size=len(starts) + 2)
        np.testing.assert_array_equal(said(database, starts, x, scores=scores), scores[expected])
    finally:
        database.close()


@pytest.mark.parametrize(
    ("starts", "exact"),
    [
        (np.arange(18.0, 91.0), True),
        (np.arange(-8.0, 8.0) / 64.0, True),
        (np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.75]), False),
        (2.0 ** np.arange(0.0, 12.0), True),
        (2.0**60 + 2.0**12 * np.arange(8.0), False),
    ],
)
def test_what_lies_on_multiples_of_a_power_of_two_is_not_compared(duckdb, starts, exact):
    found = buckets_of(starts)
    assert (found is not None and found.exact) is exact
    x = nearby(starts)
    expected = 2 + np.searchsorted(starts, x, side="right")
    np.testing.assert_array_equal(said(duckdb, starts, x), expected)


def test_starts_that_no_buckets_tell_apart_are_compared():
    assert buckets_of(np.array([0.0, *(1.0 + 1e-15 * np.arange(1, 8)), 1e9])) is None
    assert buckets_of(np.arange(3.0)) is None
