"""``python -m benchmarks store``: stores under load, and stores whose processes are killed."""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from contextlib import contextmanager
from pathlib import Path

from benchmarks.bayes.page import Page
from benchmarks.machine import machine_record
from benchmarks.pages import recorded_command
from benchmarks.store.crashes import KILLS_A_ROUND, check_crashes
from benchmarks.store.load import (
    BARS,
    KEYS,
    WRITERS_BAR,
    database,
    encrypted,
    measured,
    ready,
    writers,
)
from tallybayes import NaiveBayes, store

__all__ = ["main"]

RESULTS = Path(__file__).resolve().parents[1] / "results"
KILLS = 500
DATABASES = ["SQLite", "PostgreSQL"]


def say(text: str) -> None:
    """Progress, on standard error."""
    print(text, file=sys.stderr, flush=True)


def main(argv: list[str]) -> int:
    """Measures or kills; 1 where a bar is missed or an event was lost."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks store", description=__doc__)
    parser.add_argument("what", nargs="?", choices=["load", "crashes"], default="load")
    parser.add_argument("--databases", nargs="+", choices=DATABASES, default=DATABASES)
    parser.add_argument("--kills", type=int, default=KILLS, help="processes that are killed")
    parser.add_argument("--seed", type=int, default=0, help="of the moments")
    parser.add_argument("--out", type=Path, default=RESULTS, help="the folder of the page")
    options = parser.parse_args(argv)
    machine = machine_record(["psycopg"])
    if options.what == "load":
        page, stood = _load(options.databases)
        partly = "" if options.databases == DATABASES else "one database"
        page.publish(options.out, recorded_command("store", argv), machine, partly)
        return int(not stood)
    for name in options.databases:
        page = _crashes(name, options.kills, options.seed)
        partly = "" if options.kills >= KILLS else f"{options.kills} of {KILLS} kills"
        page.publish(options.out, recorded_command("store", argv), machine, partly)
    return 0


def _load(databases: list[str]) -> tuple[Page, bool]:
    rates = []
    for name in databases:
        for how in BARS:
            rates.append(measured(name, how))
            say(f"{rates[-1]}")
    stood = all(rate.share >= BARS[rate.how] for rate in rates)
    cells = [
        [
            rate.database,
            rate.how,
            f"{rate.base:,.0f}",
            f"{rate.ours:,.0f}",
            f"{rate.share:.2f}",
            f"{BARS[rate.how]}",
        ]
        for rate in rates
    ]
    header = ["database", "calls", "bare INSERT", "store", "share", "bar"]
    sealed = [
        (keys, encrypted(name, how, KEYS[keys]))
        for name in databases
        for how in BARS
        for keys in KEYS
    ]
    say(f"{sealed}")
    of_sealed = [
        [
            rate.database,
            rate.how,
            keys,
            f"{rate.base:,.0f}",
            f"{rate.ours:,.0f}",
            f"{rate.share:.2f}",
        ]
        for keys, rate in sealed
    ]
    tables = [
        ("Rows a second.", header, cells),
        (
            "Rows a second of a store that encrypts its rows (`subject_keys=`), beside one that "
            "does not. Keys are in a file of SQLite; a call that needs new ones waits for a second "
            "synchronisation.",
            ["database", "calls", "keys", "store", "encrypted", "share"],
            of_sealed,
        ),
    ]
    record = {
        "rates": [rate._asdict() for rate in rates],
        "encrypted": [{"keys": keys, **rate._asdict()} for keys, rate in sealed],
    }
    verdicts = [
        "- A bare INSERT writes the bytes that the store keeps, with the same durability; both "
        "take turns. The store encodes rows, hashes ids, and refuses those that it has.",
    ]
    if "SQLite" in databases:
        alone = ready()
        say(f"{alone}")
        verdicts.append(
            "- Rows that are encoded and hashed beforehand go in hundreds into the table of a "
            f"store in SQLite and its index of ids at {alone.ours:,.0f} a second, "
            f"{alone.share:.2f} of a bare INSERT's {alone.base:,.0f}: what a store would reach "
            "here whose own work took no time."
        )
        record["ready"] = alone._asdict()
    if "PostgreSQL" in databases:
        times = [(writers(1), writers(4)) for _ in range(3)]
        factor = statistics.median(four / one for one, four in times)
        say(f"four writers: {factor:.2f} times one")
        stood &= factor >= WRITERS_BAR
        verdicts.append(
            f"- Four processes that learn hundreds in PostgreSQL: {factor:.2f} times the rows of "
            f"one (bar: {WRITERS_BAR})."
        )
        record["writers"] = times
    return Page("store-load", "A store under load", verdicts, tables, record), stood


def _crashes(name: str, kills: int, seed: int) -> Page:
    """Kills processes that use one database; raises where an event was lost or counted twice."""
    begin = time.perf_counter()
    with _url(name) as url:
        store.open(url, create=NaiveBayes()).close()
        survived = check_crashes(url, kills, seed=seed)
    seconds = time.perf_counter() - begin
    say(f"{name}: {kills} kills, {survived:,} rows, {seconds:,.0f} s")
    verdict = (
        f"- {name}: {kills} processes, up to four at a time, were killed by SIGKILL while they "
        f"learned, forgot, took snapshots and compacted, in {seconds:,.0f} s. {survived:,} "
        "acknowledged rows are counted once each, and forgotten ones not at all. `verify()` and "
        f"the comparison with every acknowledged call passed after each {KILLS_A_ROUND} kills."
    )
    record = {"kills": kills, "survived": survived, "seconds": seconds}
    title = f"Processes killed while they write to {name}"
    return Page(f"store-crashes-{name.lower()}", title, [verdict], [], record)


@contextmanager
def _url(name: str):  # type: ignore[no-untyped-def]
    with database(name) as (url, _):
        yield url
