"""The tally of a whole model, which is merged, saved and sent between processes."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, BinaryIO, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tallybayes import persistence
from tallybayes.errors import IncompatibleTallies, ModelFileError, NegativeTally, listed
from tallybayes.persistence import Tree, Unfit, flat, need, nested
from tallybayes.readable import html_table
from tallybayes.schema import Columns, Schema, SomeLevels, places_among
from tallybayes.tables.columns import Zone
from tallybayes.tally.base import (
    MAX_RESIDUE_ROWS,
    RESIDUE,
    ClassCounts,
    FeatureSums,
    LevelCounts,
    Tally,
)
from tallybayes.tally.numbers import CrossMoments, GridCounts, Moments
from tallybayes.tally.saved import plain_arrays, restored_parts, tally_header
from tallybayes.tally.terms import TextCounts

__all__ = [
    "NOISED",
    "Group",
    "TableTally",
    "cross_group",
    "held_columns",
    "level_group",
    "number_groups",
    "some_levels_group",
    "split_vector",
]

Group = tuple[Columns, Tally]
"""Columns that are counted in one way, and their tally."""


# ---- removing levels and columns without a count from a tally ------------------------------------
def held_columns(
    columns: Columns, group: Tally, n_declared: NDArray[np.int64] | None
) -> Group | None:
    """Columns with the levels that rows hold, and their tally; None for a column without values."""
    if isinstance(group, TextCounts) and not group.documents.any():
        return None
    if not isinstance(group, LevelCounts):
        return columns, group
    seen: NDArray[np.bool_] = np.asarray(group.counts.any(axis=0))
    if columns.open:
        if seen.all():
            return columns, group
        if not seen.any():
            return None
        assert columns.levels is not None
        return replace(columns, levels=(columns.levels[0][seen],)), group.narrowed(seen)
    if columns.levels is not None:
        return columns, group
    code = np.arange(len(seen)) - np.repeat(group.start[:-1], group.n_levels)
    highest = np.zeros(group.n_features, dtype=np.int64)
    np.maximum.at(
        highest, np.repeat(np.arange(group.n_features), group.n_levels), (code + 1) * seen
    )
    n_levels = highest if n_declared is None else np.maximum(highest, n_declared)
    n_levels = np.minimum(n_levels, group.n_levels)
    if np.array_equal(n_levels, group.n_levels):
        return columns, group
    return (
        replace(columns, n_levels=n_levels),
        group.narrowed(code < np.repeat(n_levels, group.n_levels)),
    )


# ---- groups of columns with their tallies, in the same form for every engine ---------------------
def level_group(name: str, levels: NDArray[Any], counts: NDArray[np.float64]) -> Group:
    """A column of strings as an open group: levels (n_levels,) and counts (n_classes, n_levels)."""
    columns = Columns(kind="levels", names=(name,), levels=(levels,), open=True)
    return columns, LevelCounts(np.array([0, len(levels)], dtype=np.int64), counts)


def number_groups(
    name: str, moments: Moments, grid: GridCounts, *, dates: bool = False, zone: Zone = ""
) -> list[Group]:
    """A column of numbers as groups: its moments and its grid counts."""
    numbers = partial(Columns, names=(name,), dates=dates, zone=zone)
    return [(numbers(kind="moments", origin=moments.origin), moments), (numbers(kind="grid"), grid)]


def some_levels_group(
    name: str,
    asked: Sequence[str],
    counts: NDArray[np.float64],
    others: NDArray[np.float64],
    n_all: int,
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


def split_vector(vector: Any, n_classes: int, widths: Sequence[int]) -> list[NDArray[np.int64]]:
    """The parts of a vector of counts, modulo 2⁶⁴.

    Parameters
    ----------
    vector : array-like of whole numbers
    n_classes : int
    widths : sequence of int
        How many numbers a class has in each part.

    Returns
    -------
    list of int64 arrays (n_classes, width)

    Raises
    ------
    ValueError
        For another length or type.
    """
    given = np.asarray(vector)
    n = n_classes * sum(widths)
    if given.dtype.kind not in "iu" or given.shape != (n,):
        raise ValueError(
            f"the vector of this schema has {n} whole numbers (int64, or uint64 modulo 2⁶⁴); got "
            f"{given.dtype} numbers of the shape {given.shape}"
        )
    numbers = given.astype(np.uint64).view(np.int64) if given.dtype == np.uint64 else given
    ends = np.cumsum([n_classes * width for width in widths])[:-1]
    parts = np.split(numbers.astype(np.int64), ends)
    return [part.reshape(n_classes, width) for part, width in zip(parts, widths, strict=True)]


# ---- the tally of a table ------------------------------------------------------------------------
MAX_SHOWN = 10  # classes that a notebook lists
NOISED = "NoisedTally"  # what the file of noised counts says that it is


def zero_tally(columns: Columns, n_classes: int) -> Tally:
    """Nothing counted, for columns of any kind."""
    if columns.kind == "levels":
        assert columns.n_levels is not None
        return LevelCounts.zeros(n_classes, columns.n_levels)
    if columns.kind == "moments":
        assert columns.origin is not None
        return Moments.zeros(n_classes, columns.origin)
    if columns.kind == "cross":
        assert columns.origin is not None
        return CrossMoments.zeros(n_classes, columns.origin)
    if columns.kind == "grid":
        return GridCounts.zeros(n_classes)
    if columns.kind == "terms":
        return TextCounts.zeros(n_classes)
    return FeatureSums.zeros(n_classes, columns.n_features)


def _moves(mine: Columns, wider: Columns) -> NDArray[np.intp]:
    """Where the levels of an open column stand in a wider one."""
    assert mine.levels is not None
    assert wider.levels is not None
    here, there = mine.levels[0].tolist(), wider.levels[0].tolist()
    if there[: len(here)] == here:  # as where they are joined: the first one's come first
        return np.arange(len(here))
    at = {level: i for i, level in enumerate(there)}
    return np.array([at[level] for level in here], dtype=np.intp)


def _hold_the_same(mine: TableTally, theirs: TableTally) -> bool:
    """Whether two tallies of one schema count the same rows."""
    return all(a.holds_the_same(b) for a, b in zip(mine.parts, theirs.parts, strict=True))


def _differ_in_origins(mine: Schema, theirs: Schema) -> bool:
    """Whether the columns of two schemas of arrays are the same but for the origins of moments."""
    return all(
        a.origin is not None and b.origin is not None and a.names == b.names
        for a, b in zip(mine.groups, theirs.groups, strict=True)
    )


def _levels_in(columns: Columns) -> list[int] | None:
    return None if columns.n_levels is None else columns.n_levels.tolist()


@dataclass(eq=False, repr=False)
class TableTally:
    """Class counts and, for each group of columns of the schema, its tally.

    Addition needs equal schemas; :meth:`merged` joins them first.
    """

    schema: Schema
    classes: ClassCounts
    groups: tuple[Tally, ...]

    @classmethod
    def of_columns(
        cls, labels: NDArray[Any], classes: ClassCounts, pairs: Iterable[Group]
    ) -> TableTally:
        """The tally of columns by name, in the order in which they come."""
        found = tuple(pairs)
        schema = Schema(labels, tuple(columns for columns, _ in found), by_name=True)
        return cls(schema, classes, tuple(group for _, group in found))

    @property
    def pairs(self) -> list[Group]:
        """Each group of columns with its tally."""
        return list(zip(self.schema.groups, self.groups, strict=True))

    @property
    def by_key(self) -> dict[tuple[tuple[str, ...] | None, str], Group]:
        """Each group of columns with its tally, by the names of the columns and their kind."""
        return {columns.key: (columns, group) for columns, group in self.pairs}

    def with_pairs(self, pairs: Iterable[Group]) -> TableTally:
        """The counts of the same rows, with these groups of columns in place of its own."""
        found = list(pairs)
        groups = tuple(columns for columns, _ in found)
        schema = replace(self.schema, groups=groups, public=False)
        return TableTally(schema, self.classes, tuple(group for _, group in found))

    @property
    def parts(self) -> tuple[Tally, ...]:
        return (self.classes, *self.groups)

    def _with(self, parts: list[Tally]) -> TableTally:
        classes = parts[0]
        assert isinstance(classes, ClassCounts)
        return TableTally(self.schema, classes, tuple(parts[1:]))

    @property
    def size(self) -> int:
        """How many numbers it is."""
        return sum(array.size for array in self.arrays().values())

    def __repr__(self) -> str:
        """What was counted, in a line: the counts themselves are in `classes` and `groups`."""
        n_classes = self.classes.n_classes
        kinds: Counter[str] = Counter()
        for columns in self.schema.groups:
            kinds[columns.kind] += columns.n_features
        counted = ", ".join(f"{kind} of {n} columns" for kind, n in kinds.items())
        classes = f"{n_classes} class" + ("es" if n_classes != 1 else "")
        rows = f"{self.classes.count.sum():g} rows of {classes}"
        return f"TableTally({rows}{': ' if counted else ''}{counted})"

    def _repr_html_(self) -> str:
        """The classes with their rows as a table, and what was counted in a line."""
        rows = self.classes.count
        order = np.argsort(-rows, kind="stable")[:MAX_SHOWN].tolist()
        labels = self.schema.classes.tolist()
        more = len(rows) - MAX_SHOWN
        note = f"… and {more:,} more classes; " if more > 0 else ""
        lines = [(labels[k], f"{rows[k]:,.10g}") for k in order]
        return html_table(["class", "rows"], lines, note + repr(self))

    def copy(self) -> TableTally:
        return self._with([part.copy() for part in self.parts])

    def zero(self) -> TableTally:
        return self._with([part.zero() for part in self.parts])

    def _joined_schema(self, other: TableTally) -> Schema:
        """The schema in which both add, where theirs differ and columns have names."""
        if not (self.schema.by_name and other.schema.by_name):
            raise IncompatibleTallies(
                "tallies of different schemas do not add; `a.merged(b)` joins their classes, "
                "levels and origins first"
            )
        return self.schema.join(other.schema)

    def __add__(self, other: TableTally) -> TableTally:
        """The tally of both parts' rows. Columns by name are joined: classes, levels, columns."""
        if self.schema == other.schema:
            return self._with([a + b for a, b in zip(self.parts, other.parts, strict=True)])
        schema = self._joined_schema(other)
        return self.aligned(schema) + other.aligned(schema)

    def __radd__(self, other: object) -> TableTally:
        """``0 + tally`` is a copy of the tally, so that ``sum(tallies)`` adds them."""
        if type(other) is not int or other != 0:
            return NotImplemented
        return self.copy()

    def __sub__(self, other: TableTally) -> TableTally:
        """The tally without the rows of the other; columns by name are joined."""
        if self.schema == other.schema:
            return self._with([a - b for a, b in zip(self.parts, other.parts, strict=True)])
        schema = self._joined_schema(other)
        return self.aligned(schema) - other.aligned(schema)

    def __mul__(self, weight: float) -> TableTally:
        return self._with([part * weight for part in self.parts])

    __rmul__ = __mul__

    def weighted(self, by_class: NDArray[np.float64]) -> TableTally:
        """The same rows, the weight of those of class k multiplied by ``by_class[k]``, from 0 on.

        The counts are those of rows that are counted with these weights, to rounding.
        """
        return self._with([part.weighted(by_class) for part in self.parts])

    def __neg__(self) -> TableTally:
        return self * -1.0

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TableTally):
            return NotImplemented
        if self.schema == other.schema:
            return _hold_the_same(self, other)
        return self._holds_in_another_order(other)

    def _holds_in_another_order(self, other: TableTally) -> bool:
        """Whether both hold the same columns and levels, found in another order, and moments of the
        same rows, about other origins."""
        mine, theirs = self.schema, other.schema
        if mine.by_name != theirs.by_name or len(mine.groups) != len(theirs.groups):
            return False
        if not mine.by_name and not _differ_in_origins(mine, theirs):
            return False
        try:
            both = mine.join(theirs)
        except IncompatibleTallies:
            return False
        sizes = {columns.key: _levels_in(columns) for columns in both.groups}
        for schema in (mine, theirs):
            if len(schema.classes) < len(both.classes) or len(schema.groups) < len(both.groups):
                return False
            if any(sizes[columns.key] != _levels_in(columns) for columns in schema.groups):
                return False
        return _hold_the_same(self.aligned(both), other.aligned(both))

    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    def with_classes(self, labels: NDArray[Any]) -> TableTally:
        """The same counts with classes that may occur, sorted labels, beside its own."""
        return self.aligned(self.schema.join(Schema(labels, (), by_name=self.schema.by_name)))

    def aligned(self, schema: Schema) -> TableTally:
        """The same counts in a schema that holds this one's classes, levels and columns."""
        rows = places_among(self.schema.classes, schema.classes)
        same_classes = len(schema.classes) == len(self.schema.classes)
        parts: list[Tally] = [self.classes]
        if schema.by_name:
            here = self.by_key
        for i, columns in enumerate(schema.groups):
            if not schema.by_name:
                mine, tally = self.schema.groups[i], self.groups[i]
            elif columns.key in here:
                mine, tally = here[columns.key]
            else:
                parts.append(zero_tally(columns, len(self.schema.classes)))
                continue
            if isinstance(tally, LevelCounts):
                assert columns.n_levels is not None
                if columns.open:
                    tally = tally.moved(columns.n_levels, _moves(mine, columns))
                else:
                    tally = tally.widen(columns.n_levels)
            if isinstance(tally, Moments | CrossMoments):
                assert columns.origin is not None
                if not np.array_equal(tally.origin, columns.origin):
                    tally = tally.rebased(columns.origin)
            parts.append(tally)
        if not same_classes:
            parts = [part.place(rows, len(schema.classes)) for part in parts]
        table = self._with(parts)
        table.schema = schema
        return table

    def in_schema(self, schema: Schema) -> TableTally:
        """The counts of a schema's columns, in that schema, which names all that they have.

        Parameters
        ----------
        schema : Schema
            Such as :meth:`Schema.declare` or :meth:`Schema.agree` gives. Columns that it does not
            name are left out, columns that were not counted are missing in every row.

        Returns
        -------
        TableTally
            New counts; they add to those of all others that are in this schema.

        Raises
        ------
        IncompatibleTallies
            A ValueError, for a class, a level or numbers that the schema does not have.
        """
        schema.need_levels("in_schema")
        rule = "the schema names every class and level that was counted"
        known = schema.classes.tolist()
        for label in self.schema.classes.tolist():
            if label not in known:
                raise IncompatibleTallies(
                    f"{rule}, and class {label!r} is not among {listed(map(repr, known))}: correct "
                    "the rows, or declare it"
                )
        kept = {columns.names: columns for columns in schema.groups}
        pairs = [(c, t) for c, t in self.pairs if c.kind == "levels" and c.names in kept]
        for columns in self.schema.groups:
            if columns.kind != "levels" and columns.names in kept:
                replace(self.schema, groups=(columns,)).need_levels("in_schema")
        for columns, _ in pairs:
            declared, found = kept[columns.names].levels, columns.levels
            assert declared is not None
            assert found is not None
            levels = set(declared[0].tolist())
            for level in found[0].tolist():
                if level not in levels:
                    raise IncompatibleTallies(
                        f"{rule}, and column {(columns.names or '?')[0]!r} has {level!r}, which is "
                        f"not among {listed(map(repr, declared[0].tolist()))}: correct the rows, "
                        "or declare it"
                    )
        return self.with_pairs(pairs).aligned(schema)

    def merged(self, other: TableTally) -> TableTally:
        """The tally of both parts' rows, in the joined schema; moments are re-based to this one's
        origin."""
        schema = self.schema.join(other.schema)
        mine = self if schema is self.schema else self.aligned(schema)
        return mine + other.aligned(schema)

    def more_than_rows(self, part: Tally, columns: Columns | None) -> tuple[int, int, str] | None:
        """The first (class, column) of yes/no sums with more yes than the class has rows."""
        if columns is None or columns.threshold is None or not isinstance(part, FeatureSums):
            return None
        count = self.classes.count[:, None]
        over = np.argwhere(part.sums > count * (1.0 + RESIDUE) + MAX_RESIDUE_ROWS)
        if not len(over):
            return None
        k, j = over[0].tolist()
        return k, j, f"{part.sums[k, j]:.17g} of {count[k, 0]:.17g} rows that have it"

    def held(
        self, declared: NDArray[Any] | None, n_declared: NDArray[np.int64] | None = None
    ) -> TableTally:
        """The same counts without the classes, levels and columns that no row holds.

        Of a schema that joins by name, columns without a value go; of another, all columns stay,
        and codes above the highest that a row holds go. Groups of columns stay.

        Parameters
        ----------
        declared : array or None
            Classes that stay in any case.
        n_declared : int64 array (n_features,), optional
            How many levels each column has in any case, where levels are codes.
        """
        pairs = [
            found
            for columns, group in self.pairs
            if (found := held_columns(columns, group, n_declared)) is not None
        ]
        if self.schema.by_name:  # a column of numbers has moments and a grid: both go
            empty = {c.names for c, t in pairs if isinstance(t, Moments) and not t.n.any()}
            pairs = [
                (columns, group)
                for columns, group in pairs
                if columns.kind not in ("moments", "grid") or columns.names not in empty
            ]
        classes = self.schema.classes
        named = set() if declared is None else set(declared.tolist())
        there = self.classes.count != 0.0
        there |= np.array([label in named for label in classes.tolist()], dtype=bool)
        groups = tuple(columns for columns, _ in pairs)
        same_groups = len(pairs) == len(self.groups) and all(
            columns is mine for columns, mine in zip(groups, self.schema.groups, strict=True)
        )
        if there.all() and same_groups:
            return self
        parts: list[Tally] = [self.classes, *(group for _, group in pairs)]
        if not there.all():
            kept = np.flatnonzero(there)
            classes, parts = classes[kept], [part.take(kept) for part in parts]
        table = self._with(parts)
        table.schema = replace(self.schema, classes=classes, groups=groups, public=False)
        return table

    def weightless_classes(self, without: Iterable[Any] = ()) -> NDArray[Any]:
        """The classes whose rows all have weight 0, but for some."""
        classes = self.schema.classes[self.classes.count == 0.0]
        left_out = set(without)
        kept = np.array([label not in left_out for label in classes.tolist()], dtype=bool)
        return np.asarray(classes[kept])

    def need_non_negative(self, action: str) -> None:
        """Raises :class:`NegativeTally`, naming class and feature, where a count is negative."""
        for part, columns in zip(self.parts, (None, *self.schema.groups), strict=True):
            found = part.deficit() or self.more_than_rows(part, columns)
            if found is None:
                continue
            k, j, shown = found
            label, column = self.schema.classes.tolist()[k], None
            where = f"class {label!r}"
            if columns is not None:
                where += f", feature {columns.name_of(j)}"
                if columns.names is not None:
                    column = columns.names[j]
            raise NegativeTally(
                f"{action} would remove more than was counted: {where} would be left with "
                f"{shown}. Nothing was changed; forget only rows that were learned, with the "
                "weights they were learned with.",
                label=str(label),
                column=column,
            )

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """Every array of the tally by a unique name."""
        named: dict[str, NDArray[np.generic]] = {
            "class_count": self.classes.count,
            "class_squared_weights": self.classes.squared_weights,
        }
        for i, group in enumerate(self.groups):
            named |= {f"group{i}.{name}": array for name, array in group.arrays().items()}
        return named

    def digest(self) -> str:
        """Tells this tally from others: equal where columns and levels are, in any order, and all
        counts bit for bit."""
        groups = [
            replace(columns, levels=(np.sort(columns.levels[0]),))
            if columns.open and columns.levels and columns.n_all is None
            else columns
            for columns in self.schema.groups
        ]
        if self.schema.by_name:
            groups.sort(key=lambda columns: repr(columns.key))
        ordered = self.aligned(replace(self.schema, groups=tuple(groups)))
        arrays = flat(plain_arrays(ordered.arrays()))
        return persistence.digest_of(arrays.values(), ordered.schema.fingerprint())

    # ---- a vector of whole numbers, which secure aggregation adds --------------------------------
    def to_vector(self) -> NDArray[np.int64]:
        """The counts as a vector of fixed length, which adds modulo 2⁶⁴.

        Parties whose tallies have one schema (:meth:`Schema.agree`) may mask their vectors by
        random numbers that sum to zero modulo 2⁶⁴: the sum of the masked vectors is that of the
        counts, bit for bit, and :meth:`from_vector` reads it.

        Returns
        -------
        int64 array (n_classes · (1 + n_levels),)
            Class counts, and then of each column its levels, class by class.

        Raises
        ------
        IncompatibleTallies
            If a column is counted in another way than as levels.
        ValueError
            If rows have other weights than 1.
        """
        self.schema.need_levels("to_vector")
        self.need_rows_of_one("to_vector")
        parts = [self.classes.count, *(g.counts for g in self.groups if isinstance(g, LevelCounts))]
        return np.concatenate([part.astype(np.int64).ravel() for part in parts])

    @classmethod
    def from_vector(cls, schema: Schema, vector: Any) -> Self:
        """The tally of a vector, or of the sum of vectors, that :meth:`to_vector` gave.

        Parameters
        ----------
        schema : Schema
            That of the parties.
        vector : array-like of whole numbers (n_classes · (1 + n_levels),)
            uint64 numbers are read modulo 2⁶⁴.

        Returns
        -------
        TableTally
            The counts.

        Raises
        ------
        ValueError
            For another length, or numbers that no rows give, such as those of a sum in which the
            vector of a party, and with it a mask, is lacking.
        """
        schema.need_levels("from_vector")
        k = len(schema.classes)
        widths = [int(c.n_levels[0]) for c in schema.groups if c.n_levels is not None]
        parts = split_vector(vector, k, [1, *widths])
        sums = [part.sum(axis=1) for part in parts[1:]]
        if any((part < 0).any() for part in parts) or any((s > parts[0][:, 0]).any() for s in sums):
            raise ValueError(
                "from_vector takes counts of rows, and in this vector a count is negative or a "
                "class has more values in a column than rows: add the vectors of all parties, "
                "those with the other halves of the masks too"
            )
        counted = [part.astype(np.float64) for part in parts]
        groups = tuple(
            LevelCounts(np.array([0, n], dtype=np.int64), part)
            for n, part in zip(widths, counted[1:], strict=True)
        )
        return cls(schema, ClassCounts(counted[0][:, 0]), groups)

    def need_rows_of_one(self, action: str) -> None:
        """Raise where rows that are counted have other weights than 1.

        Parameters
        ----------
        action : str
            What asks for it, for the message.

        Raises
        ------
        ValueError
            It names the class, and the weight of its effective row.
        """
        count, squares = self.classes.count, self.classes.squared_weights
        wrong = (count != np.floor(count)) | (count != squares) | (count < 0.0)
        for group in self.groups:
            if isinstance(group, LevelCounts):
                found = (group.counts != np.floor(group.counts)) | (group.counts < 0.0)
                wrong |= found.any(axis=1) | (group.totals() > count[:, None]).any(axis=1)
        if wrong.any():
            k = int(wrong.argmax())
            raise ValueError(
                f"{action} takes counts of rows of weight 1, because a heavier row has more "
                f"influence than was bounded; class {self.schema.classes.tolist()[k]!r} has the "
                f"weight {count[k]:.17g} in rows that weigh {self.classes.row_weight[k]:.6g} on "
                "average: count the rows without sample_weight, and do not scale the counts before"
            )

    # ---- files -----------------------------------------------------------------------------------
    @classmethod
    def restored(cls, header: dict[str, Any], tree: Tree) -> Self:
        """The tally that a file holds, checked; raises Unfit for what no rows give."""
        if isinstance(header, dict) and header.get("tally") == NOISED:
            raise Unfit("it holds noised counts: tallybayes.privacy.NoisedTally.load reads them")
        table = cls(*restored_parts(header, tree))
        for columns, group in table.pairs:
            more = table.more_than_rows(group, columns)
            need(more is None, f"a column has more rows with a value than rows: {more and more[2]}")
        return table

    def save(self, path: str | os.PathLike[str] | BinaryIO) -> None:
        """Write the tally to a file that :meth:`load` reads.

        It is a file like that of a model, without rows and without code; an existing one is
        replaced whole or not at all. The command line's ``merge`` takes it like a model.

        Parameters
        ----------
        path : path-like or binary file
            The file.

        Raises
        ------
        ModelFileError
            A ValueError: counts that no rows give, or labels that a file cannot hold.
        OSError
            If the file cannot be written.
        """
        header = tally_header(self.schema)
        tree = plain_arrays(self.arrays())
        try:
            self.restored(header, nested(flat(tree)))
        except Unfit as error:
            raise ModelFileError(
                f"this tally cannot be saved, because no rows have these counts: {error}. A "
                "difference can be saved if only counted rows were removed"
            ) from error
        persistence.write(path, header, tree)

    @classmethod
    def load(cls, path: str | os.PathLike[str] | BinaryIO) -> Self:
        """Read a tally that :meth:`save` wrote, or the tally of a saved model.

        A file may come from anywhere: nothing in it is executed, and all of it is checked.

        Parameters
        ----------
        path : path-like or binary file
            The file of a tally, or of a model that counts columns.

        Returns
        -------
        TableTally
            The counts, bit for bit.

        Raises
        ------
        ModelFileError
            A ValueError: another kind of file, one that was cut off or altered, a newer format, or
            content that no tally has.
        OSError
            If the file cannot be read.
        """
        with persistence.opened(path, "tally") as (header, tree):
            if isinstance(header, dict) and isinstance(header.get("names"), np.ndarray):
                header["column_names"] = tuple(header["names"].tolist())  # of a model
            return cls.restored(header, tree)
