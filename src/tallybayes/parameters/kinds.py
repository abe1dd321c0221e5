"""What a family gives a score: parameters by kind, and how a row is left out of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from tallybayes.tally import GridCounts, Moments, TextCounts

if TYPE_CHECKING:
    from tallybayes.tally.live_terms import LiveTermCounts
    from tallybayes.tokens.analyzer import Analyzer
    from tallybayes.tokens.counting import Documents

__all__ = [
    "Cells",
    "CellsWithout",
    "ComplementWithout",
    "Correlated",
    "Counts",
    "Density",
    "Description",
    "ImproperPrior",
    "Laws",
    "Linear",
    "Lookup",
    "MomentsWithout",
    "Parameters",
    "PooledLess",
    "PooledTerms",
    "PresenceWithout",
    "Quadratic",
    "QuadraticTerms",
    "SumsWithout",
    "TermScores",
    "TriangularTerms",
    "Unseen",
    "Without",
    "missing_patterns",
]


# ---- score kinds of a run of columns, each with an offset per class, in nats ---------------------
# An engine evaluates score kinds and knows no family; a family compiles to a score kind and knows
# no engine. Parameters do not hold the class prior.
Array = NDArray[np.float64]
Unseen = Literal["smooth", "ignore", "error"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Lookup:
    """score_c(x) = offset_c + Σ_j table[c, start_j + x_j], x_j a level code.

    Parameters
    ----------
    table : float64 array (n_classes, entries)
        Log-probabilities. Column j has the entries ``start[j] … start[j+1]−1``: one for each level,
        and a last one that serves every code beyond them.
    start : int64 array (n_features + 1,)
    offset : float64 array (n_classes,)
    unseen : {"smooth", "ignore", "error"}
        Whether a code beyond the levels is an error; the last entries hold the other two.
    """

    table: Array
    start: NDArray[np.int64]
    offset: Array
    unseen: Unseen = "smooth"


@dataclass(frozen=True, eq=False, kw_only=True)
class Linear:
    """score_c(x) = offset_c + Σ_j weights[c, j]·x_j; x_j = 0 contributes 0, whatever the weight.

    Parameters
    ----------
    weights : float64 array (n_classes, n_features)
        Finite, or −inf.
    offset : float64 array (n_classes,)
    threshold : float, optional
        x_j is read as [x_j > threshold].
    non_negative : bool
        Negative values are refused.
    required : bool array (n_classes, n_features), optional
        Features that must be present: a row without one scores −inf in that class.
    """

    weights: Array
    offset: Array
    threshold: float | None = None
    non_negative: bool = False
    required: NDArray[np.bool_] | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Quadratic:
    """score_c(x) = offset_c − Σ_j ((x_j − mean[c, j])·scale[c, j])².

    Parameters
    ----------
    mean, scale : float64 arrays (n_classes, n_features)
    offset : float64 array (n_classes,)
    """

    mean: Array
    scale: Array
    offset: Array


Parameters = Lookup | Linear | Quadratic


# ---- score kinds of a column, or a group, of a table ---------------------------------------------
# Score kinds of a column, or a group of columns, of a table: with every row, or without one.
class QuadraticTerms(NamedTuple):
    """score_c(x) = constant + slope·x − ((x − mean)·scale)², float64 (n_classes,) each; x = 0 has
    no slope, which may be −inf."""

    constant: Array
    slope: Array
    mean: Array
    scale: Array


class PooledTerms(NamedTuple):
    """log p'(x|c) = log(M_c(x) + share·Σ_c M_c(x)) − shift_c, or 0 in every class where all M_c(x)
    are 0. At an atom, low_a ≤ x < high_a, log M_c is atoms[a, c], elsewhere

        log M_c(x) = constant − ((x − mean)·scale)²

    Parameters
    ----------
    low, high : float64 arrays (n_atoms,)
    atoms : float64 array (n_atoms, n_classes)
    constant, mean, scale, shift : float64 arrays (n_classes,)
    share : float
    """

    low: Array
    high: Array
    atoms: Array
    constant: Array
    mean: Array
    scale: Array
    shift: Array
    share: float


class PooledLess(NamedTuple):
    """How a row of weight w changes M_c of its own class, where PooledTerms are those of all rows.

    At an atom, the count there loses w. Elsewhere the class keeps left = k − w of its rows at no
    atom, and with a = x − mean

        M = left·N(a k/left; 0, σ²),   σ² = max((S − a² w k/left) / (left − less), least)

    The rows of the class and of all classes, by which M and the share are divided, lose w.

    Parameters
    ----------
    counts : float64 array (n_atoms, n_classes)
    rest, squares, n : float64 arrays (n_classes,)
        k, S, and the rows at atoms or not.
    rows : float
        How many rows of all classes each class is given.
    less, least : float
    """

    counts: Array
    rest: Array
    squares: Array
    n: Array
    rows: float
    less: float
    least: float


class TriangularTerms(NamedTuple):
    """score_c(x) = Σ_j constant_cj − ½ r_cj², r_c = R_c (x − mean_c), of d columns at once.

    Column j adds its conditional log-density given the columns before it, so that the terms add up
    to the score. With degrees of freedom ν the terms are those of a Student-t: in place of −½
    r_cj², −½(ν+j) log(1 + q_j/ν) + ½(ν+j−1) log(1 + q_(j−1)/ν), q_j = r_c1² + … + r_cj².

    Parameters
    ----------
    mean, constant : float64 arrays (n_classes, d)
    rotation : float64 array (n_classes, d, d)
        R, lower triangular.
    freedom : float64 array (n_classes,), optional
        ν.
    """

    mean: Array
    rotation: Array
    constant: Array
    freedom: Array | None = None


class Description(NamedTuple):
    """Parameters in words.

    Parameters
    ----------
    what : str
    rows : list of str
        What each value is.
    values : float64 array (n_classes, n_values)
    """

    what: str
    rows: list[str]
    values: Array


class Cells(Protocol):
    """A column of a table read as a lookup: log-probabilities of its cells, with every row or
    without one; see :class:`tallybayes.families.cells.CellLaw`."""

    @property
    def others_change(self) -> bool:
        """Whether taking a row out changes the scores of the other classes."""

    def log_prob(self) -> Array:
        """float64 (n_classes, n_cells)."""

    @classmethod
    def log_probs(cls, laws: Sequence[Self]) -> list[Array]:
        """:meth:`log_prob` of each."""

    def other_without(self, weight: Array | float) -> Array:
        """The same in the classes that a row in the cell is not of, after it is taken out."""

    def own_without(self, weight: Array | float) -> Array:
        """The same in the row's class."""

    def take(self, cells: NDArray[np.integer[Any]]) -> Self:
        """Some cells, which may repeat."""

    def drawn(self, cells: NDArray[np.intp], rng: Any, n: int) -> Array:
        """Draws from the posterior, float64 (n, n_classes, n_used), of cells (n_used,)."""

    @classmethod
    def joined(cls, laws: Sequence[Self]) -> Self:
        """Columns side by side as one."""

    def scaled(self, factor: float) -> Self:
        """The same under a prior `factor` times as strong."""

    def log_evidence(self) -> float:
        """log p(counts), in nats; raises ImproperPrior."""

    def prior_and_posteriors(self, cell: int, parameter: str) -> Any:
        """The distributions of the probability of a cell, which is called `parameter`; raises
        ImproperPrior."""


