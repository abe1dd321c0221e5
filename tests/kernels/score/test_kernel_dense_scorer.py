"""Scores of dense rows, linear and quadratic, bit for bit as their twins."""

from __future__ import annotations

import numpy as np
import pytest

from reference import LAYOUTS, best_classes, score_linear, score_quadratic
from reference.inputs import DTYPES, FLOATS, whole_numbers
from tallybayes import _kernels

NEVER = -np.inf


def scorer(first, second=None, offset=None, fallback=0, threshold=None, non_negative=False):
    if offset is None:
        offset = np.linspace(-1.0, 1.0, len(first))
    return _kernels.DenseScorer(first, second, offset, fallback, threshold, non_negative), offset


def scores(compiled, x, n_classes, threads=2):
    joint = np.empty((len(x), n_classes))
    reply = compiled.score(x, joint, None, threads)
    return joint, reply


def best(compiled, x, threads=2):
    found = np.empty(len(x), dtype=np.int64)
    reply = compiled.score(x, None, found, threads)
    return found, reply


def parameters(kind, rng, K, d):
    """First and second parameters and the twin of a kind of score."""
    if kind == "quadratic":
        mean, scale = rng.normal(size=(K, d)), rng.lognormal(size=(K, d))
        return mean, scale, lambda x, offset: score_quadratic(x, mean, scale, offset)
    weights = rng.normal(size=(K, d))
    if kind == "masked":
        weights[rng.uniform(size=(K, d)) < 0.2] = NEVER
        weights[0] = np.abs(weights[0])  # a class that nothing rules out
    return weights, None, lambda x, offset: score_linear(x, weights, offset)


KINDS = ["linear", "masked", "quadratic"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", KINDS)
def test_scores_of_every_type_and_layout_are_bit_equal(kind, dtype):
    rng = np.random.default_rng(0)
    x = np.abs(whole_numbers(rng, (70, 9), dtype, top=4))
    first, second, twin = parameters(kind, rng, 5, 9)
    compiled, offset = scorer(first, second)
    for hold in LAYOUTS.values():
        joint, reply = scores(compiled, hold(x), 5)
        assert reply == (0, False, 0)
        np.testing.assert_array_equal(joint, twin(x, offset))


@pytest.mark.parametrize("n", [0, 1, 31, 32, 33, 511, 512, 513, 1100])
@pytest.mark.parametrize("kind", KINDS)
def test_scores_of_any_number_of_rows_are_bit_equal(kind, n):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(n, 3)) if kind != "masked" else np.abs(rng.normal(size=(n, 3)))
    first, second, twin = parameters(kind, rng, 4, 3)
    compiled, offset = scorer(first, second)
    joint, reply = scores(compiled, x, 4)
    expected = twin(x, offset)
    np.testing.assert_array_equal(joint, expected)
    np.testing.assert_array_equal(best(compiled, x)[0], best_classes(expected, 0)[0])
    assert reply == (0, False, 0)


@pytest.mark.parametrize("K", [1, 2, 3, 8, 9, 33, 100])
@pytest.mark.parametrize("d", [0, 1, 127, 128, 129, 300])
def test_scores_of_any_number_of_classes_and_columns_are_bit_equal(d, K):
    rng = np.random.default_rng(2)
    x = np.abs(rng.normal(size=(40, d)))
    for kind in KINDS:
        first, second, twin = parameters(kind, rng, K, d)
        compiled, offset = scorer(first, second, fallback=K - 1)
        expected = twin(x, offset)
        np.testing.assert_array_equal(scores(compiled, x, K)[0], expected)
        np.testing.assert_array_equal(best(compiled, x)[0], best_classes(expected, K - 1)[0])


@pytest.mark.parametrize("threshold", [0.0, 0.5, -1.0, 2.0])
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_threshold_reads_x_as_yes_or_no(dtype, threshold):
    rng = np.random.default_rng(3)
    x = whole_numbers(rng, (50, 4), dtype, top=4)
    weights = rng.normal(size=(3, 4))
    compiled, offset = scorer(weights, threshold=threshold)
    joint, _ = scores(compiled, x, 3)
    np.testing.assert_array_equal(joint, score_linear(x, weights, offset, threshold))


