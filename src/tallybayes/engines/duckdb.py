"""What DuckDB reads: tables, SQL text, relations, files and data frames; counted there by SQL."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from glob import has_magic
from threading import local
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.engines.contract import (
    Condition,
    Counting,
    CountLevels,
    CountNumbers,
    Labels,
    R,
    class_array,
    need_columns,
    need_rows_and_labels,
    raise_too_large,
    raise_undeclared,
)
from tallybayes.engines.contract import (
    Rows as Kept,
)
from tallybayes.engines.sql import (
    Bound,
    LevelsAsked,
    NumbersAsked,
    Rows,
    SQLColumn,
    Values,
    Written,
    count_statement,
    grid_sizes_statement,
    grid_statement,
)
from tallybayes.engines.stream import StreamEngine
from tallybayes.errors import LeftOutWarning, warn_user
from tallybayes.schema import Columns
from tallybayes.sources.databases import OwnDatabase, library, need_one_select, quoted_path
from tallybayes.sources.files import is_in_duckdb, is_relation
from tallybayes.tables import Table
from tallybayes.tables.for_databases import for_database
from tallybayes.tally import ClassCounts, GridCounts, Moments, TableTally
from tallybayes.tally.numbers import BUDGET
from tallybayes.tally.table import Group, level_group, some_levels_group

__all__ = ["DuckDBEngine", "DuckDBSource", "for_database", "grid_of", "tally_of"]

Array = NDArray[np.float64]


# ---- the source: it is read anew each time -------------------------------------------------------
BATCH_ROWS = 1 << 17  # rows that are scored at once

SOURCE_NAME = "tallybayes_source"  # what a frame or a relation is called in a statement
QUERY = re.compile(r'\s*(\(|(select|from|with|values|table|pivot|unpivot)[\s("*])', re.IGNORECASE)
PARQUET = (".parquet", ".pq")

MUST_BE_PARTS = "source= and where= have to be parts of"

RENAMED = re.compile(r"(.+)_\d+", re.DOTALL)  # what DuckDB calls a column whose name is taken

KINDS: dict[str, str | None] = {
    "BOOLEAN": "boolean",
    "DATE": "date",
    "DOUBLE": "float",
    "FLOAT": "float",
    "JSON": "text",
    '"NULL"': "text",  # no value at all
    "UUID": "text",
    "VARCHAR": "text",
}
KINDS |= {
    f"{u}{size}INT": "integer" for u in ("", "U") for size in ("TINY", "SMALL", "BIG", "HUGE")
}
KINDS |= {"INTEGER": "integer", "UINTEGER": "integer"}


def _kind(sql_type: str) -> str | None:
    """What the readers of tables call a column of this type; None where it is not a scalar."""
    if sql_type.endswith("]"):
        return None
    if sql_type.startswith("TIMESTAMP"):
        return "date"
    for name, kind in (("ENUM", "category"), ("DECIMAL", "decimal"), ("VARCHAR", "text")):
        if sql_type.startswith(name):
            return kind
    return KINDS.get(sql_type)


@dataclass(frozen=True)
class _Opened:
    """A source for the length of a call.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection or None
        None for a relation, which has its own.
    relation : duckdb.DuckDBPyRelation
        All its rows; asked for its columns only, and for the counts if there is no connection.
    text : str
        What stands after FROM.
    once : bool
        Whether it is evaluated once.
    """

    connection: Any
    relation: Any
    text: str
    once: bool

    def columns(self) -> dict[str, SQLColumn]:
        """The columns by name."""
        types = map(str, self.relation.types)
        pairs = zip(self.relation.columns, types, strict=True)
        return {name: SQLColumn(name, _kind(kind), kind) for name, kind in pairs}


class DuckDBSource:
    """Rows that DuckDB can read.

    Parameters
    ----------
    source : frame, relation, DatabaseRows, path or str
        A data frame (pandas, polars, pyarrow), a DuckDB relation, a table or query in DuckDB, the
        path of a Parquet file, or, with a connection, the name of a table or SQL text.
    connection : duckdb.DuckDBPyConnection, optional

    Raises
    ------
    ImportError
        Without DuckDB.
    TypeError, ValueError
        For something that is not a source.
    """

    def __init__(self, source: Any, connection: Any = None) -> None:
        self._library = library()
        self._source = source
        self._connection = connection
        self._text: str | None = None  # of a file, table or query
        self._once = False
        self._held = local()
        self._own = OwnDatabase()
        self.statement: str | None = None
        self._parquet: str | None = None
        if connection is not None and not hasattr(connection, "sql"):
            raise TypeError(
                f"connection= is what duckdb.connect() gives, got a {type(connection).__name__}"
            )
        if is_in_duckdb(source):
            self._text, self._once = source.rows, source.is_query
            if connection is not None:
                raise ValueError(f"{source.name} has a connection: leave connection= out")
        elif isinstance(source, str | os.PathLike):
            self._text, self._once = self._located(os.fspath(source))
        elif isinstance(source, self._library.DuckDBPyRelation):
            self._once = True
            if connection is not None:
                raise ValueError("a relation has a connection of its own: leave connection= out")
        elif not (hasattr(source, "columns") or hasattr(source, "__arrow_c_stream__")):
            raise TypeError(
                "source is a data frame, a DuckDB relation, what tallybayes.table or "
                "tallybayes.sql makes, the path of a file, or with "
                f"connection= a table's name or SQL text; got a {type(source).__name__}"
            )

    def _located(self, given: Any) -> tuple[str, bool]:
        """What stands after FROM, and whether it is evaluated once."""
        if not isinstance(given, str):
            raise TypeError(f"a path is text, got {given!r}")
        is_path = not isinstance(self._source, str)
        query = not is_path and QUERY.match(given) is not None
        if not query and given.lower().endswith(PARQUET):
            if "\0" in given:
                raise ValueError(f"the path {given!r} holds the character NUL")
            path = "'" + given.replace("'", "''") + "'"
            self._parquet = path
            keys = "" if has_magic(given) else ", hive_partitioning = false"  # as of other files
            return f"read_parquet({path}{keys})", False
        if is_path:
            raise ValueError(f"the path {given!r} is not one of a file that is there")
        if self._connection is None:
            raise ValueError(
                f"source={given!r} is not a path of a file that is there; for a table's name or "
                "SQL text, connection= has to say where it is"
            )
        if query:
            return f"(\n{given.rstrip().rstrip(';')}\n)", True
        return quoted_path(given), False

    @contextmanager
    def held(self) -> Iterator[None]:
        """Opens the source once for all that this thread asks within."""
        with self._opened() as opened:
            outer, self._held.opened = getattr(self._held, "opened", None), opened
            try:
                yield
            finally:
                self._held.opened = outer

    @contextmanager
    def _opened(self) -> Iterator[_Opened]:
        """The source as it is held, or else as it is now.

        Raises
        ------
        ValueError
            Where DuckDB cannot read it.
        """
        try:
            if (held := getattr(self._held, "opened", None)) is not None:
                yield held
            elif isinstance(self._source, self._library.DuckDBPyRelation):
                yield _Opened(None, self._source, SOURCE_NAME, self._once)
            elif is_in_duckdb(self._source):
                with self._source.database.connected() as connection:
                    rows = f"SELECT * FROM {self._text}"
                    need_one_select(rows, MUST_BE_PARTS)
                    yield _Opened(connection, connection.sql(rows), str(self._text), self._once)
            elif self._connection is not None and self._text is not None:
                rows = f"SELECT * FROM {self._text}"
                need_one_select(rows, MUST_BE_PARTS)
                relation = self._connection.sql(rows)
                yield _Opened(self._connection, relation, self._text, self._once)
            else:
                with self._own.cursor() as own:
                    if self._text is None:
                        own.register(SOURCE_NAME, for_database(self._source))
                    text = self._text or SOURCE_NAME
                    relation = own.sql(f"SELECT * FROM {text}")
                    yield _Opened(own, relation, text, self._once)
        except self._library.Error as error:
            raise ValueError(
                f"DuckDB cannot count the evidence. {str(error).strip()}\nCheck source=, where= "
                "and the families that columns= declares."
            ) from error

    def columns(self) -> dict[str, SQLColumn]:
        """The columns that it has now, by name. No row is read.

        Raises
        ------
        ValueError
            Where there is no such table or file.
        """
        with self._opened() as opened:
            columns = opened.columns()
            self._need_names_apart(opened, list(columns))
            return columns

    def _need_names_apart(self, opened: _Opened, found: list[str]) -> None:
        """Raises ValueError where names differ in case only.

        To SQL they are one name, and DuckDB calls the second of ``v`` and ``V`` ``V_1``.
        """
        known = {name.lower() for name in found}
        numbered = [RENAMED.fullmatch(name) for name in found]
        suspects = [m for m in numbered if m is not None and m[1].lower() in known]
        if not suspects:
            return
        own = set(self._own_names(opened))
        for match in suspects:
            if own and match[0] not in own:
                alike = sorted(name for name in own if name.lower() == match[1].lower())
                raise ValueError(
                    f"the source has the columns {' and '.join(map(repr, alike))}, which are one "
                    "name in SQL: rename one of them, or fit a NaiveBayes, which distinguishes them"
                )

    def _own_names(self, opened: _Opened) -> list[str]:
        """The names of columns in a frame or file, before DuckDB makes them different; empty for
        tables and queries, in which they are."""
        if self._text is None:
            source = self._source
            if isinstance(source, self._library.DuckDBPyRelation):
                return []
            return list(map(str, getattr(source, "column_names", None) or source.columns))
        if self._parquet is not None:
            schema = f"SELECT name FROM parquet_schema({self._parquet})"
            rows = opened.connection.sql(schema).fetchall()
            return [name for (name,) in rows]
        return []

    # ---- asking ------------------------------------------------------------------------------
    def ask(
        self, write: Callable[[str, bool, Values], str], where: Sequence[Condition] = ()
    ) -> list[tuple[Any, ...]]:
        """The rows that a statement returns, of the source as it is now.

        Parameters
        ----------
        write : callable
            Of what stands after FROM, whether that is evaluated once, and what takes values,
            returns the statement.
        where : sequence of Condition
            Conditions in the statement.

        Raises
        ------
        ValueError
            Where DuckDB refuses the statement.
        """
        with self._opened() as opened:
            return self._relation(opened, write, where).fetchall()  # type: ignore[no-any-return]

    def batches(
        self, write: Callable[[str, bool, Values], str] | None = None, rows: int = BATCH_ROWS
    ) -> Iterator[Any]:
        """The rows as Arrow record batches, of a statement or all of them; one at least."""
        with self._opened() as opened:
            relation = opened.relation if write is None else self._relation(opened, write, ())
            reader = relation.to_arrow_reader(rows)
            read = False
            for batch in reader:
                if batch.num_rows or not read:
                    yield batch
                read = True
            if not read:
                yield reader.schema.empty_table()

    def _relation(
        self,
        opened: _Opened,
        write: Callable[[str, bool, Values], str],
        where: Sequence[Condition],
    ) -> Any:
        given = [value for condition in where for value in condition.values]
        if opened.connection is None and given:
            raise ValueError(
                "a condition on a relation takes no values for ?: write them into it, or filter "
                "the relation"
            )
        bound = Bound(given)
        values: Values = Written() if opened.connection is None else bound
        self.statement = text = write(opened.text, opened.once, values)
        need_one_select(text, MUST_BE_PARTS)
        if opened.connection is None:
            return opened.relation.query(SOURCE_NAME, text)
        return opened.connection.sql(text, params=bound.values)


# ---- the engine: rows are counted in SQL, and scored in batches ----------------------------------
Shifts = Sequence[tuple[SQLColumn, int]]

LEVELS = ("text", "category", "boolean")
"""Kinds of columns that are levels unless they are declared; others are numbers."""
MAX_BITS = 63
GREATEST_FIELD = 8  # where a row of the counting statement has the greatest number


class DuckDBEngine:
    """Counts sources of DuckDB in SQL; see
    :class:`tallybayes.engines.contract.Engine`.

    It counts columns each by itself: groups of columns are for tables in memory. Grid counts take
    statements of their own, so a source that changes meanwhile is an error.
    """

    name = "duckdb"

    def reads(self, source: Any) -> bool:
        return isinstance(source, DuckDBSource) or is_relation(source) or is_in_duckdb(source)

    def open(self, source: Any, connection: Any = None) -> DuckDBSource:
        if isinstance(source, DuckDBSource) and connection is None:
            return source
        return DuckDBSource(source, connection)

    def columns(self, source: Any) -> dict[str, SQLColumn]:
        return self.open(source).columns()

    # ---- counting ------------------------------------------------------------------------------
    def collect(self, what: Counting, source: Any, target: str | Labels) -> TableTally:
        if not isinstance(target, str):
            raise ValueError(
                "rows in DuckDB have no order to match labels with: name the target, a column of "
                "the source"
            )
        if what.together:
            raise ValueError(
                f"columns= has the group {next(iter(what.together))}, but DuckDB counts each "
                "column by itself: give the rows as a table in memory, such as relation.arrow()"
            )
        source = self.open(source)
        with source.held():
            return self._collect(what, source, target)

    def _collect(self, what: Counting, source: DuckDBSource, target: str) -> TableTally:
        found = source.columns()
        need_columns([target], list(found), "target")
        need_columns([] if what.weight is None else [what.weight], list(found), "weight")
        how = what.columns
        if how is None:
            beside = (target, what.weight)
            how = {
                name: CountLevels() if column.kind in LEVELS else CountNumbers()
                for name, column in _scalars(found).items()
                if name not in beside
            }
        need_columns(list(how), list(found))
        for name in how:
            _need_scalar(found[name])
        levels = [
            LevelsAsked(found[name], asked.only, asked.closed)
            for name, asked in how.items()
            if isinstance(asked, CountLevels)
        ]
        numbers = [
            NumbersAsked(found[name], asked.non_negative, asked.grid)
            for name, asked in how.items()
            if isinstance(asked, CountNumbers)
        ]
        rows = _counted(source, target, what, levels, numbers)
        tally = tally_of(rows, target, levels, numbers)
        grids = self._grids(source, target, what, tally, [n.column for n in numbers if n.grid])
        return _with_grids(tally, grids)

    def _grids(
        self,
        source: DuckDBSource,
        target: str,
        what: Counting,
        tally: TableTally,
        columns: list[SQLColumn],
    ) -> dict[str, GridCounts]:
        """The grid counts of columns that hold numbers, each on the finest grid that fits."""
        there = {c.names for c in tally.schema.groups if c.kind == "moments"}
        columns = [column for column in columns if (column.name,) in there]
        if not columns:
            return {}
        first, last = [0] * len(columns), [MAX_BITS] * len(columns)  # the shift is between them
        shifts = first  # most columns have few enough values as they are
        while True:
            asked = list(zip(columns, shifts, strict=True))
            write = partial(_written, grid_sizes_statement, target, what, asked)
            sizes = source.ask(write, what.where)[0]
            for j, size in enumerate(sizes):
                if size <= BUDGET:
                    last[j] = min(last[j], shifts[j])
                else:
                    first[j] = max(first[j], shifts[j] + 1)
            if first == last:
                break
            shifts = [(low + high) // 2 for low, high in zip(first, last, strict=True)]
        asked = list(zip(columns, last, strict=True))
        write = partial(_written, grid_statement, target, what, asked)
        rows = source.ask(write, what.where)
        by_column: list[list[tuple[Any, ...]]] = [[] for _ in columns]
        for row in rows:
            by_column[row[0]].append(row)
        classes = tally.schema.classes
        _need_no_other_classes({row[1] for row in rows}, classes)
        return {
            column.name: grid_of(cells, shift, classes)
            for column, shift, cells in zip(columns, last, by_column, strict=True)
        }

    def fold(
        self,
        source: Any,
        each: Callable[[Table, bool], tuple[R, Kept]],
        merge: Callable[[R, R], R],
        **how: Any,
    ) -> tuple[R | None, list[Kept]]:
        """The rows are read part by part."""
        rows = source.batches() if isinstance(source, DuckDBSource) else source
        return StreamEngine().fold(rows, each, merge, **how)


def _counted(
    source: DuckDBSource,
    target: str,
    what: Counting,
    levels: Sequence[LevelsAsked],
    numbers: Sequence[NumbersAsked],
) -> list[tuple[Any, ...]]:
    """What the counting statement returns; it runs once more where a number is NaN."""

    def ask(nan: bool) -> list[tuple[Any, ...]]:
        return source.ask(
            lambda text, once, values: count_statement(
                _rows(text, once, target, what), levels, numbers, values, nan
            ),
            what.where,
        )

    rows = ask(nan=False)
    return (
        ask(nan=True) if any(row[GREATEST_FIELD] != row[GREATEST_FIELD] for row in rows) else rows
    )


def _rows(text: str, once: bool, target: str, what: Counting) -> Rows:
    return Rows(text, once, target, [condition.text for condition in what.where], what.weight)


def _written(
    statement: Callable[[Rows, Shifts], str],
    target: str,
    what: Counting,
    asked: Shifts,
    text: str,
    once: bool,
    values: Values,
) -> str:
    """A statement about the grids of columns, which takes no values."""
    return statement(_rows(text, once, target, what), asked)


def _scalars(columns: Mapping[str, SQLColumn]) -> dict[str, SQLColumn]:
    """The columns that can be counted; a warning names the others."""
    for column in columns.values():
        if column.kind is None:
            warn_user(
                f"column {column.name!r} of the source is of the type {column.type}, which is not "
                "a scalar, and is left out",
                LeftOutWarning,
            )
    return {name: column for name, column in columns.items() if column.kind is not None}


def _need_scalar(column: SQLColumn) -> None:
    if column.kind is None:
        raise ValueError(
            f"column {column.name!r} of the source is of the type {column.type}, neither number, "
            f"text, boolean nor date: leave it out, columns={{{column.name!r}: None}}"
        )


def _need_no_other_classes(found: set[Any], classes: NDArray[Any]) -> None:
    if not found <= set(classes.tolist()):
        raise ValueError(
            "the source changed while it was counted: rows came with labels that were not there "
            "before. Count again, or within a transaction"
        )


def _with_grids(tally: TableTally, grids: Mapping[str, GridCounts]) -> TableTally:
    """A tally with the grid counts of columns beside their moments."""
    if not grids:
        return tally
    pairs: list[Group] = []
    for columns, group in tally.pairs:
        pairs.append((columns, group))
        name = (columns.names or ("",))[0]
        if not isinstance(group, Moments) or name not in grids:
            continue
        grid = grids[name]
        if not np.allclose(grid.counts.sum(axis=1), group.n[:, 0], rtol=1e-9, atol=0.0):
            raise ValueError(
                f"the source changed while column {name!r} was counted: its rows by number and by "
                "class differ. Count again, or within a transaction"
            )
        pairs.append((Columns(kind="grid", names=(name,), dates=columns.dates), grid))
    return tally.with_pairs(pairs)


# ---- the result of a counting statement as a tally -----------------------------------------------
Row = Sequence[Any]


def _classes(rows: list[Row], target: str) -> dict[Any, float]:
    """The rows of each class, or their weight.

    Raises
    ------
    ValueError
        Where there is no row, a row without a label, or a row without a finite weight.
    """
    counted = {row[1]: float(row[3]) for row in rows}
    unlabelled = sum(n for label, n in counted.items() if label is None or label != label)
    need_rows_and_labels(len(counted), unlabelled, target)
    if not np.isfinite(list(counted.values())).all():
        raise ValueError("the weight column has to hold a finite number in every row")
    return counted


def _levels(asked: LevelsAsked, rows: list[Row], at: dict[Any, int]) -> list[Group]:
    """A column of levels: all, or those that were asked for and occur, and the others together."""
    name, n_all = asked.column.name, 0
    levels: list[str] = []
    if asked.levels is not None:
        levels = asked.levels
    else:
        found = {row[-1] for row in rows if row[-1] is not None}
        levels = sorted({asked.column.level_of(text) for text in found})
    place = {level: i for i, level in enumerate(levels)}
    counts = np.zeros((len(at), len(levels) + 1))
    for _, label, cell, n, *_, text in rows:
        if cell == -1:
            n_all = n
        elif asked.levels is None:
            counts[at[label], place[asked.column.level_of(text)]] += n
        elif cell is None and asked.closed:
            raise_undeclared(name, text, levels)
        else:
            counts[at[label], len(levels) if cell is None else cell] = n
    if not n_all:
        return []  # no value at all: the column may yet hold anything
    if asked.levels is not None and not asked.closed:
        return [some_levels_group(name, levels, counts[:, :-1], counts[:, -1], n_all)]
    seen = np.flatnonzero(counts[:, :-1].any(axis=0))
    named = np.empty(len(seen), dtype=object)
    named[:] = [levels[i] for i in seen.tolist()]
    return [level_group(name, named, np.ascontiguousarray(counts[:, seen]))]


def grid_of(rows: Iterable[Row], shift: int, classes: NDArray[Any]) -> GridCounts:
    """The grid counts that rows (column, class, cell, n) of a column are."""
    at = {label: k for k, label in enumerate(classes.tolist())}
    cells: dict[int, Array] = {}
    for _, label, cell, n in rows:
        cells.setdefault(cell, np.zeros(len(classes)))[at[label]] += n
    keys = np.array(sorted(cells), dtype=np.int64)
    counts = np.zeros((len(classes), len(keys)))
    for j, key in enumerate(keys.tolist()):
        counts[:, j] = cells[key]
    return GridCounts(shift, keys, counts)


def _moments(asked: NumbersAsked, rows: list[Row], at: dict[Any, int]) -> list[Group]:
    """A column of numbers: moments, each class about an origin of its own, then about one."""
    name = asked.column.name
    n, origins, s1, s2 = np.zeros((4, 1, len(at)))
    for _, label, _, count, origin, total, squares, least, greatest, _ in rows:
        if not count:
            continue
        if np.isinf([least, greatest]).any():
            raise ValueError(
                f"column {name!r} of the source holds infinity: replace it by a finite value or a "
                "missing value, or leave the rows out with where="
            )
        if asked.non_negative and least < 0.0:
            raise ValueError(
                f"column {name!r} of the source holds {least!r}: counts are not negative"
            )
        if not np.isfinite([origin, total, squares]).all():
            raise_too_large(name)
        k = at[label]
        n[0, k], origins[0, k], s1[0, k], s2[0, k] = count, origin, total, squares
    if not n.any():
        return []
    nothing = np.zeros_like(n)
    origin = np.array([origins[0, int(n[0].argmax())]])
    own = Moments(origins[0].copy(), n, s1, nothing, s2, nothing.copy())
    cells = own.rebased(np.full(len(at), origin[0]))
    moments = Moments(origin, *(np.ascontiguousarray(part.T) for part in _parts(cells)))
    if not np.isfinite(moments.s2_hi).all():
        raise_too_large(name)
    columns = Columns(
        kind="moments",
        n_features=1,
        names=(name,),
        origin=origin,
        dates=asked.column.kind == "date",
    )
    return [(columns, moments)]


def _parts(m: Moments) -> tuple[Array, ...]:
    return m.n, m.s1_hi, m.s1_lo, m.s2_hi, m.s2_lo, m.n_lo


def tally_of(
    rows: Iterable[Row],
    target: str,
    levels: Sequence[LevelsAsked],
    numbers: Sequence[NumbersAsked],
) -> TableTally:
    """The tally that the rows of :func:`tallybayes.engines.sql.count_statement` are.

    Raises
    ------
    ValueError
        Where there is no evidence, a row has no label, or a number is infinite.
    UnseenLevel
        A ValueError: for a level that is not declared.
    """
    by_part: dict[int, list[Row]] = {}
    for row in rows:
        by_part.setdefault(row[0], []).append(row)
    counted = _classes(by_part.get(-1, []), target)
    classes = class_array(list(counted))
    at = {label: k for k, label in enumerate(classes.tolist())}
    groups: list[Group] = []
    for j, asked in enumerate(levels):
        groups += _levels(asked, by_part.get(j, []), at)
    for j, number in enumerate(numbers, start=len(levels)):
        groups += _moments(number, by_part.get(j, []), at)
    count = np.array([counted[label] for label in at], dtype=np.float64)
    squares = {row[1]: row[6] for row in by_part[-1]}
    squared = None
    if all(squares[label] is not None for label in at):
        squared = np.array([squares[label] for label in at], dtype=np.float64)
    return TableTally.of_columns(classes, ClassCounts(count, squared), groups)
