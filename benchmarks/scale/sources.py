"""``python -m benchmarks sources``: learning from files beside decoding them, and peers."""

from __future__ import annotations

import argparse
import math
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pc_csv
import pyarrow.parquet as pq

from benchmarks.machine import machine_record
from benchmarks.pages import RESULTS, heading, recorded_command, write_page

__all__ = ["main"]

RESULT = RESULTS / "sources.md"
GROUP = 250_000  # rows of a row group
LINKED = 10_000_000  # rows of a file that many links name
LEVELS = (4, 8, 16, 32, 64, 128, 500, 1000)


class Run(NamedTuple):
    """What a call took in a process of its own: seconds, and bytes."""

    processor: float
    wall: float
    peak: int


# ---- data ----------------------------------------------------------------------------------------
def _rows(rng: np.random.Generator, n: int) -> Any:
    """Eight columns of strings, eight of numbers, and a target of two classes."""
    y = rng.random(n) < 0.4
    columns: dict[str, Any] = {}
    for i, k in enumerate(LEVELS):
        codes = pa.array(((rng.random(n) ** (1 + 0.3 * y)) * k).astype(np.int32))
        names = [f"v{j:04d}" for j in range(k)]
        columns[f"c{i}"] = pa.DictionaryArray.from_arrays(codes, names).cast(pa.string())
    for i in range(8):
        odd = np.round(rng.normal(y * i / 4, 10, n), 4)
        columns[f"n{i}"] = pa.array(odd if i % 2 else np.round(rng.lognormal(3, 1, n), 2))
    columns["y"] = pc.if_else(pa.array(y), "yes", "no")
    return pa.table(columns)


def make(folder: Path, rows: int, csv: bool) -> None:
    """Writes rows as Parquet, and as CSV where asked, group by group."""
    rng = np.random.default_rng(0)
    schema = _rows(rng, 1).schema
    parquet = pq.ParquetWriter(folder / "t.parquet", schema)
    text = pc_csv.CSVWriter(folder / "t.csv", schema) if csv else None
    for start in range(0, rows, GROUP):
        table = _rows(rng, min(GROUP, rows - start))
        parquet.write_table(table)
        if text is not None:
            text.write_table(table)
    parquet.close()
    if text is not None:
        text.close()


# ---- calls ---------------------------------------------------------------------------------------
def fit(path: str) -> None:
    """Ours."""
    from tallybayes import NaiveBayes

    NaiveBayes().fit(path, "y")


def fit_weighted(path: str) -> None:
    """Ours, with learned weights."""
    from tallybayes import WeightedNaiveBayes

    WeightedNaiveBayes().fit(path, "y")


def decode(path: str) -> None:
    """Row groups as Arrow, strings as codes."""
    strings = [f"c{i}" for i in range(len(LEVELS))] + ["y"]
    with pq.ParquetFile(path, read_dictionary=strings) as file:
        for group in range(file.metadata.num_row_groups):
            file.read_row_group(group, use_threads=False)


def parse(path: str) -> None:
    """CSV by pyarrow, typed, strings as codes."""
    coded = pa.dictionary(pa.int32(), pa.string())
    types = {f"c{i}": coded for i in range(len(LEVELS))} | {"y": coded}
    types |= {f"n{i}": pa.float64() for i in range(8)}
    for _ in pc_csv.open_csv(path, convert_options=pc_csv.ConvertOptions(column_types=types)):
        pass


def polars(path: str) -> None:
    """The sum of a column, with all columns parsed."""
    import polars as pl

    pl.read_csv(path)


def duckdb(path: str) -> None:
    """All columns parsed, none kept."""
    import duckdb as library

    columns = ", ".join(
        [f"max(c{i})" for i in range(len(LEVELS))] + [f"max(n{i})" for i in range(8)]
    )
    library.sql(f"SELECT {columns} FROM read_csv('{path}')").fetchall()


def pandas(path: str) -> None:
    """pandas, scikit-learn's OrdinalEncoder, and its naive Bayes of both kinds of columns."""
    import pandas as pd
    from sklearn.naive_bayes import CategoricalNB, GaussianNB
    from sklearn.preprocessing import OrdinalEncoder

    frame = pd.read_parquet(path)
    strings = [f"c{i}" for i in range(len(LEVELS))]
    CategoricalNB().fit(OrdinalEncoder(dtype=np.int64).fit_transform(frame[strings]), frame["y"])
    GaussianNB().fit(frame[[f"n{i}" for i in range(8)]], frame["y"])


def _measured(call: Callable[[str], None], path: str, limit: int | None) -> Run:
    if limit is not None:  # before allocators reserve what they may never use
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    from tallybayes import NaiveBayes

    small = pa.table({"x": [1.0, 2.0, 3.0], "z": ["u", "v", "u"]})
    NaiveBayes().fit(small, ["a", "b", "b"])  # what imports take is not what is measured
    wall, processor = time.perf_counter(), time.process_time()
    call(path)
    seconds = time.process_time() - processor, time.perf_counter() - wall
    unit = 1 if sys.platform == "darwin" else 1024
    return Run(*seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit)


