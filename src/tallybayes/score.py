"""The score of a model: the kinds of scores that a family compiles to, and the score as a value.

An engine evaluates score kinds and knows no family; a family compiles to one and knows no engine.
They do not hold the class prior. The score of a whole model is a :class:`Formula`, which depends
neither on families nor on how it is evaluated:

    score_c(x) = offset_c + Σ_t term_t(x)_c

A term looks a cell up in a table, or computes with a number. A missing value adds nothing, unless a
table has a score for it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from tallybayes.tables.columns import as_text
from tallybayes.tally import GridCounts, Moments, TextCounts

if TYPE_CHECKING:
    from tallybayes.tally.live_terms import LiveTermCounts
    from tallybayes.tokens.analyzer import Analyzer
    from tallybayes.tokens.counting import Documents

__all__ = [
    "CellTable",
    "Cells",
    "CellsWithout",
    "CodeCells",
    "ComplementWithout",
    "Correction",
    "Correlated",
    "Counts",
    "Description",
    "DocumentLikelihood",
    "Formula",
    "GroupLikelihood",
    "GroupTerm",
    "ImproperPrior",
    "Inexpressible",
    "JointCells",
    "Kind",
    "LawMixture",
    "Laws",
    "LevelCells",
    "Linear",
    "Lookup",
    "LookupLaw",
    "MomentsWithout",
    "NumberCells",
    "NumberDensity",
    "NumberLaw",
    "NumberTerm",
    "OpaqueTerm",
    "OwnTerms",
    "Parameters",
    "PooledLess",
    "PooledTerms",
    "Power",
    "PresenceWithout",
    "Quadratic",
    "QuadraticTerms",
    "Single",
    "SumsWithout",
    "Term",
    "TermSums",
    "TextTerm",
    "TriangularTerms",
    "Unseen",
    "Without",
    "missing_patterns",
    "of_joint_tables",
    "of_single_columns",
    "terms_of",
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


class LookupLaw(Protocol):
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


# ---- what a family makes of the counts: the contracts of likelihoods -----------------------------
# A likelihood of levels, or of bins of a number, is a law of cells: LookupLaw.
class NumberDensity(ABC):
    """A likelihood log p(x | c) of numbers, estimated from the counts of a column.

    A family has to give the four abstract methods and `what`. By default, the others declare that
    there is no closed form, no prior and no strength to choose.

    Attributes
    ----------
    follows_rows : bool
        Whether it is a :class:`tallybayes.families.contract.LearningDensity`.
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
    def of_counts(self) -> Array | None:
        """log p(x | c) of x = 0 … n − 1, float64 (n, n_classes), where a table has them."""
        return None

    def pooled_less(self) -> PooledLess | None:
        """How a row changes it, where its law is a mixture of Gaussians."""
        return None

    @property
    def law(self) -> NumberLaw | None:
        """log p(x | c), up to a term that all classes share, by its formula, where it has one."""
        return None

    # ---- the strength of the prior ---------------------------------------------------------------
    @property
    def tunable(self) -> Any:
        """The density, where the strength of its prior is chosen when the model's alpha is."""
        return None

    def tuned(self, tuning: Any, grid: GridCounts) -> tuple[Any, float | None]:
        """The density with a prior as strong as it is to be.

        Parameters
        ----------
        tuning : Tuning
            How strong the prior is made.
        grid : GridCounts
            Grid counts of the column.

        Returns
        -------
        NumberDensity
            The density, or this one where nothing is chosen.
        float or None
            The strength, where it was chosen.
        """
        return tuning.of_density(self, grid)  # type: ignore[no-any-return]

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

    def prior_and_posteriors(self, column: str) -> Any:
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


