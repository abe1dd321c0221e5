"""The descent to the least ridge-penalised loss, beside its NumPy twin."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from tests.kernels.bits import assert_same_bits
from tests.kernels.weighted.test_kernel_weights import CELLS, TERMS, corrected
from tests.reference import pairs as twin

from tallybayes import _kernels
from tallybayes.weighted.objective import descend

NONE = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)
N_CELLS, N_FUNCTIONS = CELLS * TERMS, 40
NEARLY = 1e-3


def functions_of_cells(seed=0):
    """Values of functions in cells, most of them 0; some cells have none."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(N_CELLS, N_FUNCTIONS)) * (rng.random((N_CELLS, N_FUNCTIONS)) < 0.1)
    values[:3] = 0.0
    return sparse.csr_array(values)


def given(values):
    if values is None:
        return NONE
    return values.indptr.astype(np.int64), values.indices.astype(np.int64), values.data


def found(n_classes, values=None, start=None, ridge=0.7, steps=40, of_loss=0.0, threads=1, rare=()):
    cells, scores, y, weight, q = corrected(n_classes)
    q = np.zeros_like(q if values is None else q[:N_FUNCTIONS]) if start is None else start.copy()
    curvature = 1.0 + np.arange(q.size, dtype=np.float64).reshape(q.shape) % 7
    curvature[:, list(rare)] = np.inf
    rest = curvature, ridge, q, steps, NEARLY, of_loss, threads
    _kernels.ridge_descent(cells, scores, y, weight, *given(values), *rest)
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
    start, function, value = given(functions_of_cells())
    few = q[:N_FUNCTIONS].copy()
    with pytest.raises(ValueError, match="values has the wrong length"):
        _kernels.ridge_descent(
            cells, scores, y, weight, start, function, value[:-1], few, 1.0, few, 5, 0.1, 0.0, 1
        )
