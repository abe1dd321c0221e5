"""The rows of parts, which threads read in any order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tallybayes.sources.contract import Part
from tallybayes.sources.reading import PartsRead


@given(st.permutations(range(6)), st.lists(st.integers(0, 9), min_size=6, max_size=6))
def test_rows_are_counted_once_in_whatever_order_parts_are_read(order, sizes):
    read, found = PartsRead("a.csv"), 0
    for _ in sizes:
        read.add(Part(lambda: None, "a.csv"))
    for i in order:
        read.parts[i].has(sizes[i])
        found += sizes[i]
        assert read.n_rows == read.n_rows == found
    assert [read.first_row(i) for i in range(6)] == [sum(sizes[:i]) for i in range(6)]
