"""The rows that weights are learned on, as cells: in canonical order, sampled, and in folds.

Rows and columns are read in a canonical order, so the result does not depend on the given order.
Each row has a key, a hash of its cells and its label: sums of floating-point numbers, samples and
folds follow the keys. Equal rows ("twins") have equal keys and are adjacent.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes.engines.contract import FACTORS, finalized
from tallybayes.errors import DependentRowsWarning, warn_user
from tallybayes.tables import Column, Mixed, Numbers, Strings, Table
from tallybayes.tables.columns import EXACT
from tallybayes.weighted.cells import ColumnCells

__all__ = [
    "LABEL_SALT",
    "MAX_CHANCE_SHARE",
    "MIN_COUNT",
    "LearningRows",
    "Observations",
    "by_class",
    "canonical",
    "counted_in",
    "distinct",
    "fold_of",
    "group_folds",
    "group_keys",
    "label_correlation",
    "observations",
    "of_groups",
    "row_contents",
    "row_keys",
    "salted",
    "sampled",
    "thinned",
    "twin_folds",
    "warn_of_copies",
    "without_copies",
]


Array = NDArray[np.float64]
Cells = NDArray[np.int32]
Index = NDArray[np.intp]
Keys = NDArray[np.uint64]

CHUNK = 1 << 16  # rows whose keys are made at a time
GOLDEN = FACTORS[0]
LABEL_SALT = 1 << 32  # the salt of labels, which no column has
NO_CELL = 1 << 33  # the cell of a value that is in no cell
MIN_CLASS_ROWS = 50  # rows that a class keeps, if it has so many
MAX_RADIX_VALUE = 1 << 16  # numbers below it are sorted without comparisons
COMPARED_ROWS = 1000  # rows that distinguish most columns
MAX_CHANCE_SHARE = 0.05  # rows of a content
MIN_COUNT = 1e-9  # of a smoothed count that rounding has left at or below zero


# ---- hashes of rows, and folds drawn by them -----------------------------------------------------
def salted(keys: Keys, salt: int) -> Keys:
    """Keys plus a multiple of the golden ratio, finalized: independent hashes for different
    salts."""
    return finalized(keys + np.uint64((salt * GOLDEN) & (2**64 - 1)))


def _hashes(column: Cells, salt: int) -> Keys:
    """A random number for each cell of a column, and, at the end, for −1."""
    cells = np.arange(int(column.max(initial=-1)) + 2, dtype=np.uint64)
    cells[-1] = NO_CELL
    return salted(cells, salt)


def row_keys(cells: Sequence[Cells], y: Cells) -> Keys:
    """A 64-bit hash of the cells and the label of each row.

    It is the sum of a random number for each cell (tabulation hashing): two different rows have the
    same with a probability of 2⁻⁶⁴.

    Parameters
    ----------
    cells : sequence of int32 arrays (n_rows,)
        Of each column; −1 for none.
    y : int32 array (n_rows,)
    """
    tables = [_hashes(column, j + 1) for j, column in enumerate(cells)]
    labels = _hashes(y, LABEL_SALT)
    keys = np.empty(len(y), dtype=np.uint64)
    for begin in range(0, len(y), CHUNK):
        part = slice(begin, begin + CHUNK)
        into = keys[part]
        into[:] = labels[y[part]]
        for table, column in zip(tables, cells, strict=True):
            into += table[column[part]]
    return keys


# ---- samples and folds ---------------------------------------------------------------------------
def by_class(y: NDArray[np.int32], n_classes: int) -> Index:
    """The rows of each class, one class after the other, in their order."""
    return np.argsort(y.astype(np.uint16) if n_classes <= MAX_RADIX_VALUE else y, kind="stable")


def sampled(
    y: NDArray[np.int32], weight: Array, n_classes: int, max_rows: int
) -> tuple[Index, Array]:
    """About so many rows that weigh something, in order, and what each stands for.

    Rare classes keep more than their share, at a lower weight: the loss over the sample is about
    that over all rows, times the share of the rows that is taken.

    Parameters
    ----------
    y : int32 array (n_rows,)
        Of rows in canonical order.
    weight : float64 array (n_rows,)
    n_classes : int
    max_rows : int

    Returns
    -------
    index array, float64 array
    """
    some = np.flatnonzero(weight > 0.0)
    if len(some) <= max_rows:
        return some, weight[some]
    of_class = np.bincount(y[some], minlength=n_classes)
    share = max_rows / len(some)
    least = max(1, min(MIN_CLASS_ROWS, max_rows // (2 * n_classes)))
    quota = np.minimum(of_class, np.maximum(np.round(share * of_class).astype(np.intp), least))
    rows = some[_spread(y[some], of_class, quota)]
    stands = share * of_class / np.maximum(quota, 1)
    return rows, weight[rows] * stands[y[rows]]


def thinned(y: NDArray[np.int32], n_classes: int, max_rows: int) -> Index:
    """About so many rows, in order: of each class the same share, and one row at least.

    Parameters
    ----------
    y : int32 array (n_rows,)
        Of rows in canonical order.
    n_classes : int
    max_rows : int
    """
    if len(y) <= max_rows:
        return np.arange(len(y))
    of_class = np.bincount(y, minlength=n_classes)
    quota = np.minimum(of_class, np.maximum(of_class * max_rows // len(y), 1))
    return _spread(y, of_class, quota)


def _spread(y: NDArray[np.int32], of_class: Index, quota: Index) -> Index:
    """So many rows of each class, in order, at equal distances: of many equal rows, which stand
    side by side, their share."""
    begin = np.cumsum(of_class) - of_class
    k = np.repeat(np.arange(len(quota)), quota)  # the class of each place in the sample
    place = np.arange(len(k)) - (np.cumsum(quota) - quota)[k]
    at = begin[k] + (2 * place + 1) * of_class[k] // (2 * quota[k])
    return np.sort(by_class(y, len(quota))[at])


def twin_folds(
    keys: NDArray[np.uint64], y: NDArray[np.int32], n_classes: int, folds: int, salt: int
) -> Index:
    """A fold for each row. Twins, rows with equal keys, are in one fold, so that none is predicted
    by its copies; the rows of each class are spread as evenly as that allows.

    Rows that are more than a fold's share of their class are not copies but usual: they are spread
    like others.

    Parameters
    ----------
    keys : uint64 array (n_rows,)
        Hashes of the rows' cells and labels.
    y : int32 array (n_rows,)
        Labels; equal keys have equal ones.
    n_classes : int
    folds : int
    salt : int
        Folds of different salts have nothing to do with each other.
    """
    by_key = np.argsort(keys, kind="stable")  # at once where they are in canonical order
    keys, y = keys[by_key], y[by_key]
    starts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1])[: len(keys)])
    twins = np.diff(starts, append=len(keys))
    usual = twins * folds > np.bincount(y, minlength=n_classes)[y[starts]]
    group = np.argsort(salted(keys[starts], salt))
    size = np.repeat(np.where(usual, 1, twins)[group], twins[group])  # of what stays together
    first = np.cumsum(twins[group]) - twins[group]
    rows = np.arange(len(keys)) + np.repeat(starts[group] - first, twins[group])
    begins = size == 1
    begins[first] = True
    by_size = np.argsort(
        (MAX_RADIX_VALUE - 1 - np.minimum(size, MAX_RADIX_VALUE - 1)).astype(np.uint16),
        kind="stable",
    )
    dealt = by_size[by_class(y[rows[by_size]], n_classes)]  # the largest first, single rows last
    fold = np.empty(len(keys), dtype=np.intp)
    fold[by_key[rows[dealt]]] = (np.cumsum(begins[dealt]) - 1) % folds
    return fold


def group_folds(groups: NDArray[np.uint64], y: NDArray[np.int32], folds: int, salt: int) -> Index:
    """A fold for each row, the same for all of a group; groups of about as many rows of each class
    in every one.

    Parameters
    ----------
    groups : uint64 array (n_rows,)
        Keys of the groups, which their rows determine.
    y : int32 array (n_rows,)
    folds : int
    salt : int
        Folds of different salts have nothing to do with each other.
    """
    keys, of_row, size = np.unique(groups, return_inverse=True, return_counts=True)
    of_class = np.zeros((len(keys), int(y.max(initial=0)) + 1), dtype=np.intp)
    np.add.at(of_class, (of_row, y), 1)
    order = np.lexsort((salted(keys, salt), -size, of_class.argmax(axis=1)))
    fold = np.empty(len(keys), dtype=np.intp)
    fold[order] = np.arange(len(keys)) % folds
    return fold[of_row]


def group_keys(keys: NDArray[np.uint64], groups: NDArray[np.integer]) -> NDArray[np.uint64]:
    """The key of each row's group, which the keys of its rows determine, in any order.

    Parameters
    ----------
    keys : uint64 array (n_rows,)
        Hashes of the rows.
    groups : index array (n_rows,)
        The number of each row's group.
    """
    order = np.argsort(groups, kind="stable")
    first = np.flatnonzero(np.append(True, np.diff(groups[order]) != 0))
    found = np.empty(len(keys), dtype=np.uint64)
    found[order] = np.repeat(
        np.add.reduceat(finalized(keys[order]), first), np.diff(first, append=len(order))
    )
    return found


def fold_of(labels: NDArray[Any], folds: int, seed: int) -> Index:
    """A fold for each row, as many rows of each class in every one as can be."""
    order = np.random.default_rng(seed).permutation(len(labels))
    order = order[np.argsort(labels[order], kind="stable")]
    fold = np.empty(len(labels), dtype=np.intp)
    fold[order] = np.arange(len(labels)) % folds
    return fold


# ---- columns that are equal to others ------------------------------------------------------------
def distinct(cells: Cells, names: list[str]) -> tuple[list[int], dict[int, int]]:
    """The columns to keep, in the order of their names, and of each other column the kept one that
    has the same cells: the first of them.

    Parameters
    ----------
    cells : int32 array (n_columns, n_rows)
    names : list of str
        Of the columns.
    """
    step = max(1, cells.shape[1] // COMPARED_ROWS)
    alike: dict[bytes, list[int]] = {}
    kept, duplicates = [], {}
    for j, column in enumerate(cells):
        others = alike.setdefault(column[::step].tobytes(), [])
        same = next((i for i in others if np.array_equal(cells[i], column)), None)
        if same is None:
            others.append(j)
            kept.append(j)
        else:
            duplicates[j] = same
    return sorted(kept, key=names.__getitem__), duplicates


@dataclass(frozen=True, eq=False)
class LearningRows:
    """Rows as cells.

    Parameters
    ----------
    cells : int32 array (n_columns, n_rows)
    y : int32 array (n_rows,)
    weight : float64 array (n_rows,)
        In effective rows. A row is left out whole, whatever it weighs; one of weight 0 is none.
    n_classes : int
    keys : uint64 array (n_rows,), optional
        A hash of each row's cells and label, which samples and folds follow; see `canonical`.
    groups : uint64 array (n_rows,), optional
        Keys of rows that belong together and are in one fold; without it, twins are.
    """

    cells: Cells
    y: Cells
    weight: Array
    n_classes: int
    keys: NDArray[np.uint64] | None = None
    groups: NDArray[np.uint64] | None = None

    @property
    def n(self) -> int:
        return len(self.y)

    @property
    def removed(self) -> Array:
        """What leaving a row out takes from a count: all of it."""
        return self.weight

    def take(self, rows: NDArray[np.intp]) -> LearningRows:
        """Some rows."""
        return LearningRows(
            np.take(self.cells, rows, axis=1),
            self.y[rows],
            self.weight[rows],
            self.n_classes,
            None if self.keys is None else self.keys[rows],
            None if self.groups is None else self.groups[rows],
        )

    def among(self, columns: list[int]) -> LearningRows:
        """The same rows in some columns, in this order; the keys are of these alone."""
        if columns == list(range(len(self.cells))):
            return self
        some = replace(self, cells=np.ascontiguousarray(self.cells[columns]), keys=None)
        return replace(some, keys=some.content())

    def content(self) -> NDArray[np.uint64]:
        """The keys of the rows."""
        return row_keys(list(self.cells), self.y) if self.keys is None else self.keys

    def folds(self, folds: int, salt: int) -> NDArray[np.intp]:
        """The fold of each row; see `twin_folds` and `group_folds`. Rows are copies of each other
        only where equal ones are not to be expected, and where all rows of that content have one
        label."""
        if self.groups is not None:
            return group_folds(self.groups, self.y, folds, salt)
        keys = self.content()
        if self._alike_by_chance(keys):
            alone = np.ones(self.n, dtype=bool)
        else:
            alone = self._of_several_labels(keys)
        rows = np.flatnonzero(alone)
        if rows.size:
            keys = keys.copy()
            keys[rows] += salted(rows.astype(np.uint64), salt)
        return twin_folds(keys, self.y, self.n_classes, folds, salt)

    def _of_several_labels(self, keys: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """The rows whose content comes with other labels, too, bool (n_rows,).

        If those of one label were left out together, the label would never occur with this content
        in the other rows: rows without any value, for example, would be predicted wrongly for
        certain.
        """
        content, found = keys - _hashes(self.y, LABEL_SALT)[self.y], np.zeros(self.n, dtype=bool)
        in_order = np.sort(content)
        if not (in_order[1:] == in_order[:-1]).any():
            return found
        here = np.flatnonzero(self.weight > 0.0)
        order = here[np.argsort(content[here], kind="stable")]
        starts = np.flatnonzero(np.append(True, content[order][1:] != content[order][:-1]))
        of_rows = self.y[order]
        several = np.minimum.reduceat(of_rows, starts) < np.maximum.reduceat(of_rows, starts)
        found[order] = np.repeat(several, np.diff(starts, append=len(order)))
        return found

    def _alike_by_chance(self, keys: NDArray[np.uint64]) -> bool:
        """Whether equal rows are not copies, as columns distinguish so few rows: of n rows whose
        columns had nothing to do with each other, n / exp(Σ H) would have a given content, H the
        entropy of a column. In few columns that is more than one in twenty, and to hold all rows
        of a content out would leave other rows in than there are."""
        room = np.log(self.n / MAX_CHANCE_SHARE)
        for cells in self.cells:
            share = np.bincount(cells[cells >= 0]) / self.n
            share = share[share > 0.0]
            room += float(share @ np.log(share))
            if room < 0.0:
                return False
        return len(np.unique(keys)) < len(keys)


def counted_in(columns: list[ColumnCells], rows: LearningRows) -> list[ColumnCells]:
    """The same columns with the counts of these rows."""
    found = []
    for column, cells in zip(columns, rows.cells, strict=True):
        known = cells >= 0
        at = cells[known] * rows.n_classes + rows.y[known]
        counts = np.zeros((column.n_cells, rows.n_classes))
        counts += np.bincount(at, rows.weight[known], counts.size).reshape(counts.shape)
        found.append(replace(column, counts=counts))
    return found


def canonical(rows: LearningRows, columns: list[ColumnCells]) -> tuple[LearningRows, Index]:
    """Rows in their canonical order: by their keys, twins by their weights.

    Parameters
    ----------
    rows : LearningRows
    columns : list of ColumnCells
        Theirs, in any order: it does not change the keys.

    Returns
    -------
    LearningRows
    index array (n_rows,)
        Where each was.
    """
    kept, _ = distinct(rows.cells, [column.name for column in columns])
    keys = row_keys([rows.cells[j] for j in kept], rows.y)
    alike = bool((rows.weight == rows.weight[:1]).all())
    order = np.argsort(keys) if alike else np.lexsort((rows.weight, keys))
    cells = np.empty_like(rows.cells)
    for column, into in zip(rows.cells, cells, strict=True):
        np.take(column, order, out=into)
    groups = None if rows.groups is None else rows.groups[order]
    y, weight = rows.y[order], rows.weight[order]
    return LearningRows(cells, y, weight, rows.n_classes, keys[order], groups), order


# ---- rows that repeat ----------------------------------------------------------------------------
# Rows that repeat: copies of the same observations, which leave-one-out has to leave out together.
#
# Leave-one-out predicts a row from the others. If the others hold copies of it, any column that
# distinguishes rows, an identifier or noise, seems to predict it, and smoothing, weights and pairs
# are chosen by that. Rows left out whole then lose so much that nothing is trusted. So copies are
# taken for one row that weighs as much as they do together. The counts stay as they are, and a
# table that was repeated n times gives the model of the table.
#
# Equal rows are not always copies: where columns distinguish few rows, equal ones are usual. They
# are copies of each other where, within a class,
#
# - most contents occur several times, and about equally often (g times),
# - they would not be so few by chance: if columns were independent, D / exp(Σ H) of D contents
#   would be equal, H the entropies of the columns; or they occur more evenly than samples do, whose
#   counts vary by their mean at least,
# - few contents come with several labels.
#
# A content with m rows of a label then counts as m / g rows, rounded, and at least one.
#
# Rows that belong together, as those of one customer, are named by the caller. They are thinned in
# the same way, by how much their labels depend on each other. With ρ the intraclass correlation of
# the labels, m rows of a group hold as much as
#
#     m / (1 + ρ (m − 1))
#
# independent ones (L. Kish, Survey Sampling, 1965, section 5.4): one, where the rows of a group
# have one label, and m where their labels have nothing to do with each other.
HASHED_CHUNK = 1 << 13  # rows that are hashed at a time, so that they stay in the cache
MANY_ROWS = 5_000  # from which a sample of the contents, with all their rows, is looked at first
SAMPLED_SHARE = 16  # one of so many contents, about
MIN_SAMPLED_CONTENTS = 300  # with fewer all are looked at
MIN_CONTENTS = 20  # contents of a class by which its repetition is judged; fewer are by all classes
MIN_COPIES = 2.0  # times that a content occurs, in the median
MIN_REGULAR_SHARE = 0.75  # of the contents occur about equally often
MAX_DEVIATION = 0.5  # of the median, and one row: what "about equally often" allows
MIN_EVEN_CONTENTS = 100  # contents whose counts may be too even for a sample
MAX_DISPERSION = 0.5  # the variance of their counts over the mean, which is 1 in a sample
MIN_PURE_SHARE = 0.5  # of the rows have a content that comes with one label only


class Observations(NamedTuple):
    """Rows that stand for all: of copies one.

    Parameters
    ----------
    rows : index array (n_some,)
        Ascending places among all rows.
    weight : float64 array (n_some,)
        Their own and that of the rows that they stand for.
    groups : uint64 array (n_some,), optional
        Keys of groups that have several of these rows, and stay together.
    """

    rows: Index
    weight: Array
    groups: Keys | None = None


def row_contents(x: Table) -> Keys:
    """A 64-bit hash of the values of each row, uint64 (n_rows,); equal rows have equal ones."""
    keys = np.zeros(x.n_rows, dtype=np.uint64)
    for salt, column in enumerate(x.columns.values(), 1):
        _add_hashes(column, salt, keys)
    return keys


def _add_hashes(column: Column, salt: int, keys: Keys) -> None:
    """Adds a hash of its value to the key of each row."""
    for begin in range(0, len(keys), HASHED_CHUNK):
        part = slice(begin, begin + HASHED_CHUNK)
        for numbers, bits in enumerate(_bits(column, part)):
            keys[part] += salted(bits, 2 * salt + numbers)


def warn_of_copies(
    n: int, n_distinct: int, unit: str = "rows", warned: set[Hashable] | None = None
) -> None:
    """Warns that rows or documents are copies of fewer ones; once where `warned` is given."""
    warn_user(
        f"{unit} repeat: the {n:,} {unit} are copies of {n_distinct:,} observations, about "
        f"{n / n_distinct:.3g} times each. All copies of one are left out together, and weigh as "
        "much as they do together. Give each once, with its number as sample_weight (--weight)",
        DependentRowsWarning,
        warned=warned,
        about="copies",
    )


def _rows_of_some_contents(x: Table) -> Index:
    """All rows of about one content in `SAMPLED_SHARE`, chosen by as few columns as distinguish so
    many rows; all rows where no columns do."""
    keys = np.zeros(x.n_rows, dtype=np.uint64)
    for salt, column in enumerate(x.columns.values(), 1):
        _add_hashes(column, salt, keys)
        some = np.flatnonzero(salted(keys, 0) % np.uint64(SAMPLED_SHARE) == 0)
        if 0 < len(some) <= 2 * x.n_rows / SAMPLED_SHARE:
            return some
    return np.arange(x.n_rows)


def _bits(column: Column, part: slice) -> list[Keys]:
    """The values of some rows as whole numbers, which are equal where the values are."""
    if isinstance(column, Mixed):
        return [*_bits(column.numbers, part), *_bits(column.strings, part)]
    if isinstance(column, Strings):
        return [column.codes[part].astype(np.uint64)]
    if not isinstance(column, Numbers):
        return []
    values = column.values[part]
    floats = values.astype(np.float64) + 0.0  # −0 is 0
    bits = np.where(np.isnan(floats), np.nan, floats).view(np.uint64)
    if values.dtype.kind in "iu" and np.abs(floats).max(initial=0.0) >= EXACT:
        kind = np.int64 if values.dtype.kind == "i" else np.uint64
        with np.errstate(invalid="ignore"):  # 2⁶³ and 2⁶⁴, which the largest numbers round to
            lost = values.astype(kind) - floats.astype(kind)  # what float64 does not hold
        bits = bits + lost.view(np.uint64) * np.uint64(FACTORS[0])
    return [bits]


def without_copies(x: Table, own: NDArray[np.integer], weight: Array) -> Observations | None:
    """The observations that the rows are copies of; None where rows do not repeat.

    Parameters
    ----------
    x : Table
        The columns that are learned from.
    own : index array (n_rows,)
        The class of each row.
    weight : float64 array (n_rows,)
        Above 0.
    """
    if x.n_rows >= MANY_ROWS:
        some = _rows_of_some_contents(x)
        few = x.take(some)
        contents = row_contents(few)
        enough = len(np.unique(contents)) >= MIN_SAMPLED_CONTENTS
        by_chance = partial(_alike_by_chance, few)
        if enough and observations(contents, own[some], weight[some], by_chance) is None:
            return None
    return observations(row_contents(x), own, weight, partial(_alike_by_chance, x))


def observations(
    contents: Keys,
    own: NDArray[np.integer],
    weight: Array,
    alike_by_chance: Callable[[Index], bool],
) -> Observations | None:
    """The observations that rows, or documents, are copies of; None where they do not repeat.

    Parameters
    ----------
    contents : uint64 array (n_rows,)
        Hashes of the rows.
    own : index array (n_rows,)
        The class of each row.
    weight : float64 array (n_rows,)
        Above 0.
    alike_by_chance : callable
        Whether some of so many rows of different contents, which it is given, would be equal.
    """
    order = np.lexsort((own, contents))
    contents, labels = contents[order], own[order]
    new_content = np.append(True, contents[1:] != contents[:-1])
    first = np.flatnonzero(new_content | np.append(True, labels[1:] != labels[:-1]))
    count = np.diff(first, append=len(order))  # rows of a content and a label
    if not MIN_CONTENTS <= len(first) < len(order):
        return None
    labels, content = labels[first], np.cumsum(new_content)[first]
    pure = np.bincount(content)[content] == 1
    if count[pure].sum() < MIN_PURE_SHARE * len(order):
        return None
    times = _times(order[first], labels, count, pure, alike_by_chance)
    if not (times >= MIN_COPIES).any():
        return None
    kept = np.where(times >= MIN_COPIES, np.maximum(np.round(count / times), 1.0), count)
    kept = kept.astype(np.intp)
    place = np.arange(len(order)) - np.repeat(first, count)
    return _observations(order, first, kept, weight, place < np.repeat(kept, count))


def of_groups(
    x: Table, own: NDArray[np.integer], weight: Array, groups: NDArray[np.integer]
) -> Observations:
    """As many rows of each group as it holds independent ones; they weigh what the group weighs.

    Parameters
    ----------
    x : Table
        The columns that are learned from.
    own, groups : index arrays (n_rows,)
        The class and the group of each row, from 0 on.
    weight : float64 array (n_rows,)
        Above 0.
    """
    columns = {name: _named(x.columns[name]) for name in sorted(x.columns)}
    contents = row_contents(Table(columns, x.n_rows, x.named))
    contents += salted(own.astype(np.uint64), LABEL_SALT)
    order = np.lexsort((contents, groups))  # which rows stay does not depend on their order
    first = np.flatnonzero(np.append(True, np.diff(groups[order]) != 0))
    count = np.diff(first, append=len(order))
    correlation = label_correlation(own, weight, groups)
    kept = np.round(count / (1.0 + correlation * (count - 1.0))).astype(np.intp)
    place = np.arange(len(order)) - np.repeat(first, count)
    # at equal distances: place i · count // kept of each group, i from 0 on
    of_group, many = np.repeat(count, count), np.repeat(kept, count)
    some = (place * many) // of_group != ((place - 1) * many) // of_group
    found = _observations(order, first, kept, weight, some)
    if not (kept > 1).any():
        return found
    return found._replace(groups=group_keys(contents, groups)[found.rows])


def _observations(
    order: Index, first: Index, kept: Index, weight: Array, some: NDArray[np.bool_]
) -> Observations:
    """Some of the rows, in an order in which those of a group stand side by side, the first of
    each at `first`: as many as are `kept` of it share what all of the group weigh. Where all are,
    each has its own weight."""
    count = np.diff(first, append=len(order))
    shared = np.add.reduceat(weight[order], first) / kept
    whole = np.repeat(kept == count, count)
    found = np.where(whole, weight[order], np.repeat(shared, count))[some]
    index = order[some]
    back = np.argsort(index)
    return Observations(index[back], found[back])


def _named(column: Column) -> Column:
    """A column whose levels have the codes of their order by name, whatever order they came in."""
    if isinstance(column, Mixed):
        strings = _named(column.strings)
        assert isinstance(strings, Strings)
        return Mixed(column.numbers, strings, column.what)
    if not isinstance(column, Strings):
        return column
    used, place = np.unique(column.codes, return_inverse=True)
    names = ["" if code < 0 else column.levels[code] for code in used.tolist()]
    rank = np.argsort(sorted(range(len(names)), key=lambda i: (used[i] >= 0, names[i])))
    return Strings(rank[place].astype(np.int32), sorted(names), column.what)


def label_correlation(
    own: NDArray[np.integer], weight: Array, groups: NDArray[np.integer]
) -> float:
    """ρ, the intraclass correlation of labels within groups, from 0 to 1: how much more the sums of
    groups vary than those of independent rows, over how much more those of copies would."""
    n_groups = int(groups.max(initial=0)) + 1
    total = float(weight.sum())
    together = alone = copies = 0.0
    rows = np.bincount(groups, minlength=n_groups)
    for k in range(int(own.max(initial=0)) + 1):
        mine = own == k
        residual = weight * (mine - float(weight[mine].sum()) / total)
        together += float((np.bincount(groups, residual, n_groups) ** 2).sum())
        alone += float(residual @ residual)
        copies += float((residual**2 * rows[groups]).sum())
    if copies <= alone:
        return 0.0
    return float(np.clip((together - alone) / (copies - alone), 0.0, 1.0))


def _times(
    row: Index,
    labels: NDArray[np.integer],
    count: Index,
    pure: NDArray[np.bool_],
    alike_by_chance: Callable[[Index], bool],
) -> Array:
    """How often the observations of its class occur, for each content; 1 where rows of the class
    do not repeat.

    Parameters
    ----------
    row : index array (n_contents,)
        A row of each content.
    labels, count : index arrays (n_contents,)
    pure : bool array (n_contents,)
        Whether the content comes with one label only.
    alike_by_chance : callable
    """
    times = np.full(len(count), _regular_times(row[pure], count[pure], alike_by_chance))
    for k in np.unique(labels).tolist():
        of_class = labels == k
        alone = of_class & pure
        if alone.sum() >= MIN_CONTENTS:
            times[of_class] = _regular_times(row[alone], count[alone], alike_by_chance)
    return times


def _regular_times(row: Index, count: Index, alike_by_chance: Callable[[Index], bool]) -> float:
    """How often contents occur, if it is about equally often, and not by chance; else 1."""
    if len(count) < MIN_CONTENTS:
        return 1.0
    times = float(np.median(count))
    regular = np.abs(count - times) <= max(MAX_DEVIATION * times, 1.0)
    if times < MIN_COPIES or regular.mean() < MIN_REGULAR_SHARE:
        return 1.0
    even = len(count) >= MIN_EVEN_CONTENTS and count.var() < MAX_DISPERSION * count.mean()
    return times if even or not alike_by_chance(row) else 1.0


def _alike_by_chance(x: Table, rows: Index) -> bool:
    """Whether so many contents would have equal ones among them if columns were independent."""
    distinct = x.take(rows)
    room = float(np.log(distinct.n_rows / MAX_CHANCE_SHARE))
    for column in distinct.columns.values():
        bits = _bits(column, slice(None))
        if bits:
            _, count = np.unique(np.column_stack(bits), axis=0, return_counts=True)
            share = count / distinct.n_rows
            room += float(share @ np.log(share))
    return room > 0.0
