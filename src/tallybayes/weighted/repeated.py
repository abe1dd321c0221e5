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

Rows that belong together, as those of one customer, are named by the caller. They are thinned in
the same way, by how much their labels depend on each other. With ρ the intraclass correlation of
the labels, m rows of a group hold as much as

    m / (1 + ρ (m − 1))

independent ones (L. Kish, Survey Sampling, 1965, section 5.4): one, where the rows of a group have
one label, and m where their labels have nothing to do with each other.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes.engines.sampling import FACTORS
from tallybayes.errors import DependentRowsWarning, warn_user
from tallybayes.tables import Column, Mixed, Numbers, Strings, Table
from tallybayes.tables.columns import EXACT
from tallybayes.weighted.rows import LABEL_SALT, MAX_CHANCE_SHARE, group_keys, salted

__all__ = [
    "Observations",
    "label_correlation",
    "observations",
    "of_groups",
    "row_contents",
    "warn_of_copies",
    "without_copies",
]

Array = NDArray[np.float64]
Index = NDArray[np.intp]
Keys = NDArray[np.uint64]

CHUNK = 1 << 13  # rows that are hashed at a time, so that they stay in the cache
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
    for begin in range(0, len(keys), CHUNK):
        part = slice(begin, begin + CHUNK)
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
    some = place < np.repeat(kept, count)
    single = np.repeat(kept == count, count)  # of which no row stands for another
    shared = np.add.reduceat(weight[order], first) / kept
    found = np.where(single, weight[order], np.repeat(shared, count))[some]
    index = order[some]
    back = np.argsort(index)
    return Observations(index[back], found[back])


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
    shared = np.add.reduceat(weight[order], first) / kept
    whole = np.repeat(kept == count, count)
    found = np.where(whole, weight[order], np.repeat(shared, count))[some]
    index = order[some]
    back = np.argsort(index)
    together = group_keys(contents, groups)[index[back]] if (kept > 1).any() else None
    return Observations(index[back], found[back], together)


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
