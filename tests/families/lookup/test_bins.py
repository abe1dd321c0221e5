"""Bins and cells: where columns are cut, and what a cell says with and without a row."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.logs import assert_logs
from tallybayes import NaiveBayes, _kernels
from tallybayes.engines.leave_one_out import cells_without
from tallybayes.families import Binned, Smooth
from tallybayes.families import binned as module
from tallybayes.families.binned import _kernel, quantile_bins, quantile_bins_of_each
from tallybayes.families.cells import CellLaw
from tallybayes.tally import UNIT_ROWS, GridCounts, RowWeights


def grid_counts(x, codes, weight_of_class):
    weights = np.asarray(weight_of_class, dtype=np.float64)[codes]
    fault, shift, keys, counts = _kernels.grid_counts(x, codes, weights, 2, 256)
    assert fault == 0
    order = np.argsort(keys)
    return GridCounts(shift, keys[order], counts.reshape(-1, 2)[order].T.copy(), 256)


def row_weights(codes, weight_of_class):
    weights = np.asarray(weight_of_class, dtype=np.float64)[codes]
    by_class = np.asarray(weight_of_class, dtype=np.float64)[:, None]
    return RowWeights(by_class, float((weights**2).sum() / weights.sum()))


ROWS = st.lists(st.tuples(st.integers(-20, 20), st.integers(0, 1)), min_size=1, max_size=120)
WEIGHTS = st.tuples(*[st.sampled_from([0.001, 0.3, 1.0, 4.0, 17.0, 1e6])] * 2)


@given(ROWS, WEIGHTS, st.sampled_from([1, 2, 4, 16, 128]))
def test_weights_of_whole_classes_move_no_cut(rows, weight_of_class, n_bins):
    x, codes = np.array([r[0] for r in rows], float), np.array([r[1] for r in rows], np.int32)
    once = quantile_bins(grid_counts(x, codes, (1.0, 1.0)), n_bins, UNIT_ROWS)
    heavy = grid_counts(x, codes, weight_of_class)
    edges, counts = quantile_bins(heavy, n_bins, row_weights(codes, weight_of_class))
    assert edges.tolist() == once.edges.tolist()
    np.testing.assert_allclose(counts, once.counts * np.array(weight_of_class)[:, None])


def test_heavy_rows_of_a_class_have_no_bins_of_their_own():
    rng = np.random.default_rng(0)
    codes = (np.arange(1000) % 20 == 0).astype(np.int32)
    x, balanced = rng.normal(size=1000).round(2), (1000 / 1900, 10.0)
    grid, weights = grid_counts(x, codes, balanced), row_weights(codes, balanced)
    assert quantile_bins(grid, 8, weights).counts.shape[1] == 8


def test_columns_are_cut_together_as_one_by_one():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, 300).astype(np.int32)
    grids = [grid_counts(x, codes, (1.0, 0.3)) for x in rng.normal(size=(3, 300)).round(1)]
    grids += [GridCounts.zeros(2), grid_counts(np.floor(rng.normal(size=300)), codes, (1.0, 0.3))]
    sizes, weights = [4, 128, 16, 8, 8], row_weights(codes, (1.0, 0.3))
    together = quantile_bins_of_each(grids, sizes, weights)
    for grid, size, (edges, counts) in zip(grids, sizes, together, strict=True):
        alone = quantile_bins(grid, size, weights)
        assert edges.tobytes() == alone.edges.tobytes()
        assert counts.tobytes() == alone.counts.tobytes()
        cell = np.searchsorted(edges, grid.values(), side="right")
        again = np.zeros_like(counts)
        np.add.at(again.T, cell, grid.counts.T)
        np.testing.assert_allclose(again, counts)


def test_every_bin_has_alpha_more_rows():
    """P(bin | c) = (n_cb + α) / (n_c + α·bins)."""
    x, y = pd.DataFrame({"x": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]}), list("uuvuvv")
    model = NaiveBayes({"x": Binned(bins=3, alpha=0.5)}).fit(x, y)
    found = np.exp(model.explain(x[::2]).contributions[:, :, 0])
    expected = np.array([[2.5, 0.5], [1.5, 1.5], [0.5, 2.5]]) / 4.5
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("n_values", "tried"),
    [(1, [1]), (3, [2, 3]), (20, [2, 4, 8, 16, 20]), (200, [2, 4, 8, 16, 32, 64, 128])],
)
def test_equal_binnings_are_tried_once(monkeypatch, n_values, tried):
    sizes = []
    likelihood = module.law_likelihood

    def counting(rows, *others):
        sizes.append(rows.shape[1])
        return likelihood(rows, *others)

    monkeypatch.setattr(module, "law_likelihood", counting)
    counts = np.random.default_rng(0).integers(9, 12, size=(2, n_values)).astype(float)
    grid = GridCounts(0, np.arange(n_values) << 40, counts)
    Binned().read(grid, counts.sum(axis=1), 1.0)
    assert sizes == tried


@pytest.mark.parametrize("family", [Binned, Smooth])
def test_more_bins_than_can_be_are_refused(family):
    x, y = np.arange(20.0).reshape(-1, 1), [0, 1] * 10
    model = NaiveBayes(columns={0: family(bins=2**20)}).fit(x, y)
    assert np.isfinite(model.predict_log_proba(x)).all()
    with pytest.raises(ValueError, match=f"a whole number of bins, from 1 to 2²⁰, got {2**80}"):
        family(bins=2**80)


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
