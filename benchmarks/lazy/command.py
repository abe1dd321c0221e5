"""``python -m benchmarks lazy``: the latency of lazy answers, and when fitting pays."""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.accuracy.data import NoData, all_data_sets
from benchmarks.bayes.page import Page
from benchmarks.lazy.data import COLUMNS, LEVELS, NUMBERS, TABLE, TARGET, make, questions
from benchmarks.lazy.statements import measure
from benchmarks.machine import OtherWork, machine_record
from benchmarks.pages import RESULTS, recorded_command, say, yes_or_no

__all__ = ["main"]

FULL = 10_000_000
BATCH = 1000
BOUND = 1e-9


class Spent(NamedTuple):
    """What calls took, one value each: seconds on the clock, and seconds of processors."""

    clock: list[float]
    processor: list[float]

    @classmethod
    def nothing(cls) -> Spent:
        return cls([], [])

    def time(self, call: Callable[[], Any], times: int = 1) -> Any:
        """Times some calls; what the last one returned."""
        answer = None
        for _ in range(times):
            clock, processor = time.perf_counter(), time.process_time()
            answer = call()
            self.processor.append(time.process_time() - processor)
            self.clock.append(time.perf_counter() - clock)
        return answer


def shown(seconds: float) -> str:
    """A time, to read."""
    return f"{seconds:.2f} s" if seconds >= 1.0 else f"{seconds * 1e3:.3g} ms"


