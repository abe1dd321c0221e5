"""A model as a page evaluates it: readers of columns, terms that add to scores, and the link.

A form is made of any model of arrays or tables; nothing in it depends on the kind of model.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import takewhile
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from tallybayes.models.array import ArrayModel
from tallybayes.models.calibration import Calibration, Isotonic, Temperature
from tallybayes.models.table import TableModel
from tallybayes.models.weighted import WeightedModel, coarse_labels
from tallybayes.parameters import Lookup, Parameters, PooledTerms, Quadratic, TriangularTerms
from tallybayes.parameters.formula import NumberLaw
from tallybayes.tally import GridCounts
from tallybayes.weighted.cells import ColumnCells

__all__ = [
    "NO_ENTRY",
    "REFUSED_ENTRY",
    "CellTerm",
    "ColumnReader",
    "CurveTerm",
    "DensityTerm",
    "Form",
    "GroupTerm",
    "LawTerm",
    "Link",
    "PairTerm",
    "PooledTerm",
    "QuadraticTerm",
    "Term",
    "exact",
    "exact_single",
    "form_of_array",
    "form_of_table",
    "form_of_weighted",
    "front_coded",
    "names_of_array",
    "rounded",
    "whole",
]

Array = NDArray[np.float64]


# ---- the form: what every row has, columns, terms, and the link to probabilities -----------------
@dataclass(frozen=True, eq=False)
class Link:
    """From scores to probabilities: softmax, then a calibration, then a share of the class prior.

    Parameters
    ----------
    fallback : float64 array (n_classes,)
        The scores of a row that every class rules out: log P(c).
    calibration : Temperature or Isotonic, optional
    prior : float64 array (n_classes,), optional
        The class prior that has a share in each probability.
    prior_share : float
    """

    fallback: Array
    calibration: Calibration | None = None
    prior: Array | None = None
    prior_share: float = 0.0

    def document(self) -> dict[str, Any]:
        """The link as JSON."""
        found: dict[str, Any] = {"fallback": exact(self.fallback), "priorShare": self.prior_share}
        if self.prior is not None:
            found["prior"] = exact(self.prior)
        if isinstance(self.calibration, Temperature):
            found["calibration"] = {"kind": "temperature", "beta": self.calibration.beta}
        if isinstance(self.calibration, Isotonic):
            found["calibration"] = {
                "kind": "isotonic",
                "knots": [exact(knots) for knots in self.calibration.knots],
                "values": [exact(values) for values in self.calibration.values],
                "share": self.calibration.share,
                "beta": self.calibration.beta,
            }
        return found


@dataclass(frozen=True, eq=False)
class Form:
    """A model as a page evaluates it.

    Parameters
    ----------
    base : float64 array (n_classes,)
        What every row has, in nats.
    columns : list of ColumnReader
    terms : list of Term
    link : Link
    without_form : list of str
        Columns that add to the score but have no such form: columns of text.
    """

    base: Array
    columns: list[ColumnReader]
    terms: list[Term]
    link: Link
    without_form: list[str] = field(default_factory=list)

    @property
    def size(self) -> int:
        """How many numbers a page has to hold."""
        return sum(term.size for term in self.terms)

    def term_of(self, column: int) -> CellTerm | DensityTerm | None:
        """The term of a single column; None where it has none."""
        return self._of_single_columns.get(column)

    @cached_property
    def _of_single_columns(self) -> dict[int, CellTerm | DensityTerm]:
        single = (CellTerm, QuadraticTerm, PooledTerm, CurveTerm, LawTerm)
        return {term.columns[0]: term for term in self.terms if isinstance(term, single)}

    def scores_of(self, column: int, numbers: Array, levels: list[str], missing: bool) -> Array:
        """What values of one column add: numbers, then levels, then a missing value if `missing`,
        float64 (n, n_classes); zeros where the column has no term by itself."""
        reader, term = self.columns[column], self.term_of(column)
        n = len(numbers) + len(levels) + missing
        if term is None:
            return np.zeros((n, len(self.base)))
        entries = np.array([reader.entry_of_level(level) for level in levels], dtype=np.intp)
        if len(numbers):
            entries = np.concatenate([reader.entries_of_numbers(numbers), entries])
        entries = np.append(entries, [reader.missing] * missing).astype(np.intp)
        if isinstance(term, CellTerm):
            return term.of_entries(entries)
        found = CellTerm(term.columns, term.beside).of_entries(entries)
        found[: len(numbers)] += term.of_numbers(numbers)
        return found

    def document(self) -> dict[str, Any]:
        """The form as JSON."""
        return {
            "base": exact(self.base),
            "columns": [column.document() for column in self.columns],
            "terms": [term.document() for term in self.terms],
            "link": self.link.document(),
        }


# ---- how a page reads a value of a column: the entry of the table for it -------------------------
NO_ENTRY = -1
"""The entry of a value that adds nothing."""
REFUSED_ENTRY = -2
"""The entry of a value that the model does not accept."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ColumnReader:
    """The entries of a column's values.

    Parameters
    ----------
    name : str
    missing : int
        The entry of a missing value.
    starts : float64 array (n_numbers − 1,), optional
        For a column with numbers: a number is in the entry ``first_number`` plus the count of
        starts at or below it.
    first_number : int
    levels : mapping of str to int
        The entries of levels.
    other : int
        The entry of a level that is not listed.
    least : int
        1 where negative numbers are refused, 2 where zero is refused as well.
    """

    name: str
    missing: int
    starts: Array | None = None
    first_number: int = 0
    levels: Mapping[str, int] = field(default_factory=dict)
    other: int = NO_ENTRY
    least: int = 0

    def entries_of_numbers(self, values: Array) -> NDArray[np.intp]:
        """The entry of each number; NaN is a missing value."""
        assert self.starts is not None
        found = self.first_number + np.searchsorted(self.starts, values, side="right")
        return np.where(np.isnan(values), self.missing, found)

    def entry_of_level(self, level: str) -> int:
        """The entry of a level."""
        return self.levels.get(level, self.other)

    def document(self) -> dict[str, Any]:
        """The reader as JSON."""
        return {
            "name": self.name,
            "missing": self.missing,
            "starts": None if self.starts is None else exact(self.starts),
            "firstNumber": self.first_number,
            "levels": list(self.levels),
            "entries": list(self.levels.values()),
            "other": self.other,
            "least": self.least,
        }


