"""Weights: the least of a convex function, whichever way it is found."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.linalg import LinAlgError

from tallybayes.weighted import objective as by_class
from tallybayes.weighted import objective as shared
from tallybayes.weighted.objective import (
    Cholesky,
    Loss,
    class_weights,
    compared_is_final,
    learn_weights,
    penalty_takes,
    shared_weights,
)
from tallybayes.weighted.rows import LearningRows
from tallybayes.weighted.scores import Terms, Weights

shapes = given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 80),
    d=st.integers(0, 6),
    n_classes=st.integers(2, 4),
    scale=st.sampled_from([0.03, 1.0, 10.0]),
)
few = settings(max_examples=40)


def loss_of(seed, n, d, n_classes, scale):
    rng = np.random.default_rng(seed)
    terms = Terms(n_classes, n)
    for _ in range(d):
        z = rng.normal(size=(n_classes, n))
        terms.add((z - z.mean(axis=0)).astype(np.float32), pair=bool(rng.integers(2)))
    y = rng.integers(0, n_classes, n).astype(np.int32)
    weight = rng.choice([0.0, 0.5, 1.0, 3.0], n)
    log_share = np.log(rng.dirichlet(np.full(n_classes, 3.0)))
    loss = Loss(terms.values, y, weight, np.array(terms.pair, dtype=bool), log_share, scale)
    start = Weights(np.full(d, 0.5), np.zeros((n_classes, d)), np.zeros(n_classes), scale)
    return loss, start


def slopes(function, q, at):
    step = np.zeros_like(q)
    step[at] = 1e-3
    return (function(q + step)[0] - function(q - step)[0]) / 2e-3


@shapes
@few
def test_gradients_are_slopes(seed, n, d, n_classes, scale):
    loss, _ = loss_of(seed, n, d, n_classes, scale)
    rng = np.random.default_rng(seed)
    for function, size in ((loss.shared, d + n_classes), (loss.by_class, n_classes * (d + 1))):
        if function == loss.by_class and n_classes == 2:
            continue
        q = rng.uniform(0.1, 1.0, size)
        gradient = function(q)[1]
        at = int(rng.integers(size))
        assert gradient[at] == pytest.approx(slopes(function, q, at), rel=2e-3, abs=2e-2)


@shapes
@few
def test_curvatures_are_slopes_of_gradients(seed, n, d, n_classes, scale):
    loss, _ = loss_of(seed, n, d, n_classes, scale)
    q = np.random.default_rng(seed).uniform(0.1, 1.0, n_classes * (d + 1))
    step = np.random.default_rng(seed + 1).normal(size=len(q)) * 1e-3
    if n_classes > 2:
        change = loss.by_class(q + step)[1] - loss.by_class(q - step)[1]
        full = loss.whole_with_penalty(loss.data_curvature(q), q)
        np.testing.assert_allclose(full @ (2.0 * step), change, rtol=2e-2, atol=2e-3)
        assert (loss.class_diagonal(q) >= np.diag(full) * (1.0 - 1e-3)).all()
    q, step = q[: d + n_classes], step[: d + n_classes]
    change = loss.shared(q + step)[1] - loss.shared(q - step)[1]
    full = loss.shared_curvature(q)
    np.testing.assert_allclose(full @ (2.0 * step), change, rtol=2e-2, atol=2e-3)


@shapes
@few
def test_at_the_least_loss_there_is_no_slope(seed, n, d, n_classes, scale):
    loss, start = loss_of(seed, n, d, n_classes, scale)
    found = shared_weights(loss, start, steps=100, tolerance=1e-9)
    q = np.concatenate([found.terms, found.offsets])
    value, gradient = loss.shared(q)
    room = 1e-2 * np.sqrt(1.0 + value)
    assert (found.terms >= 0.0).all()
    held = np.append(found.terms == 0.0, np.zeros(n_classes, dtype=bool))
    assert (np.abs(gradient[~held]) < room).all()
    assert (gradient[held] > -room).all()
    if n_classes > 2:
        found = class_weights(loss, start, steps=100, tolerance=1e-9)
        q = np.column_stack([found.by_class(), found.offsets]).ravel()
        assert loss.by_class(q)[0] <= value + 1e-4 * (1.0 + value)  # more freedom, less loss
        assert (np.abs(loss.by_class(q)[1]) < room).all()
        assert (found.terms >= 0.0).all()


@shapes
@few
@example(seed=942, n=39, d=3, n_classes=2, scale=0.03)  # five rows misjudge the curvature
def test_a_hessian_of_some_rows_leads_to_the_same_weights(seed, n, d, n_classes, scale):
    loss, start = loss_of(seed, n, d, n_classes, scale)
    whole = shared_weights(loss, start, steps=100, tolerance=1e-6)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shared, "MIN_HESSIAN_ROWS", 5)
        patch.setattr(shared, "HESSIAN_ROWS_PER_WEIGHT", 0)
        found = shared_weights(loss, start, steps=100, tolerance=1e-6)
        near = shared_weights(loss, start, steps=200, tolerance=0.1)
    losses = [loss.shared(np.concatenate([f.terms, f.offsets]))[0] for f in (whole, found, near)]
    assert losses[1] == pytest.approx(losses[0], rel=1e-5, abs=1e-4)
    assert losses[2] <= losses[0] + 5.0  # about as near as the few rows say


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("n", [40, 6000])
def test_what_is_learned_compared_is_final_or_is_learned_again(n_classes, n):
    rng = np.random.default_rng(n)
    terms, y = Terms(n_classes, n), rng.integers(0, n_classes, n).astype(np.int32)
    for _ in range(5):
        z = rng.normal(size=(n_classes, n)) + 0.3 * (y == np.arange(n_classes)[:, None])
        terms.add((z - z.mean(axis=0)).astype(np.float32), pair=False)
    rows = LearningRows(np.zeros((0, n), dtype=np.int32), y, np.ones(n), n_classes)
    log_share = np.full(n_classes, -np.log(n_classes))
    said = terms, rows, None, log_share
    near = learn_weights(*said, only_compared=True, validated=False)
    final = learn_weights(terms, rows, near, log_share, penalty=near.scale)
    assert compared_is_final(terms, n, by_class=True) is (n == 40)
    np.testing.assert_allclose(near.by_class(), final.by_class(), atol=1e-3 if n == 40 else 0.05)


def test_what_a_penalty_takes_is_what_the_likelihood_gains_without_it():
    rng = np.random.default_rng(0)
    n, d = 4000, 4
    terms = Terms(2, n)
    z = rng.normal(size=(d, n))
    for row in z:
        terms.add(np.stack([-0.5 * row, 0.5 * row]).astype(np.float32), pair=False)
    odds = np.array([1.5, 0.9, 0.5, 0.2]) @ z
    y = (rng.random(n) < 1.0 / (1.0 + np.exp(-odds))).astype(np.int32)

    def found(scale):
        loss = Loss(terms.values, y, np.ones(n), np.zeros(d, dtype=bool), np.log([0.5, 0.5]), scale)
        start = Weights(np.ones(d), np.zeros((2, d)), np.zeros(2), scale)
        weights = shared_weights(loss, start, steps=50, tolerance=1e-9)
        free = loss.data(weights.by_class(), weights.offsets)[0]
        return free, penalty_takes(loss, weights)

    held, takes = found(1.0)
    free, more = found(1e-6)
    assert takes == pytest.approx(held - free, rel=0.1)
    assert more == pytest.approx(takes, rel=0.1)  # γ = 1 is what is asked about, whatever γ is
    assert 0.0 < takes < 0.1


@shapes
@few
def test_blocks_of_the_hessian_lead_to_the_same_weights(seed, n, d, n_classes, scale):
    loss, start = loss_of(seed, n, d, n_classes + 1, scale)
    whole = class_weights(loss, start, steps=200, tolerance=1e-9)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(by_class, "MAX_WHOLE_PARAMETERS", 0)
        found = class_weights(loss, start, steps=200, tolerance=1e-9)
    losses = [
        loss.by_class(np.column_stack([f.by_class(), f.offsets]).ravel())[0] for f in (whole, found)
    ]
    assert losses[1] == pytest.approx(losses[0], rel=1e-4, abs=1e-3)


@shapes
@few
def test_blocks_are_the_hessian_but_for_what_classes_share(seed, n, d, n_classes, scale):
    loss, _ = loss_of(seed, n, d, n_classes + 1, scale)
    size = d + 1
    q = np.random.default_rng(seed).uniform(0.1, 1.0, loss.n_classes * size)
    blocks, shared = loss.blocks_with_penalty(loss.data_blocks(q), q)
    full = loss.whole_with_penalty(loss.data_curvature(q), q).reshape(
        loss.n_classes, size, loss.n_classes, size
    )
    for c, block in enumerate(blocks):
        less = block - np.diag(np.append(shared, 0.0))
        np.testing.assert_allclose(less, full[c, :, c], rtol=1e-3, atol=1e-3 * (1.0 + n))


@shapes
@few
def test_the_function_is_convex(seed, n, d, n_classes, scale):
    loss, _ = loss_of(seed, n, d, n_classes, scale)
    rng = np.random.default_rng(seed)
    for function, size in ((loss.shared, d + n_classes), (loss.by_class, n_classes * (d + 1))):
        if function == loss.by_class and n_classes == 2:
            continue
        a, b = rng.uniform(0, 2, size), rng.uniform(0, 2, size)
        between = function(0.5 * (a + b))[0]
        assert between <= 0.5 * (function(a)[0] + function(b)[0]) + 1e-5 * (1.0 + between)


@pytest.mark.parametrize("n", [0, 1, 7])
def test_cholesky_solves_and_inverts(n):
    rng = np.random.default_rng(n)
    root = rng.normal(size=(n, n + 2))
    matrix, b = root @ root.T, rng.normal(size=n)
    factor = Cholesky(matrix)
    np.testing.assert_allclose(matrix @ factor.solve(b), b, atol=1e-9)
    np.testing.assert_allclose(matrix @ factor.inverse(), np.eye(n), atol=1e-9)
    with pytest.raises(LinAlgError, match="positive definite"):
        Cholesky(-np.eye(2))
