"""The base of families: a likelihood, the kind of tally that it needs, and its estimation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from tallybayes.parameters import Parameters, Without
from tallybayes.schema import Kind
from tallybayes.tally import ClassCounts, Tally
from tallybayes.tally.base import RESIDUE

__all__ = ["Family", "class_blocks", "less", "log", "sums_of_others"]

Array = NDArray[np.float64]
T_contra = TypeVar("T_contra", bound=Tally, contravariant=True)


class Family(Protocol[T_contra]):
    """One likelihood p(x | c). A family is an immutable value that holds hyperparameters only."""

    kind: ClassVar[Kind]

    def parameters(self, tally: T_contra, classes: ClassCounts) -> Parameters:
        """Estimate parameters from counts; the tally is non-negative and is not changed.

        Parameters
        ----------
        tally : Tally
            The counts that the family reads.
        classes : ClassCounts
            The counts of the classes.
        """

    def without(self, tally: T_contra, classes: ClassCounts) -> Without:
        """The score of a row's own class after the row is taken out, from the same counts.

        Parameters
        ----------
        tally : Tally
            The counts that the family reads.
        classes : ClassCounts
            The counts of the classes.
        """

    def sample(
        self, tally: T_contra, classes: ClassCounts, rows: NDArray[np.intp], rng: Any, **size: Any
    ) -> NDArray[Any]:
        """One draw x of p(x | c) for each class index in `rows`, (len(rows), n_features).

        Parameters
        ----------
        tally : Tally
            The counts that the family reads.
        classes : ClassCounts
            The counts of the classes.
        rows : index array (n_rows,)
            The class of each row to draw.
        rng : numpy.random.Generator
            The source of random numbers.
        **size : Any
            The totals of rows, where the family has any.
        """


def class_blocks(shape: tuple[int, int]) -> Iterator[slice]:
    """Blocks of classes small enough that what is computed for one stays in the cache."""
    step = max(1, (1 << 17) // max(1, shape[1]))
    for start in range(0, shape[0], step):
        yield slice(start, start + step)


def log(probability: Array) -> Array:
    """Natural logarithm with log 0 = −inf: a deliberate certainty, not a numerical accident."""
    with np.errstate(divide="ignore"):
        result: Array = np.log(probability)
    return result


def less(whole: Array, part: Array | float, of: Array | None = None) -> Array:
    """whole − part of weights, elementwise; what can only be rounding is 0.

    A whole that may itself be what is left `of` a larger weight is rounded beside that.
    """
    rest: Array = np.asarray(whole - part)
    rounding = rest <= RESIDUE * whole
    if of is not None:
        rounding |= (rest <= RESIDUE * of) & (rest < 0.5)
    rest[rounding] = 0.0
    return rest


def sums_of_others(parts: Array) -> Array:
    """Σ of the other entries along the first axis, like `parts`; nothing is removed, so that a
    large entry leaves no rounding in the sum of small ones."""
    before, after = np.zeros_like(parts), np.zeros_like(parts)
    np.cumsum(parts[:-1], axis=0, out=before[1:])
    after[:-1] = np.cumsum(parts[:0:-1], axis=0)[::-1]
    return before + after
