"""What all families share: how one is declared, what it counts, and the likelihood it makes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from tallybayes.families.cells import CellLaw
from tallybayes.families.priors import best_alpha, each, log_rising
from tallybayes.schema import Kind
from tallybayes.score import (
    DocumentLikelihood,
    GroupLikelihood,
    NumberDensity,
    Parameters,
    Without,
)
from tallybayes.tally import (
    UNIT_ROWS,
    ClassCounts,
    GridCounts,
    Moments,
    RowWeights,
    Tally,
    TextCounts,
)

if TYPE_CHECKING:
    from tallybayes.tokens.analyzer import Analyzer

__all__ = [
    "CRITERIA",
    "BinnedReading",
    "ColumnFamily",
    "Context",
    "CountedLevels",
    "Criterion",
    "DocumentFamily",
    "DocumentLikelihood",
    "Family",
    "GroupFamily",
    "GroupLikelihood",
    "LearningDensity",
    "LevelFamily",
    "LevelReading",
    "NumberCounts",
    "NumberDensity",
    "NumberFamily",
    "TunableDensity",
    "Tuning",
    "class_blocks",
    "law_score",
    "sums_of_others",
]


# ---- a family of arrays: the kind of tally that it needs, and what it estimates from it ----------
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


# ---- families of columns of a table --------------------------------------------------------------
# A family is an immutable value that holds hyperparameters: a frozen dataclass, whose fields are
# numbers, strings, lists or priors, so that it can be saved. It declares what it reads, and makes a
# likelihood from the counts of a column; the likelihood answers everything else.
# :func:`tallybayes.register_family` registers a new family under a name.
class Context(NamedTuple):
    """The context in which a column is read, beside its counts.

    Parameters
    ----------
    classes : float64 array (n_classes,)
        Class counts, smoothed as the class prior is.
    alpha : float
        The model's smoothing of levels, in rows of weight 1.
    alpha_of_bins : float
        The model's smoothing of bins, in effective rows.
    row_weights : RowWeights
    """

    classes: Array
    alpha: float
    alpha_of_bins: float
    row_weights: RowWeights


class ColumnFamily:
    """A family of columns of a table. These are the answers of most families.

    Attributes
    ----------
    reads : {"levels", "numbers", "documents"}
        What a value of the column is.
    alone : bool
        Whether it can be the family of one column by itself.
    together : {"sums", "cross"} or None
        What is counted of columns that it reads together.
    whole : bool
        Whether values are counts, so that a fraction is warned of.
    needs_squares : bool
        Whether it reads variances, which underflow where numbers are tiny.
    levels : sequence or None
        The levels that a column may have, where they are declared.
    """

    reads: ClassVar[Literal["levels", "numbers", "documents"]] = "numbers"
    alone: ClassVar[bool] = True
    whole: ClassVar[bool] = False
    needs_squares: ClassVar[bool] = False
    levels: Any = None

    @property
    def together(self) -> Kind | None:
        """The kind of tally of a group of columns; None where columns are read one by one."""
        return None

    @property
    def least(self) -> int:
        """What its numbers may be: 0 anything, 1 not negative, 2 positive."""
        return 0

    @property
    def most_levels(self) -> int | None:
        """How many levels a column may have, where that is limited."""
        return None if self.levels is None else len(self.levels)

    @property
    def needs_values(self) -> bool:
        """Whether it needs more than moments, or than the counts of the levels to predict."""
        return True

    @property
    def needs_levels(self) -> bool:
        """Whether it needs all levels of a column, which are not declared."""
        return False

    @property
    def follows(self) -> bool:
        """Whether the model's alpha is what smooths it."""
        return False

    @property
    def names_levels_only(self) -> bool:
        """Whether it declares the levels only, and not their smoothing."""
        return False

    def of_one_column(self) -> Self:
        """The family of each of several columns by itself."""
        return self

    def check(self, key: Any) -> None:
        """Raise ValueError where it cannot be the family of the columns that `key` names.

        Parameters
        ----------
        key : str
            The key of `columns` that names it, for messages.
        """

    def check_group(self, n_columns: int) -> None:
        """Raise ValueError where it cannot be the family of a group of so many columns.

        Parameters
        ----------
        n_columns : int
            How many columns the group has.
        """


# ---- columns of levels ---------------------------------------------------------------------------
class CountedLevels(NamedTuple):
    """The counts of a column of levels.

    Parameters
    ----------
    levels : list of str
        Those that are declared, or that occurred.
    counts : float64 array (n_classes, n_levels)
    n_levels : int
        N, of levels that are named and others.
    missing : float64 array (n_classes,), optional
        The weight of missing values, where they are a level.
    """

    levels: list[str]
    counts: Array
    n_levels: int
    missing: Array | None

    def cells(self) -> Array:
        """Counts with a cell for missing values, where they are a level, before the others, and one
        for levels never seen after them: float64 (n_classes, n_cells)."""
        cells = np.concatenate([self.counts, np.zeros((len(self.counts), 1))], axis=1)
        return (
            cells
            if self.missing is None
            else np.concatenate([self.missing[:, None], cells], axis=1)
        )


