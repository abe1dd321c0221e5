"""Hypothesis strategies for small tables with every kind of column.

A table has one to five columns, each of a kind of :data:`COLUMNS`: numbers of any scale, constants,
sentinels among numbers, strings, booleans, dates, strings among numbers, only missing values. It
has 1 to 40 rows, some of them twins, of one to four classes, of which one may have a single row.
Everything is drawn by value, so that Hypothesis shrinks a failure to few rows and plain values.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

__all__ = ["COLUMNS", "NUMBERS", "WEIGHTS", "WHOLE", "EdgeTable", "edge_tables", "row_weights"]

Array = NDArray[np.float64]
Cell = Callable[[int, int, int], Any]

NORMAL = [round(NormalDist().inv_cdf((byte + 0.5) / 256), 3) for byte in range(256)]


def _normal(byte: int, k: int) -> float:
    """A normal quantile about the number of the class, rounded to 0.001."""
    return NORMAL[(byte + 128) % 256] + 0.5 * k


def _sentinel(value: float) -> Cell:
    return lambda byte, k, i: value if byte >= 224 else _normal(byte, k)


def _scaled(scale: float, offset: float = 0.0) -> Cell:
    return lambda byte, k, i: offset + scale * _normal(byte, k)


COLUMNS: dict[str, Cell] = {
    "numbers": lambda byte, k, i: _normal(byte, k),
    "whole": lambda byte, k, i: byte % 6,
    "constant": lambda byte, k, i: 3.0,
    "constant in one class": lambda byte, k, i: 0.0 if k == 0 else 5.0 + _normal(byte, k),
    "zeros": lambda byte, k, i: 0.0 if byte < 128 else round(0.1 * 1.04 ** (byte - 128), 2),
    "999": _sentinel(999.0),
    "1e12": _sentinel(1e12),
    "1e9": _sentinel(1e9),
    "tiny": _scaled(1e-9),
    "vanishing": _scaled(1e-160),
    "huge": _scaled(1e100),
    "far": _scaled(1.0, 1e9),
    "texts": lambda byte, k, i: "uvwxyz"[min(byte % 8, 5)],
    "text of a class": lambda byte, k, i: "abcd"[k] if byte < 200 else "other",
    "booleans": lambda byte, k, i: byte % 2 == 1,
    "numbers and strings": lambda byte, k, i: (
        ["unknown", "?", "3", "-"][byte % 4] if byte >= 208 else _normal(byte, k)
    ),
    "strings and numbers": lambda byte, k, i: byte % 3 if byte >= 160 else "pqr"[byte % 3],
    "dates": lambda byte, k, i: datetime.date(2020, 1, 1) + datetime.timedelta(days=byte * (k + 1)),
    "missing": lambda byte, k, i: None,
    "identifiers": lambda byte, k, i: f"id{i}",
}
"""Kinds of columns: what a byte, the number of the class and that of the row are as a value."""

WHOLE = ("whole",)
"""Kinds of columns that are counts."""

NUMBERS = (
    "numbers", "whole", "constant", "constant in one class", "zeros", "999", "1e9", "1e12",
    "tiny", "vanishing", "huge", "far",
)  # fmt: skip
"""Kinds of columns that are numbers throughout."""

LABELS = ("n", "s", "t", "y")

WEIGHTS: dict[str, tuple[float, ...]] = {
    "ones": (1.0,),
    "whole": (1.0, 2.0, 3.0, 7.0),
    "fractional": (0.5, 1.0, 0.3, 1.7),
    "spread": (1.0, 1e-3, 1e3, 0.25, 30.0),
    "zeros": (1.0, 0.0, 2.0, 0.0),
}
"""Values of the kinds of weights; "none" is none."""


@dataclass(frozen=True)
class EdgeTable:
    """A small table, its labels and weights.

    Parameters
    ----------
    columns : dict
        Values by column name, each a list (n_rows,) with None for missing values.
    kinds : dict
        The kind of each column, a key of :data:`COLUMNS`.
    labels : array of str (n_rows,)
    weights : float64 array (n_rows,), optional
    """

    columns: dict[str, list[Any]]
    kinds: dict[str, str]
    labels: NDArray[Any]
    weights: Array | None

    def __len__(self) -> int:
        return len(self.labels)

    def records(self, rows: Iterable[int] | None = None) -> list[dict[str, Any]]:
        """Rows as dicts, all of them or those numbered."""
        wanted = range(len(self)) if rows is None else rows
        return [{name: column[i] for name, column in self.columns.items()} for i in wanted]

    def counted(self) -> list[dict[str, Any]]:
        """Rows of a weight above 0, as dicts: a string among numbers is known from these only."""
        if self.weights is None:
            return self.records()
        return self.records(np.flatnonzero(self.weights > 0.0).tolist())

    def weight(self, rows: Any) -> Array | None:
        """The weights of the rows numbered, None where there are none."""
        return None if self.weights is None else self.weights[rows]


def _bytes(draw: st.DrawFn, n: int) -> bytes:
    return draw(st.binary(min_size=n, max_size=n))


@st.composite
def row_weights(
    draw: st.DrawFn, n_rows: int, of: tuple[str, ...] = ("none", *WEIGHTS)
) -> Array | None:
    """Weights of rows, of one of the kinds `of`; the first row's is above 0."""
    kind = draw(st.sampled_from(of))
    if kind == "none":
        return None
    values = WEIGHTS[kind]
    found = np.array([values[byte % len(values)] for byte in _bytes(draw, n_rows)])
    found[0] = found[0] or 1.0
    return found


@st.composite
def edge_tables(
    draw: st.DrawFn,
    *,
    kinds: tuple[str, ...] = tuple(COLUMNS),
    min_rows: int = 1,
    max_rows: int = 40,
    max_classes: int = 4,
    missing: bool = True,
    of_weights: tuple[str, ...] = ("none", *WEIGHTS),
) -> EdgeTable:
    """A table of columns of these kinds.

    Parameters
    ----------
    kinds : tuple of str
        Keys of :data:`COLUMNS`.
    min_rows, max_rows : int
    max_classes : int
        At most 4.
    missing : bool
        Whether columns may have missing values.
    of_weights : tuple of str
        "none" and keys of :data:`WEIGHTS`.
    """
    n = draw(st.integers(min_rows, max_rows))
    n_classes = draw(st.integers(1, max_classes))
    of_class = np.array([byte % n_classes for byte in _bytes(draw, n)])
    if n_classes > 1 and draw(st.booleans()):  # the last class has a single row
        of_class[of_class == n_classes - 1] = 0
        of_class[n - 1] = n_classes - 1
    chosen = draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=5))
    columns: dict[str, list[Any]] = {}
    for j, kind in enumerate(chosen):
        cell, held = COLUMNS[kind], _bytes(draw, n)
        values = [cell(held[i], int(of_class[i]), i) for i in range(n)]
        if missing and draw(st.booleans()):
            left_out = _bytes(draw, n)
            values = [v if left_out[i] < 208 else None for i, v in enumerate(values)]
        columns[f"c{j}"] = values
    twins = draw(st.integers(0, n // 2))  # as many rows at the end are those at the start
    source = np.append(np.arange(n - twins), np.arange(twins))
    columns = {name: [values[i] for i in source] for name, values in columns.items()}
    labels = np.array(LABELS)[of_class[source]]
    of = {f"c{j}": kind for j, kind in enumerate(chosen)}
    return EdgeTable(columns, of, labels, draw(row_weights(n, of_weights)))
