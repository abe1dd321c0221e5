"""A fitted model as distribution objects on top of scipy.stats.

``model.class_prior_distribution_`` is P(y), ``model.class_conditional_`` is p(x | y), a batch with
an entry a class, and ``model.joint_`` is p(x, y), their product. They are made from the present
state of the model and do not change when it learns more. A calibration corrects P(y | x) and does
not enter them. After Dillon et al. (2017), TensorFlow Distributions, and L. Roque, Naive Bayes from
scratch with TensorFlow (2023).
"""

from __future__ import annotations

from tallybayes.distributions.base import ClassConditional, Distribution
from tallybayes.distributions.classes import Categorical
from tallybayes.distributions.columns import Column, GroupOfCounts, LevelColumn, NumberColumn
from tallybayes.distributions.counts import Multinomial
from tallybayes.distributions.joint import Joint
from tallybayes.distributions.levels import IndependentCategorical
from tallybayes.distributions.rows import IndependentBernoulli, IndependentNormal
from tallybayes.distributions.table import ProductOfColumns
from tallybayes.distributions.vectors import GroupOfNumbers

__all__ = [
    "Categorical",
    "ClassConditional",
    "Column",
    "Distribution",
    "GroupOfCounts",
    "GroupOfNumbers",
    "IndependentBernoulli",
    "IndependentCategorical",
    "IndependentNormal",
    "Joint",
    "LevelColumn",
    "Multinomial",
    "NumberColumn",
    "ProductOfColumns",
]
