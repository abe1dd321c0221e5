"""A model as a page evaluates it: how values of columns are read, terms, and corrections, as JSON.

A form is made of the formula of any model of arrays or tables; nothing in it depends on the kind of
model. What has no form for a page, a column of text, is named.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from functools import cached_property
from itertools import takewhile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.score import (
    CellTable,
    CodeCells,
    GroupTerm,
    LevelCells,
    NumberCells,
    NumberTerm,
    OpaqueTerm,
    OwnTerms,
    of_pairs,
    of_single_columns,
)
from tallybayes.tables.columns import entries_of_bits
from tallybayes.tally import GridCounts

__all__ = ["Form", "exact", "exact_single", "front_coded", "rounded", "whole"]

Array = NDArray[np.float64]


# ---- the form ------------------------------------------------------------------------------------
REFUSED_ENTRY = -2  # of a value that the model does not accept
N_POINTS = 400  # of a density without a formula, which the page interpolates


class Form:
    """A model as a page evaluates it.

    Parameters
    ----------
    model : ArrayModel or TableModel
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self.formula = model.formula()
        self._single = of_single_columns(self.formula.terms)
        alone = [t for t in self.formula.terms if isinstance(t, CellTable | NumberTerm)]
        self._alone = {term.columns[0] for term in alone if len(term.columns) == 1}
        self.pairs = of_pairs(self.formula.terms)
        self.groups = [term for term in self.formula.terms if isinstance(term, GroupTerm)]

    @property
    def base(self) -> Array:
        """What every row has, float64 (n_classes,), in nats."""
        offset: Array = self.formula.offset
        return offset

    @cached_property
    def without_form(self) -> list[str]:
        """Columns that add to the score but have no form: columns of text."""
        opaque = [term for term in self.formula.terms if isinstance(term, OpaqueTerm)]
        return [name for term in opaque for name in term.columns]

    @cached_property
    def columns(self) -> list[str]:
        """The columns that are read, in the order of the model."""
        read = {*self.formula.columns} - {*self.without_form}
        return [name for name in self.formula.kinds if name in read]

    def has_term(self, column: str) -> bool:
        """Whether a column adds something by itself."""
        return column in self._alone

    @property
    def size(self) -> int:
        """How many numbers a page has to hold."""
        n_classes, size = len(self.base), 0
        for term in self.formula.terms:
            if isinstance(term, CellTable):
                size += term.scores.size
            elif isinstance(term, NumberTerm):
                law = term.law
                atoms = 0 if law is None or law.mixture is None else law.mixture.atoms.size
                size += 2 * N_POINTS * (n_classes + 1) if law is None else 6 * n_classes + atoms
            elif isinstance(term, GroupTerm):
                size += n_classes * len(term.columns) * (len(term.columns) + 2)
        return size

    def scores_of(self, column: str, numbers: Array, levels: Sequence[str], missing: bool) -> Array:
        """What values of one column add: numbers, then levels, then a missing value if `missing`,
        float64 (n, n_classes); zeros where the column has no term by itself."""
        n_numbers = len(numbers)
        found = np.zeros((n_numbers + len(levels) + missing, len(self.base)))
        own = self._single.get(column)
        if own is not None and own.cells is not None:
            entries = np.zeros(len(found), dtype=np.intp)
            entries[:n_numbers] = own.cells.of_numbers(numbers)
            if len(levels):
                entries[n_numbers : n_numbers + len(levels)] = own.cells.of_strings(levels)
            found += own.scores.T[entries]
        if own is not None and own.number is not None:
            found[:n_numbers] += own.number.of_numbers(numbers)
        return found

    # ---- as JSON ---------------------------------------------------------------------------------
    def document(self) -> dict[str, Any]:
        """The form as JSON."""
        correction = self.formula.correction
        place = {name: j for j, name in enumerate(self.columns)}
        found = [
            self._of_column(j, self._single[name])
            for name, j in place.items()
            if self.has_term(name)
        ]
        for group in self.groups:
            whole = group.likelihood.terms(tuple(range(len(group.columns))))
            arrays = {k: None if v is None else exact(v) for k, v in whole._asdict().items()}
            at = [place[name] for name in group.columns]
            found.append({"kind": "group", "columns": at, **arrays})
        for cells, scores in self.pairs:
            names = cells.first.column, cells.second.column
            found.append(
                {
                    "kind": "pair",
                    "columns": [place[name] for name in names],
                    "maps": [coarse.tolist() for coarse in cells.maps],
                    "sizes": list(cells.sizes),
                    "table": exact(scores.T),
                    "labels": [list(words) for words in self.model.words_of_pair(names)],
                }
            )
        return {
            "base": exact(self.base),
            "columns": [self._reader(name) for name in self.columns],
            "terms": found,
            "link": {
                "ruledOut": exact(self.formula.ruled_out),
                "beta": correction.beta,
                "knots": [exact(knots) for knots in correction.knots],
                "values": [exact(values) for values in correction.values],
                "share": correction.share,
                "prior": exact(correction.prior),
                "priorShare": correction.prior_share,
                "most": correction.most,
            },
        }

    def _of_column(self, place: int, own: OwnTerms) -> dict[str, Any]:
        """The table of a column, or its density and what the kind of a value adds beside it."""
        number, table = own.number, exact(own.scores.T)
        if number is None:
            return {"kind": "cells", "columns": [place], "table": table}
        found: dict[str, Any] = {"columns": [place], "beside": table}
        law = number.law
        if law is None:
            at = self._points(number.column)
            return {
                "kind": "curve",
                **found,
                "at": exact(at),
                "values": exact(number.of_numbers(at)),
            }
        found |= {"kind": "law", "law": law.kind}
        for name in ("mean", "constant", "slope", "scale", "half", "size"):
            parameter = getattr(law, name)
            if parameter is not None:
                found[name] = exact(parameter)
        if law.power is not None:
            found["transform"] = {"kind": law.power.kind, "exponent": law.power.exponent}
        if law.mixture is not None:
            arrays = {name: exact(np.asarray(v)) for name, v in law.mixture._asdict().items()}
            found["pooled"] = arrays | {"share": float(law.mixture.share)}
        return found

    def _points(self, name: str) -> Array:
        """Where a density is evaluated that the page interpolates: at counted values and
        between."""
        _, grid = self.model.tally_read.by_key.get(((name,), "grid"), (None, None))
        if not isinstance(grid, GridCounts) or not len(grid.keys):
            return np.linspace(-1.0, 1.0, 3)
        values = np.unique(grid.values())
        places = np.linspace(0, len(values) - 1, min(N_POINTS, len(values)))
        between = np.linspace(values[0], values[-1], N_POINTS)
        return np.union1d(values[places.astype(np.intp)], between)

    def _reader(self, name: str) -> dict[str, Any]:
        """How a page reads the values of a column: the entry of the table for each."""
        in_group = any(name in group.columns for group in self.groups)
        takes_missing = self.formula.takes_missing and not in_group
        found: dict[str, Any] = {
            "name": name,
            "missing": 0 if takes_missing else REFUSED_ENTRY,
            "starts": exact(np.zeros(0)),
            "firstNumber": 1,
            "levels": [],
            "entries": [],
            "other": REFUSED_ENTRY,
            "least": self.formula.least.get(name, 0),
        }
        cells = None if in_group else self._single[name].cells
        if isinstance(cells, CodeCells):
            starts = np.arange(1, cells.size, dtype=np.float64)
            found |= {"starts": exact(starts), "firstNumber": 0}
        elif isinstance(cells, NumberCells):
            entries = cells.of_strings(cells.strings).tolist()
            found |= {
                "starts": exact(cells.starts),
                "levels": list(cells.strings),
                "entries": entries,
                "other": cells.size - 1 if cells.takes_others else REFUSED_ENTRY,
            }
        elif isinstance(cells, LevelCells):
            entry = {level: 1 + i for i, level in enumerate(cells.levels)}
            entry |= entries_of_bits(entry)  # a page does not tell the number 0 from its digit
            found |= {
                "starts": None,
                "levels": list(entry),
                "entries": list(entry.values()),
                "other": REFUSED_ENTRY if cells.refuses_others else cells.size - 1,
            }
        return found


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