def test_an_absent_feature_says_nothing_whatever_its_weight():
    weights = np.array([[NEVER, 1.0], [2.0, NEVER]])
    compiled, _ = scorer(weights, offset=np.zeros(2))
    joint, _ = scores(compiled, np.array([[0.0, 3.0], [-0.0, 0.0], [1.0, 1.0]]), 2)
    assert joint.tolist() == [[3.0, NEVER], [0.0, 0.0], [NEVER, NEVER]]


def test_a_row_that_every_class_rules_out_gets_the_fallback_and_is_counted():
    weights = np.array([[NEVER, 1.0], [NEVER, 2.0], [NEVER, 0.0]])
    compiled, _ = scorer(weights, offset=np.zeros(3), fallback=2)
    x = np.array([[1.0, 5.0], [0.0, 5.0]] * 40)
    found, (fault, unseen, ruled_out) = best(compiled, x)
    assert found.tolist() == [2, 1] * 40
    assert (fault, unseen, ruled_out) == (0, False, 40)


def test_a_class_ruled_out_by_its_offset_is_never_best():
    compiled, _ = scorer(np.zeros((2, 1)), offset=np.array([NEVER, -1e300]), fallback=0)
    found, (_, _, ruled_out) = best(compiled, np.ones((3, 1)))
    assert found.tolist() == [1, 1, 1]
    assert ruled_out == 0


def test_the_first_of_equal_classes_is_best():
    compiled, _ = scorer(np.ones((40, 2)), offset=np.zeros(40), fallback=7)
    assert best(compiled, np.ones((5, 2)))[0].tolist() == [0] * 5
    offset = np.zeros(40)
    offset[[11, 30]] = 1.0
    compiled, _ = scorer(np.ones((40, 2)), offset=offset, fallback=7)
    assert best(compiled, np.ones((5, 2)))[0].tolist() == [11] * 5


def test_far_rows_score_minus_infinity_and_not_nan():
    compiled, _ = scorer(np.zeros((2, 1)), np.array([[1e200], [1.0]]), offset=np.zeros(2))
    joint, reply = scores(compiled, np.array([[1e300]]), 2)
    assert joint.tolist() == [[NEVER, NEVER]]
    assert reply[0] == 0


@pytest.mark.parametrize("layout", ["C", "Fortran", "spaced"])
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_value_that_is_not_finite_is_a_fault_wherever_it_stands(value, dtype, layout):
    for row, column in [(0, 0), (31, 127), (32, 128), (699, 199)]:
        x = np.ones((700, 200), dtype=dtype)
        x[row, column] = value
        for threshold in (None, 0.5):
            compiled, _ = scorer(np.ones((2, 200)), threshold=threshold)
            _, (fault, _, _) = scores(compiled, LAYOUTS[layout](x), 2)
            assert fault == _kernels.NOT_FINITE


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, np.int64])
def test_a_negative_value_is_a_fault_only_where_it_is_not_admitted(dtype):
    x = np.ones((40, 3), dtype=dtype)
    x[39, 2] = -1
    for non_negative in (False, True):
        compiled, _ = scorer(np.ones((2, 3)), non_negative=non_negative)
        _, (fault, _, _) = scores(compiled, x, 2)
        assert fault == (_kernels.NEGATIVE if non_negative else 0)


def test_parameters_and_rows_that_do_not_fit_are_refused():
    ones = np.ones((2, 3))
    with pytest.raises(ValueError, match="offset"):
        scorer(ones, offset=np.zeros(3))
    with pytest.raises(ValueError, match="second"):
        scorer(ones, np.ones((2, 4)))
    for fallback in (-1, 2):
        with pytest.raises(ValueError, match="fallback"):
            scorer(ones, fallback=fallback)
    compiled, _ = scorer(ones)
    with pytest.raises(ValueError, match="columns"):
        scores(compiled, np.ones((1, 4)), 2)
    with pytest.raises(ValueError, match="joint"):
        scores(compiled, np.ones((1, 3)), 3)
    with pytest.raises(ValueError, match="either"):
        compiled.score(np.ones((1, 3)), None, None, 1)
    with pytest.raises(TypeError, match="real numbers"):
        scores(compiled, np.ones((1, 3), dtype=complex), 2)


def test_the_parameters_live_as_long_as_the_scorer():
    compiled = scorer(np.full((2, 3), 2.0), offset=np.zeros(2))[0]
    np.random.default_rng(4).normal(size=(1000, 100))  # whatever would reuse their memory
    assert scores(compiled, np.ones((1, 3)), 2)[0].tolist() == [[6.0, 6.0]]
