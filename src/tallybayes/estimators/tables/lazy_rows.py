"""Questions of :class:`LazyNaiveBayes` to rows that are read part by part: a file of text is read
as :class:`NaiveBayes` reads it, and a model is fitted to the columns that the question needs."""

from __future__ import annotations

import datetime
import os
from collections.abc import Hashable, Mapping, Sequence
from glob import has_magic
from typing import Any

import numpy as np

from tallybayes.engines.contract import Condition
from tallybayes.estimators.tables.lazy_questions import need_families, need_names, table_asked
from tallybayes.estimators.tables.naive_bayes import NaiveBayes
from tallybayes.families.choice import UNDECLARED
from tallybayes.models.table import TableModel
from tallybayes.sources.contract import Source
from tallybayes.sources.databases.duckdb import is_file
from tallybayes.sources.databases.names import is_url
from tallybayes.sources.files import (
    is_in_database,
    is_relation,
    is_source,
    is_spark_frame,
    source_of,
)
from tallybayes.sources.opening import folder_of_pattern
from tallybayes.tables import Column, Mixed, Numbers, Strings, Table

__all__ = ["RowsAsked", "are_read_here"]

SCANNED = (".parquet", ".pq")
"""Files whose columns have types, which DuckDB scans."""


def are_read_here(source: Any, connection: Any) -> bool:
    """Whether a source is read as :class:`NaiveBayes` reads it, rather than by a database."""
    if is_relation(source) or is_in_database(source) or is_spark_frame(source):
        return False
    if not isinstance(source, str | os.PathLike):
        return is_source(source)
    path = os.fspath(source)
    if not isinstance(path, str) or "\0" in path:
        return False
    if path.lower().endswith(SCANNED):  # DuckDB takes keys before a pattern, too
        return has_magic(path) and "=" in folder_of_pattern(path)
    from tallybayes.sources.opening import FORMATS, suffix_of

    if suffix_of(path) in FORMATS:
        return True
    return connection is None and os.path.exists(path) and not (is_url(path) or is_file(path))


class RowsAsked:
    """A source that is read anew for each question.

    Parameters
    ----------
    source : path, list of paths, Source or other source of rows
    connection : duckdb.DuckDBPyConnection, optional
        Where conditions look other tables up.

    Raises
    ------
    ValueError
        If it can be read only once.
    """

    def __init__(self, source: Any, connection: Any = None) -> None:
        self._source, self._connection = source, connection
        opened = None if _are_paths(source) else source_of(source)
        if opened is not None and opened.once:
            raise ValueError(
                f"{opened.name} can be read only once, and LazyNaiveBayes reads its "
                "source at each question: save the rows to a file first, or fit a NaiveBayes"
            )

    def model(
        self,
        rows: Any,
        target: str,
        given: Any,
        where: Sequence[Condition],
        warned: set[Hashable],
        **parameters: Any,
    ) -> tuple[TableModel, Table]:
        """The model of the rows as they are now, and the rows of the question as it reads them.

        Parameters
        ----------
        rows : table, list of dicts or array
        target : str
        given : mapping or list of pairs
            Families by column name or type.
        where : sequence of Condition
        warned : set
            What was warned of.
        **parameters
            Of :class:`NaiveBayes`.
        """
        source: Source = source_of(self._source)
        there = list(source.columns())
        need_names(there, target, given)
        need_families(given)
        columns = [name for name in there if name != target]
        table = table_asked(rows, columns)
        records = isinstance(rows, list | tuple)
        unread: set[str] = set()
        if parameters["missing"] == "ignore":
            unread = {n for n in columns if _is_empty(table.columns.get(n), records)}
        named = given.items() if isinstance(given, Mapping) else given
        pairs: list[Any] = [(kind, UNDECLARED) for kind in (float, int, datetime.date)]
        pairs += [(key, family) for key, family in named if key not in unread]
        pairs += [(name, None) for name in unread]
        if where:
            from tallybayes.sources.databases.condition import RowsThatMeet

            conditions = [(condition.text, condition.values) for condition in where]
            source = RowsThatMeet(source, conditions, self._connection)
        fitted = _Asked(pairs, **parameters)
        fitted._warned_before = warned
        fitted.fit(source, target)
        return fitted._fitted(), fitted._read_rows(rows if records and table.named else table)


class _Asked(NaiveBayes):
    """A model for one question."""

    _name = "LazyNaiveBayes"


def _is_empty(column: Column | None, records: bool) -> bool:
    """Whether no row of the question has a value; a frame must have the column."""
    if column is None:
        return records
    if isinstance(column, Mixed):
        return False
    if isinstance(column, Strings):
        return bool((column.codes < 0).all())
    if isinstance(column, Numbers):
        return bool(np.isnan(column.values.astype(np.float64, copy=False)).all())
    return True


def _are_paths(source: Any) -> bool:
    return isinstance(source, str | os.PathLike | list | tuple)
