"""Weighted naive Bayes: columns and pairs of columns as tables, weighted by leave-one-out.

What is counted is not changed by the weights; see :class:`tallybayes.WeightedNaiveBayes`.
"""

from __future__ import annotations
