"""Ways to write the counting statement, on the same table: what decision 0010 rests on."""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.lazy.data import LEVELS, NUMBERS, TABLE, TARGET

__all__ = ["WAYS", "measure"]


def _literal(value: Any) -> str:
    return "NULL" if value is None else "'" + str(value).replace("'", "''") + "'"


def _groups(asked: Mapping[str, Sequence[Any]]) -> str:
    """One grouping a column: what the engine does."""
    return " UNION ALL ".join(
        f"SELECT '{name}', {TARGET}, CAST({name} AS VARCHAR), count(*) FROM {TABLE} "
        f"GROUP BY {TARGET}, {name}"
        for name in LEVELS
    )


def _grouping_sets(asked: Mapping[str, Sequence[Any]]) -> str:
    """All groupings in one scan."""
    sets = ", ".join(f"({TARGET}, {name})" for name in LEVELS)
    columns = f"{TARGET}, {', '.join(LEVELS)}"
    return f"SELECT {columns}, count(*) FROM {TABLE} GROUP BY GROUPING SETS ({sets})"


def _conditions(asked: Mapping[str, Sequence[Any]]) -> str:
    """A conditional count for each value that is asked for, and distinct counts besides."""
    counts = [f"count({name})" for name in LEVELS]
    counts += [
        f"count(*) FILTER ({name} = {_literal(value)})"
        for name in LEVELS
        for value in dict.fromkeys(asked[name])
        if value is not None
    ]
    counts += [f"(SELECT count(DISTINCT {name}) FROM {TABLE})" for name in LEVELS]
    return f"SELECT {TARGET}, {', '.join(counts)} FROM {TABLE} GROUP BY {TARGET}"


def _two_scans(asked: Mapping[str, Sequence[Any]], total: str = "fsum") -> str:
    """Sums about the mean of each class, the means in a scan of their own."""
    means = ", ".join(f"avg({n}) AS m_{n}" for n in NUMBERS)
    sums = ", ".join(
        f"count({n}), any_value(m_{n}), {total}({n} - m_{n}), "
        f"{total}(({n} - m_{n}) * ({n} - m_{n}))"
        for n in NUMBERS
    )
    return (
        f"WITH means AS MATERIALIZED (SELECT {TARGET}, {means} FROM {TABLE} GROUP BY {TARGET}) "
        f"SELECT {TARGET}, {sums} FROM {TABLE} JOIN means USING ({TARGET}) GROUP BY {TARGET}"
    )


def _plain_sums(asked: Mapping[str, Sequence[Any]]) -> str:
    """The same with sums that are not compensated: what the engine does."""
    return _two_scans(asked, "sum")


def _one_scan(asked: Mapping[str, Sequence[Any]]) -> str:
    """DuckDB's variance, about no origin."""
    parts = ", ".join(f"count({n}), avg({n}), var_pop({n})" for n in NUMBERS)
    return f"SELECT {TARGET}, {parts} FROM {TABLE} GROUP BY {TARGET}"


WAYS = {
    "levels: one grouping a column (chosen)": _groups,
    "levels: grouping sets": _grouping_sets,
    "levels: a conditional count for each value asked, and distinct counts": _conditions,
    "numbers: two scans, compensated sums": _two_scans,
    "numbers: two scans, plain sums (chosen)": _plain_sums,
    "numbers: one scan, var_pop about no origin": _one_scan,
}


def measure(
    connection: Any, batches: Mapping[str, Sequence[Mapping[str, Any]]], repeats: int
) -> list[tuple[str, dict[str, float]]]:
    """Median processor seconds of each way, for each batch of questions, the ways in turn.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
    batches : mapping
        Questions by what they are called.
    repeats : int
    """
    seconds: dict[tuple[str, str], list[float]] = {}
    for _ in range(repeats):
        for what, questions in batches.items():
            asked = {name: [row[name] for row in questions] for name in LEVELS}
            for way, write in WAYS.items():
                text = write(asked)
                start = time.process_time()
                connection.sql(text).fetchall()
                seconds.setdefault((way, what), []).append(time.process_time() - start)
    return [
        (way, {what: statistics.median(seconds[way, what]) for what in batches}) for way in WAYS
    ]