# ---- terms: lookups, pairs of lookups, and densities of one number or of several -----------------
class Term(Protocol):
    """The contribution of one column, or several, to the score of each class."""

    @property
    def columns(self) -> tuple[int, ...]:
        """The columns by their place among the readers."""

    @property
    def size(self) -> int:
        """How many numbers a page has to hold."""

    def document(self) -> dict[str, Any]:
        """The term as JSON."""


class DensityTerm(Term, Protocol):
    """A term of one number, with the scores of a missing value, a number, and a string."""

    @property
    def beside(self) -> Array:
        """What the kinds of values add, float64 (n_kinds, n_classes)."""

    def of_numbers(self, x: Array) -> Array:
        """What numbers add without ``beside``, float64 (n, n_classes)."""


@dataclass(frozen=True, eq=False)
class CellTerm:
    """``table[entry]``.

    Parameters
    ----------
    columns : tuple of int
    table : float64 array (n_entries, n_classes)
    """

    columns: tuple[int, ...]
    table: Array

    @property
    def size(self) -> int:
        return self.table.size

    def of_entries(self, entries: NDArray[np.intp]) -> Array:
        """What entries add, float64 (n, n_classes)."""
        found: Array = np.where((entries >= 0)[:, None], self.table[np.maximum(entries, 0)], 0.0)
        return found

    def document(self) -> dict[str, Any]:
        return {"kind": "cells", "columns": list(self.columns), "table": exact(self.table)}


