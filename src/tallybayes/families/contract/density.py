"""The contract of a column of numbers that is read as a density."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from tallybayes.families.priors.prior_and_posteriors import PriorAndPosteriors
from tallybayes.parameters import (
    Description,
    ImproperPrior,
    Inexpressible,
    Laws,
    PooledLess,
    PooledTerms,
    QuadraticTerms,
    Term,
)
from tallybayes.parameters.formula_terms import Mixture, Powers
from tallybayes.parameters.number_law import NumberLaw
from tallybayes.tally import GridCounts

if TYPE_CHECKING:
    from tallybayes.families.lookup.strength import Tuning

__all__ = ["LearningDensity", "NumberDensity", "TunableDensity"]

Array = NDArray[np.float64]


class NumberDensity(ABC):
    """A likelihood log p(x | c) of numbers, estimated from the counts of a column.

    A family has to give the four abstract methods and `what`. By default, the others declare that
    there is no closed form, no prior and no strength to choose.

    Attributes
    ----------
    follows_rows : bool
        Whether it is a :class:`LearningDensity`.
    brief : str
        The family in fewer words, where `what` is long.
    """

    score_kind = "density"
    follows_rows = False
    brief = ""

    @property
    @abstractmethod
    def what(self) -> str:
        """The family and its options in a few words, for the schema."""

    @abstractmethod
    def log_density(self, x: Array) -> Array:
        """log p(x | c), float64 (n_rows, n_classes), in nats, of values (n_rows,) without missing
        values.

        Parameters
        ----------
        x : float64 array (n_rows,)
            Values of the column, without missing values.
        """

    @abstractmethod
    def without(self, x: Array, own: NDArray[np.intp], weight: Array) -> Array:
        """The same after each row itself is taken out; `own` is its class, `weight` its weight.

        Parameters
        ----------
        x : float64 array (n_rows,)
            Values of the column, without missing values.
        own : index array (n_rows,)
            The class of each row.
        weight : float64 array (n_rows,)
            The weight of each row.
        """

    @abstractmethod
    def drawn(self, x: Array, rng: Any, n: int) -> Array:
        """log p(x | c) under parameters drawn from their posterior, float64 (n, n_rows,
        n_classes).

        Parameters
        ----------
        x : float64 array (n_rows,)
            Values of the column, without missing values.
        rng : numpy.random.Generator
            The source of random numbers.
        n : int
            How many draws of the parameters.
        """

    @abstractmethod
    def described(self) -> Description:
        """The parameters in words."""

    # ---- forms that are scored without a call into Python ----------------------------------------
    def quadratic(self) -> QuadraticTerms | None:
        """log p(x | c) up to a term that all classes share, where it has that form."""
        return None

    def pooled(self) -> PooledTerms | None:
        """log p(x | c), where it has that form."""
        return None

    def of_counts(self) -> Array | None:
        """log p(x | c) of x = 0 … n − 1, float64 (n, n_classes), where a table has them."""
        return None

    def pooled_less(self) -> PooledLess | None:
        """How a row changes it, where it has the form of :meth:`pooled`."""
        return None

    def law(self) -> NumberLaw | None:
        """log p(x | c) by its formula, where it has one of those."""
        return None

    def term(self, column: str) -> Term:
        """log p(x | c), up to a term that all classes share, as a term of a formula.

        Parameters
        ----------
        column : str
            The name of the column.

        Raises
        ------
        Inexpressible
            Where it has no such form.
        """
        mixture = self.pooled()
        if mixture is not None:
            return Mixture(column, mixture)
        powers = self.quadratic()
        if powers is not None:
            return Powers(column, powers)
        raise Inexpressible(
            f"column {column!r} is read as {self.what}, which is neither a table of cells nor a "
            "polynomial: declare another family for it, such as Binned()"
        )

    # ---- the strength of the prior ---------------------------------------------------------------
    @property
    def tunable(self) -> TunableDensity | None:
        """The density, where the strength of its prior is chosen when the model's alpha is."""
        return None

    def tuned(self, tuning: Tuning, grid: GridCounts) -> tuple[NumberDensity, float | None]:
        """The density with a prior as strong as it is to be, and that strength where it was chosen;
        `grid` are the column's values.

        Parameters
        ----------
        tuning : Tuning
            How strong the prior is made.
        grid : GridCounts
            Grid counts of the column.
        """
        return tuning.of_density(self, grid)

    # ---- the prior, and what the rows make of it -------------------------------------------------
    def log_evidence_of(self, grid: GridCounts) -> float:
        """log p(rows) in nats, `grid` being the values.

        Parameters
        ----------
        grid : GridCounts
            Grid counts of the column.

        Raises
        ------
        ImproperPrior
            Where there is no proper prior.
        """
        raise ImproperPrior(
            f"is read as a {self.what}, which has no prior",
            "declare Binned() or Gaussian(prior=NormalInverseGamma(…)) for it",
        )

    def prior_and_posteriors(self, column: str) -> PriorAndPosteriors:
        """The distributions of a parameter of the column of this name.

        Parameters
        ----------
        column : str
            The name of the column.

        Raises
        ------
        ImproperPrior
            Where there is no proper prior.
        """
        raise ImproperPrior(
            f"is read as a {self.what}, which has no prior",
            "declare Poisson() or Gaussian(prior=NormalInverseGamma(…)) for it",
        )

    def distribution(self, laws: Laws) -> Any:
        """What a number of each class is distributed as.

        Parameters
        ----------
        laws : Laws
            What makes distributions.

        Raises
        ------
        TypeError
            Where no law has that form.
        """
        raise TypeError(f"there is no distribution for a {type(self).__name__}")


class TunableDensity(NumberDensity):
    """A density under a prior whose strength can be chosen."""

    @property
    def tunable(self) -> TunableDensity | None:
        return self

    @abstractmethod
    def under(self, strength: float) -> Self:
        """The density under a prior about all classes together of this strength, in rows."""

    @abstractmethod
    def scaled(self, factor: float) -> Self:
        """The density of the same rows with `factor` times their weights."""

    @abstractmethod
    def log_evidence(self) -> float:
        """log p(rows) in nats, up to what no prior changes."""


class LearningDensity(NumberDensity):
    """A density that follows rows one by one, without reading the counts of the column again."""

    follows_rows = True

    @abstractmethod
    def learned(self, x: float, k: int, weight: float) -> Self:
        """The density after a row of value x and class k is added."""

    def forgotten(self, x: float, k: int, weight: float) -> Self | None:
        """The density after such a row, which was counted, is taken out; None where too few digits
        of the others are left, so that the column has to be read again."""
        return None

    def faded(self, factor: float) -> Self | None:
        """The density after every row has lost weight, `factor` of it being left; None where the
        column has to be read again."""
        return None

    def takes(self, x: float) -> bool:
        """Whether a value can be learned: one that cannot makes the column be read again.

        Parameters
        ----------
        x : float
            The value.
        """
        return True

    @property
    def side_by_side(self) -> Hashable | None:
        """Columns of equal values follow rows together; None where each does so by itself.

        Such a density has a static method ``following(densities)``: the columns side by side, with
        ``learn(columns, x, k, weight)``, ``forget``, which returns whether it could, and
        ``log_density(columns, x)``, all of one row that has values in some of them, and
        ``fade(factor)``.
        """
        return None