class Laws(Protocol):
    """How distributions of numbers are made, one of each class."""

    def scipy(self, name: str, **parameters: Array) -> Any:
        """One that scipy.stats has, by its name and names of parameters, (n_classes,) each."""

    def transformed(self, law: Any, transform: Any, light: bool) -> Any:
        """x such that a transform of it has a law of scipy.stats; `light`: whether that is
        Gaussian."""

    def beside_atoms(self, law: Any, values: Array, atoms: Array, weights: Array) -> Any:
        """Atoms (n_atoms,) with probabilities (n_classes, n_atoms), beside a mixture of the
        classes' laws with weights (n_classes, n_classes)."""


class Density(Protocol):
    """A column of numbers of a table read as an expression: log p(x | c), in nats."""

    @property
    def what(self) -> str:
        """The family, for the schema."""

    @property
    def follows_rows(self) -> bool:
        """Whether it can learn rows one by one."""

    def log_evidence_of(self, grid: GridCounts) -> float:
        """log p(rows) in nats, `grid` being the values; raises ImproperPrior."""

    def prior_and_posteriors(self, column: str) -> Any:
        """The distributions of a parameter of the column of this name; raises ImproperPrior."""

    def distribution(self, laws: Laws) -> Any:
        """What a number of each class is distributed as.

        Raises
        ------
        TypeError
            Where no law has that form.
        """

    def log_density(self, x: Array) -> Array:
        """float64 (n_rows, n_classes) of values (n_rows,)."""

    def without(self, x: Array, own: NDArray[np.intp], weight: Array) -> Array:
        """The same after each row itself is taken out; `own` is its class, `weight` its weight."""

    def drawn(self, x: Array, rng: Any, n: int) -> Array:
        """log p(x | c) under parameters drawn from their posterior, float64 (n, n_rows,
        n_classes)."""

    def of_counts(self) -> Array | None:
        """log p(x | c) of x = 0 … n − 1, float64 (n, n_classes), if a table has them."""

    def pooled_less(self) -> PooledLess | None:
        """How a row changes it, if its law is a mixture of Gaussians and classes do not borrow from
        others."""

    @property
    def law(self) -> Any:
        """The :class:`tallybayes.parameters.formula.NumberLaw` that it is, or None."""

    def described(self) -> Description:
        """The parameters in words."""


