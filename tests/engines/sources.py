"""The engines that the tests run over, and the same rows as a source of each.

`Sheets` is an engine that the package does not know: what it takes to add one is this class, in a
folder of its own, and a line in the registry.
"""

import atexit
import csv
import json
import tempfile
from collections import Counter
from functools import cache
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

import tallybayes
from servers.postgres import server
from servers.spark import on_spark, session
from tallybayes.engines.registry import engine_named
from tallybayes.sources.batches import Batches

ENGINES = [
    "duckdb",
    "duckdb view",
    "sheets",
    "batches",
    "parquet",
    "row groups",
    "arrow files",
    "lazy frame",
    "dataset",
    "duckdb sql text",
    "duckdb file",
    "postgres",
    pytest.param("spark", marks=on_spark),
]

TEXT_FILES = ["csv", "json lines"]

_drawn: Counter[tuple[str, str]] = Counter()


def passed_over(engine: str, test: str) -> bool:
    """Whether an engine that takes long for each example leaves this one to the others: Spark
    looks at those after the fourth, the first ones being the simplest."""
    _drawn[engine, test] += 1
    return engine == "spark" and _drawn[engine, test] <= 4


def is_text(column: pa.ChunkedArray) -> bool:
    return bool(pa.types.is_string(column.type))


def as_written(engine: str, table: pa.Table) -> pa.Table:
    """The rows as files of text hold them; as they are, for other engines.

    Cells are what they look like: an empty string is a missing value, a string that reads as a
    number is one, blanks around a string are none of it, and −0 is not 0. A column without a value
    has no type; booleans are numbers in CSV, and whole numbers are float64 in JSON.
    """
    if engine not in TEXT_FILES:
        return table
    for j, field in enumerate(table.schema):
        column = table[field.name]
        if pa.types.is_boolean(field.type) and engine == "csv":
            column = column.cast(pa.int8())
        elif pa.types.is_integer(field.type) and engine == "json lines":
            column = column.cast(pa.float64(), safe=False)
        if pa.types.is_floating(column.type):
            column = pc.add(column, 0.0)
        if column.null_count == len(column):
            some = pa.array(["none"]) if is_text(column) else pa.array([0], pa.int32())
            column = pc.fill_null(column, some.cast(column.type)[0])
        if is_text(column):
            for odd, instead in {"": "nothing", "1": "one", " a": "b"}.items():
                column = pc.if_else(pc.equal(column, odd), instead, column)
        table = table.set_column(j, field.name, column)
    return table


class Sheet:
    """A table in several parts."""

    def __init__(self, table: pa.Table, parts: int) -> None:
        size = max(1, -(-table.num_rows // parts))
        self.parts = [table.slice(i, size) for i in range(0, max(1, table.num_rows), size)]


class Sheets:
    """An engine for tables in parts, which it gives to the engine of streams one by one."""

    name = "sheets"

    def reads(self, source):
        return isinstance(source, Sheet)

    def open(self, source, connection=None):
        return source

    def columns(self, source):
        return self._batches(source).columns()

    def collect(self, what, source, target):
        return engine_named("stream").collect(what, self._batches(source), target)

    def fold(self, source, each, merge, **how):
        return engine_named("stream").fold(self._batches(source), each, merge, **how)

    def _batches(self, source):
        def batches():
            return (batch for part in source.parts for batch in part.to_batches())

        return Batches(source.parts[0].schema, batches, "the sheets", False)


def source_of(engine: str, table: pa.Table):
    """The same rows as a source of an engine, and the engine."""
    if engine == "sheets":
        return Sheets(), Sheet(table, 3)
    if engine == "spark":
        return engine_named("spark"), session().createDataFrame(table)
    if engine in STREAMS:
        return engine_named("stream"), STREAMS[engine](table)
    connection = duckdb.connect()
    if engine == "duckdb":
        connection.register("given", table)
        return engine_named("duckdb"), connection.sql("SELECT * FROM given")
    connection.register("given", table)
    connection.execute("CREATE TABLE stored AS SELECT * FROM given")
    connection.execute('CREATE VIEW "a view" AS SELECT * FROM stored')
    duck = engine_named("duckdb")
    return duck, duck.open("a view", connection)


# ---- sources that are read part by part ----------------------------------------------------------
_folders = tempfile.TemporaryDirectory()


def _folder() -> Path:
    return Path(tempfile.mkdtemp(dir=_folders.name))


def _halves(table: pa.Table) -> list[pa.Table]:
    middle = table.num_rows // 2
    return [table.slice(0, middle), table.slice(middle)]


def _batches(table: pa.Table):
    return Batches(table.schema, lambda: table.to_batches(max_chunksize=7), "batches", False)


def _parquet(table: pa.Table):
    folder = _folder()
    for i, half in enumerate(_halves(table)):
        pq.write_table(half, folder / f"{i}.parquet")
    return folder


def _row_groups(table: pa.Table):
    path = _folder() / "one.parquet"
    pq.write_table(table, path, row_group_size=max(1, table.num_rows // 3))
    return str(path)


def _arrow_files(table: pa.Table):
    folder = _folder()
    paths = [folder / "a.arrow", folder / "b.feather"]
    for path, half in zip(paths, _halves(table), strict=True):
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(half)
    return paths


def _csv(table: pa.Table):
    path = _folder() / "rows.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([table.column_names, *(r.values() for r in table.to_pylist())])
    return path


def _json_lines(table: pa.Table):
    folder = _folder()
    for i, half in enumerate(_halves(table)):
        lines = [
            json.dumps(row, ensure_ascii=i == 0, default=str) + "\n" for row in half.to_pylist()
        ]
        if lines:
            (folder / f"{i}.jsonl").write_text("".join(lines), encoding="utf-8")
    return folder


def _dataset(table: pa.Table):
    return pyarrow.dataset.dataset(_halves(table))


# ---- databases -----------------------------------------------------------------------------------
def _sql_text(table: pa.Table):
    connection = duckdb.connect()
    connection.register("given", table)
    connection.execute("CREATE TABLE stored AS SELECT * FROM given")
    return tallybayes.sql("SELECT * FROM stored;", connection)


def _database_file(table: pa.Table):
    path = _folder() / "rows.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.register("given", table)
        connection.execute('CREATE TABLE "a table" AS SELECT * FROM given')
    return tallybayes.table("a table", path)


@cache
def _connected():
    """A connection of this process."""
    from adbc_driver_postgresql import dbapi

    connection = dbapi.connect(server().url())
    atexit.register(connection.close)
    return connection


def _postgres(table: pa.Table):
    _connected().rollback()
    with _connected().cursor() as cursor:
        cursor.adbc_ingest("Rows of it", table, mode="replace")
    _connected().commit()  # an open transaction would hold up readers of every store on the server
    return tallybayes.table("Rows of it", _connected())


STREAMS = {
    "batches": _batches,
    "parquet": _parquet,
    "row groups": _row_groups,
    "arrow files": _arrow_files,
    "csv": _csv,
    "json lines": _json_lines,
    "lazy frame": lambda table: pl.from_arrow(table).lazy(),
    "dataset": _dataset,
    "duckdb sql text": _sql_text,
    "duckdb file": _database_file,
    "postgres": _postgres,
}