@dataclass(frozen=True, eq=False)
class PairTerm:
    """``table[first[entry] * width + second[entry']]``; nothing where one of them is −1.

    Parameters
    ----------
    columns : (int, int)
    maps : two integer arrays
        The coarser cell of each entry of a column.
    sizes : (int, int)
    table : float64 array (sizes[0]·sizes[1], n_classes)
    labels : two lists of str
        The coarser cells in words.
    """

    columns: tuple[int, ...]
    maps: tuple[NDArray[Any], NDArray[Any]]
    sizes: tuple[int, int]
    table: Array
    labels: tuple[list[str], list[str]]

    @property
    def size(self) -> int:
        return self.table.size

    def document(self) -> dict[str, Any]:
        return {
            "kind": "pair",
            "columns": list(self.columns),
            "maps": [codes.tolist() for codes in self.maps],
            "sizes": list(self.sizes),
            "table": exact(self.table),
            "labels": [list(words) for words in self.labels],
        }


@dataclass(frozen=True, eq=False)
class QuadraticTerm:
    """For a number ``constant + slope·x − ((x − mean)·scale)²``, where x = 0 has no slope; plus
    ``beside[entry]`` for the kind of the value.

    Parameters
    ----------
    columns : tuple of int
    constant, slope, mean, scale : float64 arrays (n_classes,)
    beside : float64 array (n_kinds, n_classes)
        A missing value, a number, and the strings beside numbers.
    """

    columns: tuple[int, ...]
    constant: Array
    slope: Array
    mean: Array
    scale: Array
    beside: Array

    @property
    def size(self) -> int:
        return 4 * len(self.constant) + self.beside.size

    def of_numbers(self, x: Array) -> Array:
        """What numbers add without ``beside``, float64 (n, n_classes)."""
        with np.errstate(invalid="ignore"):  # 0 · −inf
            slope = np.where(x[:, None] == 0.0, 0.0, x[:, None] * self.slope)
        found: Array = self.constant + slope - ((x[:, None] - self.mean) * self.scale) ** 2
        return found

    def document(self) -> dict[str, Any]:
        named = {name: exact(getattr(self, name)) for name in ("constant", "slope", "mean")}
        more = {"scale": exact(self.scale), "beside": exact(self.beside)}
        return {"kind": "quadratic", "columns": list(self.columns), **named, **more}


@dataclass(frozen=True, eq=False)
class PooledTerm:
    """Of a number: :class:`tallybayes.parameters.PooledTerms`; and ``beside[entry]``."""

    columns: tuple[int, ...]
    terms: Any
    beside: Array

    @property
    def size(self) -> int:
        size: int = 4 * len(self.terms.mean) + self.terms.atoms.size + self.beside.size
        return size

    def of_numbers(self, x: Array) -> Array:
        """What numbers add without ``beside``, float64 (n, n_classes)."""
        t = self.terms
        log_m = t.constant - ((x[:, None] - t.mean) * t.scale) ** 2
        for low, high, atom in zip(t.low, t.high, t.atoms, strict=True):
            log_m[(x >= low) & (x < high)] = atom
        with np.errstate(divide="ignore"):
            m = np.exp(log_m)
            found: Array = np.log(m + t.share * m.sum(axis=1, keepdims=True)) - t.shift
        found[~(m > 0.0).any(axis=1)] = 0.0
        return found

    def document(self) -> dict[str, Any]:
        arrays = {name: exact(np.asarray(value)) for name, value in self.terms._asdict().items()}
        return {
            "kind": "pooled",
            "columns": list(self.columns),
            **arrays,
            "share": float(self.terms.share),
            "beside": exact(self.beside),
        }


