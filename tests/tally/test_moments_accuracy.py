"""Means and sums of squares against exact rational arithmetic, however the rows came in.

The truth is computed in fractions from the very floats that are counted. With a first row 10⁹
standard deviations away, what must survive is the other rows' mean and spread: to 2⁻²⁶ of a
standard deviation and of the sum of squares, in every class that the far row is not in, and in its
own class once it is forgotten, whatever batch it came in.
"""

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from reference import centre_moments, chunk_bounds, count_moments
from reference.rational import exact, rounded
from tallybayes import GaussianNB, _kernels
from tallybayes.engines.arrays import collect_array
from tallybayes.schema import Columns
from tallybayes.tally import CrossMoments, Moments, Tally

VISIBLE = 2.0**-26
FAR = 1e9


def collect(x, codes, weights, n_classes, origin):
    columns = Columns(kind="moments", n_features=x.shape[1], origin=origin)
    return collect_array(columns, x, codes, n_classes, weights, whose="a test").tally


def truth(x, codes, weights, n_classes, origin):
    """Exact mean and sum of squares about it, as float64."""
    exactly = centre_moments(count_moments(x, codes, weights, n_classes, origin), origin)
    return tuple(map(rounded, exactly))


def assert_visible(tally, expected, n, classes=slice(None)):
    mean, squares = (a[classes] for a in tally.mean_and_squares())
    true_mean, true_squares = (a[classes] for a in expected)
    deviation = np.sqrt(true_squares / n)
    np.testing.assert_array_less(np.abs(mean - true_mean), VISIBLE * deviation + 1e-300)
    np.testing.assert_allclose(squares, true_squares, rtol=VISIBLE)


