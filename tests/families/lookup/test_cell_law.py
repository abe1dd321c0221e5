"""CellLaw: probabilities sum to 1; what is said without a row is what the other rows say."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reference.logs import assert_logs
from tallybayes.engines.leave_one_out import cells_without
from tallybayes.families.binned import _kernel
from tallybayes.families.cells import CellLaw

CLOSE = {"rtol": 1e-10, "atol": 1e-10}


@dataclass
class Case:
    """Rows of a column in cells, and how they are to be read."""

    rows: np.ndarray  # (n_classes, n_cells) of weights, unspread
    strength: float
    base: np.ndarray | None
    width: int | None  # of the kernel

    def law(self, rows):
        """The law of these rows, built from scratch."""
        n = rows.shape[1]
        total = rows.sum(axis=1, keepdims=True)
        if self.width is None:
            return CellLaw(
                counts=rows, total=total, n_cells=n, strength=self.strength, base=self.base
            )
        kernel = _kernel(n, self.width)
        return CellLaw(
            counts=rows @ kernel.T,
            total=total,
            n_cells=n,
            strength=self.strength,
            base=self.base,
            rows=rows.sum(axis=0),
            centre=np.diag(kernel),
        )

    def without(self, c, cell, weight):
        """The rows less one of class c in this cell."""
        rest = self.rows.copy()
        rest[c, cell] -= weight
        return rest


@st.composite
def cases(draw, fixed=None):
    """Up to three classes and five cells; some classes are blank, some have one row."""
    n_classes, n_cells = draw(st.integers(1, 3)), draw(st.integers(1, 5))
    weight = st.sampled_from([0.0, 0.0, 0.5, 1.0, 1.0, 2.0, 3.75, 40.0])
    rows = np.array(
        [draw(st.lists(weight, min_size=n_cells, max_size=n_cells)) for _ in range(n_classes)]
    )
    rows[draw(st.lists(st.integers(0, n_classes - 1), max_size=1))] = 0.0
    base = None
    if draw(st.booleans()) if fixed is None else fixed:
        shares = np.array(draw(st.lists(st.integers(0, 4), min_size=n_cells, max_size=n_cells)))
        base = shares / shares.sum() if shares.any() else np.full(n_cells, 1.0 / n_cells)
    strength = draw(st.sampled_from([0.0, 1e-10, 0.5, 3.0, 64.0, 1e10]))
    width = draw(st.sampled_from([None, 0, 1, 3]))
    return Case(rows, strength, base, width)


def the_same(found, expected):
    assert not np.isnan(found).any()
    np.testing.assert_array_equal(np.isneginf(found), np.isneginf(expected))
    there = np.isfinite(expected)
    np.testing.assert_allclose(found[there], expected[there], **CLOSE)


@given(cases())
def test_the_cells_sum_to_one_in_every_class(case):
    found = np.exp(case.law(case.rows).log_prob())
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)


@given(cases())
def test_log_prob_is_the_equation_in_fractions(case):
    if case.width is not None:
        return  # a kernel's weights are not fractions
    n, rows = case.rows.shape[1], [[Fraction(x) for x in row] for row in case.rows.tolist()]
    everyone = [sum(column) for column in zip(*rows, strict=True)]
    strength = Fraction(case.strength)
    if case.base is None:
        q = [(m + Fraction(1, n)) / (sum(everyone) + 1) for m in everyone]
    else:
        q = [Fraction(share) for share in case.base.tolist()]
    expected = []
    for row in rows:
        counts = row if sum(row) else everyone
        total = sum(counts) + strength
        each = [
            (k + strength * s) / total if total else Fraction(1, n)
            for k, s in zip(counts, q, strict=True)
        ]
        expected.append(each)
    found = case.law(case.rows).log_prob()
    np.testing.assert_allclose(np.exp(found), np.array(expected, dtype=float), rtol=1e-12)
    if case.base is None:
        assert_logs(np.log(case.law(case.rows).base_with_all()), q)


@given(cases(), st.sampled_from([1.0, 0.5]))
def test_without_a_row_is_the_law_of_the_other_rows(case, least):
    """In the row's own class, and in the others: fixed and marginal base, spread and not."""
    law = case.law(case.rows)
    for c, cell in zip(*np.nonzero(case.rows), strict=True):
        for weight in {min(least, case.rows[c, cell].item()), case.rows[c, cell].item()}:
            expected = case.law(case.without(c, cell, weight)).log_prob()[:, cell]
            found = law.other_without(weight)[:, cell]
            found[c] = law.own_without(weight)[c, cell]
            the_same(found, expected)


