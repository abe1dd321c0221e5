"""Values that repeat more than a density allows, a density beside them, and columns pooled by the
kernel.
"""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats

from tallybayes import NaiveBayes
from tallybayes.engines.parts import PooledColumns, TakenOut
from tallybayes.families.choice import UNDECLARED
from tallybayes.families.gaussian import Atoms, GaussianDensity, Pooled, atom_cells
from tallybayes.families.normal import Transform
from tallybayes.families.priors import NormalInverseGamma
from tallybayes.tally import GridCounts, Moments

RNG = np.random.default_rng(12)


def counted(x, codes):
    """Moments and grid counts of a column."""
    keys = GridCounts.zeros(1).keys_of(np.asarray(x, dtype=np.float64))
    cells, at = np.unique(keys, return_inverse=True)
    n = int(max(codes)) + 1
    counts = np.zeros((n, len(cells)))
    np.add.at(counts, (np.asarray(codes), at), 1.0)
    moments = Moments.zeros(n, np.array([x[0]]))
    np.add.at(moments.n[:, 0], codes, 1.0)
    np.add.at(moments.s1_hi[:, 0], codes, x - x[0])
    np.add.at(moments.s2_hi[:, 0], codes, (x - x[0]) ** 2)
    return moments, GridCounts(0, cells, counts)


def atoms_of(x):
    grid = counted(np.asarray(x, dtype=np.float64), np.zeros(len(x), dtype=int))[1]
    return grid.values()[atom_cells(grid)].tolist()


N = 300
FOUND = {
    "zeros": ([0.0] * 100, RNG.normal(5.0, 1.0, N), [0.0]),
    "zeros of a skewed column": ([0.0] * 100, RNG.lognormal(0.0, 1.0, N), [0.0]),
    "a sentinel among integers": ([999] * 40, RNG.integers(0, 9, N), [999.0]),
    "a negative sentinel": ([-1] * 60, np.round(RNG.normal(50.0, 15.0, N)), [-1.0]),
    "two at the ends": ([0.0] * 50 + [1.0] * 80, RNG.uniform(0.01, 0.99, N), [0.0, 1.0]),
    "among its neighbours": ([5.0] * 40, RNG.normal(5.0, 1.0, N), [5.0]),
    "a negative one": ([-2.5] * 40, RNG.normal(0.0, 3.0, N), [-2.5]),
}


@pytest.mark.parametrize("name", FOUND)
def test_values_that_repeat_more_than_their_neighbours_are_atoms(name):
    repeated, others, expected = FOUND[name]
    assert atoms_of(np.concatenate([repeated, others])) == expected


NONE = {
    "ages": np.round(RNG.normal(40.0, 12.0, 2000)),
    "ages and a few in months": np.append(
        np.round(RNG.normal(30.0, 10.0, 800)), [0.42, 0.67, 0.83]
    ),
    "one to five": RNG.integers(1, 6, 500),
    "zeros and ones": RNG.integers(0, 2, 500),
    "rounded to tens": np.round(RNG.lognormal(5.0, 0.5, 1000), -1),
    "rounded to a tenth": np.round(RNG.normal(0.0, 2.0, 1000), 1),
    "a density": RNG.normal(0.0, 1.0, 1000),
    "an outlier": np.append(RNG.normal(0.0, 1.0, 100), 1e12),
    "a constant": np.full(50, 3.0),
    "events": RNG.poisson(3.0, 1000),
}


@pytest.mark.parametrize("name", NONE)
def test_values_that_repeat_as_their_neighbours_do_are_none(name):
    assert atoms_of(NONE[name]) == []


def test_no_row_has_no_atom():
    assert not atom_cells(GridCounts.zeros(2)).any()


def test_an_atom_is_a_cell_of_the_grid_and_the_rest_is_without_it():
    x = np.concatenate([np.full(80, 1e9), np.zeros(60), RNG.normal(5.0, 1.0, 100)])
    _, grid = counted(x, np.zeros(len(x), dtype=int))
    beside = Pooled.beside_atoms(UNDECLARED, grid, np.isin(grid.values(), [0.0, 1e9]))
    atoms, density = beside.atoms, beside.density
    assert atoms.values.tolist() == [0.0, 1e9]
    assert atoms.counts.tolist() == [[60.0, 80.0]]
    asked = np.array([0.0, -0.0, 1e-300, 1e9, np.nextafter(1e9, 2e9), 5.0])
    assert atoms.cell(asked).tolist() == [0, 0, 2, 1, 2, 2]
    assert density.own.n.tolist() == [100.0]
    assert density.own.variance[0] == pytest.approx(x[140:].var(), rel=1e-12)


