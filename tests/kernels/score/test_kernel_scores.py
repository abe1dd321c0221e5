"""Bins, tables of counts, numbers beside atoms and posteriors, against their twins."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from reference import LAYOUTS, bin_entries, normalise, pooled
from reference.inputs import DTYPES, INTEGERS, whole_numbers
from tallybayes import _kernels

EDGES = st.lists(
    st.floats(allow_nan=False, allow_infinity=False) | st.integers(-4, 4).map(float),
    max_size=40,
    unique=True,
).map(lambda edges: np.array(sorted(edges), dtype=np.float64))


def found(x, edges, threads=2):
    entries = np.full(len(x), -7, dtype=np.int32)
    return entries, _kernels.bin_entries(x, np.asarray(edges, dtype=np.float64), entries, threads)


def numbers(edges, dtype):
    """Numbers, many of which are an edge, a neighbour of one, a zero of either sign or a missing
    value."""
    with np.errstate(over="ignore"):  # an edge may be beyond float32, or next to infinity
        neighbours = [*np.nextafter(edges, np.inf), *np.nextafter(edges, -np.inf)]
        special = np.array([0.0, -0.0, np.nan, *edges, *neighbours]).astype(dtype)
    kept = [v for v in special.tolist() if not np.isinf(v)]
    width = np.dtype(dtype).itemsize * 8
    return st.sampled_from(kept) | st.floats(allow_infinity=False, width=width)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(data=st.data(), edges=EDGES)
def test_floats_fall_into_the_bin_that_the_twin_says(dtype, data, edges):
    x = data.draw(arrays(dtype, st.integers(0, 150), elements=numbers(edges, dtype)))
    entries, fault = found(x, edges)
    assert fault == 0
    np.testing.assert_array_equal(entries, bin_entries(x, edges))


@pytest.mark.parametrize("dtype", INTEGERS)
@given(data=st.data(), edges=EDGES)
def test_integers_of_every_width_fall_into_the_bin_that_the_twin_says(dtype, data, edges):
    """Also those beyond 2⁵³, which are read as the nearest float."""
    info = np.iinfo(dtype)
    near = st.integers(max(-5, int(info.min)), 5)
    x = data.draw(
        arrays(dtype, st.integers(0, 150), elements=near | st.integers(info.min, info.max))
    )
    entries, fault = found(x, edges)
    assert fault == 0
    np.testing.assert_array_equal(entries, bin_entries(x, edges))


@pytest.mark.parametrize("n_edges", [0, 1, 2, 3, 4, 7, 8, 9, 63, 64, 1000])
def test_any_number_of_edges_is_searched_as_numpy_does(n_edges):
    rng = np.random.default_rng(n_edges)
    edges = np.sort(rng.normal(size=n_edges))
    x = np.concatenate([rng.normal(size=997), edges])
    entries, fault = found(x, edges)
    assert fault == 0
    np.testing.assert_array_equal(entries, np.searchsorted(edges, x, side="right") + 1)


def test_an_edge_belongs_to_the_bin_above_it_and_both_zeros_are_one():
    entries, _ = found(np.array([-1.0, -0.0, 0.0, 1.0, np.nan]), [0.0, 1.0])
    assert entries.tolist() == [1, 2, 2, 3, 0]
    assert found(np.array([-0.0, 0.0]), [-0.0])[0].tolist() == [2, 2]


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_column_of_every_type_and_layout_is_read_in_place(dtype):
    x = whole_numbers(np.random.default_rng(0), (300, 2), dtype)
    edges = np.array([-30.0, 0.0, 1.0, 10.5])
    for hold in LAYOUTS.values():
        entries, fault = found(hold(x)[:, 1], edges)
        assert fault == 0
        np.testing.assert_array_equal(entries, bin_entries(x[:, 1], edges))


@pytest.mark.parametrize("infinity", [np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("row", [0, 63, 64, 40_000])
def test_infinity_is_a_fault_wherever_it_stands(row, dtype, infinity):
    x = np.zeros(40_001, dtype=dtype)
    assert found(x, [1.0])[1] == 0
    x[row] = infinity
    assert found(x, [1.0])[1] == _kernels.NOT_FINITE


def test_the_largest_numbers_are_no_fault():
    top = np.finfo(np.float64).max
    entries, fault = found(np.array([top, -top]), [-1.0, 1.0, top])
    assert (entries.tolist(), fault) == ([4, 1], 0)


def test_entries_of_another_length_are_refused():
    with pytest.raises(ValueError, match="entries has the wrong length"):
        _kernels.bin_entries(np.zeros(3), np.zeros(1), np.empty(4, dtype=np.int32), 1)
    with pytest.raises(ValueError, match="one column"):
        _kernels.bin_entries(np.zeros((3, 2)), np.zeros(1), np.empty(3, dtype=np.int32), 1)


ODD = [-1.0, -0.0, 0.5, 2.5, 1e300, 2.0**63, float(np.nextafter(3.0, 0.0))]


def add_of_counts(x, table, scores):
    """The sums, and which numbers the table does not have."""
    inside = np.isin(x, np.arange(len(table)))
    sums = scores.copy()
    sums[inside] += table[x[inside].astype(int)]
    return sums, ~inside & ~np.isnan(x)


@pytest.mark.parametrize("threads", [1, 3])
@given(
    x=arrays(
        np.float64,
        st.integers(0, 200),
        elements=st.integers(0, 9).map(float) | st.sampled_from([*ODD, np.nan]),
    ),
    shape=st.tuples(st.integers(0, 6), st.integers(1, 5)),
)
def test_counts_add_what_the_table_has(x, shape, threads):
    rng = np.random.default_rng(len(x))
    table, scores = rng.normal(size=shape), rng.normal(size=(len(x), shape[1]))
    sums, others = add_of_counts(x, table, scores)
    beyond = np.full(len(x), 7, dtype=np.uint8)
    _kernels.add_of_counts(x, table, scores, beyond, threads)
    np.testing.assert_array_equal(scores, sums)
    np.testing.assert_array_equal(beyond, others)


def test_threads_share_many_rows():
    rng = np.random.default_rng(0)
    x, table = rng.integers(0, 30, 100_000).astype(float), rng.normal(size=(20, 4))
    scores, beyond = np.zeros((len(x), 4)), np.empty(len(x), dtype=np.uint8)
    _kernels.add_of_counts(x, table, scores, beyond, 3)
    sums, others = add_of_counts(x, table, np.zeros_like(scores))
    np.testing.assert_array_equal(scores, sums)
    np.testing.assert_array_equal(beyond, others)


@pytest.mark.parametrize(("rows", "classes", "marks"), [(3, 2, 4), (4, 3, 4), (4, 2, 3)])
def test_other_shapes_are_refused(rows, classes, marks):
    scores, beyond = np.zeros((rows, classes)), np.zeros(marks, dtype=np.uint8)
    with pytest.raises(ValueError, match=r"scores|beyond"):
        _kernels.add_of_counts(np.zeros(4), np.zeros((1, 2)), scores, beyond, 1)


RNG = np.random.default_rng(5)
LESS = 1.0


def column(n_atoms, classes, rows=1.0):
    """What a column counted, as the twin takes it."""
    low = np.arange(float(n_atoms))
    counts = RNG.integers(1, 9, size=(n_atoms, classes)).astype(float)
    k = RNG.uniform(20.0, 60.0, size=classes)
    mean, squares = RNG.normal(size=classes), k * RNG.uniform(0.2, 2.0, size=classes)
    return low, np.nextafter(low, 9.0), counts, k, mean, squares, rows, LESS


def scorer_of(columns, classes):
    scorer = _kernels.PooledScorer(classes)
    for low, high, counts, k, mean, squares, rows, less in columns:
        n, variance = k + counts.sum(axis=0), squares / (k - less)
        with np.errstate(divide="ignore"):
            constant = np.log(k) - 0.5 * np.log(2 * np.pi * variance)
            scale, share = np.sqrt(0.5 / variance), rows / n.sum()
            atoms = np.log(counts)
            scorer.add(low, high, atoms, constant, mean, scale, np.log(n + rows), share)
        scorer.add_less(counts, k, squares, n, rows, less, 0.0)
    return scorer


def values_of(n, n_atoms):
    edges = [np.nan, -0.0, 1e-300, -1.0, 4.5, np.nextafter(1.0, 2.0), 9.0, -40.0]
    return np.concatenate([edges, RNG.normal(size=n), np.arange(float(n_atoms))])


@pytest.mark.parametrize("n_atoms", [0, 1, 5])
@pytest.mark.parametrize("classes", [1, 2, 7, 300])
@pytest.mark.parametrize("n_columns", [1, 3])
def test_scores_are_those_of_the_twin(n_atoms, classes, n_columns):
    columns = [column(n_atoms, classes) for _ in range(n_columns)]
    x = [RNG.permutation(values_of(300, n_atoms)) for _ in columns]
    before = RNG.normal(size=classes)
    found = np.repeat(before[None, :], len(x[0]), axis=0)
    scorer_of(columns, classes).score(x, found, 2)
    expected = before + sum(pooled.scores(v, *c) for v, c in zip(x, columns, strict=True))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("n_atoms", [0, 1, 5])
@pytest.mark.parametrize("classes", [1, 2, 7, 300])
@pytest.mark.parametrize("n_columns", [1, 3])
def test_rows_taken_out_are_as_never_counted(n_atoms, classes, n_columns):
    columns = [column(n_atoms, classes) for _ in range(n_columns)]
    x = [RNG.permutation(values_of(60, n_atoms)) for _ in columns]
    n = len(x[0])
    own, weight = RNG.integers(classes, size=n), RNG.choice([0.0, 0.5, 1.0], size=n)
    before = RNG.normal(size=classes)
    found = np.repeat(before[None, :], n, axis=0)
    redo = np.zeros((n, n_columns), dtype=np.uint8)
    scorer_of(columns, classes).score_without(x, own, weight, found, redo, 2)
    expected = np.repeat(before[None, :], n, axis=0)
    for j, (v, c) in enumerate(zip(x, columns, strict=True)):
        known = redo[:, j] == 0
        taken = v[known], own[known], weight[known]
        expected[known] += pooled.scores_without(*taken, *c)
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11)
    for j, (v, (_, _, _, k, mean, squares, _, _)) in enumerate(zip(x, columns, strict=True)):
        taken = (v - mean[own]) ** 2 * weight * k[own] / (k[own] - weight)
        assert not redo[~(taken > 0.99 * squares[own]), j].any()


def test_the_product_of_many_columns_neither_overflows_nor_vanishes():
    columns = [column(0, 3, rows) for rows in [1e-200, 1e-200, 1e-150, 1e150, 1e200, 1.0] * 20]
    x = [RNG.normal(size=40) for _ in columns]
    found = np.zeros((40, 3))
    scorer_of(columns, 3).score(x, found, 1)
    expected = sum(pooled.scores(v, *c) for v, c in zip(x, columns, strict=True))
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.filterwarnings("ignore:overflow")
def test_a_value_that_no_class_has_any_mass_for_says_nothing():
    found = np.zeros((2, 2))
    scorer_of([column(0, 2)], 2).score([np.array([1e300, -1e160])], found, 1)
    assert (found == 0.0).all()


@pytest.mark.parametrize(
    ("n_own", "value", "weight"),
    [
        pytest.param(1.0, 0.0, 1.0, id="the only row of its class"),
        pytest.param(2.0, 0.0, 1.0, id="no divisor is left"),
        pytest.param(9.0, 2.0, 1.0, id="no spread is left"),
        pytest.param(9.0, 3.0, 1.0, id="more than the spread"),
    ],
)
def test_rows_that_leave_no_variance_are_for_the_caller(n_own, value, weight):
    n = np.array([n_own, 50.0])
    # class 0 holds a value at a distance of 2 from the mean, and others that are all alike
    squares = np.array([2.0**2 * n_own / max(n_own - 1.0, 1.0), 40.0])
    none, table = np.empty(0), np.empty((0, 2))
    scorer = _kernels.PooledScorer(2)
    zero, one = np.zeros(2), np.ones(2)
    scorer.add(none, none, table, zero, zero, one, zero, 0.1)
    scorer.add_less(table, n, squares, n, 1.0, 1.0, 0.0)
    scores, redo = np.zeros((1, 2)), np.zeros((1, 1), dtype=np.uint8)
    own, weights = np.zeros(1, dtype=np.int64), np.array([weight])
    scorer.score_without([np.array([value])], own, weights, scores, redo, 1)
    assert redo.all()
    assert (scores == 0.0).all()


def test_what_does_not_fit_is_refused():
    none, one, two, table = np.empty(0), np.zeros(1), np.zeros(2), np.empty((0, 2))
    scorer = _kernels.PooledScorer(2)
    with pytest.raises(ValueError, match="add the column first"):
        scorer.add_less(table, two, two, two, 1.0, 1.0, 0.0)
    with pytest.raises(ValueError, match="a parameter has the wrong length"):
        scorer.add(none, none, table, two, two, one, two, 1.0)
    with pytest.raises(ValueError, match="atoms has the wrong length"):
        scorer.add(one, one, table, two, two, two, two, 1.0)
    scorer.add(none, none, table, two, two, two, two, 1.0)
    scores, redo = np.empty((1, 2)), np.zeros((1, 1), dtype=np.uint8)
    with pytest.raises(ValueError, match="a column has the wrong length"):
        scorer.score([two], scores, 1)
    with pytest.raises(ValueError, match="other columns"):
        scorer.score([], scores, 1)
    with pytest.raises(ValueError, match="scores has the wrong length"):
        scorer.score([one], np.empty((1, 3)), 1)
    with pytest.raises(ValueError, match="no row can be taken out"):
        scorer.score_without([one], np.zeros(1, np.int64), one, scores, redo, 1)
    scorer.add_less(table, two, two, two, 1.0, 1.0, 0.0)
    with pytest.raises(ValueError, match="own is not a class"):
        scorer.score_without([one], np.full(1, 2, np.int64), one, scores, redo, 1)
    with pytest.raises(ValueError, match="at least one class"):
        _kernels.PooledScorer(0)


NEVER = -np.inf


def normalised(scores, fallback=None, probability=False, evidence=None, threads=2):
    scores = np.array(scores, dtype=float)
    if fallback is None:
        fallback = np.full(scores.shape[1], -np.log(scores.shape[1]))
    ruled_out = _kernels.normalise(scores, fallback, probability, evidence, threads)
    return scores, ruled_out


SCORES = {
    "moderate": lambda rng, n, K: rng.normal(size=(n, K)) * 10.0,
    "very low": lambda rng, n, K: -1e5 + rng.normal(size=(n, K)),
    "far apart": lambda rng, n, K: rng.normal(size=(n, K)) * 1e6,
    "extreme": lambda rng, n, K: rng.choice([-1e308, -1.0, 1.0, 1e308], size=(n, K)),
    "some ruled out": lambda rng, n, K: np.where(
        rng.uniform(size=(n, K)) < 0.4, NEVER, rng.normal(size=(n, K))
    ),
}


@pytest.mark.parametrize("K", [1, 2, 8, 33, 100])
@pytest.mark.parametrize("scores", SCORES)
def test_posteriors_and_evidence_are_those_of_the_twin(scores, K):
    rng = np.random.default_rng(0)
    given = SCORES[scores](rng, 60, K)
    fallback = np.log(rng.dirichlet(np.ones(K)))
    expected, log_evidence, out = normalise(given, fallback)
    evidence = np.empty(60)
    log_posterior, ruled_out = normalised(given, fallback, evidence=evidence)
    assert ruled_out == out
    np.testing.assert_allclose(log_posterior, expected, rtol=1e-14, atol=1e-13)
    np.testing.assert_allclose(evidence, log_evidence, rtol=1e-14, atol=1e-13)
    posterior, ruled_out = normalised(given, fallback, probability=True)
    assert ruled_out == out
    np.testing.assert_allclose(posterior, np.exp(expected), rtol=1e-13, atol=1e-300)
    assert (np.abs(posterior.sum(axis=1) - 1.0) <= 1e-14).all()


def test_one_class_has_probability_one_exactly():
    given = np.array([[-1e300], [0.0], [-3.5]])
    assert normalised(given, probability=True)[0].tolist() == [[1.0]] * 3
    assert normalised(given)[0].tolist() == [[0.0]] * 3


@pytest.mark.parametrize("probability", [False, True])
def test_a_row_that_every_class_rules_out_gets_the_fallback(probability):
    fallback = np.log([0.25, 0.75])
    evidence = np.empty(3)
    given = [[NEVER, NEVER], [0.0, NEVER], [NEVER, NEVER]]
    found, ruled_out = normalised(given, fallback, probability, evidence)
    assert ruled_out == 2
    expected = np.exp(fallback) if probability else fallback
    np.testing.assert_array_equal(found[[0, 2]], [expected, expected])
    np.testing.assert_array_equal(found[1], [1.0, 0.0] if probability else [0.0, NEVER])
    assert evidence.tolist() == [NEVER, 0.0, NEVER]


def test_equal_scores_are_equally_probable():
    found, _ = normalised(np.full((1, 4), -750.0), probability=True)
    assert found.tolist() == [[0.25] * 4]


def test_no_rows_are_no_work():
    assert normalised(np.empty((0, 3)))[1] == 0


def test_sizes_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="fallback"):
        normalised(np.zeros((2, 3)), np.zeros(2))
    with pytest.raises(ValueError, match="log_evidence"):
        normalised(np.zeros((2, 3)), evidence=np.zeros(3))
