"""The factors of held-out scores: what is a candidate, and what the figures are of."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import log_softmax

from tallybayes.weighted.ridge import HeldOut

N = 2000


def drawn(below, ridge, sample=False, n=N, k=3, seed=0):
    """Scores of documents whose labels are drawn from `below` and `ridge` times their scores."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(0.0, 1.5, (n, k, 2))
    proba = np.exp(log_softmax(scores @ [below, ridge], axis=1))
    y = (rng.random((n, 1)) > proba.cumsum(axis=1)).sum(axis=1).clip(0, k - 1).astype(np.int32)
    return HeldOut(y, np.ones(n), rng.random(n) < 0.5, sample), scores


def of_others(held, steps):
    return held.brier(held.by_the_choice_of_others(steps)).sum()


def test_two_factors_are_found_where_labels_follow_two():
    held, scores = drawn(0.5, 2.0)
    one, two = held.scaled(scores)
    assert one.scale.weights[0] == one.scale.weights[1]
    assert two.scale.weights == pytest.approx([0.5, 2.0], rel=0.15)
    assert two.brier < one.brier
    assert of_others(held, [one, two]) < of_others(held, [one])


def test_two_factors_are_no_candidate_where_they_do_not_predict_others_better():
    refused = 0
    for seed in range(12):
        held, scores = drawn(1.0, 1.0, n=60, seed=seed)
        found = held.scaled(scores)
        refused += len(found) == 1
        for step in found[1:]:
            of_other_half = sum(
                held.brier(proba)[at].sum()
                for proba, at in zip(step.halves, (~held.half, held.half), strict=True)
            )
            of_one = sum(
                held.brier(proba)[at].sum()
                for proba, at in zip(found[0].halves, (~held.half, held.half), strict=True)
            )
            assert of_other_half < of_one
    assert refused > 3


@pytest.mark.parametrize("because", ["a sample", "no ridge"])
def test_one_factor_where_a_second_could_not_be_used(because):
    held, scores = drawn(0.5, 2.0, sample=because == "a sample")
    if because == "no ridge":
        scores[:, :, 1] = 0.0
    (one,) = held.scaled(scores)
    assert one.scale.weights[0] == one.scale.weights[1]


def test_figures_of_chance_do_not_gain_by_the_choice():
    rng = np.random.default_rng(3)
    scores = rng.normal(size=(N, 2, 2))
    y = rng.integers(0, 2, N, dtype=np.int32)
    held = HeldOut(y, np.ones(N), rng.random(N) < 0.5, False)
    steps = [step for part in (scores, 2.0 * scores, -scores) for step in held.scaled(part)]
    log_proba = held.by_the_choice_of_others(steps)
    assert -log_proba[np.arange(N), y].mean() > np.log(2.0) - 0.002
