"""Kernels for weights, corrections and cells, beside their NumPy twins."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from scipy.optimize import minimize
from tests.kernels.bits import assert_same_bits
from tests.reference import pairs as twin
from tests.reference.equal_shares import equal_shares
from tests.reference.neighbours import neighbour_sums

from tallybayes import _kernels
from tallybayes.weighted.objective import descend

ROWS, TERMS, CELLS = 1100, 21, 7


def corrected(n_classes, seed=0):
    rng = np.random.default_rng(seed)
    cells = rng.integers(0, CELLS, (ROWS, TERMS)) + CELLS * np.arange(TERMS)
    cells[rng.random(cells.shape) < 0.1] = -1
    scores = rng.normal(size=(ROWS, n_classes))
    y = rng.integers(0, n_classes, ROWS).astype(np.int32)
    weight = rng.choice([0.0, 1.0, 1.5], ROWS)
    return cells.astype(np.int32), scores, y, weight, rng.normal(size=(CELLS * TERMS, n_classes))


def gradient_of(n_classes, threads=1):
    cells, scores, y, weight, q = corrected(n_classes)
    gradient = np.zeros_like(q)
    loss = _kernels.correction_gradient(cells, scores, y, weight, q, gradient, threads)
    return loss, gradient


@pytest.mark.parametrize("n_classes", [2, 3, 5, 10, 26])
def test_corrections_of_many_terms(n_classes):
    loss, gradient = gradient_of(n_classes)
    expected = twin.correction(*corrected(n_classes))
    assert loss == pytest.approx(expected[0], rel=1e-6)
    np.testing.assert_allclose(gradient, expected[1], atol=1e-4)


@pytest.mark.parametrize("n_classes", [3, 10, 26])
def test_instruction_sets_change_nothing_of_corrections(n_classes):
    assert_same_bits(lambda threads: gradient_of(n_classes, threads), (1,))


@pytest.mark.parametrize("n", [0, 1, ROWS])
def test_what_corrections_add_is_summed_term_by_term(n):
    cells, _, _, _, q = corrected(3)
    expected = np.zeros((n, 3))
    for column in cells[:n].T:
        expected += np.where(column[:, None] < 0, 0.0, q[column])
    for threads in (1, 3):
        added = np.full((n, 3), np.nan)
        _kernels.corrections_added(cells[:n], q, added, threads)
        assert np.array_equal(added, expected)


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(0, 30), terms=st.integers(0, 5))
def test_scaled_rows(seed, n, terms):
    rng = np.random.default_rng(seed)
    wide = rng.normal(size=(terms + 2, 40)).astype(np.float32)
    index, factor = rng.integers(0, 40, n), rng.random(n).astype(np.float32)
    found = np.empty((terms, n), dtype=np.float32)
    _kernels.scaled_rows(wide[:terms], index, factor, found)
    assert np.array_equal(found, wide[:terms, index] * factor)


@given(
    weight=st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0, 50.0]) | st.floats(0.0, 1e6)),
    most=st.integers(0, 9),
)
def test_labels_of_values_that_weigh_alike(weight, most):
    weight, label = np.array(weight, dtype=np.float64), np.empty(len(weight), dtype=np.intp)
    total = float(weight.sum())
    _kernels.equal_shares(weight, total, most, label)
    assert label.tolist() == equal_shares(weight, total, most)


def test_a_pair_screened_beside_others_gains_what_it_gains_alone():
    rng = np.random.default_rng(0)
    for n_classes in (3, 10, 26):
        y = rng.integers(0, n_classes, 300).astype(np.int32)
        proba = rng.dirichlet(np.ones(n_classes), 300).astype(np.float32)
        codes, size = rng.integers(0, 4, (5, 300)).astype(np.uint8), np.full(5, 4)
        pairs = np.array([(0, 1), (0, 2), (1, 2), (3, 4), (0, 4)], dtype=np.int32)
        given = codes, size, y, rng.random(300).astype(np.float32), proba, np.ones((1, n_classes))

        def screened(some, given=given):
            codes, size, y, weight, proba, t = given
            gains = np.empty((len(some), 1))
            _kernels.screen_pairs(codes, size, some, y, weight, proba, t, gains, 1)
            return gains.ravel().tolist()

        alone = [screened(pairs[q : q + 1])[0] for q in range(5)]
        assert screened(pairs) == alone
        assert screened(pairs[::-1].copy()) == alone[::-1]


counts = st.integers(0, 40).flatmap(
    lambda n: st.integers(1, 4).flatmap(
        lambda k: arrays(np.float64, (n, k), elements=st.floats(0.0, 1e6, width=32))
    )
)
distance = st.one_of(st.just(0.0), st.floats(0.0, 2.0))


@given(counts, st.data())
def test_sums_are_those_of_the_twin(counts, data):
    n = data.draw(st.integers(0, len(counts)))
    at = np.cumsum(data.draw(arrays(np.float64, n, elements=distance)))
    width = data.draw(arrays(np.float64, st.integers(0, 3), elements=st.floats(1e-12, 50.0)))
    into = np.full((len(width), *counts.shape), np.nan)
    _kernels.neighbour_sums(counts, at, width, into)
    np.testing.assert_array_equal(into, neighbour_sums(counts, at, width))


@pytest.mark.parametrize("shape", [(1, 4, 2), (2, 4, 3), (2, 5, 2), (3, 4, 2)])
def test_shapes_that_differ_are_refused(shape):
    with pytest.raises(ValueError, match="into has the wrong length"):
        _kernels.neighbour_sums(np.ones((4, 2)), np.arange(3.0), np.ones(2), np.empty(shape))
    with pytest.raises(ValueError, match="more numbers than cells"):
        _kernels.neighbour_sums(np.ones((2, 2)), np.arange(3.0), np.ones(2), np.empty((2, 2, 2)))


NONE = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)
N_CELLS, N_FUNCTIONS = CELLS * TERMS, 40
NEARLY = 1e-3


def functions_of_cells(seed=0):
    """Values of functions in cells, most of them 0; some cells have none."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(N_CELLS, N_FUNCTIONS)) * (rng.random((N_CELLS, N_FUNCTIONS)) < 0.1)
    values[:3] = 0.0
    return sparse.csr_array(values)


