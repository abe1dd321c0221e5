"""Kernels for pairs of columns and for learning weights, beside their NumPy twins."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kernels.bits import assert_same_bits
from tests.reference import pairs as twin

from tallybayes import _kernels


def rows(seed, n, n_classes, n_cells, weighted, missing=True):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n).astype(np.int32)
    weight = np.ones(n)
    if weighted:  # each row, or each class
        weight = rng.choice([0.5, 1.0, 2.0], n) if seed % 2 else rng.uniform(0.3, 2.0, n_classes)[y]
    proba = np.maximum(rng.dirichlet(np.ones(n_classes), n), 1e-6).astype(np.float32)
    cells = rng.integers(-1 if missing else 0, n_cells, n).astype(np.int32)
    strength = rng.uniform(0.2, 5.0, n_classes)
    return cells, y, weight, proba, strength


some = given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 60),
    n_classes=st.integers(1, 4) | st.sampled_from([5, 8, 10, 17, 26, 33, 41]),
    n_cells=st.integers(1, 6),
    weighted=st.booleans(),
)


@some
def test_residuals_of_cells(seed, n, n_classes, n_cells, weighted):
    cells, y, weight, proba, t = rows(seed, n, n_classes, n_cells, weighted)
    sums = twin.counted(cells, y, weight, proba, n_cells)
    C, E = sums[:2]
    found = np.zeros_like(sums)
    _kernels.sum_pair(cells, y, weight, proba, found)
    np.testing.assert_allclose(found, sums, rtol=1e-13)
    kernel = np.random.default_rng(seed).uniform(size=(n_cells, n_cells)) + np.eye(n_cells)
    less = twin.mean_removed(y, weight, n_classes)
    for c, e in ((C, E), (kernel @ C, kernel @ E)):
        about, room = _kernels.cell_gain(sums, c, e, t, less), 1e-6 if n_classes == 2 else 1e-3
        assert about == pytest.approx(twin.estimate(sums, c, e, t, less), rel=room, abs=room)
    gain = _kernels.residual_gain(cells, y, weight, proba, C, E, t)
    expected, room = twin.gain(cells, y, weight, proba, C, E, t), 1e-11
    if n_classes != 2 or weighted:  # 32-bit floats
        room = 1e-6 * n
    assert gain == pytest.approx(expected, rel=1e-11, abs=room)
    for threads in (1, 3):
        out = np.empty((n_classes, n), dtype=np.float32)
        _kernels.residual_values(cells, y, weight, proba, C, E, t, out, threads)
        wanted = twin.values(cells, y, weight, proba, C, E, t)
        np.testing.assert_allclose(out, wanted, rtol=2e-6, atol=2e-6)


@some
def test_pairs_are_screened_as_their_joint_cells(seed, n, n_classes, n_cells, weighted):
    _, y, weight, proba, t = rows(seed, n, n_classes, n_cells, weighted, missing=False)
    rng = np.random.default_rng(seed)
    size = rng.integers(1, 5, 4)
    codes = np.stack([rng.integers(0, s, n) for s in size]).astype(np.uint8)
    pairs = np.array([[0, 1], [2, 3], [1, 3]], dtype=np.int32)
    strengths = np.stack([t, 4.0 * t])
    found = {}
    for threads in (1, 2, 8):
        gains = np.empty((3, 2))
        _kernels.screen_pairs(
            codes,
            size.astype(np.int64),
            pairs,
            y,
            weight.astype(np.float32),
            proba,
            strengths,
            gains,
            threads,
        )
        found[threads] = gains
    assert np.array_equal(found[1], found[2])
    assert np.array_equal(found[1], found[8])
    for q, (i, j) in enumerate(pairs):
        joint = codes[i].astype(np.int32) * size[j] + codes[j]
        sums = twin.counted(joint, y, weight, proba, size[i] * size[j])
        for s, strength in enumerate(strengths):
            less = twin.mean_removed(y, weight, n_classes)
            expected = twin.estimate(sums, sums[0], sums[1], strength, less)
            assert found[1][q, s] == pytest.approx(expected, rel=1e-3, abs=1e-3)


@some
def test_the_estimate_is_the_gain_where_rows_of_a_cell_and_class_are_alike(
    seed, n, n_classes, n_cells, weighted
):
    """Of two classes: then nothing is lost by knowing the sums only."""
    cells, y, weight, _, t = rows(seed, n, 2, n_cells, weighted=False)
    proba = np.random.default_rng(seed).dirichlet(np.ones(2), (n_cells + 1, 2))[cells, y]
    proba = proba.astype(np.float32)
    sums = twin.counted(cells, y, weight, proba, n_cells)
    C, E = np.ascontiguousarray(sums[0]), np.ascontiguousarray(sums[1])
    gain = _kernels.residual_gain(cells, y, weight, proba, C, E, t)
    assert _kernels.cell_gain(sums, C, E, t, np.ones(2)) == pytest.approx(gain, rel=1e-4, abs=1e-4)


class Tried:
    """Four columns in few cells and more, some of them numbers, and the ways in which pairs of them
    are tried."""

    MOST_CELLS = 16
    PAIRS = np.array([[0, 1], [2, 3], [1, 3], [0, 2]], dtype=np.int32)
    WIDTHS = np.array([1.0, 2.0, 4.0])

    def __init__(self, seed, n, t):
        rng = np.random.default_rng(seed)
        self.size = rng.integers(1, 6, (2, 4))
        self.number = rng.random(4) < 0.5
        self.size[1] = np.where(self.number, self.size[1], self.size[0])
        self.numbers = np.where(self.number, rng.integers(0, self.size + 1), 0)
        self.codes = [rng.integers(0, s[:, None], (4, n)).astype(np.uint8) for s in self.size]
        self.columns = self.size, self.numbers, self.number, self.MOST_CELLS, self.PAIRS
        self.strengths = np.stack([0.25 * t, t, 4.0 * t])

    def gains(self, kernel):
        """What a kernel says of gains and threads."""
        found = {}
        for threads in (1, 3):
            found[threads] = np.full((4, 4, 3), -np.inf)
            kernel(found[threads], threads)
        assert np.array_equal(found[1], found[3])
        return found[1]

    def smoothed(self, sums, i, j, fine, width):
        """C and E over neighbouring cells."""
        smooth = sums.reshape(4, self.size[fine, i], self.size[fine, j], -1)[:2]
        if self.number[i]:
            smooth = twin.over_neighbours(smooth, width, 1, self.numbers[fine, i])
        if self.number[j]:
            smooth = twin.over_neighbours(smooth, width, 2, self.numbers[fine, j])
        return smooth.reshape(2, *sums.shape[1:])

    def ways(self, gains):
        """What is said of each pair, in each way that has so few cells, and there is nothing else:
        columns, whether cells are fine, the width and the gains."""
        for of_pair, (i, j) in zip(gains, self.PAIRS, strict=True):
            for way, found in enumerate(of_pair):
                fine, width = int(way > 0), self.WIDTHS[max(way - 1, 0)]
                few = self.size[fine, i] * self.size[fine, j] <= self.MOST_CELLS
                if few and (not fine or self.number[i] or self.number[j]):
                    yield i, j, fine, width, found
                else:
                    assert (found == -np.inf).all()


@some
def test_pairs_of_two_classes_are_tried_in_every_way(seed, n, n_classes, n_cells, weighted):
    _, y, weight, proba, t = rows(seed, n, 2, n_cells, weighted, missing=False)
    tried = Tried(seed, n, t)
    rest = y, weight, proba, tried.strengths, tried.WIDTHS
    gains = tried.gains(lambda *out: _kernels.try_pairs(*tried.codes, *tried.columns, *rest, *out))
    less = twin.mean_removed(y, weight, 2)
    for i, j, fine, width, found in tried.ways(gains):
        joint = tried.codes[fine][i].astype(np.int32) * tried.size[fine, j] + tried.codes[fine][j]
        sums = twin.counted(joint, y, weight, proba, tried.size[fine, i] * tried.size[fine, j])
        c, e = tried.smoothed(sums, i, j, fine, width)
        for strength, gain in zip(tried.strengths, found, strict=True):
            expected = twin.estimate_of_two(sums, c, e, strength, less)
            assert gain == pytest.approx(expected, rel=1e-6, abs=1e-6)


@some
def test_what_pairs_gain_exactly_in_every_way(seed, n, n_classes, n_cells, weighted):
    _, y, weight, proba, t = rows(seed, n, n_classes, n_cells, weighted, missing=False)
    tried = Tried(seed, n, t)
    for codes in tried.codes:
        codes[np.random.default_rng(seed).random(codes.shape) < 0.1] = 255
    rest = y, weight, proba, tried.strengths, tried.WIDTHS

    def gains_of(thorough):
        return tried.gains(
            lambda *out: _kernels.exact_pair_gains(
                *tried.codes, *tried.columns, *rest, *out, 1, thorough
            )
        )

    gains = gains_of(True)
    for i, j, fine, width, found in tried.ways(gains):
        first, second = (tried.codes[fine][c].astype(np.int32) for c in (i, j))
        joint = np.where((first == 255) | (second == 255), -1, first * tried.size[fine, j] + second)
        sums = twin.counted(joint, y, weight, proba, tried.size[fine, i] * tried.size[fine, j])
        C, E = tried.smoothed(sums, i, j, fine, width)
        for strength, gain in zip(tried.strengths, found, strict=True):
            exact = _kernels.residual_gain(joint, y, weight, proba, C, E, strength)
            assert gain == pytest.approx(exact, rel=1e-6, abs=1e-6)
    middle, best = gains[:, :, 1], gains[:, :, 1].argmax(axis=1)
    assert np.array_equal(gains_of(False)[:, :, 1], middle)
    some = np.isfinite(middle).any(axis=1)
    others = np.arange(4) != best[:, None]
    for s in (0, 2):
        less = gains_of(False)[:, :, s]
        assert np.array_equal(less[some, best[some]], gains[some, best[some], s])
        assert (less[others] == -np.inf).all()


@pytest.mark.parametrize("n_cells", [10, 100, 300])
def test_of_many_rows_of_two_classes_the_sums_tell_the_gain(n_cells):
    """However unlike the rows of a cell are: to a few tenths of a nat of some that a pair gains or
    loses."""
    rng = np.random.default_rng(n_cells)
    n, t = 20_000, np.array([3.0, 1.0])
    cells = rng.integers(0, n_cells, n).astype(np.int32)
    second = rng.beta(0.3, 0.9, n)  # often near 0, sometimes near 1
    proba = np.clip(np.column_stack([1.0 - second, second]), 1e-6, None).astype(np.float32)
    for effect, each in ((0.0, 1.0), (0.3, 1.0), (0.3, 0.4), (0.3, 3.0)):
        weight = np.full(n, each)
        push = effect * rng.normal(size=n_cells)[cells]
        odds = np.log(proba[:, 1] / proba[:, 0]) + push
        y = (rng.random(n) < 1.0 / (1.0 + np.exp(-odds))).astype(np.int32)
        sums = np.zeros((4, n_cells, 2))
        _kernels.sum_pair(cells, y, weight, proba, sums)
        C, E = np.ascontiguousarray(sums[0]), np.ascontiguousarray(sums[1])
        for strength in (0.5 * t, 4.0 * t):
            gain = _kernels.residual_gain(cells, y, weight, proba, C, E, strength)
            about = _kernels.cell_gain(sums, C, E, strength, np.full(2, each))
            assert about == pytest.approx(gain, rel=0.03, abs=0.5)


def test_instruction_sets_change_nothing_of_pairs():
    """Beside the twins: a set of its own is tested by the laws above, too."""
    cells, y, weight, proba, t = rows(3, 1001, 2, 30, weighted=False)
    sums = np.zeros((4, 30, 2))
    _kernels.sum_pair(cells, y, weight, proba, sums)
    C, E = np.ascontiguousarray(sums[0]), np.ascontiguousarray(sums[1])

    def run(threads):
        out = np.empty((2, 1001), dtype=np.float32)
        _kernels.residual_values(cells, y, weight, proba, C, E, t, out, threads)
        gain = _kernels.residual_gain(cells, y, weight, proba, C, E, t)
        return gain, _kernels.cell_gain(sums, C, E, t, np.ones(2)), out

    assert_same_bits(run, (1,))


@pytest.mark.parametrize("n_classes", [3, 10, 41])
def test_instruction_sets_change_nothing_of_many_classes(n_classes):
    cells, y, weight, proba, t = rows(3, 333, n_classes, 30, weighted=False)
    sums = np.zeros((4, 30, n_classes))
    _kernels.sum_pair(cells, y, weight, proba, sums)
    C, E = np.ascontiguousarray(sums[0]), np.ascontiguousarray(sums[1])
    scores, light = np.log(proba.astype(float)), weight.astype(np.float32)
    joint = np.stack([cells, (cells + 1) % 30], axis=1).astype(np.int32)
    codes = np.stack([cells % 5, cells % 6]).astype(np.uint8)
    size, pair = np.array([5, 6]), np.array([[0, 1]], dtype=np.int32)

    def run(threads):
        gradient, gains = np.zeros((30, n_classes)), np.empty((1, 1))
        loss = _kernels.correction_gradient(joint, scores, y, weight, C, gradient, threads)
        gain = _kernels.residual_gain(cells, y, weight, proba, C, E, t)
        about = _kernels.cell_gain(sums, C, E, t, np.ones(n_classes))
        _kernels.screen_pairs(codes, size, pair, y, light, proba, t[None], gains, threads)
        return loss, gain, about, gains, gradient

    assert_same_bits(run, (1,))


@some
def test_loss_and_gradients(seed, n, n_classes, n_cells, weighted):
    _, y, weight, proba, _ = rows(seed, n, n_classes, n_cells, weighted)
    rng = np.random.default_rng(seed)
    scores = np.ascontiguousarray(np.log(proba.T.astype(float)) * rng.uniform(0.1, 50.0))
    loss, residual = twin.softmax(scores, y, weight)
    out = np.empty(scores.shape, dtype=np.float32)
    found = _kernels.softmax_residuals(scores, y, weight, out, 2)
    assert found == pytest.approx(loss, rel=1e-10, abs=1e-10)
    np.testing.assert_allclose(out, residual, rtol=1e-5, atol=1e-6)

    cells = rng.integers(-1, n_cells, (n, 3)).astype(np.int32)
    q = rng.normal(size=(n_cells, n_classes))
    by_row = np.ascontiguousarray(scores.T)
    weight[rng.random(n) < 0.2] = 0.0  # rows that are left out
    loss, gradient = twin.correction(cells, by_row, y, weight, q)
    into = np.zeros_like(q)
    found = _kernels.correction_gradient(cells, by_row, y, weight, q, into, 2)
    room = 1e-9 if n_classes == 2 else 1e-6 * n * (1.0 + np.abs(by_row).max())  # 32-bit floats
    assert found == pytest.approx(loss, rel=1e-10, abs=room)
    np.testing.assert_allclose(into, gradient, rtol=1e-9, atol=room)
    diagonal = np.zeros_like(q)
    _kernels.correction_curvature(cells, by_row, weight, diagonal, 2)
    expected = twin.curvature(cells, by_row, weight, n_cells)
    np.testing.assert_allclose(diagonal, expected, rtol=1e-9, atol=1e-12)


@some
def test_joint_cells(seed, n, n_classes, n_cells, weighted):
    rng = np.random.default_rng(seed)
    cells = rng.integers(-1, n_cells, (2, n)).astype(np.int32)
    maps = rng.integers(0, 3, (2, n_cells)).astype(np.int32)
    joint = np.empty(n, dtype=np.int32)
    _kernels.joint_cells(*cells, *maps, 3, joint, 2)
    expected = maps[0][cells[0]] * 3 + maps[1][cells[1]]
    expected[(cells < 0).any(axis=0)] = -1
    assert joint.tolist() == expected.tolist()


def weighted_terms(seed, n, n_classes, n_terms):
    """Values with room for more terms behind them, weights of terms and offsets."""
    rng = np.random.default_rng(seed)
    layers = 1 if n_classes == 2 else n_classes
    room = rng.normal(size=(layers, n_terms + 2, n)).astype(np.float32)
    v = rng.normal(size=(n_classes, n_terms)) * rng.choice([0.0, 0.3, 30.0])
    if n_classes == 2:
        v[0] = v[1]
    return room[:, :n_terms], v, rng.normal(size=n_classes)


def loss_and_gradient(Z, v, offset, y, weight, threads=2):
    in_v, in_b = np.full(v.shape, np.nan), np.full(len(v), np.nan)
    loss = _kernels.weighted_loss(Z, v, offset, y, weight, in_v, in_b, threads)
    return loss, in_v, in_b


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(0, 150),
    n_classes=st.integers(2, 5),
    n_terms=st.integers(0, 11),
)
def test_loss_of_weighted_terms(seed, n, n_classes, n_terms):
    Z, v, offset = weighted_terms(seed, n, n_classes, n_terms)
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n).astype(np.int32)
    weight = rng.choice([0.0, 0.5, 1.0, 2.0], n)
    loss, in_v, in_b = loss_and_gradient(Z, v, offset, y, weight)
    room = 2e-6 * (1.0 + n) * (1.0 + np.abs(v).max(initial=0.0))
    wanted = twin.weighted(Z.astype(float), v, offset, y, weight)
    assert loss == pytest.approx(wanted[0], rel=1e-5, abs=room)
    np.testing.assert_allclose(in_v, wanted[1], rtol=1e-4, atol=room)
    np.testing.assert_allclose(in_b, wanted[2], rtol=1e-4, atol=room)


def test_certain_rows_have_a_small_loss_and_not_none():
    """Of classes far apart what is left is not lost to rounding."""
    Z = np.full((1, 1, 3), 1.0, dtype=np.float32)
    y, weight = np.ones(3, dtype=np.int32), np.ones(3)
    v, offset = np.full((2, 1), 20.0), np.zeros(2)
    loss, in_v, in_b = loss_and_gradient(Z, v, offset, y, weight)
    left = 3.0 * np.log1p(np.exp(-20.0))
    assert loss == pytest.approx(left, rel=1e-5)
    assert in_b == pytest.approx([left, -left], rel=1e-5)
    assert in_v == pytest.approx(np.full((2, 1), -0.5 * left), rel=1e-5)
    loss, in_v, in_b = loss_and_gradient(Z, 50.0 * v, offset, 1 - y, weight)
    assert loss == pytest.approx(3000.0)
    assert in_b == pytest.approx([-3.0, 3.0])


@some
def test_scores_of_rows(seed, n, n_classes, n_cells, weighted):
    cells, y, weight, proba, t = rows(seed, n, n_classes, n_cells, weighted)
    rng = np.random.default_rng(seed)
    weight[rng.random(n) < 0.2] = 0.0  # rows that are left out
    removed = weight
    C, E = (np.ascontiguousarray(s) for s in twin.counted(cells, y, weight, proba, n_cells)[:2])
    W, share = rng.normal(size=n_classes), rng.dirichlet(np.ones(n_classes))
    start = rng.normal(size=(n, n_classes))
    scores = start.copy()
    smoothed = C + rng.choice([0.0, 3.0]) * share
    _kernels.add_column(cells, y, removed, smoothed, share, 1e-9, W, scores, 2)
    expected = start + twin.column_scores(cells, y, removed, smoothed, share, 1e-9, W)
    np.testing.assert_allclose(scores, expected, rtol=1e-10, atol=1e-9)
    scores = start.copy()
    _kernels.add_pair(cells, y, removed, proba, C, E, t, W, scores, 2)
    expected = start + twin.pair_scores(cells, y, removed, proba, C, E, t, W)
    np.testing.assert_allclose(scores, expected, rtol=1e-8, atol=1e-8)


def test_many_rows_give_the_same_on_any_number_of_threads():
    cells, y, weight, proba, _ = rows(1, 50_000, 3, 40, weighted=True)
    scores = np.ascontiguousarray(np.log(proba.T.astype(float)))
    joint = np.stack([cells, cells + 40 * (cells >= 0)], axis=1).astype(np.int32)
    q = np.random.default_rng(0).normal(size=(80, 3))
    found = []
    for threads in (1, 2, 3, 8):
        out = np.empty(scores.shape, dtype=np.float32)
        gradient = np.zeros_like(q)
        by_row = np.ascontiguousarray(scores.T)
        losses = (
            _kernels.softmax_residuals(scores, y, weight, out, threads),
            _kernels.correction_gradient(joint, by_row, y, weight, q, gradient, threads),
        )
        added, one = np.zeros_like(by_row), np.ones(3)
        C, E = np.full((40, 3), 1300.0), np.full((40, 3), 1200.0)
        removed = weight
        _kernels.add_column(cells, y, removed, C, one / 3, 1e-9, one, added, threads)
        _kernels.add_pair(cells, y, removed, proba, C, E, one, one, added, threads)
        diagonal = np.zeros_like(q)
        _kernels.correction_curvature(joint, by_row, weight, diagonal, threads)
        weighted = loss_and_gradient(*weighted_terms(1, 50_000, 3, 5), y, weight, threads)
        held = [out, gradient, added, diagonal, *weighted[1:]]
        found.append((losses, weighted[0], [a.tobytes() for a in held]))
    assert all(f == found[0] for f in found)