# ---- beside a density ----------------------------------------------------------------------------
def column(n=200):
    """Class 0: half zeros; class 1: few; class 2: none."""
    codes = np.repeat([0, 1, 2], [n, n, n // 4])
    x = RNG.normal(5.0 + codes, 1.0)
    x[: n // 2] = 0.0
    x[n : n + 5] = 0.0
    return x, codes


def reading(x, codes):
    _, grid = counted(x, codes)
    return Pooled.beside_atoms(UNDECLARED, grid, grid.values() == 0.0), grid


def by_formula(x, codes, query):
    """log p'(x | c), written as in the module."""
    n = np.bincount(codes).astype(float)
    mass = np.empty((len(query), len(n)))
    for k in range(len(n)):
        mine = x[(codes == k) & (x != 0.0)]
        normal = len(mine) * stats.norm(mine.mean(), mine.std(ddof=1)).pdf(query)
        zeros = ((codes == k) & (x == 0.0)).sum()
        mass[:, k] = np.where(query == 0.0, zeros, normal)
    return np.log((mass + mass.sum(axis=1, keepdims=True) / n.sum()) / (n + 1.0))


def test_an_atom_has_a_probability_and_the_rest_a_density():
    x, codes = column()
    pooled, _ = reading(x, codes)
    query = np.array([0.0, 1e-12, 4.0, 9.0, -3.0])
    np.testing.assert_allclose(pooled.log_density(query), by_formula(x, codes, query), rtol=1e-9)
    assert pooled.what == "Gaussian beside 1 atom (0)"


def test_leaving_a_row_out_is_reading_without_it():
    x, codes = column(24)
    pooled, _ = reading(x, codes)
    found = pooled.without(x, codes.astype(np.intp), np.ones(len(x)))
    for i in range(len(x)):
        rest = np.arange(len(x)) != i
        again, _ = reading(x[rest], codes[rest])
        np.testing.assert_allclose(found[i], again.log_density(x[[i]])[0], rtol=1e-7)


def test_the_likelihood_is_that_of_leaving_rows_out():
    x, codes = column(40)
    pooled, grid = reading(x, codes)
    classes = np.bincount(codes) + 1.0
    scores = pooled.without(x, codes.astype(np.intp), np.ones(len(x)))
    prior = np.repeat(classes[None, :], len(x), axis=0)
    prior[np.arange(len(x)), codes] -= 1.0
    joint = np.log(prior) + scores
    log_proba = joint - np.logaddexp.reduce(joint, axis=1, keepdims=True)
    expected = log_proba[np.arange(len(x)), codes].sum()
    assert pooled.likelihood(grid, classes) == pytest.approx(expected, rel=1e-9)


@st.composite
def columns(draw):
    rows = draw(
        st.lists(
            st.tuples(
                st.sampled_from([0.0, 1.0, 1.5, -3.0, 999.0, 1e12, 1e-160, 1e-12])
                | st.floats(-100.0, 100.0),
                st.integers(0, 2),
                st.integers(1, 9),
            ),
            min_size=1,
            max_size=20,
        )
    )
    x, codes = (np.repeat([row[i] for row in rows], [row[2] for row in rows]) for i in (0, 1))
    return np.asarray(x, dtype=np.float64), codes


@given(columns(), st.floats(-1e13, 1e13), st.sampled_from([0.01, 1.0, 7.5]))
@example((np.zeros(1), np.zeros(1, dtype=int)), 0.0, 7.5)
@example((np.array([0.0, 0.0, 0.0, 1.0]), np.array([0, 0, 1, 0])), 174764.0, 0.01)
def test_no_value_says_more_than_the_counts_support(column, asked, s):
    x, codes = column
    moments, grid = counted(x, codes)
    family = UNDECLARED if s == 1.0 else type(UNDECLARED)(pooled_rows=s)
    readings = [Pooled.read(family, moments, grid)]
    cells = atom_cells(grid)
    if cells.any() and not cells.all():
        readings.append(Pooled.beside_atoms(family, grid, cells))
    for pooled in readings:
        scores = pooled.log_density(np.append(x, asked))
        assert np.isfinite(scores).all()
        n = pooled.n
        bound = np.log((n.sum() + s) / s) + np.log(n[None, :] + s) - np.log(n[:, None] + s)
        apart = scores[:, :, None] - scores[:, None, :]
        digits = 4.0 * np.finfo(float).eps * np.abs(scores).max(axis=1)  # of −7e10, say
        assert (apart <= bound + 1e-6 + digits[:, None, None]).all()
        left = pooled.without(x, codes.astype(np.intp), np.ones(len(x)))
        assert np.isfinite(left).all()


# ---- a class that is nearly all one value --------------------------------------------------------
@pytest.mark.parametrize("near", [1e-6, 0.001, 0.1, 1.0])
@pytest.mark.parametrize("others", [1, 3])
def test_a_few_near_values_are_no_spread(near, others):
    """A Gaussian of the class would be as narrow as they lie near, and rule out what is beside."""
    fee = np.concatenate([np.zeros(200 - others), near * np.arange(1, others + 1)])
    rows = pd.DataFrame({"fee": np.concatenate([fee, RNG.normal(8.0, 1.0, 200)])})
    model = NaiveBayes().fit(rows, np.repeat(["a", "b"], 200))
    asked = pd.DataFrame({"fee": [0.0, 0.5 * near, near, 10.0 * min(near, 0.01), 8.0]})
    assert model.predict(asked).tolist() == ["a", "a", "a", "a", "b"]
    assert model.schema_["family"].tolist() != ["Gaussian"]


def test_a_class_without_an_atom_stays_a_gaussian():
    y = np.repeat(["a", "b"], 200)
    rows = pd.DataFrame({"x": RNG.normal(np.where(y == "a", 0.0, 2.0))})
    assert NaiveBayes().fit(rows, y).schema_["family"].tolist() == ["Gaussian"]


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
def counted_columns(draw):
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


@given(counted_columns())
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