def latency(rows: int, repeats: int) -> dict[str, Any]:
    """Times of the lazy and the fitted way on a DuckDB table, and how far apart the answers are."""
    import duckdb

    from tallybayes import LazyNaiveBayes, NaiveBayes
    from tallybayes.families import Categorical, Gaussian

    families = {name: Categorical() for name in LEVELS}
    families |= {name: Gaussian() for name in NUMBERS}
    with (
        tempfile.TemporaryDirectory() as folder,
        duckdb.connect(str(Path(folder) / "visits.duckdb")) as db,
    ):
        say(f"making a table of {rows:,} rows …")
        make(db, rows)
        asked = questions(db, BATCH)
        lazy = LazyNaiveBayes(TABLE, TARGET, columns=families, connection=db)
        say("asking …")
        other = OtherWork()
        lazy.predict(asked[:1])  # what the file system has not yet read
        levels_only = [{name: asked[0][name] for name in LEVELS}]
        calls = {
            "one": asked[:1],
            "one, levels only": levels_only,
            "batch": asked,
        }
        spent = {name: Spent.nothing() for name in calls}
        for _ in range(repeats):  # in turn, so that a noisy machine is noisy for all
            for name, rows_asked in calls.items():
                answers = spent[name].time(partial(lazy.predict_proba, rows_asked))
        order = [str(label) for label in lazy.classes_]
        say("fitting …")

        def fitted() -> NaiveBayes:
            table = db.sql(f"FROM {TABLE}").to_arrow_table()
            y = table[TARGET].to_numpy()
            return NaiveBayes(families).fit(table.drop_columns([TARGET]), y)

        for name in ("fit", "fitted, one", "fitted, batch"):
            spent[name] = Spent.nothing()
        model = spent["fit"].time(fitted, max(1, repeats // 2))
        spent["fitted, one"].time(lambda: model.predict_proba(asked[:1]), 20)
        expected = spent["fitted, batch"].time(lambda: model.predict_proba(asked), 5)
        apart = float(abs(answers - expected).max())
        if order != [str(label) for label in model.classes_]:
            apart = np.inf
        say("ways to write the statement …")
        ways = measure(db, {"one question": asked[:1], "a batch": asked[:20]}, max(1, repeats // 3))
        others = other.cores()
    return {
        "rows": rows,
        "repeats": repeats,
        "spent": {name: taken._asdict() for name, taken in spent.items()},
        "statements": dict(ways),
        "difference": apart,
        "others": others,
    }


def page(found: dict[str, Any], compared: list[Any], rows: int) -> Page:
    """The results as a page."""
    spent = {name: Spent(**taken) for name, taken in found["spent"].items()}
    middle = {name: statistics.median(taken.clock) for name, taken in spent.items()}
    work = {name: statistics.median(taken.processor) for name, taken in spent.items()}

    def line(what: str, name: str) -> list[str]:
        clock = spent[name].clock
        times = (middle[name], min(clock), max(clock), work[name])
        return [what, *map(shown, times), f"{len(clock)}"]

    def pays(taken: dict[str, float], ask: str) -> int:
        """Questions, or batches of them, from which on fitting is the cheaper way."""
        return int(taken["fit"] / (taken[ask] - taken[f"fitted, {ask}"])) + 1

    met = found["difference"] <= BOUND
    others = found["others"]
    verdicts = [
        f"- One question takes {shown(middle['one'])}, {BATCH:,} in a batch take "
        f"{shown(middle['batch'])}, of a table of {rows:,} rows × {len(COLUMNS)} columns.",
        f"- Fitting, the fetching of the rows included, takes {shown(middle['fit'])}. It pays from "
        f"{pays(middle, 'one')} questions one by one on, or {pays(middle, 'batch')} batches of "
        f"{BATCH:,}, while the table stays as it is; by processor time from "
        f"{pays(work, 'one')} and {pays(work, 'batch')} on.",
        f"- The answers are those of the fitted model to {found['difference']:.1e} (bar {BOUND:g}: "
        f"{yes_or_no(met)}).",
    ]
    if compared:
        equal = all(c.met for c in compared)
        worst = max(c.difference for c in compared)
        sets = ", ".join(dict.fromkeys(c.name.split(",")[0] for c in compared))
        verdicts.append(
            f"- On {sets}, as the table grows and shrinks: counts equal, probabilities to "
            f"{worst:.1e} (bar: equal, {BOUND:g}: {yes_or_no(equal)})."
        )
    tables = [
        (
            "Medians of whole public calls, on a DuckDB table in a file; DuckDB and the compiled "
            "kernels use every core. Eight columns are levels (4 to 1,000 of them), eight are "
            "numbers. Other work kept "
            + ("an unknown number of" if others is None else f"{others:.1f}")
            + " cores busy meanwhile: on a machine that works for others the processor time says "
            "more.",
            ["", "median", "least", "most", "processor time", "runs"],
            [
                line("lazy: one question", "one"),
                line("lazy: one question about the columns of levels", "one, levels only"),
                line(f"lazy: {BATCH:,} questions in a batch", "batch"),
                line("fetch the table and fit a NaiveBayes", "fit"),
                line("fitted: one question", "fitted, one"),
                line(f"fitted: {BATCH:,} questions in a batch", "fitted, batch"),
            ],
        )
    ]
    tables.append(
        (
            "Ways to write the statement, by themselves: median processor time for one question, "
            "and for a batch of 20.",
            ["", "one question", "20 questions"],
            [[way, *map(shown, taken.values())] for way, taken in found["statements"].items()],
        )
    )
    if compared:
        tables.append(
            (
                "Lazy beside fitted: 300 questions, a tenth of their cells missing, "
                "a tenth of their strings never seen.",
                ["data set", "table", "rows", "largest difference", "counts equal"],
                [
                    [c.name, c.when, f"{c.rows:,}", f"{c.difference:.1e}", yes_or_no(c.counts)]
                    for c in compared
                ],
            )
        )
    record = {**found, "compared": [c._asdict() for c in compared]}
    return Page("lazy", "Lazy naive Bayes in DuckDB", verdicts, tables, record)


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    options = argparse.ArgumentParser(
        prog="python -m benchmarks lazy",
        description="Latency of lazy answers on a DuckDB table, beside a fitted model, and whether "
        "the answers are equal, there and on real tables.",
        epilog="Data sets are looked for in the folder that TALLYBAYES_DATA names. A run of fewer "
        "rows is printed and not written, unless --output says where. The exit code is 1 if an "
        "answer is wrong or a data set is missing.",
    )
    options.add_argument("--rows", type=int, default=FULL)
    options.add_argument("--repeats", type=int, default=7)
    options.add_argument(
        "--output", type=Path, metavar="FOLDER", help="default: benchmarks/results"
    )
    return options


def main(argv: list[str]) -> int:
    """Runs the command.

    Returns
    -------
    int
        0, or 1 if an answer was wrong or a data set missing.
    """
    asked = parser().parse_args(argv)
    command = recorded_command("lazy", argv)
    try:
        from benchmarks.lazy.equal import SETS, compare
    except ImportError as why:
        say(f"the benchmark needs DuckDB and pandas: {why}")
        return 1
    machine = machine_record(("duckdb", "pandas", "pyarrow"))
    compared, missing = [], []
    for data in all_data_sets():
        if data.name not in SETS:
            continue
        say(data.name)
        try:
            compared += compare(data)
        except NoData as why:
            missing.append(data.name)
            say(f"  NO DATA: {why}")
    found = latency(asked.rows, asked.repeats)
    result = page(found, compared, asked.rows)
    partly = f"A table of {asked.rows:,} rows only" if asked.rows < FULL else ""
    if missing:
        partly = "; ".join(filter(None, [partly, f"No data for {', '.join(missing)}"]))
    result.publish(asked.output or (None if partly else RESULTS), command, machine, partly)
    wrong = found["difference"] > BOUND or not all(c.met for c in compared)
    return 1 if wrong or missing else 0
