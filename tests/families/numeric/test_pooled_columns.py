"""Columns scored together by the kernel are what each density says by itself, and without a row."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallybayes.engines.parts import PooledColumns, TakenOut
from tallybayes.families.choice import UNDECLARED
from tallybayes.families.gaussian import Atoms, GaussianDensity, Pooled
from tallybayes.families.normal import Transform
from tallybayes.families.priors import NormalInverseGamma
from tallybayes.tally import GridCounts, Moments

FAMILIES = {
    "undeclared": UNDECLARED,
    "smoothed": replace(UNDECLARED, var_smoothing=1e-3),
    "floor": replace(UNDECLARED, min_variance=0.5),
    "integrated": replace(UNDECLARED, prior=NormalInverseGamma(0.0, 1.0, 2.0, 1.0)),
}


def density_of(family, x, own, weight, classes):
    """The density of values of these classes and weights."""
    counts = np.where(own == np.arange(classes)[:, None], weight, 0.0)
    return GaussianDensity.read(family, Moments.of_values(x, counts), GridCounts.zeros(classes))


@st.composite
def columns(draw):
    """A density, the values that it counted (NaN for missing values), their classes and weights."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, classes = draw(st.integers(1, 40)), draw(st.integers(1, 4))
    own = rng.integers(draw(st.integers(1, classes)), size=n)
    weight = rng.choice([0.5, 1.0, 3.0], size=n) if draw(st.booleans()) else np.ones(n)
    x = rng.normal(size=n) * draw(st.sampled_from([1e-3, 1.0, 1e6]))
    if draw(st.booleans()):
        x[own == 0] = x[0]  # a class without spread
    here = rng.random(n) < draw(st.sampled_from([0.0, 0.4]))
    x[here] = 7e7
    counts = np.bincount(own[here], weight[here], classes)[:, None][:, : int(here.any())]
    low = np.full(counts.shape[1], 7e7)
    atoms = Atoms(low, low, np.nextafter(low, np.inf), counts)
    family = FAMILIES[draw(st.sampled_from(sorted(FAMILIES)))]
    density = density_of(family, x[~here], own[~here], weight[~here], classes)
    gaps = rng.random(n) < draw(st.sampled_from([0.0, 0.3]))
    values = np.where(gaps, np.nan, x)
    return Pooled(density, atoms), values, own, weight


@given(columns())
def test_one_column_is_what_its_density_says(drawn):
    density, x, own, weight = drawn
    if density.law is None or density.law.pooled() is None:
        return
    there = ~np.isnan(x)
    together = PooledColumns([density], len(density.n))
    scores, expected = np.zeros((2, len(x), len(density.n)))
    together.add([x], scores)
    expected[there] = density.log_density(x[there])
    np.testing.assert_allclose(scores, expected, rtol=1e-12, atol=1e-12)
    scores[:] = expected[:] = 0.0
    together.add([x], scores, TakenOut(own, weight))
    expected[there] = density.without(x[there], own[there], weight[there])
    np.testing.assert_allclose(scores, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("without", [False, True])
def test_many_columns_add_up(without):
    rng = np.random.default_rng(3)
    own, weight = rng.integers(3, size=200), np.ones(200)
    densities, values = [], []
    for j, family in enumerate(FAMILIES.values()):
        x = rng.normal(size=200) + j
        densities.append(Pooled(density_of(family, x, own, weight, 3), Atoms.none(3)))
        values.append(x)
    used = [
        j
        for j, density in enumerate(densities)
        if density.law is not None and density.law.pooled() is not None
    ]
    densities, values = [densities[j] for j in used], [values[j] for j in used]
    scores = np.zeros((200, 3))
    if without:
        PooledColumns(densities, 3).add(values, scores, TakenOut(own, weight))
        each = [d.without(x, own, weight) for d, x in zip(densities, values, strict=True)]
    else:
        PooledColumns(densities, 3).add(values, scores)
        each = [d.log_density(x) for d, x in zip(densities, values, strict=True)]
    np.testing.assert_allclose(scores, sum(each), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("transform", [None, Transform("yeo-johnson", 0.9)])
@pytest.mark.parametrize("shift", [0, 44])
def test_a_far_value_is_taken_out_of_its_cell(shift, transform):
    """Of grid counts too, where a cell is at one value: as the counts without the row say it."""
    x = np.array([1e9 + 0.283, 0.005, 0.505, 0.75, 3.0, -2.0, 7.0, 2.5])
    own, empty = np.repeat([0, 1], 4), GridCounts(shift, np.empty(0, dtype=np.int64), np.empty(0))

    def grid(rows):
        keys = empty.keys_of(x)
        cells, at = np.unique(keys[rows], return_inverse=True)
        counts = np.zeros((2, len(cells)))
        np.add.at(counts, (own[rows], at), 1.0)
        return GridCounts(shift, cells, counts)

    rows = np.arange(len(x))
    for family in (FAMILIES["smoothed"], replace(UNDECLARED, estimate="posterior")):
        density = GaussianDensity.of_grid(family, grid(rows), transform)
        found = density.without(x, own, np.ones(len(x)))
        for i in rows:
            others = GaussianDensity.of_grid(family, grid(rows[rows != i]), transform)
            expected = others.log_density(x[[i]])[0]
            np.testing.assert_allclose(found[i], expected, rtol=1e-8, err_msg=f"row {i}")
