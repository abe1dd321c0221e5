"""Databases in which tests score tables: each holds Arrow tables, and answers a SELECT with one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from servers.spark import on_spark

__all__ = ["EVERYWHERE", "DuckDB", "Postgres", "Spark", "check_same", "scored"]

ID = "row id"


class DuckDB:
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


class Postgres:
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


class Spark:
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


EVERYWHERE = [
    pytest.param("duckdb", id="duckdb"),
    pytest.param("postgres", id="postgres"),
    pytest.param("spark", id="spark", marks=on_spark),
]
"""Where a test is run that takes the fixture `database`."""


def with_ids(table: pa.Table) -> pa.Table:
    """The rows with their numbers, since a table has no order."""
    return table.append_column(ID, pa.array(range(len(table)), pa.int64()))


def scored(
    database: Any, model: Any, table: pa.Table, name: str = "rows", **options: Any
) -> tuple[list[Any], np.ndarray]:
    """The labels and probabilities (n_rows, n_classes) that a database says."""
    database.hold(name, with_ids(table))
    statement = model.to_sql(name, database.dialect, keep=[ID], **options)
    found = database.select(statement).sort_by(ID)
    assert found.column_names[1] == "prediction"
    labels = found["prediction"].to_pylist()
    proba = [found.column(2 + k).to_numpy() for k in range(len(model.classes_))]
    return labels, np.stack(proba, axis=1)


def check_same(database: Any, model: Any, table: pa.Table, rows: Any = None, **options: Any):
    """A database says of each row what the model says; `rows` are the table as the model takes
    it."""
    rows = table if rows is None else rows
    labels, proba = scored(database, model, table, **options)
    assert labels == np.asarray(model.predict(rows)).tolist()
    np.testing.assert_allclose(proba, model.predict_proba(rows), rtol=0, atol=1e-9)
