"""Bayes' rule, last step: scores become posteriors."""

from __future__ import annotations

import numpy as np
import pytest

from reference import normalise
from tallybayes import _kernels

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
