"""Databases in which tests score tables: each holds Arrow tables, and answers a SELECT with one."""

import math
import sqlite3
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from export.back_ends import BACK_ENDS
from servers.mysql import server
from servers.spark import on_spark

__all__ = [
    "DATABASES",
    "EVERYWHERE",
    "DuckDB",
    "MySQL",
    "Postgres",
    "SQLite",
    "Spark",
    "check_same",
    "scored",
    "spread",
]

ID = "row id"


class Database:
    """What a statement in its dialect predicts in it."""

    has_empty_string = True
    atol = 1e-9

    def scored(
        self, model: Any, table: pa.Table, name: str, **options: Any
    ) -> tuple[list[Any], np.ndarray]:
        """The labels, and probabilities (n_rows, n_classes), of a model's statement."""
        self.hold(name, with_ids(table))
        statement = model.to_sql(name, **{"dialect": self.dialect, "keep": [ID], **options})
        found = self.select(statement).sort_by(ID)
        assert found.column_names[1] == "prediction"
        labels = found["prediction"].to_pylist()
        proba = [found.column(2 + k).to_numpy() for k in range(len(model.classes_))]
        return labels, np.stack(proba, axis=1)


class DuckDB(Database):
    """Tables of a connection in memory."""

    dialect = "duckdb"

    def __init__(self) -> None:
        import duckdb

        self.connection = duckdb.connect(config={"threads": 1})

    def hold(self, name: str, table: pa.Table) -> None:
        self.connection.register("arriving", table)
        quoted = name.replace('"', '""')
        self.connection.execute(f'CREATE OR REPLACE TABLE "{quoted}" AS SELECT * FROM arriving')
        self.connection.unregister("arriving")

    def select(self, statement: str) -> pa.Table:
        return self.connection.sql(statement).to_arrow_table()

    def names(self) -> list[str]:
        found = self.connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()
        return sorted(name for (name,) in found)

    def close(self) -> None:
        self.connection.close()


class Postgres(Database):
    """Tables of a schema of its own."""

    dialect = "postgres"

    def __init__(self, url: str) -> None:
        from adbc_driver_postgresql import dbapi

        self.connection = dbapi.connect(url, autocommit=True)

    def hold(self, name: str, table: pa.Table) -> None:
        with self.connection.cursor() as cursor:
            cursor.adbc_ingest(name, table, mode="replace")

    def select(self, statement: str) -> pa.Table:
        with self.connection.cursor() as cursor:
            cursor.execute(statement)
            return cursor.fetch_arrow_table()

    def names(self) -> list[str]:
        found = self.select(
            "SELECT tablename::text AS name FROM pg_tables WHERE schemaname = current_schema()"
        )
        return sorted(found["name"].to_pylist())

    def close(self) -> None:
        self.connection.close()


class MySQL(Database):
    """Tables of a database that is dropped."""

    dialect = "mysql"
    TYPES = (
        (pa.types.is_floating, "DOUBLE"),
        (pa.types.is_integer, "BIGINT"),
        (pa.types.is_boolean, "BOOLEAN"),
        (pa.types.is_date, "DATE"),
    )

    def __init__(self) -> None:
        self.server = server()
        self.run("DROP DATABASE IF EXISTS rows_of_test; CREATE DATABASE rows_of_test;", "mysql")

    def run(self, statements: str, database: str = "rows_of_test") -> list[Any]:
        return self.server.run(f"USE {database};\n{statements}")

    @staticmethod
    def _quoted(name: str) -> str:
        return "`" + name.replace("`", "``") + "`"

    @staticmethod
    def _literal(value: Any) -> str:
        if value is None or (isinstance(value, float) and not math.isfinite(value)):
            return "NULL"  # it has no other numbers
        if isinstance(value, str):
            return f"CONVERT(X'{value.encode().hex()}' USING utf8mb4)"
        return repr(value) if isinstance(value, bool | int | float) else f"'{value}'"

    def hold(self, name: str, table: pa.Table) -> None:
        string = "TEXT CHARACTER SET utf8mb4"
        kinds = [
            next((kind for is_, kind in self.TYPES if is_(t)), string) for t in table.schema.types
        ]
        names = map(self._quoted, table.column_names)
        declared = ", ".join(f"{column} {kind}" for column, kind in zip(names, kinds, strict=True))
        rows = zip(*table.to_pydict().values(), strict=True)
        values = ",\n".join(f"({', '.join(map(self._literal, row))})" for row in rows)
        own = self._quoted(name)
        self.run(
            f"DROP TABLE IF EXISTS {own}; CREATE TABLE {own} ({declared});\n"
            f"INSERT INTO {own} VALUES {values};"
        )

    def select(self, statement: str) -> pa.Table:
        self.run(f"DROP TABLE IF EXISTS `the result`; CREATE TABLE `the result` AS {statement};")
        names = self.run(
            "SELECT JSON_QUOTE(column_name) FROM information_schema.columns "
            "WHERE table_schema = DATABASE() AND table_name = 'the result' "
            "ORDER BY ordinal_position;"
        )
        every = ", ".join(map(self._quoted, names))
        rows = self.run(f"SELECT JSON_ARRAY({every}) FROM `the result`;")
        self.run("DROP TABLE `the result`;")
        columns = zip(*rows, strict=True)
        return pa.table({name: [*own] for name, own in zip(names, columns, strict=True)})

    def names(self) -> list[str]:
        return self.run(
            "SELECT JSON_QUOTE(table_name) FROM information_schema.tables "
            "WHERE table_schema = DATABASE() ORDER BY table_name;"
        )

    def close(self) -> None:
        self.run("DROP DATABASE rows_of_test;")