class LevelReading(NamedTuple):
    """A column of levels as its family reads it.

    Parameters
    ----------
    levels : list of str
        The cells of the law, after one for missing values where they are a level and before one
        for levels never seen.
    law : CellLaw
    what : str
        The family, for the schema.
    grows : bool
        Whether a further level would be smoothed as the others are and leave their smoothing as it
        is; under a prior it takes some of theirs.
    """

    levels: list[str]
    law: CellLaw
    what: str
    grows: bool


class LevelFamily(ColumnFamily, ABC):
    """A family of columns of levels."""

    reads: ClassVar[Literal["levels", "numbers", "documents"]] = "levels"

    @abstractmethod
    def likelihood(self, counted: CountedLevels, context: Context) -> LevelReading:
        """The likelihood of the column, from its counts.

        Parameters
        ----------
        counted : CountedLevels
            Level counts of the column.
        context : Context
            Smoothing, estimate and weights of rows.
        """


# ---- columns of numbers --------------------------------------------------------------------------
class NumberCounts(NamedTuple):
    """The tallies of one column of numbers.

    Parameters
    ----------
    moments : Moments
    grid : GridCounts
        How often each value, or each cell of the grid, occurred.
    """

    moments: Moments
    grid: GridCounts


@dataclass(frozen=True, eq=False)
class BinnedReading:
    """A column of numbers as bins and their law.

    Parameters
    ----------
    edges : float64 array (n_bins − 1,)
        x is in the bin that counts the edges at or below it.
    law : CellLaw
    likelihood : float
        L of :mod:`tallybayes.families.cells`.
    what : str
        The family, for the schema.
    alpha : float, optional
        The smoothing that the law has, in rows of weight 1, where that follows the model's.
    brief : str
        The family in fewer words, where `what` is long.
    """

    score_kind = "cells"

    edges: Array
    law: CellLaw
    likelihood: float
    what: str
    alpha: float | None = None
    brief: str = ""

    def tuned(self, tuning: Tuning, grid: GridCounts) -> tuple[BinnedReading, float | None]:
        """The bins with a prior as strong as it is to be, and the smoothing where it follows the
        model's or was chosen; `grid` are the column's values."""
        law, alpha = tuning.of_law(self.law, self.alpha)
        if law is self.law and alpha == self.alpha:
            return self, alpha
        return replace(self, law=law, alpha=alpha), alpha


class NumberFamily(ColumnFamily, ABC):
    """A family of columns of numbers."""

    reads: ClassVar[Literal["levels", "numbers", "documents"]] = "numbers"

    @abstractmethod
    def likelihood(self, counts: NumberCounts, context: Context) -> NumberDensity | BinnedReading:
        """The likelihood of the column, from its counts.

        Parameters
        ----------
        counts : NumberCounts
            Moments and grid counts of the column.
        context : Context
            Smoothing, estimate and weights of rows.
        """


# ---- columns of numbers that are read as a density -----------------------------------------------
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


# ---- groups of columns ---------------------------------------------------------------------------
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


# ---- columns of text -----------------------------------------------------------------------------
class DocumentFamily(ColumnFamily, ABC):
    """A family of columns of text."""

    reads: ClassVar[Literal["levels", "numbers", "documents"]] = "documents"

    @property
    @abstractmethod
    def terms(self) -> Analyzer:
        """How documents become terms."""

    @abstractmethod
    def likelihood(self, counts: TextCounts, context: Context) -> DocumentLikelihood:
        """The likelihood of the column, from its counts.

        Parameters
        ----------
        counts : TextCounts
            Document frequencies of the column's terms.
        context : Context
            Smoothing, estimate and weights of rows.
        """


# ---- the strength of smoothing, chosen from the counts -------------------------------------------
#     evidence:        Σ_c log ∫ P(rows of c | p) Dirichlet(p; αN·q) dp, the Dirichlet-multinomial
#     loo_likelihood:  Σ_c Σ_a k_ca log P(a | c; all rows but one)
#
# Both need only the tally, and can be computed after any merge. If rows have weights, the evidence
# is that of the effective rows (counts and strength divided by the weight u of one), and one row
# of a class is u_c of its weight. A common factor on all weights changes neither criterion.
#
# MacKay and Peto (1995); Geisser and Eddy (1979).
Criterion = Literal["evidence", "loo_likelihood"]
CRITERIA: tuple[Criterion, ...] = ("evidence", "loo_likelihood")


MAX_INTERMEDIATE = 1 << 20  # that are scored at once


