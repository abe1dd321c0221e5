"""Recognising sources of rows, and their kind."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

from tallybayes.sources.contract import Source

__all__ = [
    "is_in_database",
    "is_in_duckdb",
    "is_relation",
    "is_source",
    "is_spark_frame",
    "source_of",
]


def _is(x: Any, library: str, name: str) -> bool:
    """Whether x is an instance of library.name, without importing the library."""
    module = sys.modules.get(library)
    return module is not None and hasattr(module, name) and isinstance(x, getattr(module, name))


def _has_contract(x: Any) -> bool:
    """Whether x's class has the methods of a source; attributes of frames may be their columns."""
    return all(callable(getattr(type(x), name, None)) for name in ("columns", "parts"))


def _are_paths(x: Any) -> bool:
    if isinstance(x, str | os.PathLike):
        return True
    return (
        isinstance(x, list | tuple) and bool(x) and all(isinstance(p, str | os.PathLike) for p in x)
    )


def is_spark_frame(x: Any) -> bool:
    """Whether x is a DataFrame of Spark, of the classic kind or of Spark Connect, or read as one.
    Nothing is imported."""
    return _is(x, "pyspark.sql", "DataFrame") or _is(
        x, "tallybayes.sources.spark.frame", "SparkFrame"
    )


def is_source(x: Any) -> bool:
    """Whether x is read part by part: paths, readers and iterators of record batches, datasets,
    polars' lazy frames, Spark's DataFrames, and what has the contract itself. No row is read,
    nothing imported."""
    kind = type(x)  # for an attribute of its own a frame looks among its columns
    return (
        _are_paths(x)
        or is_spark_frame(x)
        or _is(x, "polars", "LazyFrame")
        or _is(x, "pyarrow.dataset", "Dataset")
        or isinstance(x, Iterator)
        or (hasattr(kind, "__arrow_c_stream__") and hasattr(kind, "to_arrow_reader"))
        or (hasattr(kind, "__arrow_c_stream__") and not hasattr(kind, "__len__"))
        or _has_contract(x)
    )


def is_relation(x: Any) -> bool:
    """Whether x is a relation of DuckDB. Nothing is imported."""
    return _is(x, "duckdb", "DuckDBPyRelation")


def is_in_database(x: Any) -> bool:
    """Whether x is what :func:`tallybayes.sql` or :func:`tallybayes.table` makes. Nothing is
    imported."""
    return _is(x, "tallybayes.sources.databases.rows", "DatabaseRows")


def is_in_duckdb(x: Any) -> bool:
    """Whether x is such a table or query in DuckDB."""
    return is_in_database(x) and _is(x.database, "tallybayes.sources.databases.duckdb", "DuckDB")


def _is_database(x: Any) -> bool:
    """Whether x is the URL of a database, or the path of a file that is one."""
    if not isinstance(x, str | os.PathLike):
        return False
    from tallybayes.sources.databases.duckdb import is_file
    from tallybayes.sources.databases.names import is_url

    where = os.fspath(x)
    return is_url(where) or is_file(where)


def source_of(x: Any, *, sql: str | None = None, table: str | None = None) -> Source:
    """The source that x is.

    Parameters
    ----------
    x : path, folder, pattern or list of them; pyarrow.RecordBatchReader or another object with
        ``__arrow_c_stream__``; iterator of record batches; pyarrow.dataset.Dataset;
        polars.LazyFrame; pyspark.sql.DataFrame; or Source
    sql, table : str, optional
        A query, or the name of a table, where x is a database: a DuckDB file, the URL of a
        PostgreSQL database, or a connection.

    Raises
    ------
    SourceError
        If it cannot be read.
    TypeError
        If it is none of these.
    """
    if sql is not None or table is not None or _is_database(x):
        from tallybayes.sources.databases.opening import rows_at

        return rows_at(x, sql, table)
    if _has_contract(x):
        source: Source = x
        return source
    if _are_paths(x):
        from tallybayes.sources.files import source_of_paths

        given = [x] if isinstance(x, str | os.PathLike) else x
        return source_of_paths([os.fspath(path) for path in given])
    if _is(x, "polars", "LazyFrame"):
        from tallybayes.sources.batches.lazy_frame import LazyFrame

        return LazyFrame(x)
    if is_spark_frame(x):
        from tallybayes.sources.spark.frame import SparkFrame

        return SparkFrame(x)
    from tallybayes.sources.batches.streams import Batches

    if hasattr(x, "to_arrow_reader"):
        return Batches.of_relation(x)
    if _is(x, "pyarrow.dataset", "Dataset"):
        return Batches.of_dataset(x)
    if hasattr(x, "__arrow_c_stream__"):
        return Batches.of_reader(x)
    if isinstance(x, Iterator):
        return Batches.of_iterator(x)
    raise TypeError(
        "a source of rows is a path, a reader or iterator of record batches, a dataset or a "
        f"LazyFrame; got a {type(x).__name__}"
    )
