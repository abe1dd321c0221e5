"""The table that is asked, made in DuckDB from hashes of the row number: always the same."""

from __future__ import annotations

from typing import Any

__all__ = ["COLUMNS", "LEVELS", "NUMBERS", "TABLE", "TARGET", "make", "questions"]

TABLE, TARGET = "visits", "buys"
LEVELS = ("job", "city", "device", "product", "member", "shop", "brand", "month")
NUMBERS = ("age", "amount", "score", "visits", "delay", "length", "price", "change")
COLUMNS = (*LEVELS, *NUMBERS)


def _draw(what: str, most: int) -> str:
    """A whole number below `most`, of its own for each row and `what`."""
    return f"CAST(hash(i, '{what}') % {most} AS INTEGER)"


def _bell(what: str) -> str:
    """Nearly standard normal: the sum of four uniform numbers, scaled."""
    parts = " + ".join(_draw(f"{what}{k}", 1_000_000) for k in range(4))
    return f"(({parts}) / 1e6 - 2.0) * sqrt(3.0)"


def make(connection: Any, rows: int) -> None:
    """Makes the table: eight columns of levels, eight of numbers, missing values in two, three
    classes."""
    connection.execute(
        f"""
        CREATE OR REPLACE TABLE {TABLE} AS
        WITH rows AS (
            SELECT i, CASE WHEN hash(i) % 10 < 6 THEN 0 WHEN hash(i) % 10 < 9 THEN 1 ELSE 2 END AS c
            FROM range({rows}) t(i)
        )
        SELECT
            'job ' || ({_draw("job", 10)} + c) AS job,
            'city ' || least({_draw("city", 50)}, {_draw("city", 60)} + c) AS city,
            CASE WHEN {_draw("gap", 20)} = 0 THEN NULL
                 ELSE ['phone', 'tablet', 'desktop', 'other'][1 + ({_draw("device", 3)} + c) % 4]
            END AS device,
            'product ' || ({_draw("product", 997)} + c) AS product,
            {_draw("member", 10)} < 3 + c AS member,
            'shop ' || ({_draw("shop", 200)} + c) AS shop,
            'brand ' || ({_draw("brand", 400)} + c) AS brand,
            'month ' || ({_draw("month", 10)} + c) AS month,
            18 + {_draw("age", 60)} + 3 * c AS age,
            exp(3.0 + 0.4 * c + 0.8 * {_bell("amount")}) AS amount,
            CASE WHEN {_draw("no score", 20)} = 0 THEN NULL ELSE 1e6 + c + {_bell("score")} END
                AS score,
            {_draw("visits", 30)} + c AS visits,
            {_bell("delay")} AS delay,
            exp(2.0 + {_bell("length")}) AS length,
            round(100.0 + 10.0 * c + 30.0 * {_bell("price")}, 2) AS price,
            {_bell("change")} - c AS change,
            ['no', 'maybe', 'yes'][1 + c] AS {TARGET}
        FROM rows
        """
    )


def questions(connection: Any, how_many: int) -> list[dict[str, Any]]:
    """Rows of the table to ask about, one with a level that it does not have."""
    names = ", ".join(COLUMNS)
    found = connection.execute(
        f"SELECT {names} FROM {TABLE} ORDER BY hash(job, city, amount) LIMIT {how_many}"
    ).fetchall()
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in found]
    rows[-1]["job"] = "a job never seen"
    return rows
