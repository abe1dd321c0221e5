"""Bayes' rule for events and hypotheses: as probabilities, as odds, and for a sequence of evidence.

    P(A | B) = P(B | A) P(A) / P(B)                             one event, P(B) known
    P(h | B) = P(B | h) P(h) / Σ_h' P(B | h') P(h')             hypotheses, one of which is true
    P(A | B) / P(¬A | B) = P(A) / P(¬A) · P(B | A) / P(B | ¬A)  odds

Bayes (1763); the odds form and the weight of evidence, its logarithm: Good (1950), Probability and
the weighing of evidence.
"""

from __future__ import annotations

from tallybayes.bayes.odds import (
    bayes_factor,
    log_odds,
    odds,
    posterior_log_odds,
    posterior_odds,
    probability_of_log_odds,
    probability_of_odds,
)
from tallybayes.bayes.rule import bayes_rule, update

__all__ = [
    "bayes_factor",
    "bayes_rule",
    "log_odds",
    "odds",
    "posterior_log_odds",
    "posterior_odds",
    "probability_of_log_odds",
    "probability_of_odds",
    "update",
]