def problem(values):
    if values is None:
        return NONE
    return values.indptr.astype(np.int64), values.indices.astype(np.int64), values.data


def found(n_classes, values=None, start=None, ridge=0.7, steps=40, of_loss=0.0, threads=1, rare=()):
    cells, scores, y, weight, q = corrected(n_classes)
    q = np.zeros_like(q if values is None else q[:N_FUNCTIONS]) if start is None else start.copy()
    curvature = 1.0 + np.arange(q.size, dtype=np.float64).reshape(q.shape) % 7
    curvature[:, list(rare)] = np.inf
    rest = curvature, ridge, q, steps, NEARLY, of_loss, threads
    _kernels.ridge_descent(cells, scores, y, weight, *problem(values), *rest)
    return q, curvature


def objective_of(n_classes, values, ridge, shape):
    """The penalised loss and its gradient, by NumPy."""
    cells, scores, y, weight, _ = corrected(n_classes)
    design = sparse.eye_array(N_CELLS) if values is None else values

    def objective(flat):
        q = flat.reshape(shape)
        loss, gradient = twin.correction(cells, scores, y, weight, design @ q)
        return loss + ridge * float(flat @ flat), (design.T @ gradient + 2.0 * ridge * q).ravel()

    return objective


def expected(n_classes, values, curvature, ridge, start, steps=40, of_loss=0.0):
    """The same steps by NumPy."""
    objective = objective_of(n_classes, values, ridge, start.shape)
    inverse = 1.0 / (curvature.ravel() + 2.0 * ridge)
    loss = objective(start.ravel())[0] - ridge * float((start**2).sum())
    worth = max(NEARLY, of_loss * loss)
    flat = descend(
        objective,
        start.ravel(),
        lambda _: lambda gradient: inverse * gradient,
        refresh=steps + 1,
        steps=steps,
        worth=worth,
    )
    return flat.reshape(start.shape)


@pytest.mark.parametrize("values", [None, functions_of_cells()], ids=["cells", "functions"])
@pytest.mark.parametrize(("n_classes", "steps"), [(2, 3), (3, 1), (4, 0), (5, 3), (10, 1), (26, 3)])
def test_steps_are_those_of_the_twin(n_classes, steps, values):
    q, curvature = found(n_classes, values, steps=steps)
    again = expected(n_classes, values, curvature, 0.7, np.zeros_like(q), steps=steps)
    assert (steps > 0) == q.any()
    np.testing.assert_allclose(q, again, atol=1e-5)


@pytest.mark.parametrize("values", [None, functions_of_cells()], ids=["cells", "functions"])
@pytest.mark.parametrize("n_classes", [2, 3, 10])
def test_it_ends_where_a_general_minimiser_does(n_classes, values):
    q, _ = found(n_classes, values, steps=500)
    objective = objective_of(n_classes, values, 0.7, q.shape)
    least = minimize(objective, np.zeros(q.size), jac=True, method="L-BFGS-B", tol=1e-10).fun
    assert objective(q.ravel())[0] - least < 0.1  # of 2,000 nats


def test_it_goes_on_from_where_it_starts():
    rng = np.random.default_rng(1)
    start = rng.normal(size=(N_CELLS, 3))
    q, curvature = found(3, start=start, steps=2)
    again = expected(3, None, curvature, 0.7, start, steps=2)
    np.testing.assert_allclose(q, again, atol=1e-4)


def test_a_large_share_of_the_loss_ends_it_at_once():
    near, _ = found(5, of_loss=10.0)
    assert not near.any()


@pytest.mark.parametrize("values", [None, functions_of_cells()], ids=["cells", "functions"])
def test_a_class_of_infinite_curvature_stays_as_it_is(values):
    q, _ = found(4, values, rare=(1, 3))
    assert not q[:, [1, 3]].any()
    assert q[:, [0, 2]].any(axis=0).all()


@pytest.mark.parametrize("values", [None, functions_of_cells()], ids=["cells", "functions"])
@pytest.mark.parametrize("n_classes", [2, 3, 10])
def test_threads_and_instruction_sets_change_nothing(n_classes, values):
    assert_same_bits(lambda threads: [found(n_classes, values, threads=threads)[0]], (1, 3))


def test_arrays_that_do_not_belong_together_are_refused():
    cells, scores, y, weight, q = corrected(3)
    with pytest.raises(ValueError, match="Q has the wrong length"):
        _kernels.ridge_descent(
            cells, scores, y, weight, *NONE, q[:-1], 1.0, q.copy(), 5, 0.1, 0.0, 1
        )
    start, function, value = problem(functions_of_cells())
    few = q[:N_FUNCTIONS].copy()
    with pytest.raises(ValueError, match="values has the wrong length"):
        _kernels.ridge_descent(
            cells, scores, y, weight, start, function, value[:-1], few, 1.0, few, 5, 0.1, 0.0, 1
        )