@dataclass(frozen=True, eq=False)
class CurveTerm:
    """Of a number: a density without a closed form in the page, interpolated between points.

    Parameters
    ----------
    columns : tuple of int
    at : float64 array (n_points,)
        Ascending.
    values : float64 array (n_points, n_classes)
    beside : float64 array (n_kinds, n_classes)
    """

    columns: tuple[int, ...]
    at: Array
    values: Array
    beside: Array

    @property
    def size(self) -> int:
        return self.at.size + self.values.size + self.beside.size

    def of_numbers(self, x: Array) -> Array:
        """What numbers add without ``beside``, float64 (n, n_classes)."""
        return np.stack([np.interp(x, self.at, of_class) for of_class in self.values.T], axis=1)

    def document(self) -> dict[str, Any]:
        named = {name: exact(getattr(self, name)) for name in ("at", "values", "beside")}
        return {"kind": "curve", "columns": list(self.columns), **named}


@dataclass(frozen=True, eq=False)
class LawTerm:
    """Of a number, a :class:`tallybayes.parameters.formula.NumberLaw`; and ``beside[entry]``.

    Parameters
    ----------
    columns : tuple of int
    density : Any
        log p(x | c) as Python computes it.
    law : NumberLaw
        The same as a formula.
    beside : float64 array (n_kinds, n_classes)
    """

    columns: tuple[int, ...]
    density: Any
    law: NumberLaw
    beside: Array

    @property
    def size(self) -> int:
        return 8 * int(self.beside.shape[1]) + int(self.beside.size)

    def of_numbers(self, x: Array) -> Array:
        """What numbers add without ``beside``, float64 (n, n_classes)."""
        return np.asarray(self.density.log_density(x))

    def document(self) -> dict[str, Any]:
        law = self.law
        found: dict[str, Any] = {
            "kind": "law",
            "columns": list(self.columns),
            "law": law.kind,
            "beside": exact(self.beside),
        }
        for name in ("mean", "constant", "scale", "half", "size"):
            values = getattr(law, name)
            if values is not None:
                found[name] = exact(values)
        if law.transform is not None:
            kind, exponent = law.transform
            found["transform"] = {"kind": kind, "exponent": exponent}
        if law.mixture is not None:
            arrays = {name: exact(np.asarray(v)) for name, v in law.mixture._asdict().items()}
            found["pooled"] = arrays | {"share": float(law.mixture.share)}
        return found


@dataclass(frozen=True, eq=False)
class GroupTerm:
    """Of several numbers: :class:`tallybayes.parameters.TriangularTerms`, for each subset of the
    columns that a row may have only while it has all of them.

    Parameters
    ----------
    columns : tuple of int
    terms : TriangularTerms
    """

    columns: tuple[int, ...]
    terms: Any

    @property
    def size(self) -> int:
        size: int = self.terms.rotation.size + 2 * self.terms.mean.size
        return size

    def document(self) -> dict[str, Any]:
        freedom = self.terms.freedom
        return {
            "kind": "group",
            "columns": list(self.columns),
            "mean": exact(self.terms.mean),
            "rotation": exact(self.terms.rotation),
            "constant": exact(self.terms.constant),
            "freedom": None if freedom is None else exact(freedom),
        }


# ---- the form of a model of arrays ---------------------------------------------------------------
def names_of_array(model: ArrayModel) -> list[str]:
    """What the columns are called: their names, else their numbers."""
    columns = model.columns
    if columns.names is not None:
        return [str(name) for name in columns.names]
    return [f"x{j}" for j in range(columns.n_features)]


def form_of_array(model: ArrayModel) -> Form:
    """The form of a classifier of arrays."""
    parameters = model.parameters
    columns: list[ColumnReader] = []
    terms: list[Term] = []
    base = model.prior_in_score() + parameters.offset
    for j, name in enumerate(names_of_array(model)):
        reader, term, constant = _column(parameters, j, name)
        columns.append(reader)
        terms.append(term)
        base -= constant
    return Form(base, columns, terms, Link(model.log_prior.copy()))


