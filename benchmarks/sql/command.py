"""``python -m benchmarks sql``: rows per CPU-second of `to_sql`, on the Adult table.

Every answer is compared with that of the model: labels on each row, probabilities to 1e-9.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa

import tallybayes
from benchmarks.accuracy.data import all_data_sets
from benchmarks.machine import machine_record
from benchmarks.pages import RESULTS, heading, recorded_command, write_page
from benchmarks.sql.nested import nested_case, without_fence
from tallybayes import NaiveBayes, WeightedNaiveBayes

__all__ = ["main"]

RESULT = RESULTS / "sql.md"
TIMES, ROUNDS = 10, 5
STREAMED, NESTED = 0.3, 5.0  # the bars
ADULT = "adult"


def cpu_seconds(call: Callable[[], Any]) -> float:
    """What this process computes meanwhile, in the least of some runs."""

    def used() -> float:
        now = resource.getrusage(resource.RUSAGE_SELF)
        return now.ru_utime + now.ru_stime

    found = []
    for _ in range(ROUNDS):
        start = used()
        call()
        found.append(used() - start)
    return min(found)


class InDuckDB:
    """The table several times over, in DuckDB on one thread: in memory, where strings lie as they
    are, or in a database file, where a column of few strings lies as codes."""

    def __init__(self, x: Any, file: Path | None = None) -> None:
        where = ":memory:" if file is None else str(file)
        self.connection = duckdb.connect(where, config={"threads": 1})
        rows = pd.concat([x] * TIMES, ignore_index=True)
        self.connection.register("arriving", rows)
        self.connection.execute("CREATE TABLE adult AS SELECT * FROM arriving")
        if file is not None:  # read as any other process would
            self.connection.close()
            self.connection = duckdb.connect(where, config={"threads": 1})
        self.n = len(rows)

    def answer(self, statement: str) -> pa.Table:
        return self.connection.sql(statement).to_arrow_table()

    def streamed(self, model: Any) -> list[Any]:
        """Labels and probabilities of batches, as `predict` of a stream makes them."""
        reader = self.connection.sql("FROM adult").to_arrow_reader(1 << 17)
        found = []
        for batch in reader:
            proba = model.predict_proba(batch)
            labels = np.asarray(model.classes_)[proba.argmax(axis=1)]
            found.append((labels, proba))
        return found


def wrong_rows(model: Any, answer: pa.Table, streamed: list[Any]) -> int:
    """Rows with another label, or a probability that is not that of the model to 1e-9."""
    labels, proba = (np.concatenate(part) for part in zip(*streamed, strict=True))
    found = np.stack([answer.column(1 + k).to_numpy() for k in range(len(model.classes_))], axis=1)
    other = np.asarray(answer["prediction"].to_pylist(), dtype=object) != labels
    return int((other | (np.abs(found - proba) > 1e-9).any(axis=1)).sum())


def measured_in_duckdb(x: Any, y: Any) -> list[dict[str, Any]]:
    """A record for each model and table."""
    tallybayes.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        tables = {"memory": InDuckDB(x), "file": InDuckDB(x, Path(folder, "adult.duckdb"))}
        found = [
            {"table": name, **record}
            for name, where in tables.items()
            for record in measured_in(where, x, y)
        ]
        for where in tables.values():
            where.connection.close()
    return found


def measured_in(where: InDuckDB, x: Any, y: Any) -> list[dict[str, Any]]:
    """A record for each model."""
    found = []
    job = x["occupation"].fillna("unknown").to_numpy()
    for name, model, labels in (
        ("NaiveBayes", NaiveBayes(), y),
        ("NaiveBayes, occupation of 15 classes", NaiveBayes({"occupation": None}), job),
        ("WeightedNaiveBayes", WeightedNaiveBayes(), y),
    ):
        model.fit(x, labels)
        statement = model.to_sql(ADULT)
        record = {
            "model": name,
            "letters": len(statement),
            "wrong": wrong_rows(model, where.answer(statement), where.streamed(model)),
            "to_sql": cpu_seconds(lambda s=statement: where.answer(s)),
            "streamed": cpu_seconds(lambda m=model: where.streamed(m)),
        }
        if name.startswith("NaiveBayes"):
            other = nested_case(model._fitted().formula(), ADULT)
            record["wrong_nested"] = wrong_rows(model, where.answer(other), where.streamed(model))
            record["nested"] = cpu_seconds(lambda s=other: where.answer(s))
        record["rows"] = where.n
        found.append(record)
    return found


def measured_in_postgres(url: str, x: Any, y: Any) -> list[dict[str, Any]]:
    """Times of the server, of one connection, with the fence and without."""
    from adbc_driver_postgresql import dbapi

    found = []
    with dbapi.connect(url, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest(ADULT, pa.Table.from_pandas(x), mode="replace")
        for columns in (2, 4, 6):
            some = x[list(x.columns[:columns])]
            model = NaiveBayes().fit(some, y)
            record: dict[str, Any] = {"columns": columns, "rows": len(x)}
            for name, statement in (
                ("fence", model.to_sql(ADULT, "postgres")),
                ("merged", without_fence(model, ADULT)),
            ):
                start = time.perf_counter()
                cursor.execute(f"SELECT count(prediction), count(*) FROM ({statement}) AS t")
                cursor.fetchall()
                record[name] = time.perf_counter() - start
            found.append(record)
        cursor.execute(f"DROP TABLE {ADULT}")
    return found


def as_markdown(
    inside: list[dict[str, Any]], outside: list[dict[str, Any]], command: str, machine: Any
) -> str:
    """The page."""
    lines = [
        *heading("Scoring in SQL", command, machine),
        f"- Versions: duckdb {duckdb.__version__}, tallybayes {machine['tallybayes']}",
        "",
        f"The Adult table {TIMES} times over in DuckDB, in memory and in a database file, one "
        f"thread of DuckDB and of the model, the least CPU-seconds of {ROUNDS} runs. `to_sql` "
        "fetches label and probabilities as Arrow; "
        "streamed `predict` reads batches of 131,072 rows and makes both; nested CASE is the same "
        "scores as one CASE for each column and class. A wrong row has another label than "
        "`predict`, or a probability that is off by more than 1e-9.",
        "",
        "| table in | model | rows | letters | to_sql | streamed predict | nested CASE | "
        f"wrong rows | to_sql ÷ predict (≥ {STREAMED}) | to_sql ÷ nested (≥ {NESTED:g}) |",
        "|" + " --- |" * 10,
    ]
    for r in inside:
        nested = r.get("nested")
        cells = [
            r["table"],
            r["model"],
            f"{r['rows']:,}",
            f"{r['letters']:,}",
            f"{r['to_sql']:.3f} s",
            f"{r['streamed']:.3f} s",
            "" if nested is None else f"{nested:.3f} s",
            f"{r['wrong'] + r.get('wrong_nested', 0)}",
            f"{r['streamed'] / r['to_sql']:.2f}",
            "" if nested is None else f"{nested / r['to_sql']:.1f}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    if outside:
        lines += [
            "",
            "PostgreSQL, with `OFFSET 0` in each subquery and without, wall time of one query over "
            "the first columns of the table:",
            "",
            "| columns | rows | OFFSET 0 | merged | times |",
            "|" + " --- |" * 5,
        ]
        for r in outside:
            lines.append(
                f"| {r['columns']} | {r['rows']:,} | {r['fence']:.2f} s | {r['merged']:.2f} s | "
                f"{r['merged'] / r['fence']:.1f} |"
            )
    return "\n".join(lines) + "\n"


def main(argv: list[str]) -> int:
    """Runs the command.

    Returns
    -------
    int
        0, or 1 if a row was wrong.
    """
    options = argparse.ArgumentParser(
        prog="python -m benchmarks sql",
        description="Rows per CPU-second of to_sql in DuckDB on the Adult table, and with "
        "--postgres what the fence does there. The exit code is 1 if a row was wrong.",
    )
    options.add_argument("--postgres", metavar="URL", help="a database that may be written to")
    options.add_argument("--output", type=Path, default=RESULT, metavar="FILE")
    asked = options.parse_args(argv)
    [data] = [d for d in all_data_sets() if d.name == ADULT]
    x, y = data.table
    x = x.rename(columns=str)
    machine = machine_record()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        inside = measured_in_duckdb(x, y)
        outside = [] if asked.postgres is None else measured_in_postgres(asked.postgres, x, y)
    kept = [
        w for i, w in enumerate(argv) if w != "--postgres" and argv[i - 1 : i] != ["--postgres"]
    ]
    page = as_markdown(inside, outside, recorded_command("sql", kept), machine)
    print(page)
    write_page(asked.output, page, {"duckdb": inside, "postgres": outside, "machine": machine})
    wrong = sum(r["wrong"] + r.get("wrong_nested", 0) for r in inside)
    if wrong:
        print(f"{wrong} rows are wrong", file=sys.stderr)
    return 1 if wrong else 0
