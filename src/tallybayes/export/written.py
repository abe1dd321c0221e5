"""A formula as SQL and ONNX compute it, which have no log Γ: what columns hold, labels, and terms.

Counts are a table with a tail; columns that are scored together are conditional densities.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from tallybayes.families.priors import correction
from tallybayes.score import (
    CellTable,
    Formula,
    GroupTerm,
    Inexpressible,
    JointCells,
    Kind,
    NumberCells,
    NumberTerm,
    OpaqueTerm,
    PooledTerms,
    Power,
    QuadraticTerms,
    Single,
    Term,
)
from tallybayes.tables.columns import EXACT, days_of_text, text_of_days, text_of_number

__all__ = [
    "A_NUMBER",
    "Conditional",
    "CountCells",
    "CountTail",
    "CountTerm",
    "Mixture",
    "Powers",
    "StudentTerm",
    "Triangular",
    "Written",
    "conditionals",
    "kinds_of",
    "labels_of",
    "number_of_level",
    "plain_labels",
    "written",
]

Array = NDArray[np.float64]

MAX_CELLS = 4096  # of a table of log p(0), log p(1), …
MIN_CELLS = 256  # from here on three terms of Stirling's series are exact
MAX_COUNT = 2.0**20  # up to it the tail is exact to 1e-9 nats
MAX_PATTERN_COLUMNS = 8  # columns up to which there is every pattern of missing values


@dataclass(frozen=True, eq=False)
class CountCells:
    """A count: 0 for a missing value or a negative number, else 1 + x as far as the cells go. A row
    with a number that is not whole has no prediction.

    Parameters
    ----------
    column : str
    size : int
    """

    column: str
    size: int


@dataclass(frozen=True, eq=False)
class Powers:
    """A number, or its `power`, as :class:`QuadraticTerms`; 0 for a missing value."""

    column: str
    terms: QuadraticTerms
    power: Power | None = None


@dataclass(frozen=True, eq=False)
class Mixture:
    """A number as :class:`PooledTerms`; 0 for a missing value."""

    column: str
    terms: PooledTerms


@dataclass(frozen=True, eq=False)
class StudentTerm:
    """term_c = constant − half·log(1 + ((x − mean)·scale)²); 0 for a missing value.

    Parameters
    ----------
    column : str
    constant, half, mean, scale : float64 arrays (n_classes,)
    power : Power, optional
        x is the `power` of the number.
    """

    column: str
    constant: Array
    half: Array
    mean: Array
    scale: Array
    power: Power | None = None


@dataclass(frozen=True, eq=False)
class CountTail:
    """The score of a count x > 0 beyond a table: M_c, or log(M_c + share·Σ M) − shift_c,

        log M_c = constant + x·log((size + x)·mean / ((size + mean)·x))
                  + (size − ½)·log(1 + x / size) − ½·log x + c(size + x) − c(x)

    with c(z) = 1/(12 z) − 1/(360 z³) + 1/(1260 z⁵): a negative binomial, its gamma functions by
    Stirling's series, arranged so that nothing large cancels.

    Parameters
    ----------
    constant, mean, size : float64 arrays (n_classes,)
    share : float, optional
        None where every class is by itself.
    shift : float64 array (n_classes,)
    """

    constant: Array
    mean: Array
    size: Array
    share: float | None
    shift: Array


@dataclass(frozen=True, eq=False)
class CountTerm:
    """term_c = scores[c, cell], and `tail` beyond the cells; a row with a number above `most` has
    no prediction.

    Parameters
    ----------
    cells : CountCells
    scores : float64 array (n_classes, size)
    tail : CountTail
    most : float
    """

    cells: CountCells
    scores: Array
    tail: CountTail
    most: float

    @property
    def column(self) -> str:
        return self.cells.column


@dataclass(frozen=True, eq=False)
class Conditional:
    """The conditional density of a column given some of the columns before it:

        r_c = Σ_i weights_ci·(x_i − mean_ci),   i over those columns and, last, the column

    Parameters
    ----------
    given : tuple of int
        Places of the columns before it that have a value.
    constant : float64 array (n_classes,)
    weights : float64 array (n_classes, len(given) + 1)
    """

    given: tuple[int, ...]
    constant: Array
    weights: Array


@dataclass(frozen=True, eq=False)
class Triangular:
    """Columns together: term_c = Σ_j constant_cj − ½·Σ_j r_cj² over the columns that have a value,
    or, with degrees of freedom ν, − ½(ν + number of these)·log(1 + Σ_j r_cj² / ν).

    Parameters
    ----------
    columns : list of str
    mean : float64 array (n_classes, n_columns)
    steps : list of lists of Conditional
        Of each column, for every set of columns before it that can have values.
    freedom : float64 array (n_classes,), optional
        ν.
    every : bool
        Whether a row with missing values among the columns has no prediction.
    """

    columns: list[str]
    mean: Array
    steps: list[list[Conditional]]
    freedom: Array | None
    every: bool


Written = CellTable | Powers | Mixture | StudentTerm | CountTerm | Triangular


# ---- what columns hold, and labels ---------------------------------------------------------------
A_NUMBER = "(a number)"
"""The level of all numbers of a column of strings."""


def kinds_of(formula: Formula, given: Mapping[str, Kind], where: str) -> dict[str, Kind]:
    """What columns hold where rows are predicted: what was learned, or what is given.

    Parameters
    ----------
    formula : Formula
    given : mapping of str to Kind
    where : str
        What holds one kind of values, for the message.
    """
    kinds = {**formula.kinds, **given}
    for name, kind in given.items():
        if name not in formula.kinds:
            raise ValueError(f"types= names {name!r}, which is not a column of the model")
        if kind not in get_args(Kind) or kind == "mixed":
            known = ", ".join(k for k in get_args(Kind) if k != "mixed")
            raise ValueError(f"types= says that {name!r} holds {kind!r}: it is one of {known}")
    for name in formula.columns:
        if kinds[name] == "mixed":
            raise Inexpressible(
                f"column {name!r} held numbers and strings in training, and {where} holds "
                f"one of them: if it holds numbers there, say types={{{name!r}: 'number'}}"
            )
    return kinds


def number_of_level(level: str, kind: Kind, levels: Sequence[str]) -> float | None:
    """A level of numbers, booleans or dates; None where no number has its text.

    Parameters
    ----------
    level : str
    kind : Kind
        What the column holds.
    levels : sequence of str
        All of the column: where they are booleans, the numbers 1 and 0 are.
    """
    if kind == "boolean":
        return {"False": 0.0, "True": 1.0}.get(level)
    if all(known in ("True", "False") for known in levels):
        level = {"True": "1", "False": "0"}[level]
    if kind == "date":
        days = days_of_text(level)
        return days if days is not None and text_of_days(days) == level else None
    try:
        number = float(level)
    except ValueError:
        return None
    if kind == "integer" and abs(number) >= EXACT:
        raise Inexpressible(
            f"the level {level!r} is a whole number of 2⁵³ or more, which float64 does not "
            "distinguish from its neighbours: store the column as text"
        )
    text = text_of_number(number) if np.isfinite(number) else str(number)
    return number if text == level else None


def labels_of(formula: Formula) -> list[str | bool | float]:
    """The labels of the classes; see :func:`plain_labels`."""
    return plain_labels(formula.classes.tolist())


def plain_labels(labels: list[Any]) -> list[str | bool | float]:
    """The labels; raises Inexpressible for one that is not a string, a number or a boolean."""
    for label in labels:
        if not isinstance(label, bool | str | numbers.Real):
            raise Inexpressible(
                f"the label {label!r} is a {type(label).__name__}: strings, numbers and booleans "
                "can be written"
            )
    return labels


# ---- from the terms of a formula -----------------------------------------------------------------
def written(terms: list[Term]) -> list[Written]:
    """The terms as SQL and ONNX compute them; raises Inexpressible."""
    return [_written(term) for term in terms]


def _written(term: Term) -> Written:
    if isinstance(term, CellTable):
        return _without_strings(term)
    if isinstance(term, OpaqueTerm):
        raise Inexpressible(term.reason)
    if isinstance(term, GroupTerm):
        return conditionals(term)
    law, column = term.law, term.column
    if law is not None and law.kind == "counts":
        return _counts(term)
    pooled = None if law is None else law.pooled()
    if pooled is not None:
        return Mixture(column, pooled)
    if law is None or law.mixture is not None:
        what = "a density of another package" if term.density is None else term.density.what
        raise Inexpressible(
            f"column {column!r} is read as {what}, which is neither a table of cells nor a "
            "polynomial: declare another family for it, such as Binned()"
        )
    assert law.constant is not None
    assert law.scale is not None
    if law.kind == "student":
        assert law.half is not None
        return StudentTerm(column, law.constant, law.half, law.mean, law.scale, law.power)
    terms = replace(law, power=None).quadratic()
    assert terms is not None
    return Powers(column, terms, law.power)


def _without_strings(term: CellTable) -> CellTable:
    """The table without strings beside numbers: a column of SQL holds one of them."""
    cells = term.cells
    if isinstance(cells, JointCells):
        # what is in no coarser cell is in a further one, which adds 0
        singles = tuple(map(_numbers, cells.cells))
        maps = tuple(
            np.where(coarse[: one.size] < 0, size, coarse[: one.size])
            for one, coarse, size in zip(singles, cells.maps, cells.sizes, strict=True)
        )
        cube = term.scores.reshape(-1, *cells.sizes)
        scores = np.pad(cube, ((0, 0), *[(0, 1)] * len(singles))).reshape(len(cube), -1)
        sizes = tuple(size + 1 for size in cells.sizes)
        return CellTable(JointCells(singles, maps, sizes), scores)
    cells = _numbers(cells)
    return CellTable(cells, term.scores[:, : cells.size])


def _numbers(cells: Single) -> Single:
    return NumberCells(cells.column, cells.starts) if isinstance(cells, NumberCells) else cells


def _counts(term: NumberTerm) -> CountTerm:
    """A table of log p(0), log p(1), …, and a tail beyond it."""
    law, density, column = term.law, term.density, term.column
    assert law is not None
    assert law.size is not None
    assert density is not None
    if law.largest > MAX_COUNT:
        raise Inexpressible(
            f"column {column!r} is read as counts by a formula, which SQL and ONNX compute exactly "
            f"up to {MAX_COUNT:,.0f}, and holds {law.largest:,.0f}: declare another family for it, "
            "such as Binned()"
        )
    n = int(min(MAX_CELLS, max(MIN_CELLS, law.largest + 1.0)))
    scores = density.log_density(np.arange(n, dtype=np.float64)).T
    scores = np.concatenate([np.zeros((len(scores), 1)), scores], axis=1)
    mean, size = law.mean, law.size
    constant = -size * np.log1p(mean / size) - correction(size) - 0.5 * np.log(2.0 * np.pi)
    tail = CountTail(constant, mean, size, None, np.zeros_like(constant))
    if law.mixture is not None:
        mixture = law.mixture
        tail = CountTail(constant + mixture.rest, mean, size, mixture.share, mixture.shift)
    return CountTerm(CountCells(column, n + 1), scores, tail, MAX_COUNT)


def conditionals(term: GroupTerm) -> Triangular:
    """Each column given those before it that have a value."""
    columns, likelihood = term.columns, term.likelihood
    n, every = len(columns), len(columns) > MAX_PATTERN_COLUMNS
    whole = likelihood.terms(tuple(range(n)))
    steps = []
    for j in range(n):
        of_these = []
        for given in [tuple(range(j))] if every else _subsets(j):
            terms = likelihood.terms((*given, j))
            of_these.append(Conditional(given, terms.constant[:, -1], terms.rotation[:, -1]))
        steps.append(of_these)
    return Triangular(list(columns), whole.mean, steps, whole.freedom, every)


def _subsets(n: int) -> Iterator[tuple[int, ...]]:
    """Every set of 0 … n − 1, in the order of the binary numbers whose digits they are."""
    for number in range(1 << n):
        yield tuple(i for i in range(n) if number >> i & 1)
