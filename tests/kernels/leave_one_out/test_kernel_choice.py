"""The choice of the family of a column of numbers: compiled, and as NumPy makes it."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.bins import quantile_labels
from reference.choice import best_reading
from tallybayes import NaiveBayes, _kernels, get_num_threads, set_num_threads
from tallybayes.engines.tables import collect_table
from tallybayes.families.choice import UNDECLARED, choose
from tallybayes.families.contract import NumberCounts
from tallybayes.tables import Numbers as Column
from tallybayes.tables import Table
from tallybayes.tally import GridCounts, Moments, RowWeights

DRAWN = {
    "normal": lambda rng, y: rng.normal(size=len(y)) + y,
    "skewed": lambda rng, y: rng.lognormal(sigma=2.0, size=len(y)) * (1 + y % 3),
    "whole": lambda rng, y: rng.integers(0, 9, len(y)) + y % 3,
    "atom": lambda rng, y: np.where(rng.random(len(y)) < 0.4, 0.0, rng.normal(5.0, 1.0, len(y))),
    "constant in a class": lambda rng, y: np.where(y == 0, 3.0, rng.normal(size=len(y))),
    "nearly constant in a class": lambda rng, y: np.where(
        (y == 0) & (np.arange(len(y)) > 9), 0.0, rng.normal(5.0, 1.0, len(y))
    ),
    "constant": lambda rng, y: np.full(len(y), 7.0),
    "far apart": lambda rng, y: 10.0 ** rng.integers(-60, 60, len(y)) * rng.choice([-1, 1], len(y)),
    "an outlier": lambda rng, y: np.where(np.arange(len(y)) == 1, 1e9, rng.normal(size=len(y)) + y),
    "counts": lambda rng, y: rng.negative_binomial(0.8, 0.8 / (3.0 + y)) * 1.0,
    "counts and an outlier": lambda rng, y: (
        rng.poisson(2.0, len(y)) + 900.0 * (np.arange(len(y)) == 3)
    ),
    "two values": lambda rng, y: rng.integers(0, 2, len(y)) * 1.0,
}


def tallies(kind, n, n_classes, weight, seed):
    """Moments and grid counts of one column, smoothed class counts and the weight of rows."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    x = np.asarray(DRAWN[kind](rng, y), dtype=np.float64)
    x[rng.random(n) < 0.1] = np.nan
    w = {"one": None, "whole": rng.integers(1, 4, n) * 1.0, "any": rng.random(n) * 3.0}[weight]
    table = Table({"x": Column(x, "float")}, n, True)
    tally = collect_table(table, np.arange(n_classes), y.astype(np.int32), w)
    [moments] = [t for t in tally.groups if isinstance(t, Moments)]
    [grid] = [t for t in tally.groups if isinstance(t, GridCounts)]
    count = tally.classes.count
    classes = (count + 1.0) / (count.sum() + n_classes) * count.sum()
    return NumberCounts(moments, grid), classes, tally.classes.row_weights


def plain_of(weights):
    one = weights.overall
    return replace(UNDECLARED, ddof=one, pooled_rows=one)


@given(
    kind=st.sampled_from(sorted(DRAWN)),
    n=st.sampled_from([3, 10, 60, 300]),
    n_classes=st.sampled_from([1, 2, 3, 40]),
    weight=st.sampled_from(["one", "whole", "any"]),
    alpha=st.sampled_from([0.0, 1.0, 20.0]),
    seed=st.integers(0, 2**32 - 1),
)
def test_the_best_likelihood_is_that_of_numpy(kind, n, n_classes, weight, alpha, seed):
    column, classes, weights = tallies(kind, n, n_classes, weight, seed)
    plain = plain_of(weights)
    [found] = choose([column], classes, alpha, plain, weights)
    _, _, likelihood = best_reading(*column, classes, alpha, plain, weights)
    # almost without smoothing what other classes say is a small difference of large sums, in both
    exact = 1e-9 if alpha else 1e-5
    np.testing.assert_allclose(found.likelihood, likelihood, rtol=exact, atol=exact * n)


@pytest.mark.parametrize("kind", sorted(DRAWN))
@pytest.mark.parametrize("n_classes", [2, 30])
def test_the_family_is_that_of_numpy(kind, n_classes):
    column, classes, weights = tallies(kind, 400, n_classes, "one", 1)
    plain = plain_of(weights)
    [found] = choose([column], classes, 1.0, plain, weights)
    family, options, _ = best_reading(*column, classes, 1.0, plain, weights)
    assert found.family == family
    if family == "bins":
        assert (found.bins,) == options
    elif family == "smooth":
        assert (found.width, found.strength) == options


def test_a_column_of_more_values_than_cells():
    column, classes, weights = tallies("an outlier", 6000, 2, "one", 1)
    assert column.grid.shift
    plain = plain_of(weights)
    [found] = choose([column], classes, 1.0, plain, weights)
    family, _, likelihood = best_reading(*column, classes, 1.0, plain, weights)
    assert (found.family, found.likelihood) == (family, pytest.approx(likelihood, rel=1e-9))