def measured(call: Callable[[str], None], path: Path, limit: int | None = None) -> Run:
    """A call in a process of its own, with at most `limit` bytes of data."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_measured, call, str(path), limit).result()


# ---- the page ------------------------------------------------------------------------------------
def cases(rows: int, limit: int, csv: bool, peers: bool) -> list[tuple[str, Any, str, int | None]]:
    """Name, call, file and limit of each run, in the order in which they run."""
    found = [
        ("Parquet: bare decoding", decode, "t.parquet", None),
        ("Parquet: fit", fit, "t.parquet", None),
        (f"Parquet: fit, {limit / 2**30:g} GiB of data", fit, "t.parquet", limit),
        ("Parquet: weighted fit", fit_weighted, "t.parquet", None),
    ]
    if peers and rows <= 1_000_000:
        found.append(("Parquet: pandas, OrdinalEncoder, naive Bayes", pandas, "t.parquet", None))
    if csv:
        found += [
            ("CSV: pyarrow, typed", parse, "t.csv", None),
            ("CSV: fit", fit, "t.csv", None),
            (f"CSV: fit, {limit / 2**30:g} GiB of data", fit, "t.csv", limit),
        ]
    if csv and peers:
        found += [("CSV: polars", polars, "t.csv", None), ("CSV: DuckDB", duckdb, "t.csv", None)]
    return found


def linked(folder: Path, file: str, size: float) -> tuple[Path, int]:
    """A folder with as many links to a file as hold `size` bytes, and their number."""
    links = folder / f"many-{file}"
    links.mkdir()
    n = max(1, math.ceil(size / (folder / file).stat().st_size))
    for i in range(n):
        os.link(folder / file, links / f"{i:04d}-{file}")
    return links, n


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    options = argparse.ArgumentParser(
        prog="python -m benchmarks sources",
        description="Learning from files of 17 columns beside decoding them. The data are made in "
        "a temporary folder and deleted: 50 million rows take 3 GB as Parquet, and 10 million "
        "1.3 GB as CSV.",
    )
    options.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 10_000_000, 50_000_000])
    options.add_argument("--csv-rows", type=int, default=10_000_000, help="of a CSV at most")
    options.add_argument("--limit", type=float, default=1.0, help="GiB of data of limited runs")
    options.add_argument(
        "--gigabytes",
        type=float,
        default=0.0,
        help="besides, learn so much (10^9 bytes) of Parquet and of CSV within the limit: a folder "
        "of links to one file of 10 million rows",
    )
    options.add_argument("--no-peers", action="store_true")
    options.add_argument("--output", type=Path, metavar="FILE", default=RESULT)
    return options


def main(argv: list[str]) -> int:
    """Runs the command.

    Returns
    -------
    int
        0.
    """
    asked = parser().parse_args(argv)
    machine = machine_record()
    lines = [
        *heading("Learning from files", recorded_command("sources", argv), machine),
        "",
        "Each run is a process of its own; its imports are not counted. Data are 8 columns of "
        "strings (4 to 1,000 levels), 8 of numbers and a target of two classes. `peak` is the "
        "largest resident size; limited runs may have so much data (RLIMIT_DATA).",
        "",
        "| rows | run | processor s | wall s | MB a processor second | peak MB |",
        "|" + " --- |" * 6,
    ]
    record: list[dict[str, Any]] = []

    def add(rows: int, case: str, run: Run, size: int) -> None:
        record.append({"rows": rows, "run": case, "bytes": size, **run._asdict()})
        lines.append(
            f"| {rows:,} | {case} | {run.processor:.2f} | {run.wall:.2f} | "
            f"{size / 1e6 / run.processor:.0f} | {run.peak / 1e6:.0f} |"
        )

    limit = round(asked.limit * 2**30)
    for rows in asked.rows:
        with tempfile.TemporaryDirectory() as name:
            folder, csv = Path(name), rows <= asked.csv_rows
            make(folder, rows, csv)
            for case, call, file, most in cases(rows, limit, csv, not asked.no_peers):
                print(f"{rows:,} rows, {case} …", file=sys.stderr)
                run, size = measured(call, folder / file, most), (folder / file).stat().st_size
                add(rows, case, run, size)
    if asked.gigabytes:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            make(folder, LINKED, csv=True)
            for file, kind in (("t.parquet", "Parquet"), ("t.csv", "CSV")):
                links, n = linked(folder, file, asked.gigabytes * 1e9)
                case = f"{kind}: fit of {n} files, {asked.limit:g} GiB of data"
                print(f"{n * LINKED:,} rows, {case} …", file=sys.stderr)
                run = measured(fit, links, limit)
                add(n * LINKED, case, run, n * (folder / file).stat().st_size)
    page = "\n".join(lines) + "\n"
    print(page)
    write_page(asked.output, page, {"machine": machine, "runs": record})
    return 0