def law_score(
    criterion: Criterion,
    rows: Array,
    law: CellLaw,
    alpha: Array,
    row_weights: RowWeights = UNIT_ROWS,
) -> Array:
    """The criterion for the cells of a column, under priors `alpha` times as strong as the law's.

    Parameters
    ----------
    criterion : {"evidence", "loo_likelihood"}
    rows : float64 array (n_classes, n_cells)
        Rows, or weight, of each cell.
    law : CellLaw
        Of one column; not without a prior.
    alpha : float64 array (n,)
        Above 0.
    row_weights : RowWeights

    Returns
    -------
    float64 array (n,)
        In nats of effective rows.
    """
    used = rows > 0.0  # other cells add nothing
    unit = row_weights.overall
    k, strength = rows[used], law.strength * alpha[:, None]
    step = max(1, MAX_INTERMEDIATE // max(len(k), 1))
    blocks = [strength[start : start + step] for start in range(0, len(strength), step)]
    if criterion == "evidence":
        base = np.broadcast_to(law.base_with_all(), rows.shape)[used]
        k, base = _in_one_order(k / unit, base)
        n = rows.sum(axis=1) / unit
        with np.errstate(divide="ignore", invalid="ignore"):
            total = np.concatenate([log_rising(s / unit * base, k).sum(axis=1) for s in blocks])
        total -= log_rising(strength / unit, n).sum(axis=1)
        return total if (base > 0.0).all() else np.full(len(alpha), -np.inf)
    left = law.own_left(np.minimum(rows, row_weights.by_class))
    parts = (np.broadcast_to(part, rows.shape)[used] for part in left)
    k, counts, whole, base = _in_one_order(k, *parts)
    with np.errstate(divide="ignore"):
        scores = [(k * (np.log(counts + s * base) - np.log(whole + s))).sum(axis=1) for s in blocks]
    return np.concatenate(scores) / unit


def _in_one_order(*cells: Array) -> list[Array]:
    """Cells ordered by their counts, so that sums over them do not depend on the given order."""
    order = np.lexsort(cells)
    return [part[order] for part in cells]


def density_score(
    criterion: Criterion,
    density: TunableDensity,
    alpha: float,
    grid: GridCounts,
    row_weights: RowWeights = UNIT_ROWS,
) -> float:
    """The criterion for a column read as a density, in nats of effective rows.

    For "loo_likelihood" each grid cell is at one value.

    Parameters
    ----------
    criterion : {"evidence", "loo_likelihood"}
    density : TunableDensity
    alpha : float
        The strength of the prior, in effective rows.
    grid : GridCounts
        The column's values.
    row_weights : RowWeights
    """
    unit = row_weights.overall
    if criterion == "evidence":
        return float(density.scaled(1.0 / unit).under(alpha).log_evidence())
    density = density.under(alpha * unit)
    by_class = np.broadcast_to(row_weights.by_class[:, 0], len(grid.counts))
    values, total = grid.values(), 0.0
    for k, rows in enumerate(grid.counts):
        used = rows > 0.0
        own = np.full(int(used.sum()), k, dtype=np.intp)
        scores = density.without(values[used], own, np.minimum(rows[used], by_class[k]))[:, k]
        total += float((rows[used] * scores).sum())
    return total / unit


class Tuning(NamedTuple):
    """How the strength of the priors of columns is chosen.

    Parameters
    ----------
    criterion : {"evidence", "loo_likelihood"}, optional
        The criterion that chooses the strength of each column's prior.
    scale : float
        The factor for priors that follow the model's alpha, without a criterion.
    row_weights : RowWeights
    """

    criterion: Criterion | None
    scale: float
    row_weights: RowWeights

    def of_law(self, law: CellLaw, alpha: float | None) -> tuple[CellLaw, float | None]:
        """A law of smoothing `alpha` as strong as it is to be, and its alpha then; as it is where
        that is None, because it does not follow the model's."""
        if alpha is None:
            return law, None
        criterion, factor = self.criterion, self.scale
        if criterion is not None:
            factor = best_alpha(
                lambda f: law_score(criterion, law.counts, law, f, self.row_weights)
            )
        return law if factor == 1.0 else law.scaled(factor), alpha * factor

    def of_density(
        self, density: NumberDensity, grid: GridCounts
    ) -> tuple[NumberDensity, float | None]:
        """A density with the strength of its prior chosen, where it is to be; and that strength.
        `grid` are the column's values."""
        criterion, weights, tunable = self.criterion, self.row_weights, density.tunable
        if criterion is None or tunable is None or not grid.counts.any():
            return density, None
        alpha = weights.overall * best_alpha(
            each(lambda a: density_score(criterion, tunable, a, grid, weights))
        )
        return tunable.under(alpha), alpha


# ---- arithmetic of probabilities and counts ------------------------------------------------------
def class_blocks(shape: tuple[int, int]) -> Iterator[slice]:
    """Blocks of classes small enough that what is computed for one stays in the cache."""
    step = max(1, (1 << 17) // max(1, shape[1]))
    for start in range(0, shape[0], step):
        yield slice(start, start + step)


def sums_of_others(parts: Array) -> Array:
    """Σ of the other entries along the first axis, like `parts`; nothing is removed, so that a
    large entry leaves no rounding in the sum of small ones."""
    before, after = np.zeros_like(parts), np.zeros_like(parts)
    np.cumsum(parts[:-1], axis=0, out=before[1:])
    after[:-1] = np.cumsum(parts[:0:-1], axis=0)[::-1]
    return before + after
