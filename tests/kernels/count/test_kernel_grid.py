"""Grid counts against their slow twin: cells that are found by place and by hash, alike."""

from __future__ import annotations

import numpy as np
import pytest

from reference import count_grid
from reference.inputs import WEIGHTS
from reference.rational import rounded
from tallybayes import _kernels

BUDGET = 24

COLUMNS = {
    "decimals": lambda rng, n: np.round(rng.normal(0, 10, n), 2),
    "positive": lambda rng, n: rng.lognormal(3, 1, n),
    "few whole numbers": lambda rng, n: rng.integers(-6, 9, n).astype(float),
    "many whole numbers": lambda rng, n: rng.integers(0, 9000, n).astype(float),
    "mostly zero": lambda rng, n: np.where(rng.random(n) < 0.8, 0.0, rng.normal(size=n)),
    "both zeros": lambda rng, n: np.where(rng.random(n) < 0.5, 0.0, -0.0),
    "ascending": lambda rng, n: np.arange(n) / 7.0,
    "next to zero": lambda rng, n: rng.integers(-40, 40, n) * 5e-324,
    "of every size": lambda rng, n: rng.normal(size=n) * 10.0 ** rng.integers(-300, 300, n),
    "far rows": lambda rng, n: np.where(rng.random(n) < 0.02, 1e300, rng.normal(size=n)),
    "missing": lambda rng, n: np.where(rng.random(n) < 0.3, np.nan, rng.normal(size=n)),
}


def counted(x, codes, weights, n_classes, least_shift=0, budget=BUDGET):
    fault, shift, keys, counts = _kernels.grid_counts(
        x, codes, weights, n_classes, budget, least_shift
    )
    assert fault == 0
    order = np.argsort(keys)
    return shift, keys[order].tolist(), counts.reshape(-1, n_classes)[order].T


@pytest.mark.parametrize("least_shift", [0, 49])
@pytest.mark.parametrize("column", COLUMNS)
def test_grid_counts_are_those_of_the_finest_grid_within_the_budget(column, least_shift):
    rng = np.random.default_rng(0)
    x, codes = COLUMNS[column](rng, 700), rng.integers(0, 3, 700).astype(np.int32)
    for weights in WEIGHTS.values():
        w = weights(rng, 700)
        shift, keys, counts = counted(x, codes, w, 3, least_shift)
        found = count_grid(x, codes, w, 3, BUDGET, least_shift)
        assert (shift, keys) == found[:2]
        np.testing.assert_array_equal(counts, rounded(found[2]))


@pytest.mark.parametrize("column", COLUMNS)
def test_a_grid_that_starts_coarse_adds_to_what_all_rows_give(column):
    rng = np.random.default_rng(1)
    x, codes = COLUMNS[column](rng, 600), np.zeros(600, dtype=np.int32)
    whole = counted(x, codes, None, 1)
    later = counted(x[300:], codes[300:], None, 1, counted(x[:300], codes[:300], None, 1)[0])
    assert later[0] <= whole[0]
    assert counted(x[300:], codes[300:], None, 1, whole[0])[0] == whole[0]


def test_columns_of_any_stride_are_counted_alike():
    rng = np.random.default_rng(2)
    x, codes = rng.normal(size=(500, 3)), rng.integers(0, 2, 500).astype(np.int32)
    for a, b in zip(
        counted(x[:, 1], codes, None, 2), counted(x[:, 1].copy(), codes, None, 2), strict=True
    ):
        np.testing.assert_array_equal(a, b)


def test_infinity_is_a_fault_wherever_it_is_and_a_wrong_class_is_refused():
    codes = np.zeros(300, dtype=np.int32)
    for place in (0, 299):
        x = np.ones(300)
        x[place] = -np.inf
        assert _kernels.grid_counts(x, codes, None, 1, BUDGET)[0] == _kernels.NOT_FINITE
    with pytest.raises(IndexError, match="class code"):
        _kernels.grid_counts(np.ones(300), codes + 1, None, 1, BUDGET)
    with pytest.raises(ValueError, match="bits"):
        _kernels.grid_counts(np.ones(300), codes, None, 1, BUDGET, 64)
