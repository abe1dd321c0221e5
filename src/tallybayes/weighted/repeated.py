"""Rows that repeat: copies of the same observations, which leave-one-out has to leave out together.

Leave-one-out predicts a row from the others. If the others hold copies of it, any column that
distinguishes rows, an identifier or noise, seems to predict it, and smoothing, weights and pairs
are chosen by that. Rows left out whole then lose so much that nothing is trusted. So copies are
taken for one row that weighs as much as they do together. The counts stay as they are, and a table
that was repeated n times gives the model of the table.

Equal rows are not always copies: where columns distinguish few rows, equal ones are usual. They are
copies of each other where, within a class,

- most contents occur several times, and about equally often (g times),
- they would not be so few by chance: if columns were independent, D / exp(Σ H) of D contents would
  be equal, H the entropies of the columns; or they occur more evenly than samples do, whose counts
  vary by their mean at least,
- few contents come with several labels.

A content with m rows of a label then counts as m / g rows, rounded, and at least one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes.tables import Column, Mixed, Numbers, Strings, Table
from tallybayes.weighted.rows import MAX_CHANCE_SHARE, salted

__all__ = ["Observations", "row_contents", "without_copies"]

Array = NDArray[np.float64]
Index = NDArray[np.intp]
Keys = NDArray[np.uint64]

CHUNK = 1 << 13  # rows that are hashed at a time, so that they stay in the cache
MANY_ROWS = 5_000  # from which a sample of the contents, with all their rows, is looked at first
SAMPLED_SHARE = 16  # one of so many contents, about
MIN_SAMPLED_CONTENTS = 300  # with fewer all are looked at
MIN_CONTENTS = 10  # contents of a class by which its repetition is judged; fewer are by all classes
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
    """

    rows: Index
    weight: Array


def row_contents(x: Table) -> Keys:
    """A 64-bit hash of the values of each row, uint64 (n_rows,); equal rows have equal ones."""
    keys = np.zeros(x.n_rows, dtype=np.uint64)
    for salt, column in enumerate(x.columns.values(), 1):
        _add_hashes(column, salt, keys)
    return keys


def _add_hashes(column: Column, salt: int, keys: Keys) -> None:
    """Adds a hash of its value to the key of each row."""
    for begin in range(0, len(keys), CHUNK):
        part = slice(begin, begin + CHUNK)
        for numbers, bits in enumerate(_bits(column, part)):
            keys[part] += salted(bits, 2 * salt + numbers)


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
    if values.dtype.kind != "f":
        return [values.astype(np.int64).view(np.uint64)]
    values = values.astype(np.float64) + 0.0  # −0 is 0
    return [np.where(np.isnan(values), np.nan, values).view(np.uint64)]


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
        if enough and _observations(few, own[some], weight[some], contents) is None:
            return None
    return _observations(x, own, weight, row_contents(x))


def _observations(
    x: Table, own: NDArray[np.integer], weight: Array, contents: Keys
) -> Observations | None:
    """See :func:`without_copies`; `contents` are hashes of the rows."""
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
    times = _times(x, order[first], labels, count, pure)
    if not (times >= MIN_COPIES).any():
        return None
    kept = np.where(times >= MIN_COPIES, np.maximum(np.round(count / times), 1.0), count)
    kept = kept.astype(np.intp)
    place = np.arange(len(order)) - np.repeat(first, count)
    some = place < np.repeat(kept, count)
    single = np.repeat(kept == count, count)  # of which no row stands for another
    shared = np.add.reduceat(weight[order], first) / kept
    found = np.where(single, weight[order], np.repeat(shared, count))[some]
    index = order[some]
    back = np.argsort(index)
    return Observations(index[back], found[back])


def _times(
    x: Table, row: Index, labels: NDArray[np.integer], count: Index, pure: NDArray[np.bool_]
) -> Array:
    """How often the observations of its class occur, for each content; 1 where rows of the class
    do not repeat.

    Parameters
    ----------
    x : Table
    row : index array (n_contents,)
        A row of each content.
    labels, count : index arrays (n_contents,)
    pure : bool array (n_contents,)
        Whether the content comes with one label only.
    """
    times = np.full(len(count), _regular_times(x, row[pure], count[pure]))
    for k in np.unique(labels).tolist():
        of_class = labels == k
        alone = of_class & pure
        if alone.sum() >= MIN_CONTENTS:
            times[of_class] = _regular_times(x, row[alone], count[alone])
    return times


def _regular_times(x: Table, row: Index, count: Index) -> float:
    """How often contents occur, if it is about equally often, and not by chance; else 1."""
    if len(count) < MIN_CONTENTS:
        return 1.0
    times = float(np.median(count))
    regular = np.abs(count - times) <= max(MAX_DEVIATION * times, 1.0)
    if times < MIN_COPIES or regular.mean() < MIN_REGULAR_SHARE:
        return 1.0
    even = len(count) >= MIN_EVEN_CONTENTS and count.var() < MAX_DISPERSION * count.mean()
    return times if even or not _alike_by_chance(x.take(row)) else 1.0


def _alike_by_chance(distinct: Table) -> bool:
    """Whether so many contents would have equal ones among them if columns were independent."""
    room = float(np.log(distinct.n_rows / MAX_CHANCE_SHARE))
    for column in distinct.columns.values():
        bits = _bits(column, slice(None))
        if bits:
            _, count = np.unique(np.column_stack(bits), axis=0, return_counts=True)
            share = count / distinct.n_rows
            room += float(share @ np.log(share))
    return room > 0.0
