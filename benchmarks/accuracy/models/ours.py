"""tallybayes' own models."""

from __future__ import annotations

from tallybayes import NaiveBayes

__all__ = ["naive_bayes"]


def naive_bayes() -> NaiveBayes:
    """All defaults."""
    return NaiveBayes()