@given(cases())
def test_weights_may_differ_by_cell(case):
    law = case.law(case.rows)
    n_classes, n_cells = case.rows.shape
    weight = np.minimum(np.linspace(0.25, 2.0, n_cells), case.rows)  # (n_classes, n_cells)
    own = law.own_without(weight)
    for c in range(n_classes):
        others = law.other_without(weight[c])
        for cell in range(n_cells):
            alone = float(weight[c, cell])
            the_same(own[c, [cell]], law.own_without(alone)[c, [cell]])
            the_same(others[:, cell], law.other_without(alone)[:, cell])


@given(cases(), st.data())
def test_taking_cells_commutes(case, data):
    law = case.law(case.rows)
    n_cells = case.rows.shape[1]
    cells = np.array(data.draw(st.lists(st.integers(0, n_cells - 1), min_size=1, max_size=7)))
    taken = law.take(cells)
    weight = np.minimum(1.0, case.rows)
    the_same(taken.log_prob(), law.log_prob()[:, cells])
    the_same(taken.base_with_all(), law.base_with_all()[cells])
    the_same(taken.own_without(weight[:, cells]), law.own_without(weight)[:, cells])
    the_same(taken.other_without(weight[0, cells]), law.other_without(weight[0])[:, cells])
    again = np.arange(len(cells))[::-1]
    the_same(taken.take(again).own_without(0.0), law.take(cells[again]).own_without(0.0))


@given(cases(), st.booleans())
def test_every_row_at_once_is_each_by_itself(case, alike):
    """cells_without: rows of one weight by a table of cells, of different weights by take()."""
    rows = np.ceil(case.rows) if alike else case.rows
    case = Case(rows, case.strength, case.base, case.width)
    own, cells = np.nonzero(rows)
    if not len(own):
        return
    weight = np.ones(len(own)) if alike else rows[own, cells] / 2.0
    found = cells_without(case.law(rows), cells, own, weight)
    for i in range(len(own)):
        rest = case.without(own[i], cells[i], weight[i])
        the_same(found[i], case.law(rest).log_prob()[:, cells[i]])


def test_a_cell_for_what_was_never_seen_stands_beside_the_distribution():
    law = CellLaw(
        counts=np.array([[3.0, 1.0, 0.0]]),
        total=np.array([[4.0]]),
        n_cells=2,
        strength=2.0,
        base=np.array([0.5, 0.5, 0.5]),
    )
    assert_logs(law.log_prob(), [[Fraction(4, 6), Fraction(2, 6), Fraction(1, 6)]])


def test_counts_of_a_trillion_and_rows_that_are_rounding():
    law = CellLaw(
        counts=np.array([[1e12, 1.0], [0.0, 3.0]]),
        total=np.array([[1e12 + 1.0], [3.0]]),
        n_cells=2,
        strength=2e-10,
        base=np.array([0.5, 0.5]),
    )
    n, a = Fraction(10**12), Fraction(1e-10)
    own = law.own_without(1.0)
    assert_logs(own[0], [(n - 1 + a) / (n + 2 * a), a / (n + 2 * a)])
    # taken out of class 1: 0.3 − 0.1 − 0.1 − 0.1 is rounding, not a count
    tenths = CellLaw(
        counts=np.array([[0.1 + 0.2]]),
        total=np.array([[0.1 + 0.2]]),
        n_cells=1,
        strength=0.0,
    )
    assert tenths.own_without(0.3).tolist() == [[0.0]]  # P = 1 of a single cell, not NaN


@given(st.lists(cases(), min_size=1, max_size=5))
def test_laws_say_together_what_each_says_alone(cases):
    laws = [case.law(case.rows) for case in cases]
    laws += [CellLaw.joined([law, law]) for law in laws if law.base is not None]
    for law, found in zip(laws, CellLaw.log_probs(laws), strict=True):
        np.testing.assert_array_equal(found, law.log_prob())


def test_many_columns_of_one_shape_say_together_what_each_says_alone():
    rng = np.random.default_rng(0)
    laws = [
        Case(rng.random((40, n)) * 7.3, s, None, width).law(rng.random((40, n)) * 7.3)
        for n in (1, 11, 90)
        for s, width in [(1.0, 4), (64.0, 16), (0.5, None)]
        for _ in range(30)
    ]
    for law, found in zip(laws, CellLaw.log_probs(laws), strict=True):
        assert found.tobytes() == law.log_prob().tobytes()
