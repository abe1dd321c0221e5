"""Tables of several columns looked up at once say what the tables said one by one."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tallybayes.export.sql.joint_tables import MOST_CELLS, JointTable, joined
from tallybayes.parameters.columns import QuadraticTerms
from tallybayes.parameters.formula_cells import CodeCells, PairedCells
from tallybayes.parameters.formula_terms import CellTable, Powers

SIZES = st.lists(st.integers(2, MOST_CELLS + 20), max_size=8)


def tables_of(sizes, n_classes=3):
    rng = np.random.default_rng(len(sizes))
    tables = [
        CellTable(CodeCells(f"x{i}", size), rng.normal(size=(n_classes, size)))
        for i, size in enumerate(sizes)
    ]
    for table in tables[::2]:
        table.scores[0, 0] = -np.inf
    return tables


def said(terms, row):
    """What the terms add to each class, for a row of cells by column."""
    total = np.zeros(3)
    for term in terms:
        parts = term.cells if isinstance(term, JointTable) else [term.cells]
        cell = 0
        for part in parts:
            cell = cell * part.size + row[part.column]
        total += term.scores[:, cell]
    return total


@given(SIZES, st.randoms(use_true_random=False))
def test_scores_are_the_sums(sizes, random):
    tables = tables_of(sizes)
    row = {f"x{i}": random.randrange(size) for i, size in enumerate(sizes)}
    np.testing.assert_allclose(said(joined(tables), row), said(tables, row), atol=1e-12)


@given(SIZES)
def test_each_table_is_in_one_and_none_is_too_large(sizes):
    found = joined(tables_of(sizes))
    columns = []
    for term in found:
        parts = term.cells if isinstance(term, JointTable) else [term.cells]
        columns += [part.column for part in parts]
        assert term.scores.shape[1] == np.prod([part.size for part in parts])
        assert len(parts) == 1 or term.scores.shape[1] <= MOST_CELLS
    assert sorted(columns) == sorted(f"x{i}" for i in range(len(sizes)))


def test_pairs_and_numbers_stay_as_they_are_and_in_their_order():
    small, other = tables_of([2, 3])
    maps = (np.zeros(2, np.int64), np.zeros(3, np.int64))
    pair = CellTable(PairedCells(small.cells, other.cells, maps, 1, 1), np.zeros((3, 1)))
    number = Powers("x9", QuadraticTerms(*np.zeros((4, 3))))
    [first, second, third] = joined([pair, small, number, other])
    assert first is pair
    assert isinstance(second, JointTable)
    assert third is number
