"""Tables of several columns looked up at once say what the tables said one by one."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tallybayes.export.terms import JOINT_CELLS, JointTable, joined
from tallybayes.export.written import Powers
from tallybayes.score import CellTable, CodeCells, JointCells, QuadraticTerms

SIZES = st.lists(st.integers(2, JOINT_CELLS + 20), max_size=8)


def tables_of(sizes, n_classes=3):
    """A table of each size, of columns x0, x1 …; every second rules a class out."""
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
    total = np.zeros(len(terms[0].scores) if terms else 1)
    for term in terms:
        if isinstance(term, JointTable):
            cell = 0
            for part in term.cells:
                cell = cell * part.size + row[part.column]
        elif isinstance(term.cells, JointCells):
            each = zip(term.cells.maps, term.cells.columns, strict=True)
            coarse = [coarser[row[name]] for coarser, name in each]
            cell = np.ravel_multi_index(coarse, term.cells.sizes)
        else:
            cell = row[term.cells.column]
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
        assert len(parts) == 1 or term.scores.shape[1] <= JOINT_CELLS
    assert sorted(columns) == sorted(f"x{i}" for i in range(len(sizes)))


def joint_of(tables, places, n_classes):
    """A table for each two or three places, of coarser cells."""
    rng = np.random.default_rng(len(places))
    found = []
    for of_one in places:
        singles, sizes = tuple(tables[i].cells for i in of_one), (3, 2, 4)[: len(of_one)]
        maps = tuple(
            rng.integers(0, n, cells.size) for cells, n in zip(singles, sizes, strict=True)
        )
        cells = JointCells(singles, maps, sizes)
        found.append(CellTable(cells, rng.normal(size=(n_classes, cells.size))))
    return found


PLACES = st.lists(st.integers(0, 5), min_size=2, max_size=3, unique=True)


@given(
    st.lists(st.integers(2, 40), min_size=6, max_size=6),
    st.lists(PLACES, max_size=8),
    st.sampled_from([1, 3]),
    st.sampled_from([1, 600, 5000]),
    st.randoms(use_true_random=False),
)
def test_pairs_are_added_to_the_tables_of_their_columns(sizes, places, n_classes, most, random):
    tables = tables_of(sizes, n_classes)
    terms = [*tables[::2], *joint_of(tables, places, n_classes), *tables[1::2]]
    row = {f"x{i}": random.randrange(size) for i, size in enumerate(sizes)}
    found = joined(terms, most)
    np.testing.assert_allclose(said(found, row), said(terms, row), atol=1e-12)
    for term in found:
        cells = term.scores.shape[1]
        assert not isinstance(term, JointTable) or cells <= max(JOINT_CELLS, most // n_classes)


def test_a_pair_of_few_cells_is_looked_up_with_its_columns():
    tables = tables_of([10, 10], n_classes=1)
    [found] = joined([*tables, *joint_of(tables, [(1, 0)], 1)])
    assert [cells.column for cells in found.cells] == ["x0", "x1"]


def test_a_pair_of_many_cells_and_numbers_stay_as_they_are_and_in_their_order():
    tables = tables_of([20, 30])
    [pair] = joint_of(tables, [(0, 1)], 3)
    number = Powers("x9", QuadraticTerms(*np.zeros((4, 3))))
    assert joined([pair, tables[0], number, tables[1]]) == [pair, tables[0], number, tables[1]]


def test_single_scores_are_looked_up_one_by_one():
    tables = tables_of([2, 3], n_classes=1)
    assert joined(tables) == tables
