"""The database that a test is run in."""

from __future__ import annotations

import pytest

from export.databases import EVERYWHERE, DuckDB, Postgres, Spark, SQLite


@pytest.fixture(params=EVERYWHERE)
def database(request):
    """A database without tables."""
    if request.param == "duckdb":
        found = DuckDB()
    elif request.param == "postgres":
        found = Postgres(request.getfixturevalue("postgres_url"))
    elif request.param == "sqlite":
        found = SQLite()
    else:
        found = Spark(request.getfixturevalue("spark"))
    try:
        yield found
    finally:
        found.close()


@pytest.fixture
def duckdb():
    """DuckDB without tables."""
    found = DuckDB()
    yield found
    found.close()
