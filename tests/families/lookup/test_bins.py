"""Bins hold equally many effective rows, whatever the rows of a class weigh."""

from __future__ import annotations

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from tallybayes import NaiveBayes, _kernels
from tallybayes.families import Binned
from tallybayes.families.binned import quantile_bins, quantile_bins_of_each
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