class Counts(Protocol):
    """A group of columns of a table that count together."""

    def contributions(self, x: Array) -> Array:
        """What each column adds, float64 (n_rows, n_classes, n_columns), of x (n_rows,
        n_columns)."""

    def without(self, x: Array, own: NDArray[np.intp], weight: Array) -> Array:
        """Σ of contributions over columns, (n_rows, n_classes), after each row itself is taken
        out."""

    def drawn(self, x: Array, rng: Any, n: int) -> Array:
        """Σ of contributions under parameters drawn from their posterior, float64 (n, n_rows,
        n_classes)."""

    def log_evidence(self) -> float:
        """log p(rows) of one sequence of words in each class, in nats; raises ImproperPrior."""

    def slopes(self) -> Array | None:
        """w (n_classes, n_columns) where a contribution is w·x, 0 for x = 0; else None."""

    def described(self) -> Description:
        """The parameters in words; a value a column."""


class Correlated(Protocol):
    """A group of d columns of numbers of a table that are scored together."""

    def terms(self, there: tuple[int, ...]) -> TriangularTerms:
        """log p of some of the columns, by their numbers, whatever the others are."""

    def without(self, x: Array, own: NDArray[np.intp], weight: Array) -> Array:
        """log p(x | c), (n_rows, n_classes), of rows (n_rows, d) without missing values, after each
        row itself is taken out; `own` is its class, `weight` its weight."""

    def log_evidence(self) -> float:
        """log p(rows that have all columns), in nats; raises ImproperPrior."""

    def drawn(self, x: Array, rng: Any, n: int) -> Array:
        """log p(x | c) of rows, NaN for missing values, under parameters drawn from their
        posterior, float64 (n, n_rows, n_classes)."""

    def described(self) -> Description:
        """The parameters in words."""


class TermScores(Protocol):
    """The scores of the documents of a column, by the terms that were counted."""

    def following(self, analyzer: Analyzer) -> LiveTermCounts | None:
        """The counts as ones that change in place; None where they cannot follow rows."""

    @property
    def counts(self) -> TextCounts:
        """What was counted."""

    def scores(self, documents: Documents, threads: int = 1) -> Array:
        """What each document adds, float64 (n_documents, n_classes)."""

    def contributions(self, documents: Documents) -> Array:
        """What each term of each document adds, float64 (n_entries, n_classes)."""

    def without(self, documents: Documents, own: NDArray[np.intp], weight: Array) -> Array:
        """:meth:`scores` of counted documents, each after it is taken out."""

    def at_class_means(self, row_weight: Array) -> Array:
        """The mean contribution of the documents of each class, float64 (n_classes, n_classes)."""

    def ratios_of(self, terms: NDArray[np.intp]) -> Array:
        """T of some terms, centred over classes, float64 (n_some, n_classes)."""

    def most_informative(self, max_terms: int) -> NDArray[np.intp]:
        """The places of the most informative terms, in descending order."""

    def described(self) -> Description:
        """The label of the contributions of the most informative terms."""


# ---- leave-one-out score kinds: the score of each row with the row itself taken out --------------
# A family compiles to one of them. Counts stay as counted; pseudo-counts are separate, one for all
# features (1,) or one for each (n_features,), because a small one would be lost in the sum with a
# large count. The tables have a row for each class, or a single one for all classes together,
# which serves a class that has nothing left. w is the weight of the row.
Index = NDArray[np.intp]


