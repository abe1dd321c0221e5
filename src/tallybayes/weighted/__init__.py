"""Weighted naive Bayes: columns and pairs of columns as tables, weighted by leave-one-out.

Weights do not change the counts; see :class:`tallybayes.WeightedNaiveBayes`.
"""

from __future__ import annotations
