"""Groups of columns with their tallies, in the same form for every engine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from tallybayes.engines.contract import JointCells
from tallybayes.errors import UnseenLevel
from tallybayes.schema import Columns, SomeLevels
from tallybayes.tally import CrossMoments, GridCounts, LevelCounts, Moments, TableTally, Tally

__all__ = [
    "Group",
    "class_array",
    "cross_group",
    "joint_cells",
    "level_group",
    "merged_joint_cells",
    "merged_tables",
    "need_rows_and_labels",
    "number_groups",
    "raise_infinite",
    "raise_no_rows",
    "raise_too_large",
    "raise_undeclared",
    "some_levels_group",
]

Array = NDArray[np.float64]
Group = tuple[Columns, Tally]


def raise_infinite(name: str, values: NDArray[Any]) -> NoReturn:
    """Raises the ValueError for an infinite or overflowing column of numbers."""
    found = np.flatnonzero(np.isinf(values))
    if found.size:
        raise ValueError(
            f"Input X contains infinity: row {int(found[0])}, column {name!r} holds "
            f"{values[found[0]].item()!r}. Give a finite value, or NaN for a missing value."
        )
    raise_too_large(name)


def raise_too_large(name: str) -> NoReturn:
    """Raises the ValueError for a column whose squares overflow."""
    raise ValueError(
        f"column {name!r} is too large: the squares of its differences exceed float64 (about "
        "1e308). Rescale it."
    )


def level_group(name: str, levels: NDArray[Any], counts: NDArray[np.float64]) -> Group:
    """A column of strings as an open group: levels (n_levels,) and counts (n_classes, n_levels)."""
    columns = Columns(kind="levels", names=(name,), levels=(levels,), open=True)
    return columns, LevelCounts(np.array([0, len(levels)], dtype=np.int64), counts)


def number_groups(
    name: str, moments: Moments, grid: GridCounts, *, dates: bool = False
) -> list[Group]:
    """A column of numbers as groups: its moments and its grid counts."""
    columns = Columns(kind="moments", names=(name,), origin=moments.origin, dates=dates)
    return [(columns, moments), (Columns(kind="grid", names=(name,), dates=dates), grid)]


def some_levels_group(
    name: str, asked: Sequence[str], counts: Array, others: Array, n_all: int
) -> Group:
    """A column of levels of which some are counted each, and all others together.

    Parameters
    ----------
    name : str
    asked : list of str
    counts : float64 array (n_classes, n_asked)
    others : float64 array (n_classes,)
    n_all : int
        How many levels occur.
    """
    seen = np.flatnonzero(counts.any(axis=0))
    levels = np.empty(len(seen), dtype=object)
    levels[:] = [asked[i] for i in seen.tolist()]
    columns = SomeLevels(kind="levels", names=(name,), levels=(levels,), open=True, n_all=n_all)
    cells = np.ascontiguousarray(np.concatenate([counts[:, seen], others[:, None]], axis=1))
    return columns, LevelCounts(np.array([0, len(levels) + 1], dtype=np.int64), cells)


def cross_group(names: tuple[str, ...], tally: CrossMoments) -> Group:
    """A group of columns of numbers with their cross moments."""
    columns = Columns(kind="cross", n_features=len(names), names=names, origin=tally.origin)
    return columns, tally


def class_array(labels: Iterable[Any]) -> NDArray[Any]:
    """Distinct labels in order, as an array (n_classes,); strings stay objects."""
    ordered = sorted(labels)
    if all(isinstance(label, bool | int | float) for label in ordered):
        return np.array(ordered)
    array = np.empty(len(ordered), dtype=object)
    array[:] = ordered
    return array


def need_rows_and_labels(n_rows: float, missing: float, target: str) -> None:
    """Raise ValueError if there are no rows, or if `missing` rows have no label."""
    if not n_rows:
        raise_no_rows()
    if missing:
        raise ValueError(
            f"{missing:g} rows of the evidence have no label in the target column {target!r}: fill "
            "them, or leave those rows out (of LazyNaiveBayes by where=)"
        )


def raise_no_rows() -> NoReturn:
    """Raises the ValueError for a source without rows."""
    raise ValueError("there is no evidence: the source, with the conditions of where=, has no rows")


def raise_undeclared(name: str, level: Any, declared: Sequence[str]) -> NoReturn:
    """Raises UnseenLevel for a level that is not among those declared."""
    raise UnseenLevel(
        f"column {name!r} of the source holds {level!r}, which is not among the declared "
        f"levels {declared}: declare it, or leave the rows out with where="
    )


def joint_cells(
    classes: NDArray[Any], found: Mapping[tuple[str | int | None, ...], Array]
) -> JointCells:
    """Combinations of values with their counts by class, sorted, missing values first."""
    kept = {cell: counts for cell, counts in found.items() if counts.any()}
    order = sorted(kept, key=lambda cell: [(v is not None, 0 if v is None else v) for v in cell])
    counts = np.zeros((len(classes), len(order)))
    for j, cell in enumerate(order):
        counts[:, j] = kept[cell]
    return JointCells(classes, order, counts)


def merged_joint_cells(*parts: JointCells) -> JointCells:
    """The joint cells of the rows of all parts."""
    classes = np.unique(np.concatenate([part.classes for part in parts]))
    counts: dict[tuple[str | int | None, ...], Array] = {}
    for part in parts:
        at = np.searchsorted(classes, part.classes)
        for cell, mine in zip(part.cells, part.counts.T, strict=True):
            counts.setdefault(cell, np.zeros(len(classes)))[at] += mine
    return joint_cells(classes, counts)


def merged_tables(a: TableTally, b: TableTally) -> TableTally:
    """The tally of the rows of both.

    Raises
    ------
    IncompatibleTallies
        If a column is counted in ways that do not add.
    ValueError
        If the numbers of both are too far apart for float64 to hold their squares.
    """
    both = a.merged(b)
    for columns, group in zip(both.schema.groups, both.groups, strict=True):
        if isinstance(group, Moments) and not np.isfinite(group.s2_hi).all():
            raise_too_large(columns.names[0] if columns.names else "")
        if isinstance(group, CrossMoments) and not np.isfinite(group.s2_hi).all():
            wrong = ~np.isfinite(group.columns().s2_hi).all(axis=0)
            raise_too_large(columns.names[int(np.argmax(wrong))] if columns.names else "")
    return both
