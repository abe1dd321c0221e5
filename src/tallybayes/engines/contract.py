"""What an engine does: it counts each kind of tally and evaluates each score kind."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tallybayes.parameters import Parameters
from tallybayes.schema import Columns
from tallybayes.tally import ClassCounts, Tally

__all__ = ["CompiledScore", "Counted", "Engine"]


class Counted(NamedTuple):
    """What one scan returns."""

    columns: Columns
    classes: ClassCounts
    tally: Tally


class CompiledScore(Protocol):
    """Parameters and class prior, ready to score rows where they are."""

    def joint(self, x: Any) -> NDArray[np.float64]:
        """offset_c + score_c(x) for each row, (n_rows, n_classes), in nats."""

    def best(self, x: Any) -> tuple[NDArray[np.int64], int]:
        """The class index of each row (the first of equals), and how many rows every class rules
        out; those get the fallback class."""


class Engine(Protocol):
    """Counts rows into tallies and compiles parameters."""

    def collect(
        self,
        columns: Columns,
        x: Any,
        codes: NDArray[np.int32],
        n_classes: int,
        weights: NDArray[np.float64] | None,
        *,
        whose: str,
    ) -> Counted:
        """The tally of the rows of x, whose classes are `codes` and weights `weights`.

        For level counts, codes beyond the columns' levels widen the returned columns.
        Raises ValueError, naming row and column, for values that the columns do not admit.
        """

    def compile(
        self,
        parameters: Parameters,
        log_prior: NDArray[np.float64],
        columns: Columns,
        *,
        whose: str,
        fallback: int | None = None,
    ) -> CompiledScore:
        """Parameters with the class prior added to their offsets. A row that every class rules out
        is given the class `fallback`, by default the one of the largest prior."""
