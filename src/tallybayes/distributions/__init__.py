"""A fitted model as distribution objects on top of scipy.stats.

``model.class_prior_distribution_`` is P(y), ``model.class_conditional_`` is p(x | y), a batch with
an entry a class, and ``model.joint_`` is p(x, y), their product. They are made from the present
state of the model and do not change when it learns more. A calibration corrects P(y | x) and does
not enter them. After Dillon et al. (2017), TensorFlow Distributions, and L. Roque, Naive Bayes from
scratch with TensorFlow (2023).
"""

from __future__ import annotations

from tallybayes.distributions.arrays import (
    IndependentBernoulli,
    IndependentCategorical,
    IndependentNormal,
    Multinomial,
)
from tallybayes.distributions.base import Categorical, ClassConditional, Distribution, Joint
from tallybayes.distributions.table import (
    Column,
    GroupOfCounts,
    GroupOfNumbers,
    LevelColumn,
    NumberColumn,
    ProductOfColumns,
)

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
