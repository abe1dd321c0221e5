"""Properties of every tally, family and estimator, for tests of this package and of others.

:mod:`tallybayes.testing.laws`
    The laws of a tally, one function each.
:mod:`tallybayes.testing.strategies`
    Hypothesis strategies for tallies, weights and data sets. Needs Hypothesis.
:mod:`tallybayes.testing.edge_tables`
    Hypothesis strategies for small tables of every kind of column. Needs Hypothesis.
:mod:`tallybayes.testing.checks`
    Properties of an estimator, one function each.
:mod:`tallybayes.testing.families`
    Properties of a family of columns of numbers.

Nothing in tallybayes imports this package.
"""

from __future__ import annotations