def _column(parameters: Parameters, j: int, name: str) -> tuple[ColumnReader, Term, Array]:
    """How a column is read, what it adds, and what of the offset is part of that."""
    n_classes = len(parameters.offset)
    none, nothing = np.zeros(n_classes), np.zeros((1, n_classes))
    if isinstance(parameters, Lookup):
        first, end = parameters.start[j : j + 2].tolist()
        table = np.ascontiguousarray(parameters.table[:, first:end].T)
        return (
            _codes(name, np.arange(1, end - first, dtype=np.float64)),
            CellTerm((j,), table),
            none,
        )
    if isinstance(parameters, Quadratic):
        mean, scale = parameters.mean[:, j], parameters.scale[:, j]
        log_scale = np.log(scale)  # of a density, the part that depends on the class
        term = QuadraticTerm((j,), log_scale, none, mean, scale, nothing)
        return _codes(name, np.zeros(0)), term, log_scale
    weights = parameters.weights[:, j]
    if parameters.threshold is None:
        term = QuadraticTerm((j,), none, weights, none, none, nothing)
        return _codes(name, np.zeros(0)), term, none
    absent, constant = none.copy(), none
    if parameters.required is None:  # the offset has log P(x_j = 0 | c) of each feature
        absent = constant = -np.logaddexp(0.0, weights)
    else:
        absent[parameters.required[:, j]] = -np.inf
    reader = _codes(name, np.nextafter([parameters.threshold], np.inf))
    return reader, CellTerm((j,), np.stack([absent, constant + weights])), constant


def _codes(name: str, starts: Array) -> ColumnReader:
    return ColumnReader(name=name, missing=REFUSED_ENTRY, starts=starts, other=REFUSED_ENTRY)


# ---- the form of a model of a table --------------------------------------------------------------
# Each part of a model can add itself to a scorer of single rows. The scorer here records the parts
# instead of scoring.
N_POINTS = 400  # of a density that is interpolated


def form_of_table(model: TableModel) -> Form:
    """The form of a :class:`tallybayes.NaiveBayes`."""
    noted = _NotedParts(model)
    declared = model.reading.declared
    without_form: list[str] = []
    for part in model.score.parts:
        before = len(noted.columns), len(noted.terms)
        noted.part = part
        if not part.add_to_rows(cast(Any, noted), declared.least):
            del noted.columns[before[0] :], noted.terms[before[1] :]
            without_form += part.columns
    log_prior = model.log_prior.copy()
    link = Link(log_prior, model.chosen.calibration)
    return Form(log_prior, noted.columns, noted.terms, link, without_form)


