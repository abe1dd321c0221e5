"""The database that a test is run in."""

from __future__ import annotations

import pytest

from export.databases import EVERYWHERE, DuckDB, MySQL, Postgres, Spark, SQLite


@pytest.fixture(params=EVERYWHERE)
def database(request):
    """A database without tables."""
    if request.param == "duckdb":
        found = DuckDB()
    elif request.param == "postgres":
        found = Postgres(request.getfixturevalue("postgres_url"))
    elif request.param in ("sqlite", "mysql"):
        found = SQLite() if request.param == "sqlite" else MySQL()
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