class GroupLikelihood(ABC):
    """The likelihood of a group of columns, from their joint counts.

    Besides these methods it has those of its score kind, of :class:`Counts` or
    :class:`Correlated`.

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

    def tuned(self, tuning: Any) -> tuple[GroupLikelihood, float | None]:
        """The group with a prior as strong as it is to be, and its smoothing where that was
        chosen."""
        return self, None


class Counts(GroupLikelihood):
    """A group of columns that count together."""

    score_kind = "counts"

    @abstractmethod
    def contributions(self, x: Array) -> Array:
        """What each column adds, float64 (n_rows, n_classes, n_columns), of x (n_rows,
        n_columns); their sum is the score."""

    @abstractmethod
    def slopes(self) -> Array | None:
        """w (n_classes, n_columns) where a contribution is w·x, 0 for x = 0; else None."""


class Correlated(GroupLikelihood):
    """A group of d columns of numbers that are scored together. Rows without :meth:`without` may
    have missing values, NaN."""

    score_kind = "triangular"

    @abstractmethod
    def terms(self, there: tuple[int, ...]) -> TriangularTerms:
        """log p of some of the columns, by their numbers, whatever the others are."""


class DocumentLikelihood(ABC):
    """The likelihood of the documents of a column.

    Attributes
    ----------
    counts : TextCounts
        What was counted, with the terms that documents are made rows of.
    """

    counts: TextCounts

    @property
    @abstractmethod
    def in_schema(self) -> str:
        """The family, for the schema."""

    @abstractmethod
    def scores(self, documents: Documents, threads: int = 1) -> Array:
        """What each document adds, float64 (n_documents, n_classes), in nats, less its mean over
        the classes; 0 for one without terms.

        Parameters
        ----------
        documents : Documents
            As rows of the counted terms.
        threads : int
            How many; the result does not depend on it.
        """

    @abstractmethod
    def contributions(self, documents: Documents) -> Array:
        """What each term of each document adds, float64 (n_entries, n_classes)."""

    @abstractmethod
    def without(self, documents: Documents, own: NDArray[np.intp], weight: Array) -> Array:
        """:meth:`scores` of counted documents, each after it is taken out; `own` is its class,
        `weight` its weight."""

    @abstractmethod
    def at_class_means(self, row_weight: Array) -> Array:
        """The mean contribution of the documents of each class, each without its own counts,
        float64 (n_classes, n_classes); `row_weight` is the weight of a row of each class."""

    @abstractmethod
    def most_informative(self, max_terms: int) -> NDArray[np.intp]:
        """The places of at most `max_terms` most informative terms, in descending order."""

    def following(self, analyzer: Analyzer) -> LiveTermCounts | None:
        """The counts as ones that change in place, with :meth:`scores` up to a number of the
        document; None, by default, where rows that are learned one by one need a new reading."""
        return None

    def sums(self) -> list[TermSums]:
        """:meth:`scores` as sums over terms, up to a number of the document.

        Raises
        ------
        Inexpressible
            By default.
        """
        raise Inexpressible(
            f"a column of text is read by {type(self).__name__}, whose score is not given as sums "
            "over terms: declare Text() for it"
        )

    @abstractmethod
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
    """Each column's cells; see :class:`LookupLaw`.

    Parameters
    ----------
    laws : tuple of LookupLaw
    """

    laws: tuple[LookupLaw, ...]


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


# ---- cells of a formula: the whole number, from 0 on, by which a value is looked up --------------

Kind = Literal["text", "number", "integer", "decimal", "boolean", "date", "mixed"]
"""What values of a column are; "mixed" are numbers with strings among them."""


class Inexpressible(ValueError):
    """A term of a model cannot be computed outside of Python; the message gives the reason."""


@dataclass(frozen=True, eq=False)
class LevelCells:
    """The level of a value: 0 for a missing value, 1 + i for levels[i], the last for any other.

    Parameters
    ----------
    column : str
    levels : list of str
    refuses_others : bool
        Whether a row with any other level has no prediction.
    """

    column: str
    levels: list[str]
    refuses_others: bool = False

    @property
    def size(self) -> int:
        return len(self.levels) + 2

    def of_numbers(self, x: Array) -> Index:
        """The cells of numbers, which are levels as they are written."""
        return self.of_strings([as_text(value) for value in x.tolist()])

    def of_strings(self, strings: Sequence[str]) -> Index:
        """The cells of strings."""
        at = {level: 1 + i for i, level in enumerate(self.levels)}
        return np.array([at.get(text, self.size - 1) for text in strings], dtype=np.intp)


@dataclass(frozen=True, eq=False)
class NumberCells:
    """The interval of a number: 0 for a missing value, else 1 + the number of starts ≤ x; then the
    strings beside the numbers.

    Parameters
    ----------
    column : str
    starts : float64 array (n_starts,)
        Ascending, finite.
    strings : sequence of str
    takes_others : bool
        Whether the last cell is that of any other string; else a row with one has no prediction.
    """

    column: str
    starts: Array
    strings: Sequence[str] = ()
    takes_others: bool = False

    @property
    def size(self) -> int:
        return len(self.starts) + 2 + len(self.strings) + self.takes_others

    def of_numbers(self, x: Array) -> Index:
        """The cells of numbers; NaN is a missing value."""
        cells = 1 + np.searchsorted(self.starts, x, side="right")
        return np.where(np.isnan(x), 0, cells)

    def of_strings(self, strings: Sequence[str]) -> Index:
        """The cells of strings."""
        first = len(self.starts) + 2
        at = {text: first + i for i, text in enumerate(self.strings)}
        return np.array([at.get(text, self.size - 1) for text in strings], dtype=np.intp)


@dataclass(frozen=True, eq=False)
class CodeCells:
    """A whole number from 0 as it is; size − 1 for those beyond. A row with another value has no
    prediction.

    Parameters
    ----------
    column : str
    size : int
    truncates : bool
        Whether other numbers are cut to whole ones first.
    refuses_others : bool
        Whether a row with a number beyond has no prediction.
    """

    column: str
    size: int
    truncates: bool = False
    refuses_others: bool = False

    def of_numbers(self, x: Array) -> Index:
        """The cells of whole numbers from 0 on."""
        return np.minimum(x, self.size - 1.0).astype(np.intp)

    def of_strings(self, strings: Sequence[str]) -> Index:
        """No cells: codes are numbers."""
        raise ValueError(f"column {self.column!r} holds codes, got {list(strings)}")


Single = LevelCells | NumberCells | CodeCells


@dataclass(frozen=True, eq=False)
class JointCells:
    """Cells of two columns or more together: of two a·size + b, where a and b are coarser cells of
    the two and there are `size` of the second.

    Parameters
    ----------
    cells : tuple of cells of single columns
    maps : tuple of int arrays (size of the single cells,)
        The coarser cells of each; −1 for none, which adds nothing.
    sizes : tuple of int
        How many coarser cells there are of each.
    """

    cells: tuple[Single, ...]
    maps: tuple[NDArray[np.integer[Any]], ...]
    sizes: tuple[int, ...]

    @property
    def size(self) -> int:
        return prod(self.sizes)

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(cells.column for cells in self.cells)

    @property
    def strides(self) -> tuple[int, ...]:
        """By how many joint cells the next coarser cell of each column is away."""
        return tuple(prod(self.sizes[i + 1 :]) for i in range(len(self.sizes)))


Cells = Single | JointCells


# ---- terms of a formula: what a cell of a table, or a number, adds to each class -----------------
@dataclass(frozen=True, eq=False)
class CellTable:
    """term_c = scores[c, cell].

    Parameters
    ----------
    cells : cells
    scores : float64 array (n_classes, size)
        In nats; finite or −inf.
    """

    cells: Cells
    scores: Array

    @property
    def columns(self) -> tuple[str, ...]:
        cells = self.cells
        return cells.columns if isinstance(cells, JointCells) else (cells.column,)


@dataclass(frozen=True, eq=False)
class Power:
    """The number g(x) in place of x: its logarithm, or its power by Yeo and Johnson (2000),
    equation (2.1),

        g(x) = sign(x)·((|x| + 1)^e − 1) / e,   e = λ for x ≥ 0, 2 − λ for x < 0

    with sign(x)·log(|x| + 1) where e is 0.

    Parameters
    ----------
    kind : {"log", "yeo-johnson"}
    exponent : float
        λ.
    """

    kind: Literal["log", "yeo-johnson"]
    exponent: float


class LawMixture(NamedTuple):
    """Rows of all classes that each class has besides its own, and atoms.

    With the density as log f_c(x),

        log p(x|c) = log(M_c(x) + share·Σ_c M_c(x)) − shift_c,   log M_c(x) = log f_c(x) + rest_c

    but log M_c = atoms[a, c] at an atom, low_a ≤ x < high_a, and 0 in every class where all M_c(x)
    are 0.

    Parameters
    ----------
    low, high : float64 arrays (n_atoms,)
    atoms : float64 array (n_atoms, n_classes)
    rest, shift : float64 arrays (n_classes,)
    share : float
    """

    low: Array
    high: Array
    atoms: Array
    rest: Array
    shift: Array
    share: float


@dataclass(frozen=True, eq=False, kw_only=True)
class NumberLaw:
    """A density of one number by its formula.

    With g(x) = x, or a `power` of x, it is one of

        quadratic  constant + slope·g − ((g − mean)·scale)² + log g'(x),   no slope where g is 0
        student    constant − half·log(1 + ((g − mean)·scale)²) + log g'(x)
        counts     log Γ(r + x) − log Γ(r) − log Γ(x + 1) + x log(m / (r + m)) − r log(1 + m/r)

    Parameters
    ----------
    kind : {"quadratic", "student", "counts"}
    mean : float64 array (n_classes,)
        m of counts.
    constant, scale, slope, half : float64 arrays (n_classes,), optional
        Not of counts; slope of quadratic and half of student only. A slope may be −inf.
    size : float64 array (n_classes,), optional
        r of counts.
    largest : float
        The largest count that was learned.
    power : Power, optional
        g; x itself by default.
    mixture : LawMixture, optional
        Where the classes share some rows.
    """

    kind: Literal["quadratic", "student", "counts"]
    mean: Array
    constant: Array | None = None
    scale: Array | None = None
    slope: Array | None = None
    half: Array | None = None
    size: Array | None = None
    largest: float = 0.0
    power: Power | None = None
    mixture: LawMixture | None = None

    @classmethod
    def of_slopes(cls, slope: Array, constant: Array | None = None) -> NumberLaw:
        """The law constant + slope·x.

        Parameters
        ----------
        slope : float64 array (n_classes,)
            It may be −inf; x = 0 has none.
        constant : float64 array (n_classes,), optional
            0 by default.
        """
        none = np.zeros(len(slope))
        constant = none if constant is None else constant
        return cls(kind="quadratic", constant=constant, slope=slope, mean=none, scale=none)

    def quadratic(self) -> QuadraticTerms | None:
        """The law as terms of a polynomial of x; None if it is none."""
        if self.kind != "quadratic" or self.power is not None or self.mixture is not None:
            return None
        assert self.constant is not None
        assert self.scale is not None
        slope = np.zeros(len(self.mean)) if self.slope is None else self.slope
        return QuadraticTerms(self.constant, slope, self.mean, self.scale)

    def pooled(self) -> PooledTerms | None:
        """The law as a mixture of Gaussians of x; None if it is none."""
        mixture = self.mixture
        if self.kind != "quadratic" or self.power is not None or mixture is None:
            return None
        assert self.constant is not None
        assert self.scale is not None
        constant = self.constant + mixture.rest
        low, high, atoms, _, shift, share = mixture
        return PooledTerms(low, high, atoms, constant, self.mean, self.scale, shift, share)


@dataclass(frozen=True, eq=False)
class NumberTerm:
    """The density of a number; 0 for a missing value.

    Parameters
    ----------
    column : str
    law : NumberLaw, optional
        The density by its formula, where it has one.
    density : NumberDensity, optional
        The same as Python computes it; None of a polynomial.
    """

    column: str
    law: NumberLaw | None
    density: NumberDensity | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    @property
    def n_classes(self) -> int:
        if self.law is not None:
            return len(self.law.mean)
        assert self.density is not None
        return int(self.density.log_density(np.zeros(1)).shape[1])

    def of_numbers(self, x: Array) -> Array:
        """What numbers add, float64 (n, n_classes); NaN adds nothing."""
        there = ~np.isnan(x)
        if self.density is not None:
            of_there = self.density.log_density(x[there])
        else:
            assert self.law is not None
            terms = self.law.quadratic()
            assert terms is not None
            g = x[there][:, None]
            with np.errstate(invalid="ignore"):  # 0 · −inf
                slope = np.where(g == 0.0, 0.0, g * terms.slope)
            of_there = terms.constant + slope - ((g - terms.mean) * terms.scale) ** 2
        found = np.zeros((len(x), of_there.shape[1]))
        found[there] = of_there
        return found


@dataclass(frozen=True, eq=False)
class GroupTerm:
    """Numbers that are scored together: the joint density of those that a row has.

    Parameters
    ----------
    columns : tuple of str
    likelihood : Correlated
    """

    columns: tuple[str, ...]
    likelihood: Correlated


@dataclass(frozen=True, eq=False)
class OpaqueTerm:
    """What only Python computes.

    Parameters
    ----------
    columns : tuple of str
    reason : str
        Why, as the message of an error.
    """

    columns: tuple[str, ...]
    reason: str


@dataclass(frozen=True, eq=False, kw_only=True)
class TermSums:
    """What the terms of a text add to the score of each class:

        h · Σ_t x_t (common[cell_t, c] + pair_tc),   x_t = f(n_t)·by_t

    over the terms t that the text has n_t > 0 times.

    Parameters
    ----------
    frequency : {"presence", "count", "log", "single"}
        f(n): 1, n, log(1 + n), or log(1 + n) in float32.
    by : float64 array (n_terms,), optional
        1 by default.
    length : {"sum", "squares"}, optional
        h: (max(Σ x_t, shortest) / mean_length)^−power, or 1/√Σ x_t²; 1 by default, and for a text
        without terms.
    mean_length, power, shortest : float
    cell : int array (n_terms,)
        −1 for no common number.
    common : float array (n_cells, n_classes)
    start : int64 array (n_terms + 1,), optional
        Term t has the pairs ``start[t] … start[t+1] − 1``.
    classes : int array (n_pairs,), optional
    pair : float64 array (n_pairs,), optional
    """

    frequency: Literal["presence", "count", "log", "single"]
    by: Array | None = None
    length: Literal["sum", "squares"] | None = None
    mean_length: float = 1.0
    power: float = 1.0
    shortest: float = 0.0
    cell: NDArray[np.integer[Any]]
    common: NDArray[np.floating[Any]]
    start: NDArray[np.int64] | None = None
    classes: NDArray[np.integer[Any]] | None = None
    pair: Array | None = None

    def of_classes(self, weight: float, classes: NDArray[np.intp], n_classes: int) -> TermSums:
        """The sums times a weight, of these classes among more, to which they add nothing: their
        mean over these classes is 0."""
        common, cell, mean = self.common, self.cell, np.zeros(len(self.cell))
        found = self
        if self.start is not None and self.classes is not None and self.pair is not None:
            of_pairs = classes[self.classes]
            found = replace(found, classes=of_pairs, pair=weight * self.pair)
            if len(classes) < n_classes:
                term = np.repeat(np.arange(len(cell)), np.diff(self.start))
                mean = np.bincount(term, self.pair, len(cell)) / len(classes)
        cells, cell = np.unique(np.stack([cell, mean], axis=1), axis=0, return_inverse=True)
        rows = np.concatenate([common, np.zeros((1, len(classes)))])[cells[:, 0].astype(np.intp)]
        common = np.zeros((len(cells), n_classes))
        common[:, classes] = weight * (rows - rows.mean(axis=1, keepdims=True) - cells[:, 1:])
        return replace(found, cell=cell.ravel(), common=common)

    def take(self, terms: NDArray[np.intp]) -> TermSums:
        """The sums of some terms."""
        cells, cell = np.unique(self.cell[terms], return_inverse=True)
        blank = int(len(cells) > 0 and cells[0] < 0)
        common = self.common[cells[blank:]]
        by = None if self.by is None else self.by[terms]
        found = replace(self, by=by, cell=cell - blank, common=common)
        if self.start is None or self.classes is None or self.pair is None:
            return found
        sizes = np.diff(self.start)[terms]
        start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        places = np.repeat(self.start[terms] - start[:-1], sizes) + np.arange(start[-1])
        return replace(found, start=start, classes=self.classes[places], pair=self.pair[places])


@dataclass(frozen=True, eq=False)
class TextTerm(OpaqueTerm):
    """What a text adds, by its terms; 0 for a missing one.

    Parameters are those of OpaqueTerm, for what cannot cut documents into terms, and:

    analyzer : Analyzer, optional
        How a text is cut into terms; None where that is a function of Python.
    terms : array (n_terms,)
        Distinct and sorted: strings, or numbers of hash buckets. Others are left out.
    sums : callable
        () → the list of TermSums that are added.
    """

    analyzer: Analyzer | None
    terms: NDArray[Any]
    sums: Callable[[], list[TermSums]]


Term = CellTable | NumberTerm | GroupTerm | OpaqueTerm


class OwnTerms(NamedTuple):
    """What a column adds by itself: a table, a density, or both.

    Parameters
    ----------
    cells : cells of a single column, optional
    scores : float64 array (n_classes, n_cells)
        Of the cells; without any, two zeros a class, of a missing value and of a number.
    number : NumberTerm, optional
    """

    cells: Single | None
    scores: Array
    number: NumberTerm | None


def of_single_columns(terms: Sequence[Term]) -> dict[str, OwnTerms]:
    """What each column adds by itself, by name; with the columns of joint tables, which may add
    nothing by themselves."""
    found: dict[str, OwnTerms] = {}
    for term in terms:
        if isinstance(term, NumberTerm):
            cells, scores, _ = found.get(term.column, (None, np.zeros((term.n_classes, 2)), None))
            found[term.column] = OwnTerms(cells, scores, term)
        elif isinstance(term, CellTable) and not isinstance(term.cells, JointCells):
            number = found[term.cells.column].number if term.cells.column in found else None
            found[term.cells.column] = OwnTerms(term.cells, term.scores, number)
    for joint, scores in of_joint_tables(terms):
        for single in joint.cells:
            nothing = np.zeros((len(scores), single.size))
            found.setdefault(single.column, OwnTerms(single, nothing, None))
    return found


def of_joint_tables(terms: Sequence[Term]) -> list[tuple[JointCells, Array]]:
    """The joint cells of columns, and their scores (n_classes, n_cells)."""
    return [
        (term.cells, term.scores)
        for term in terms
        if isinstance(term, CellTable) and isinstance(term.cells, JointCells)
    ]


# ---- the formula: offset, terms, corrections -----------------------------------------------------
@dataclass(frozen=True, eq=False, kw_only=True)
class Correction:
    """The correction of the probabilities p that the scores give.

    Parameters
    ----------
    beta : float
        p' ∝ p^β. The most probable class stays the same.
    knots, values : tuples of float64 arrays
        p'_c ∝ the piecewise linear function of the log-odds of c, or of the last of two classes
        alone, mixed with p^β by `share`; none where empty.
    share : float
        Of the piecewise linear functions.
    prior_share : float
        p' = (1 − ε)·p + ε·prior.
    prior : float64 array (n_classes,)
        Probabilities of the classes in that mixture.
    most : float
        The largest probability of that mixture.
    """

    beta: float = 1.0
    knots: tuple[Array, ...] = ()
    values: tuple[Array, ...] = ()
    share: float = 1.0
    prior_share: float = 0.0
    prior: Array = field(default_factory=lambda: np.empty(0))
    most: float = 1.0

    @property
    def moves_labels(self) -> bool:
        """Whether another class than that of the best score can become the most probable one."""
        return bool(self.knots) or self.prior_share > 0.0


@dataclass(frozen=True, eq=False, kw_only=True)
class Formula:
    """A model that predicts.

    Parameters
    ----------
    classes : array (n_classes,)
        Labels.
    offset : float64 array (n_classes,)
    terms : list of terms
        In the order in which they are added.
    ruled_out : float64 array (n_classes,)
        The probabilities, after corrections, of a row whose scores are all −inf.
    fallback : int
        The class of such a row, by its place.
    kinds : mapping of str to Kind
        What the columns hold.
    least : mapping of str to int
        Columns whose numbers are not negative (1), or positive (2): rows with other numbers have no
        prediction.
    takes_missing : bool
        Whether a row with a missing value has a prediction.
    has_names : bool
        Whether the columns' names are the data's own.
    correction : Correction
    """

    classes: NDArray[Any]
    offset: Array
    terms: list[Term]
    ruled_out: Array
    fallback: int
    kinds: Mapping[str, Kind]
    least: Mapping[str, int] = field(default_factory=dict)
    takes_missing: bool = True
    has_names: bool = True
    correction: Correction = Correction()

    @property
    def may_rule_out(self) -> bool:
        """Whether all scores of a row may be −∞."""
        tables = [term.scores for term in self.terms if isinstance(term, CellTable)]
        computed = len(tables) < len(self.terms)
        return computed or bool(any(np.isneginf(t).any() for t in [self.offset, *tables]))

    def truncating(self) -> Formula:
        """The same, whose columns of codes cut numbers to whole ones."""
        terms: list[Term] = []
        for term in self.terms:
            if isinstance(term, CellTable) and isinstance(term.cells, CodeCells):
                term = CellTable(replace(term.cells, truncates=True), term.scores)
            terms.append(term)
        return replace(self, terms=terms)

    @property
    def columns(self) -> list[str]:
        """The columns that are read, in order of appearance."""
        return list(dict.fromkeys(name for term in self.terms for name in term.columns))


# ---- the score kinds of arrays as terms of a formula ---------------------------------------------
def terms_of(
    parameters: Parameters,
    names: Sequence[str],
    levels: Sequence[Sequence[str]] | None = None,
) -> tuple[Array, list[Term]]:
    """A term for each column, and what is left of the offset. What the offset has of a column, such
    as log P(x_j = 0 | c) of each feature, is part of the column's term.

    Parameters
    ----------
    parameters : Lookup, Linear or Quadratic
    names : sequence of str
        Of the columns.
    levels : sequence of sequences of str, optional
        Of columns whose codes stand for levels.
    """
    offset: Array = parameters.offset.copy()
    none = np.zeros(len(offset))
    terms: list[Term] = []
    for j, name in enumerate(names):
        if isinstance(parameters, Lookup):
            terms.append(_lookup(parameters, j, name, None if levels is None else levels[j]))
        elif isinstance(parameters, Quadratic):
            mean, scale = parameters.mean[:, j], parameters.scale[:, j]
            constant = np.log(scale)  # of a density, the part that depends on the class
            offset -= constant
            law = NumberLaw(kind="quadratic", constant=constant, mean=mean, scale=scale)
            terms.append(NumberTerm(name, law))
        elif parameters.threshold is None and parameters.required is None:
            slope = np.ascontiguousarray(parameters.weights[:, j])
            terms.append(NumberTerm(name, NumberLaw.of_slopes(slope)))
        else:
            absent, present = none, parameters.weights[:, j]
            if parameters.required is not None:
                absent = np.where(parameters.required[:, j], -np.inf, 0.0)
            elif parameters.threshold is not None:
                absent = -np.logaddexp(0.0, present)
                offset, present = offset - absent, absent + present
            threshold = 0.0 if parameters.threshold is None else parameters.threshold
            cells = NumberCells(name, np.array([np.nextafter(threshold, np.inf)]))
            terms.append(CellTable(cells, np.stack([absent, absent, present], axis=1)))
    return offset, terms


def _lookup(lookup: Lookup, j: int, name: str, levels: Sequence[str] | None) -> Term:
    table = lookup.table[:, lookup.start[j] : lookup.start[j + 1]]
    refuses = lookup.unseen == "error"
    if levels is None:
        return CellTable(CodeCells(name, table.shape[1], refuses_others=refuses), table)
    known = list(levels)
    of_levels = [table[:, i] for i in range(len(known))]
    nothing = np.zeros(len(table))  # missing values have no prediction
    scores = np.stack([nothing, *of_levels, table[:, -1]], axis=1)
    return CellTable(LevelCells(name, known, refuses), scores)