class _NotedParts:
    """Takes parts as the compiled scorer of rows does; the methods are that scorer's."""

    def __init__(self, model: TableModel) -> None:
        self.model = model
        self.part: Any = None
        self.columns: list[ColumnReader] = []
        self.terms: list[Term] = []

    def _place(self, reader: ColumnReader) -> tuple[int]:
        self.columns.append(reader)
        return (len(self.columns) - 1,)

    def _number(self, name: str, strings: dict[str, int], beside: Array, least: int) -> tuple[int]:
        """A column of numbers: a missing value has entry 0, a number 1, strings those given."""
        other = len(beside) - 1 if len(beside) > 2 + len(strings) else REFUSED_ENTRY
        reader = ColumnReader(
            name=name,
            missing=0,
            starts=np.zeros(0),
            first_number=1,
            levels=strings,
            other=other,
            least=least,
        )
        return self._place(reader)

    def add_levels(
        self,
        name: str,
        entry: dict[str, int],
        unseen: int,
        table: Array,
        numbers: dict[str, int],
    ) -> None:
        """A column of levels; an `unseen` of −1 refuses others. A page does not distinguish the
        number 0 from its digit."""
        other = REFUSED_ENTRY if unseen < 0 else unseen
        reader = ColumnReader(name=name, missing=0, levels=entry | numbers, other=other)
        place = self._place(reader)
        self.terms.append(CellTerm(place, _with_entry(table, other)))

    def add_bins(self, name: str, edges: Array, table: Array, strings: dict[str, int]) -> None:
        """A column of bins, and strings beside the numbers."""
        last = len(edges) + 2 + len(strings)
        other = last if len(table) > last else REFUSED_ENTRY
        reader = ColumnReader(
            name=name,
            missing=0,
            starts=np.asarray(edges, dtype=np.float64),
            first_number=1,
            levels=strings,
            other=other,
        )
        self.terms.append(CellTerm(self._place(reader), table))

    def add_quadratic(
        self,
        name: str,
        constant: Array,
        slope: Array,
        mean: Array,
        scale: Array,
        missing: Array,
        least: int,
        strings: dict[str, int],
        beside: Array,
    ) -> None:
        """A Gaussian or a slope; `constant` has the score of a present number."""
        place, beside = self._number(name, strings, beside, least), _without_number(beside)
        self.terms.append(QuadraticTerm(place, constant, slope, mean, scale, beside))

    def add_pooled(self, name: str, *more: Any) -> None:
        """A density whose classes share some rows."""
        *pooled, _missing, _there, least, strings, beside = more
        place = self._number(name, strings, beside, least)
        self.terms.append(PooledTerm(place, PooledTerms(*pooled), beside))

    def add_function(
        self,
        name: str,
        of_number: Callable[[float], list[float]],
        missing: Array,
        least: int,
        strings: dict[str, int],
        beside: Array,
        _counts: Array,
    ) -> None:
        """Another density, with the scores of a number that is present."""
        place, kinds = (
            self._number(name, strings, beside, least),
            np.array(beside, dtype=np.float64),
        )
        law = self.part.density.law()
        if law is not None:
            self.terms.append(LawTerm(place, self.part.density, law, kinds))
            return
        beside = _without_number(kinds)
        at = _points(self.model, name)
        values = np.array([of_number(x) for x in at.tolist()])
        self.terms.append(CurveTerm(place, at, values, beside))

    def add_group(
        self,
        names: list[str],
        mean: Array,
        rotation: Array,
        constant: Array,
        freedom: Array | None,
        slowly: Any,
    ) -> None:
        """Correlated columns, which lack something without one of them."""
        nothing = np.zeros(0)
        places = tuple(
            self._place(
                ColumnReader(name=n, missing=REFUSED_ENTRY, starts=nothing, other=REFUSED_ENTRY)
            )[0]
            for n in names
        )
        self.terms.append(GroupTerm(places, TriangularTerms(mean, rotation, constant, freedom)))


def _with_entry(table: Array, entry: int) -> Array:
    """A table that has an entry: what is beyond it adds nothing."""
    lacking = entry + 1 - len(table)
    return table if lacking <= 0 else np.pad(table, ((0, lacking), (0, 0)))


def _without_number(beside: Array) -> Array:
    """What kinds of values add, where a number's share is part of its density."""
    found = np.array(beside, dtype=np.float64)
    found[1] = 0.0
    return found


def _points(model: TableModel, name: str) -> Array:
    """Where a density is evaluated that the page interpolates: at counted values and between."""
    pairs = zip(model.tally_read.schema.groups, model.tally_read.groups, strict=True)
    for columns, group in pairs:
        if columns.names == (name,) and isinstance(group, GridCounts) and len(group.values()):
            values = np.unique(group.values())
            some = values[
                np.linspace(0, len(values) - 1, min(N_POINTS, len(values))).astype(np.intp)
            ]
            return np.union1d(some, np.linspace(values[0], values[-1], N_POINTS))
    return np.linspace(-1.0, 1.0, 3)


