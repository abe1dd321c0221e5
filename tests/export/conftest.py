"""The database, or other back end, that a test is run in."""

import pytest

from export.back_ends import BACK_ENDS
from export.databases import DATABASES, EVERYWHERE, DuckDB, MySQL, Postgres, Spark, SQLite


def opened(kind, request):
    """A back end without tables, by its name."""
    for other in BACK_ENDS:
        if other.dialect == kind:
            return other()
    if kind == "duckdb":
        return DuckDB()
    if kind == "postgres":
        return Postgres(request.getfixturevalue("postgres_url"))
    if kind in ("sqlite", "mysql"):
        return SQLite() if kind == "sqlite" else MySQL()
    return Spark(request.getfixturevalue("spark"))


@pytest.fixture(params=EVERYWHERE)
def back_end(request):
    """A database, or anything else that predicts without the model."""
    found = opened(request.param, request)
    try:
        yield found
    finally:
        found.close()


@pytest.fixture(params=DATABASES)
def database(request):
    """A database without tables."""
    found = opened(request.param, request)
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
