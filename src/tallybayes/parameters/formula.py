"""The score of a model as a formula that depends neither on families nor on how it is evaluated.

    score_c(x) = offset_c + Σ_t term_t(x)_c

A term looks a cell up in a table, or computes with a number. A missing value adds nothing, unless a
table has a score for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes.parameters.kinds import (
    Correlated,
    Density,
    Lookup,
    Parameters,
    PooledTerms,
    Quadratic,
    QuadraticTerms,
)
from tallybayes.tables.values import as_text

__all__ = [
    "CellTable",
    "Cells",
    "CodeCells",
    "Correction",
    "Formula",
    "GroupTerm",
    "Inexpressible",
    "Kind",
    "LawMixture",
    "LevelCells",
    "NumberCells",
    "NumberLaw",
    "NumberTerm",
    "OpaqueTerm",
    "OwnTerms",
    "PairedCells",
    "Power",
    "Single",
    "Term",
    "of_pairs",
    "of_single_columns",
    "terms_of",
]


# ---- cells of a formula: the whole number, from 0 on, by which a value is looked up --------------
Array = NDArray[np.float64]
Index = NDArray[np.intp]

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
class PairedCells:
    """Two cells together: a·width + b, where a and b are coarser cells of the two.

    Parameters
    ----------
    first, second : cells of single columns
    maps : two int arrays (size of the single cells,)
        a and b of each; −1 for none, which adds nothing.
    sizes : (int, int)
        How many a and b there are.
    """

    first: Single
    second: Single
    maps: tuple[NDArray[np.integer[Any]], NDArray[np.integer[Any]]]
    sizes: tuple[int, int]

    @property
    def width(self) -> int:
        return self.sizes[1]

    @property
    def size(self) -> int:
        return self.sizes[0] * self.sizes[1]


Cells = Single | PairedCells


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
        if isinstance(cells, PairedCells):
            return cells.first.column, cells.second.column
        return (cells.column,)


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
    """A density of one number by its formula, with g(x) = x or a `power` of x:

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
        """constant + slope·x, the constant being 0 by default."""
        none = np.zeros(len(slope))
        constant = none if constant is None else constant
        return cls(kind="quadratic", constant=constant, slope=slope, mean=none, scale=none)

    def quadratic(self) -> QuadraticTerms | None:
        """The law, if it is a polynomial of x."""
        if self.kind != "quadratic" or self.power is not None or self.mixture is not None:
            return None
        assert self.constant is not None
        assert self.scale is not None
        slope = np.zeros(len(self.mean)) if self.slope is None else self.slope
        return QuadraticTerms(self.constant, slope, self.mean, self.scale)

    def pooled(self) -> PooledTerms | None:
        """The law, if it is a mixture of Gaussians of x."""
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
    density : Density, optional
        The same as Python computes it; None of a polynomial.
    """

    column: str
    law: NumberLaw | None
    density: Density | None = None

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
    """What each column adds by itself, by name; with the columns of pairs, which may add nothing by
    themselves."""
    found: dict[str, OwnTerms] = {}
    for term in terms:
        if isinstance(term, NumberTerm):
            cells, scores, _ = found.get(term.column, (None, np.zeros((term.n_classes, 2)), None))
            found[term.column] = OwnTerms(cells, scores, term)
        elif isinstance(term, CellTable) and not isinstance(term.cells, PairedCells):
            number = found[term.cells.column].number if term.cells.column in found else None
            found[term.cells.column] = OwnTerms(term.cells, term.scores, number)
    for pair, scores in of_pairs(terms):
        for single in (pair.first, pair.second):
            nothing = np.zeros((len(scores), single.size))
            found.setdefault(single.column, OwnTerms(single, nothing, None))
    return found


def of_pairs(terms: Sequence[Term]) -> list[tuple[PairedCells, Array]]:
    """The cells of pairs of columns, and their scores (n_classes, n_cells)."""
    return [
        (term.cells, term.scores)
        for term in terms
        if isinstance(term, CellTable) and isinstance(term.cells, PairedCells)
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
