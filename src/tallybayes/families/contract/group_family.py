"""The contract of the family of a group of columns, and of its likelihood."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from tallybayes.families.contract.column_family import ColumnFamily, Context
from tallybayes.parameters import Description

if TYPE_CHECKING:
    from tallybayes.families.contract.density import Tuning

__all__ = ["GroupFamily", "GroupLikelihood"]

Array = NDArray[np.float64]


class GroupLikelihood(ABC):
    """The likelihood of a group of columns, from their joint counts.

    Besides these methods it has those of its score kind: :class:`tallybayes.parameters.Counts`, or
    :class:`tallybayes.parameters.Correlated`.

    Attributes
    ----------
    score_kind : {"counts", "triangular"}
    holds : str
        What the columns hold, for the schema.
    """

    score_kind: ClassVar[Literal["counts", "triangular"]]
    holds: ClassVar[str]

    @property
    @abstractmethod
    def in_schema(self) -> str:
        """The family and the group, for the schema."""

    @abstractmethod
    def without(self, x: Array, own: NDArray[np.intp], weight: Array) -> Array:
        """log p(x | c), (n_rows, n_classes), of rows (n_rows, n_columns), after each row itself is
        taken out; `own` is its class, `weight` its weight."""

    @abstractmethod
    def drawn(self, x: Array, rng: Any, n: int) -> Array:
        """log p(x | c) under parameters drawn from their posterior, float64 (n, n_rows,
        n_classes)."""

    @abstractmethod
    def log_evidence(self) -> float:
        """log p(rows), in nats; raises ImproperPrior."""

    @abstractmethod
    def described(self) -> Description:
        """The parameters in words."""

    def tuned(self, tuning: Tuning) -> tuple[GroupLikelihood, float | None]:
        """The group with a prior as strong as it is to be, and its smoothing where that was
        chosen."""
        return self, None


class GroupFamily(ColumnFamily, ABC):
    """A family that reads several columns together, or can."""

    @abstractmethod
    def likelihood_together(
        self, names: tuple[str, ...], tally: Any, context: Context
    ) -> GroupLikelihood | None:
        """The joint likelihood of the columns; None where it is not defined yet.

        Parameters
        ----------
        names : tuple of str
        tally : Tally or None
            Of the kind `together`; None where no row was counted.
        context : Context
        """
