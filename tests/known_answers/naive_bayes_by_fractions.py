"""Categorical naive Bayes by counting with fractions: an oracle to compare with, slow and exact.

Written from the equations of orion-orion, "统计学习:朴素贝叶斯模型(Numpy实现)" (2021), whose
numbers are used here. Nothing is imported from the library under test.
"""

from collections import Counter
from collections.abc import Hashable, Sequence
from fractions import Fraction
from typing import Self


class ExactNaiveBayes:
    """P(y | x) for categories, as fractions.

    Parameters
    ----------
    values : the sets A_j, one a column
    classes : the labels c_1 … c_K
    smoothing : λ; 0 is maximum likelihood
    """

    def __init__(
        self,
        values: Sequence[Sequence[Hashable]],
        classes: Sequence[Hashable],
        smoothing: int | Fraction = 1,
    ) -> None:
        self.values, self.classes = values, classes
        self.smoothing = Fraction(smoothing)
        self.rows: list[tuple[Hashable, ...]] = []
        self.labels: list[Hashable] = []

    def fit(self, x: Sequence[Sequence[Hashable]], y: Sequence[Hashable]) -> Self:
        self.rows, self.labels = [tuple(row) for row in x], list(y)
        self.of_class = Counter(self.labels)
        self.of_cell = Counter(
            (label, j, value)
            for row, label in zip(self.rows, self.labels, strict=True)
            for j, value in enumerate(row)
        )
        return self

    def prior(self, label: Hashable) -> Fraction:
        """Equation (12); with λ = 0 equation (9)."""
        count = self.of_class[label] + self.smoothing
        return Fraction(count, len(self.rows) + len(self.classes) * self.smoothing)

    def likelihood(self, j: int, value: Hashable, label: Hashable) -> Fraction:
        """Equation (11); with λ = 0 equation (10)."""
        count = self.of_cell[label, j, value] + self.smoothing
        return Fraction(count, self.of_class[label] + len(self.values[j]) * self.smoothing)

    def joint(self, row: Sequence[Hashable]) -> list[Fraction]:
        """The numerators of equation (6), P(y) Π_j P(x_j | y)."""
        products = []
        for label in self.classes:
            product = self.prior(label)
            for j, value in enumerate(row):
                product *= self.likelihood(j, value, label)
            products.append(product)
        return products

    def evidence(self, row: Sequence[Hashable]) -> Fraction:
        """The denominator of equations (3) and (6), P(x)."""
        return sum(self.joint(row), Fraction(0))

    def posterior(self, row: Sequence[Hashable]) -> list[Fraction]:
        """Equation (6)."""
        joint, evidence = self.joint(row), self.evidence(row)
        return [product / evidence for product in joint]

    def predict(self, row: Sequence[Hashable]) -> Hashable:
        """Equation (8); of equal products the first."""
        joint = self.joint(row)
        return self.classes[joint.index(max(joint))]