class SQLite(Database):
    """Tables of a connection in memory."""

    dialect = "sqlite"

    def __init__(self) -> None:
        self.connection = sqlite3.connect(":memory:")

    def hold(self, name: str, table: pa.Table) -> None:
        quoted = '"' + name.replace('"', '""') + '"'
        columns = [n.replace('"', '""') for n in table.column_names]
        declared = ", ".join(
            f'"{column}" {self._type(kind)}'
            for column, kind in zip(columns, table.schema.types, strict=True)
        )
        self.connection.execute(f"DROP TABLE IF EXISTS {quoted}")
        self.connection.execute(f"CREATE TABLE {quoted} ({declared})")
        marks = ", ".join("?" * len(columns))
        values = [
            [str(v) if pa.types.is_temporal(kind) and v is not None else v for v in own]
            for own, kind in zip(table.to_pydict().values(), table.schema.types, strict=True)
        ]
        self.connection.executemany(
            f"INSERT INTO {quoted} VALUES ({marks})", zip(*values, strict=True)
        )

    @staticmethod
    def _type(kind: pa.DataType) -> str:
        if pa.types.is_floating(kind):
            return "REAL"
        return "INTEGER" if pa.types.is_integer(kind) or pa.types.is_boolean(kind) else "TEXT"

    def select(self, statement: str) -> pa.Table:
        cursor = self.connection.execute(statement)
        names = [column[0] for column in cursor.description]
        return pa.table(
            {name: [*own] for name, own in zip(names, zip(*cursor, strict=True), strict=True)}
        )

    def names(self) -> list[str]:
        return self.select("SELECT name FROM sqlite_master ORDER BY name")["name"].to_pylist()

    def close(self) -> None:
        self.connection.close()


class Spark(Database):
    """Temporary views of a session."""

    dialect = "spark"

    # the rule by which the optimizer computes projections of a few rows by itself, one node of an
    # expression after another: no table of a file or a catalog is computed so, and it takes 10 s
    RULE = "org.apache.spark.sql.catalyst.optimizer.ConvertToLocalRelation"
    SETTING = "spark.sql.optimizer.excludedRules"

    def __init__(self, session: Any) -> None:
        self.session, self.held = session, []
        session.conf.set(self.SETTING, self.RULE)

    def hold(self, name: str, table: pa.Table) -> None:
        # (a name of a view that Python sets is read as SQL)
        quoted = "`" + name.replace("`", "``") + "`"
        self.session.createDataFrame(table).createOrReplaceTempView(quoted)
        self.held.append(name)

    def select(self, statement: str) -> pa.Table:
        return self.session.sql(statement).toArrow()

    def names(self) -> list[str]:
        return sorted(table.name for table in self.session.catalog.listTables())

    def close(self) -> None:
        for name in self.held:
            self.session.catalog.dropTempView(name)
        self.session.conf.unset(self.SETTING)


DATABASES = [
    pytest.param("duckdb", id="duckdb"),
    pytest.param("postgres", id="postgres"),
    pytest.param("sqlite", id="sqlite"),
    pytest.param("mysql", id="mysql"),
    pytest.param("spark", id="spark", marks=on_spark),
]
"""Where a test is run that takes the fixture `database`."""

EVERYWHERE = [*DATABASES, *(pytest.param(kind.dialect, id=kind.dialect) for kind in BACK_ENDS)]
"""Where a test is run that takes the fixture `back_end`."""


def spread(cases: Mapping[str, Any]) -> list[Any]:
    """Parameters `back_end` and another: each case in DuckDB, in one other database in turn, since
    all databases get the same expression, and in what is no database."""
    own, *others = DATABASES
    return [
        pytest.param(*place.values, case, marks=place.marks, id=f"{place.id}-{name}")
        for i, (name, case) in enumerate(cases.items())
        for place in (own, others[i % len(others)], *EVERYWHERE[len(DATABASES) :])
    ]


def with_ids(table: pa.Table) -> pa.Table:
    """The rows with their numbers, since a table has no order."""
    return table.append_column(ID, pa.array(range(len(table)), pa.int64()))


def scored(
    back_end: Any, model: Any, table: pa.Table, name: str = "rows", **options: Any
) -> tuple[list[Any], np.ndarray]:
    """The labels and probabilities (n_rows, n_classes) that a database, or another back end,
    says."""
    return back_end.scored(model, table, name, **options)


def check_same(
    back_end: Any,
    model: Any,
    table: pa.Table,
    rows: Any = None,
    *,
    ties: bool = False,
    **options: Any,
):
    """A back end says of each row what the model says; `rows` are the table as the model takes
    it. With `ties`, the label may be any class that is as probable as the best, to rounding."""
    rows = table if rows is None else rows
    labels, proba = scored(back_end, model, table, **options)
    own, expected = np.asarray(model.predict(rows)).tolist(), model.predict_proba(rows)
    for found, label, shares in zip(labels, own, expected, strict=True):
        if found != label and ties:
            assert shares.max() - shares[model.classes_.tolist().index(found)] <= back_end.atol
        else:
            assert found == label
    np.testing.assert_allclose(proba, expected, rtol=0, atol=back_end.atol)