def test_choices_depend_on_no_other_column():
    made = [tallies(kind, 200, 5, "whole", 3) for kind in sorted(DRAWN)]
    classes, weights = made[0][1], made[0][2]
    columns = [column for column, _, _ in made]
    columns.insert(3, NumberCounts(Moments.zeros(5, np.zeros(1)), GridCounts.zeros(5)))
    plain = plain_of(weights)
    alone = [choose([column], classes, 1.0, plain, weights)[0] for column in columns]
    assert alone[3].family == "gaussian"
    assert alone[3].likelihood == 0.0
    assert choose(columns, classes, 1.0, plain, weights) == alone


def test_choices_do_not_depend_on_the_number_of_threads():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 150)
    x = np.column_stack([DRAWN[kind](rng, y) for kind in sorted(DRAWN)] * 2)
    before, said = get_num_threads(), []
    try:
        for threads in (1, 2, 5):
            set_num_threads(threads)
            model = NaiveBayes().fit(x, y)
            said.append((model.schema_.to_csv(), model.predict_joint_log_proba(x).tobytes()))
    finally:
        set_num_threads(before)
    assert said[0] == said[1] == said[2]


@given(
    n_classes=st.sampled_from([1, 3, 20]),
    n_cells=st.sampled_from([1, 2, 11, 200]),
    n_bins=st.sampled_from([1, 2, 8, 128]),
    weight=st.sampled_from(["whole", "any", "light", "large"]),
    seed=st.integers(0, 2**32 - 1),
)
def test_bins_end_where_those_of_numpy_do(n_classes, n_cells, n_bins, weight, seed):
    rng = np.random.default_rng(seed)
    counts = np.floor(rng.exponential(2.0, (n_classes, n_cells)) * rng.integers(0, 2, n_cells))
    factor = {"whole": 1.0, "light": 1e-3, "large": 1e7, "any": rng.random((n_classes, 1)) + 0.1}
    counts = counts * factor[weight]
    by_class = np.broadcast_to(np.asarray(factor[weight]), (n_classes, 1))
    row = np.ascontiguousarray(by_class[:, 0])
    columns, sizes = [counts, counts[:, ::-1].copy()], np.array([n_bins, 3])
    found = np.empty((2, n_cells), dtype=np.int32)
    _kernels.quantile_bins(columns, row, sizes, found.ravel())
    for column, size, bins in zip(columns, sizes, found, strict=True):
        labels = quantile_labels(column, size, RowWeights(by_class, float(row.mean())))
        assert bins[0] == 0
        np.testing.assert_array_equal(np.diff(bins), np.diff(labels) != 0)


def test_a_student_t_is_a_candidate_too():
    column, classes, weights = tallies("normal", 300, 3, "one", 0)
    plain = replace(plain_of(weights), estimate="posterior")
    [found] = choose([column], classes, 1.0, plain, weights)
    family, _, likelihood = best_reading(*column, classes, 1.0, plain, weights)
    assert (found.family, found.likelihood) == (family, pytest.approx(likelihood))


@pytest.mark.parametrize("weight", ["one", "any"])
@pytest.mark.parametrize("kind", ["whole", "atom", "far apart", "constant in a class"])
def test_choices_are_the_same_with_every_instruction_set(kind, weight):
    column, classes, weights = tallies(kind, 300, 40, weight, 3)
    plain, found, before = plain_of(weights), [], _kernels.instruction_set()
    try:
        for isa in _kernels.available_instruction_sets():
            _kernels.use_instruction_set(isa)
            found.append(choose([column], classes, 1.0, plain, weights))
    finally:
        _kernels.use_instruction_set(before)
    assert all(choice == found[0] for choice in found)


def test_counts_sizes_without_refuses_what_was_not_counted():
    counts, values, one = np.array([[3.0, 1.0, 2.0]]), np.array([0.0, 1.0, 4.0]), np.ones(1)
    first, sizes = np.zeros(1, dtype=np.int64), np.empty(1)
    for x in (-1.0, 4.5, 5.0, np.nan):
        with pytest.raises(ValueError, match="x are counts up to the largest value"):
            _kernels.counts_sizes_without(counts, values, first, np.array([x]), one, sizes)
    with pytest.raises(ValueError, match="own is a class"):
        _kernels.counts_sizes_without(counts, values, first + 1, one, one, sizes)
    with pytest.raises(ValueError, match="weight"):
        _kernels.counts_sizes_without(counts, values, first, one, np.ones(2), sizes)
    _kernels.counts_sizes_without(counts, values, first, 4.0 * one, 0.0 * one, sizes)
    whole = np.empty(1)
    _kernels.counts_sizes(counts, values, whole)
    assert sizes == pytest.approx(whole)