@dataclass(frozen=True, eq=False, kw_only=True)
class SumsWithout:
    """Σ_j x_j·[log(rest_j) − log(Σ_j rest_j)] in the row's own class c, rest_j = part[c, j] − w·x_j
    + α_j.

    Parameters
    ----------
    part : float64 array (n_classes, n_features)
    alpha : float64 array (1,) or (n_features,)
    """

    part: Array
    alpha: Array


@dataclass(frozen=True, eq=False, kw_only=True)
class PresenceWithout:
    """Σ_j log(present[c, j] − w + yes_j) over present features and Σ_j log(absent[c, j] − w + no_j)
    over the others, less Σ_j log(rows[c] − w + yes_j + no_j), in the row's own class.

    Parameters
    ----------
    present, absent : float64 arrays (n_classes, n_features)
    rows : float64 array (n_classes,)
        Rows, or weight.
    yes, no : float64 arrays (1,) or (n_features,)
    threshold : float
        x_j is present where it is above.
    """

    present: Array
    absent: Array
    rows: Array
    yes: Array
    no: Array
    threshold: float


@dataclass(frozen=True, eq=False, kw_only=True)
class ComplementWithout:
    """−Σ_j x_j·u_j, u_j = log(rest_j) − log(Σ_j rest_j), rest_j = part[c, j] − w·x_j + α_j, in the
    classes that a row is not of, divided by −Σ_j u_j over all features with `norm`. In the row's
    own class, whose complement does not hold the row, w is 0.

    Parameters
    ----------
    part : float64 array (n_classes, n_features)
        What all other classes have.
    everything : float64 array (n_features,)
        What all classes have.
    alpha : float64 array (1,) or (n_features,)
    norm : bool
    """

    part: Array
    everything: Array
    alpha: Array
    norm: bool


@dataclass(frozen=True, eq=False, kw_only=True)
class MomentsWithout:
    """A Gaussian log-density whose mean and variance are those of the other rows.

    Parameters
    ----------
    tally : Moments
        Of each class.
    everyone : Moments
        Of all classes together.
    var_smoothing : float
        Share of a variance of all classes together that is added to every variance.
    each : bool
        Of the column's own variance, not of the largest.
    plain : bool
        Whether mean and variance are those of the rows, as above, and nothing else; otherwise
        only `exact` tells.
    exact : callable (x, own, weight) -> float64 array (n_rows, n_classes)
        The score in every class, of dense rows (n_rows, n_features): whatever the counts are.
    """

    tally: Moments
    everyone: Moments
    var_smoothing: float
    each: bool
    plain: bool
    exact: Callable[[Array, Index, Array], Array]


@dataclass(frozen=True, eq=False, kw_only=True)
class CellsWithout:
    """Each column's cells; see :class:`Cells`.

    Parameters
    ----------
    laws : tuple of Cells
    """

    laws: tuple[Cells, ...]


Without = SumsWithout | PresenceWithout | ComplementWithout | MomentsWithout | CellsWithout


# ---- the error of questions that need a proper prior ---------------------------------------------
class ImproperPrior(Exception):
    """A column has no proper prior, which the question needs.

    Parameters
    ----------
    what : str
        How the column is read, as the end of a sentence: "is read as Poisson without a prior".
    instead : str
        What to declare.
    """

    what: str
    instead: str

    def __init__(self, what: str, instead: str) -> None:
        super().__init__(f"{what}: {instead}")
        self.what, self.instead = what, instead


# ---- which columns of a group have values --------------------------------------------------------
def missing_patterns(
    x: NDArray[np.float64],
) -> list[tuple[tuple[int, ...], NDArray[np.intp]]]:
    """The columns that are there, and the rows that have just these, for each pattern of missing
    values.

    Parameters
    ----------
    x : float64 array (n_rows, d)
        NaN for missing values. Rows without any value are in no pattern.
    """
    there = ~np.isnan(x)
    if there.all():
        return [(tuple(range(x.shape[1])), np.arange(len(x)))] if len(x) else []
    found, which = np.unique(there, axis=0, return_inverse=True)
    which = which.ravel()
    return [
        (tuple(np.flatnonzero(columns).tolist()), np.flatnonzero(which == i))
        for i, columns in enumerate(found)
        if columns.any()
    ]
