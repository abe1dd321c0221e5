"""Binned tries each way to cut a column once."""

from __future__ import annotations

import numpy as np
import pytest

from tallybayes import NaiveBayes
from tallybayes.families import Binned, Smooth
from tallybayes.families import binned as module
from tallybayes.tally import GridCounts


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