# ---- the form of a weighted model ----------------------------------------------------------------
def form_of_weighted(model: WeightedModel) -> Form:
    """The form of a :class:`tallybayes.WeightedNaiveBayes`."""
    score = model.score
    columns = [_reader(column) for column in score.columns]
    terms: list[Term] = []
    for t in score.speaking:
        table = np.asarray(score.tables[t])
        if t < len(columns):
            terms.append(CellTerm((t,), table))
            continue
        pair = score.pairs[t - len(columns)]
        places = (pair.first, pair.second)
        one, other = (
            coarse_labels(score.columns[place], codes)
            for place, codes in zip(places, pair.maps, strict=True)
        )
        terms.append(PairTerm(places, pair.maps, pair.sizes, table, (one, other)))
    share = model.prior_share
    link = Link(model.log_prior.copy(), None, model.mixed_prior if share else None, share)
    return Form(score.offset.copy(), columns, terms, link, list(score.text_parts))


def _reader(column: ColumnCells) -> ColumnReader:
    return ColumnReader(
        name=column.name,
        missing=column.n_cells - 1,
        starts=column.starts if column.is_number else None,
        levels={level: column.n_numbers + i for i, level in enumerate(column.levels or ())},
    )


# ---- numbers as JSON: exact arrays in base64, and short numbers as decimal digits ----------------
SIGNIFICANT_DIGITS = 7  # significant, of a number that is shown


def exact(values: NDArray[Any]) -> dict[str, Any]:
    """An array whose float64 values the page reads bit by bit; infinities and NaN as they are."""
    data = np.ascontiguousarray(values, dtype="<f8")
    return {"shape": list(data.shape), "b64": base64.b64encode(data.tobytes()).decode("ascii")}


def exact_single(values: NDArray[Any]) -> dict[str, Any]:
    """An array whose float32 values the page reads bit by bit."""
    data = np.ascontiguousarray(values, dtype="<f4")
    return {"single": base64.b64encode(data.tobytes()).decode("ascii")}


def whole(values: NDArray[Any]) -> dict[str, Any]:
    """Whole numbers from 0 on, seven bits a byte, the lowest first; the eighth bit is set if
    more follow."""
    left = np.ascontiguousarray(values, dtype=np.uint64).ravel()
    n_bytes = np.ones(len(left), dtype=np.int64)
    for bits in range(7, 64, 7):
        n_bytes += left >= np.uint64(1 << bits)
    end = np.cumsum(n_bytes)
    data = np.zeros(int(end[-1]) if len(end) else 0, dtype=np.uint8)
    start = end - n_bytes
    for i in range(int(n_bytes.max(initial=0))):
        on = np.flatnonzero(n_bytes > i)
        seven = (left[on] >> np.uint64(7 * i)) & np.uint64(127)
        data[start[on] + i] = seven + np.where(n_bytes[on] > i + 1, 128, 0).astype(np.uint64)
    return {"whole": base64.b64encode(data.tobytes()).decode("ascii")}


def front_coded(strings: list[str]) -> dict[str, Any]:
    """Sorted strings, each as the number of characters that it shares with the one before, and the
    rest."""
    shared, rest, before = [], [], ""
    for string in strings:
        pairs = zip(before, string, strict=False)
        n = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        shared.append(n)
        rest.append(string[n:])
        before = string
    return {"shared": whole(np.array(shared, dtype=np.int64)), "rest": rest}


def rounded(value: Any) -> Any:
    """Numbers of nested lists to 7 significant digits, but whole numbers as they are; None for what
    is not finite."""
    if isinstance(value, np.ndarray):
        return rounded(value.tolist())
    if isinstance(value, list | tuple):
        return [rounded(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if not isinstance(value, float):
        return value
    if not math.isfinite(value):
        return None
    if value.is_integer():
        return value
    return float(f"{value:.{SIGNIFICANT_DIGITS}g}")