def far_first(n, d=2, seed=0):
    """Rows of classes 0 and 1; the first, of class 0, is far from all others."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    x[0] = FAR
    codes = (np.arange(n) % 2).astype(np.int32)
    return x, codes


WEIGHTS = {
    "none": lambda n: None,
    "whole": lambda n: np.random.default_rng(1).integers(1, 5, size=n).astype(float),
    "fractional": lambda n: np.random.default_rng(1).uniform(0.1, 1.0, size=n),
}


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("batch", [1, 37, 2000])
def test_a_far_origin_does_not_spoil_the_other_class(batch, weights):
    n = 2000
    x, codes = far_first(n)
    w = WEIGHTS[weights](n)
    tally = Moments.zeros(2, x[0].copy())
    for i in range(0, n, batch):
        rows = slice(i, i + batch)
        tally += collect(x[rows], codes[rows], None if w is None else w[rows], 2, tally.origin)
    expected = truth(x, codes, w, 2, tally.origin)
    assert_visible(tally, expected, 1000, classes=[1])


@pytest.mark.parametrize("weights", WEIGHTS)
def test_a_far_origin_does_not_spoil_many_chunks(weights):
    n = 40_000
    x, codes = far_first(n, d=1)
    w = WEIGHTS[weights](n)
    tally = collect(x, codes, w, 2, x[0].copy())
    one = codes == 1
    weight = np.ones(one.sum()) if w is None else w[one]
    # about a nearby point float64 is good enough for the truth
    mean = np.average(x[one, 0], weights=weight)
    squares = (weight * (x[one, 0] - mean) ** 2).sum()
    assert_visible(tally, (np.array([[0.0], [mean]]), np.array([[1.0], [squares]])), n // 2, [1])


@pytest.mark.parametrize("weights", WEIGHTS)
def test_a_far_row_that_is_forgotten_leaves_no_trace(weights):
    n = 500
    x, codes = far_first(n)
    w = WEIGHTS[weights](n)
    w = np.ones(n) if w is None else w
    origin = x[0].copy()
    far = collect(x[:1], codes[:1], w[:1], 2, origin)
    rest = collect(x[1:], codes[1:], w[1:], 2, origin)
    after = (far + rest) - far
    after.settle(far + rest)
    expected = truth(x[1:], codes[1:], w[1:], 2, origin)
    assert_visible(after, expected, 250)


@pytest.mark.parametrize("at", [0, 1, 1999])
@pytest.mark.parametrize("far", [1e8, 999_999_999.0, 1e12])
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csc_array])
def test_a_far_row_of_a_batch_leaves_no_trace_either(form, weights, far, at):
    """Learned among 2,000 rows, forgotten alone or with others."""
    n = 2000
    x = np.random.default_rng(5).normal(size=(n, 2))
    y, w = np.arange(n) % 2, WEIGHTS[weights](n)
    x[at] = far
    w = np.ones(n) if w is None else w
    for also in ([], [3, 4], list(range(0, n, 2))[:600]):
        gone = np.unique([at, *also])
        kept = np.setdiff1d(np.arange(n), gone)
        model = GaussianNB().fit(form(x), y, sample_weight=w)
        model.forget(form(x[gone]), y[gone], sample_weight=w[gone])
        fresh = GaussianNB().fit(form(x[kept]), y[kept], sample_weight=w[kept])
        np.testing.assert_allclose(model.theta_, fresh.theta_, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(model.var_, fresh.var_, rtol=1e-9)


@pytest.mark.parametrize("weights", WEIGHTS)
def test_rebasing_to_a_far_origin_and_back_keeps_mean_and_squares(weights):
    n = 500
    x, codes = far_first(n)
    x[0] = 0.5
    w = WEIGHTS[weights](n)
    tally = collect(x, codes, w, 2, np.zeros(2))
    expected = truth(x, codes, w, 2, np.zeros(2))
    there = tally.rebased(np.full(2, FAR))
    for moved in (there, there.rebased(np.full(2, -3.0)), there.rebased(np.zeros(2))):
        assert_visible(moved, expected, 250)


@pytest.mark.parametrize("weights", WEIGHTS)
def test_parts_about_far_origins_merge_to_the_whole(weights):
    n = 600
    x, codes = far_first(n)
    x[0] = 0.5
    w = WEIGHTS[weights](n)
    shares = np.array_split(np.arange(n), 3)
    origins = [np.zeros(2), np.full(2, FAR), np.full(2, -FAR)]
    tallies = [
        collect(x[r], codes[r], None if w is None else w[r], 2, o)
        for r, o in zip(shares, origins, strict=True)
    ]
    expected = truth(x, codes, w, 2, np.zeros(2))
    for first in range(3):
        whole = tallies[first]
        for other in range(3):
            if other != first:
                whole = whole + tallies[other].rebased(whole.origin)
        assert_visible(whole, expected, 300)


@pytest.mark.parametrize("w", [0.3, 1e-9, 1e9, 3.0, 1 / 3])
def test_scaling_keeps_the_mean_and_scales_the_squares(w):
    x, codes = far_first(400)
    x[0] = 0.5
    tally = collect(x, codes, WEIGHTS["fractional"](400), 2, np.full(2, FAR))
    mean, squares = truth(x, codes, WEIGHTS["fractional"](400), 2, np.zeros(2))
    for scaled in (w * tally, tally * w):
        assert_visible(scaled, (mean, w * squares), w * 110)


@pytest.mark.parametrize("weights", WEIGHTS)
def test_classes_pool_to_the_moments_of_all_rows(weights):
    n = 400
    x, codes = far_first(n)
    w = WEIGHTS[weights](n)
    for origin in (np.zeros(2), x[0].copy()):
        tally = collect(x, codes, w, 2, origin)
        expected = truth(x, 0 * codes, w, 1, origin)
        assert_visible(tally.pooled(), expected, n)


@pytest.mark.parametrize("n_classes", [1, 2, 3, 7, 64, 101])
def test_classes_pool_to_the_bits_that_any_tally_pools_to(n_classes):
    n = 600
    x, _ = far_first(n)
    codes = np.random.default_rng(0).integers(0, n_classes, n).astype(np.int32)
    tally = collect(x, codes, WEIGHTS["fractional"](n), n_classes, x[1].copy())
    before = tally.copy()
    assert tally.pooled() == Tally.pooled(tally)
    assert tally == before


@pytest.mark.parametrize("mean", [0.0, 1e7])
def test_a_chunk_with_far_rows_stays_within_the_bound(mean):
    n = 8192
    x = mean + np.random.default_rng(2).normal(size=(n, 1))
    x[[0, 5]] = 1e12
    codes = np.zeros(n, dtype=np.int32)
    tally = collect(x, codes, None, 1, np.zeros(1))
    expected = count_moments(x, codes, None, 1, np.zeros(1))
    mean, squares = centre_moments(expected, np.zeros(1))
    first, second = chunk_bounds(x, codes, None, 1)
    found_mean, found_squares = map(exact, tally.mean_and_squares())
    ulp = exact(np.spacing(rounded(squares)))
    moved = Fraction(1, 2**98) * (expected.s2 + n * exact(x[1:2]) ** 2)
    assert (abs(found_squares - squares) <= second + moved + ulp).all()
    assert (abs(found_mean - mean) * n <= first + n * exact(np.spacing(rounded(abs(mean))))).all()


@pytest.mark.parametrize("share", [1e-3, 1e-9, 1e-15])
def test_a_shift_of_hardly_any_weight_does_not_spoil_its_chunk(share):
    """A row of weight 10⁻¹⁵ may lie 10⁷ standard deviations away without moving mean or spread."""
    n = 1000
    x = np.random.default_rng(3).normal(size=(n, 1))
    x[0] = share**-0.5
    w = np.ones(n)
    w[0] = share
    codes = np.zeros(n, dtype=np.int32)
    tally = collect(x, codes, w, 1, np.zeros(1))
    assert_visible(tally, truth(x, codes, w, 1, np.zeros(1)), n)


def test_float32_rows_are_counted_as_their_float64_values():
    x, codes = far_first(300)
    narrow = x.astype(np.float32)
    origin = narrow[0].astype(np.float64)
    for w in (None, WEIGHTS["fractional"](300)):
        a = collect(narrow, codes, w, 2, origin)
        assert a == collect(narrow.astype(np.float64), codes, w, 2, origin)


@pytest.mark.parametrize("value", [0.1, 1e8 + 0.1, 1e-300, -7.0])
@pytest.mark.parametrize("weights", WEIGHTS)
def test_a_constant_column_has_no_spread(value, weights):
    x, codes = np.full((9000, 1), value), np.zeros(9000, dtype=np.int32)
    for origin in (x[0].copy(), np.zeros(1)):
        tally = collect(x, codes, WEIGHTS[weights](9000), 1, origin)
        mean, squares = tally.mean_and_squares()
        np.testing.assert_allclose(mean, value, rtol=1e-15)
        assert 0.0 <= squares[0, 0] <= 2.0**-80 * 9000 * value**2


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csc_array])
@pytest.mark.parametrize("weights", WEIGHTS)
def test_adding_nothing_to_what_was_counted_changes_no_bit(weights, form):
    """The halves of every double-double are what its sum rounds to and the rest, also after many
    rows: equal sums are equal bits."""
    x, codes = far_first(20_000)
    tally = collect(form(x), codes, WEIGHTS[weights](20_000), 2, np.zeros(2))
    assert tally + tally.zero() == tally
    assert 1.0 * tally == tally


@pytest.mark.parametrize("size", [1e200, -1e300])
@pytest.mark.parametrize("learn", ["fit", "partial_fit", "partial_fit, two rows", "csr"])
def test_a_row_too_far_for_float64_is_refused_and_changes_nothing(learn, size):
    model = GaussianNB().fit([[0.0], [1.0], [0.5]], [0, 1, 0])
    before, proba = model.tally_.copy(), model.predict_proba([[0.2]])
    x = {"fit": [[0.0], [size]], "partial_fit": [[size]], "partial_fit, two rows": [[0.0], [size]]}
    rows = x.get(learn, sparse.csr_array([[size]]))
    with pytest.raises(ValueError, match=r"too large|exceed float64"):
        getattr(model, learn.split(",")[0] if learn != "csr" else "partial_fit")(
            rows, [0] * (rows.shape[0] if learn == "csr" else len(rows))
        )
    assert model.tally_ == before
    np.testing.assert_array_equal(model.predict_proba([[0.2]]), proba)


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("far_origin", [False, True])
def test_a_far_row_is_taken_out_of_the_sums_it_fills(far_origin, weights):
    """Cells without a row, and classes of cross moments without one."""
    n = 200
    x, codes = far_first(n)
    w = WEIGHTS[weights](n)
    weight = np.ones(n) if w is None else w
    origin = x[0].copy() if far_origin else np.zeros(2)
    tally = collect(x, codes, w, 2, origin)
    cross = CrossMoments.zeros(2, origin)
    _kernels.cross_dense(x, codes, weight, origin, *cross.totals, 1)
    rest = slice(1, n)
    mean, squares = truth(x[rest], codes[rest], weight[rest], 2, origin)
    deviation = np.sqrt(squares[0] / n)
    both, one = np.zeros(2, dtype=np.intp), np.zeros(1, dtype=np.intp)
    left = tally.without(both, np.arange(2), x[0], np.repeat(weight[0], 2))
    of_group = cross.without(one, x[:1], weight[:1])
    diagonal = np.einsum("jj->j", of_group[2][0])
    for found_mean, found in ((left[1], left[2]), (of_group[1][0], diagonal)):
        np.testing.assert_array_less(np.abs(found_mean - mean[0]), VISIBLE * deviation)
        np.testing.assert_allclose(found, squares[0], rtol=VISIBLE)
    apart = (x[rest] - mean[0])[codes[rest] == 0]
    product = (weight[rest][codes[rest] == 0] * apart[:, 0]) @ apart[:, 1]
    np.testing.assert_allclose(of_group[2][0, 0, 1], product, atol=VISIBLE * squares[0].max())
