"""What DuckDB reads: tables, SQL text, relations, files and data frames; counted there by SQL."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
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
)
from tallybayes.engines.stream import StreamEngine
from tallybayes.schema import Columns
from tallybayes.sources.databases import OwnDatabase, library, need_one_select, quoted_path
from tallybayes.sources.files import is_in_duckdb, is_relation
from tallybayes.tables import Table
from tallybayes.tables.for_databases import for_database
from tallybayes.tally import ClassCounts, Moments, TableTally
from tallybayes.tally.table import Group, level_group, some_levels_group

__all__ = ["DuckDBEngine", "DuckDBSource", "tally_of"]

Array = NDArray[np.float64]


# ---- the source: it is read anew each time -------------------------------------------------------
BATCH_ROWS = 1 << 17  # rows that are read at once

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
        given = [value for condition in where for value in condition.values]
        with self._opened() as opened:
            if opened.connection is None and given:
                raise ValueError(
                    "a condition on a relation takes no values for ?: write them into it, or "
                    "filter the relation"
                )
            bound = Bound(given)
            values: Values = Written() if opened.connection is None else bound
            self.statement = text = write(opened.text, opened.once, values)
            need_one_select(text, MUST_BE_PARTS)
            if opened.connection is None:
                relation = opened.relation.query(SOURCE_NAME, text)
            else:
                relation = opened.connection.sql(text, params=bound.values)
            return relation.fetchall()  # type: ignore[no-any-return]

    def batches(self) -> Iterator[Any]:
        """The rows as Arrow record batches; one at least."""
        with self._opened() as opened:
            reader = opened.relation.to_arrow_reader(BATCH_ROWS)
            read = False
            for batch in reader:
                if batch.num_rows or not read:
                    yield batch
                read = True
            if not read:
                yield reader.schema.empty_table()


# ---- the engine: rows are counted in SQL ---------------------------------------------------------
GREATEST_FIELD = 8  # where a row of the counting statement has the greatest number


class DuckDBEngine:
    """Counts sources of DuckDB in SQL; see
    :class:`tallybayes.engines.contract.Engine`."""

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
    def collect(self, what: Counting, source: Any, target: str) -> TableTally:
        source = self.open(source)
        with source.held():
            found = source.columns()
            need_columns([target], list(found), "target")
            need_columns(list(what.columns), list(found))
            levels = [
                LevelsAsked(found[name], asked.only, asked.closed)
                for name, asked in what.columns.items()
                if isinstance(asked, CountLevels)
            ]
            numbers = [
                NumbersAsked(found[name], asked.non_negative)
                for name, asked in what.columns.items()
                if isinstance(asked, CountNumbers)
            ]
            rows = _counted(source, target, what.where, levels, numbers)
            return tally_of(rows, target, levels, numbers)

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
    where: Sequence[Condition],
    levels: Sequence[LevelsAsked],
    numbers: Sequence[NumbersAsked],
) -> list[tuple[Any, ...]]:
    """What the counting statement returns; it runs once more where a number is NaN."""

    def ask(nan: bool) -> list[tuple[Any, ...]]:
        def write(text: str, once: bool, values: Values) -> str:
            rows = Rows(text, once, target, [condition.text for condition in where])
            return count_statement(rows, levels, numbers, values, nan)

        return source.ask(write, where)

    rows = ask(nan=False)
    return (
        ask(nan=True) if any(row[GREATEST_FIELD] != row[GREATEST_FIELD] for row in rows) else rows
    )


# ---- the result of a counting statement as a tally -----------------------------------------------
Row = Sequence[Any]


def _classes(rows: list[Row], target: str) -> dict[Any, float]:
    """The rows of each class.

    Raises
    ------
    ValueError
        Where there is no row, or a row without a label.
    """
    counted = {row[1]: float(row[3]) for row in rows}
    unlabelled = sum(n for label, n in counted.items() if label is None or label != label)
    need_rows_and_labels(len(counted), unlabelled, target)
    return counted


def _levels(asked: LevelsAsked, rows: list[Row], at: dict[Any, int]) -> list[Group]:
    """A column of levels: those that were asked for and occur, and the others together."""
    name, levels, n_all = asked.column.name, asked.levels, 0
    counts = np.zeros((len(at), len(levels) + 1))
    for _, label, cell, n, *_, text in rows:
        if cell == -1:
            n_all = n
        elif cell is None and asked.closed:
            raise_undeclared(name, text, levels)
        else:
            counts[at[label], len(levels) if cell is None else cell] = n
    if not n_all:
        return []  # no value at all: the column may yet hold anything
    if not asked.closed:
        return [some_levels_group(name, levels, counts[:, :-1], counts[:, -1], n_all)]
    seen = np.flatnonzero(counts[:, :-1].any(axis=0))
    named = np.empty(len(seen), dtype=object)
    named[:] = [levels[i] for i in seen.tolist()]
    return [level_group(name, named, np.ascontiguousarray(counts[:, seen]))]


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
    return TableTally.of_columns(classes, ClassCounts(count), groups)
