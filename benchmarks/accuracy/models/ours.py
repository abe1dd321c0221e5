"""tallybayes' own models."""

from __future__ import annotations

from tallybayes import NaiveBayes, WeightedNaiveBayes

__all__ = ["chosen_isotonic", "chosen_temperature", "naive_bayes", "weighted_naive_bayes"]


def naive_bayes() -> NaiveBayes:
    """All defaults."""
    return NaiveBayes()


def chosen_temperature() -> NaiveBayes:
    """Smoothing by leave-one-out log-loss, then a temperature."""
    return NaiveBayes(alpha="auto", calibrate="temperature")


def chosen_isotonic() -> NaiveBayes:
    """Smoothing by leave-one-out log-loss, then isotonic calibration."""
    return NaiveBayes(alpha="auto", calibrate="isotonic")


def weighted_naive_bayes() -> WeightedNaiveBayes:
    """All defaults."""
    return WeightedNaiveBayes()
