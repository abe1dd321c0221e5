"""Which files the readers of pyarrow, polars and DuckDB read as ours do, and how fast.

Each case is a small file of one difficulty. A library infers types from all rows; its cells are the
same where numbers, strings, dates and missing values are. `--speed` reads a larger file of each
format, in seconds of the processor.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.json

import tallybayes
from tallybayes.sources.contract import restarted
from tallybayes.tables.columns import values_of

__all__ = ["main"]

Columns = dict[str, list[Any]]
Case = tuple[str, str, dict[str, Any]]

CSV: list[Case] = [
    ("numbers, strings, dates", "x,s,d\n1,a,2020-01-31\n2.5,b,2020-02-01\n", {}),
    ("numbers beside strings", "x,y\n1,a\n3.0,b\nnone,c\n", {}),
    ("3.0 and 3 are one level", "x,y\nA,a\n3.0,b\n3,c\nB,d\n", {}),
    ("missing values among numbers", "x,y\n1,a\nNA,b\n?,c\n#N/A,d\n", {}),
    ("missing values among strings", "x,y\nu,a\nNA,b\n?,c\nnull,d\n", {}),
    ("missing values of a column", "x,z,y\n1,-9,a\n-9,2,b\n", {"missing_of": {"z": ["-9"]}}),
    ("blanks around numbers", "x,y\n 1 ,a\n2,b\n", {}),
    ("decimal commas", "x;y\n1,5;a\n2,25;b\n", {"decimal": ","}),
    ("thousands", "x;y\n1.200,50;a\n80,00;b\n", {"decimal": ",", "thousands": "."}),
    ("dates in words", "d,y\n18-Nov-21,a\nJan 01 2020,b\n", {}),
    ("dates of RFC 2822", 'd,y\n"Fri, 21 Nov 1997 09:55:06 -0600",a\n', {}),
    ("the day first", "d,y\n31.12.2020,a\n01.02.2021,b\n", {"dates": "dmy"}),
    ("times of day", "t,y\n07:30,a\n7:30:15 PM,b\n", {}),
    ("true and FALSE", "b,y\ntrue,a\nFALSE,b\n", {}),
    ("007 beside 8", "id,y\n007,a\n8,b\n", {}),
    ("runs of blanks", "x   y\n1   a\n2  b\n", {"delimiter": "blanks"}),
    ("a comment before the header", "# made by hand\nx,y\n1,a\n", {"skip": 1}),
    ("sep=;", "sep=;\nx;y\n1;a\n", {"skip": 1}),
    ("ARFF", "@relation r\n@attribute x numeric\n@attribute y {a,b}\n@data\n1,a\n2,b\n", {}),
    ("latin-1", "x,y\n1,ä\n2,b\n", {"encoding": "latin-1"}),
    ("a line break in quotes", 'x,y\n1,"a\nb"\n2,c\n', {}),
    ("a column without a name", ",x,y\n0,1,a\n1,2,b\n", {}),
    ("a late string among dates", "d,y\n" + "2020-01-01,a\n" * 30 + "soon,b\n", {}),
    ("a byte-order mark, blank lines", "\ufeff\nx,y\n\n1,a\n\n2,b\n", {}),
    ("infinite numbers", "x,y\n1,a\ninf,b\n", {}),
]
ROWS: list[tuple[str, list[dict[str, Any]], dict[str, Any]]] = [
    ("numbers and strings", [{"x": 1, "s": "a"}, {"x": 2.5, "s": "b"}], {}),
    ("numbers beside strings", [{"x": 1}, {"x": "a"}], {}),
    ("true beside numbers", [{"x": 1}, {"x": True}], {}),
    ("dates", [{"d": "2020-01-31"}, {"d": "2020-02-01"}], {}),
    ("strings that are numbers", [{"x": "1.5"}, {"x": "2"}], {}),
    ("NA among strings", [{"x": "NA"}, {"x": "b"}], {}),
    ("a late key", [{"x": 1}, {"x": 1}, {"x": 1, "z": "q"}], {}),
    ("null before the first value", [{"x": 1, "z": None}, {"x": 1, "z": "q"}], {}),
    ("numbers beyond 2^64", [{"x": 2**70}, {"x": 1}], {}),
    ("flattened objects", [{"a": {"b": 1}}, {"a": {"b": 2, "c": "x"}}], {"flatten": True}),
    ("an array beside numbers", [{"x": 1, "l": [1]}, {"x": 2, "l": [2]}], {}),
]
LINES: list[Case] = [
    *((title, "".join(json.dumps(row) + "\n" for row in rows), how) for title, rows, how in ROWS),
    ("a key twice", '{"x":1,"x":2}\n', {}),
    ("blank lines, CR LF", '{"x":1}\r\n\r\n{"x":2}\r\n', {}),
    ("an unpaired surrogate", '{"x":"\\ud800"}\n{"x":"b"}\n', {}),
]
ARRAYS: list[Case] = [(title, json.dumps(rows), how) for title, rows, how in ROWS]


def plain(value: Any) -> Any:
    """A cell in one form: floats, strings, dates as ISO text; None for a missing value."""
    if value is None or isinstance(value, bool):
        return None if value is None else str(value)
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, int | float):
        return float(value)
    return str(value).removesuffix(" 00:00:00") if hasattr(value, "isoformat") else value


def ours(path: str, how: Mapping[str, Any]) -> Columns:
    """What tallybayes reads."""
    source = tallybayes.rows(path, **how)

    def read() -> Columns:
        found: Columns = {}
        for part in source.parts():
            for name, column in part.read().columns.items():
                found.setdefault(name, []).extend(values_of(column))
        return found

    return restarted(read)


def by_arrow(path: str) -> Columns:
    """What pyarrow reads."""
    read = pyarrow.csv.read_csv if path.endswith((".csv", ".arff")) else pyarrow.json.read_json
    return read(path).to_pydict()


def by_polars(path: str) -> Columns:
    """What polars reads."""
    if path.endswith((".csv", ".arff")):
        frame = pl.read_csv(path, infer_schema_length=None, try_parse_dates=True)
    else:
        read: Any = pl.read_ndjson if path.endswith("l") else pl.read_json
        frame = read(path, infer_schema_length=None)
    return frame.to_dict(as_series=False)


def by_duckdb(path: str) -> Columns:
    """What DuckDB reads."""
    read = "read_csv" if path.endswith((".csv", ".arff")) else "read_json"
    found = duckdb.sql(f"SELECT * FROM {read}('{path}', sample_size=-1)")
    return found.to_arrow_table().to_pydict()


LIBRARIES = {"pyarrow": by_arrow, "polars": by_polars, "duckdb": by_duckdb}


def outcome(read: Callable[[], Columns]) -> Any:
    """The cells in one form, or the kind of the error."""
    try:
        return {name: list(map(plain, column)) for name, column in read().items()}
    except BaseException as error:  # polars panics
        if isinstance(error, KeyboardInterrupt):
            raise
        return type(error)


def compared(title: str, cases: Sequence[Case], folder: Path, suffix: str) -> None:
    """Prints, for each case, which libraries read it as we do."""
    same = dict.fromkeys(LIBRARIES, 0)
    for case, text, how in cases:
        path = folder / f"t{'.arff' if text.startswith('@') else suffix}"
        path.write_text(text, encoding=how.get("encoding", "utf-8"), newline="")
        expected = outcome(lambda path=path, how=how: ours(str(path), how))
        marks = []
        for name, read in LIBRARIES.items():
            alike = outcome(lambda path=path, read=read: read(str(path))) == expected
            same[name] += alike
            marks.append(f"{'same' if alike else 'other':<8}")
        print(f"{title:<8}{case:<34}{''.join(marks)}")
    print(f"{title:<8}{'':<34}{''.join(f'{n:<8}' for n in same.values())}of {len(cases)}\n")


def timed(folder: Path) -> None:
    """Prints the seconds of the processor for larger files."""
    rng = np.random.default_rng(0)
    n = 100_000
    columns = {f"x{j}": rng.normal(size=n).round(4) for j in range(6)}
    columns |= {f"c{j}": np.array(list("abcdefgh"))[rng.integers(0, 8, n)] for j in range(4)}
    table = pa.table(columns)
    rows = table.to_pylist()
    pyarrow.csv.write_csv(table, folder / "big.csv")
    (folder / "big.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "big.json").write_text(json.dumps(rows))

    def seconds(read: Callable[[], Any]) -> float:
        before = time.process_time()
        return time.process_time() - before if outcome_of(read) else math.nan

    def outcome_of(read: Callable[[], Any]) -> bool:
        try:
            read()
        except (pa.ArrowException, pl.exceptions.PolarsError, duckdb.Error):
            return False
        return True

    libraries: dict[str, dict[str, Callable[[str], Any]]] = {
        "csv": {
            "pyarrow": pyarrow.csv.read_csv,
            "polars": pl.read_csv,
            "duckdb": lambda path: duckdb.sql(f"FROM read_csv('{path}')").to_arrow_table(),
        },
        "jsonl": {
            "pyarrow": pyarrow.json.read_json,
            "polars": pl.read_ndjson,
            "duckdb": lambda path: duckdb.sql(f"FROM read_json('{path}')").to_arrow_table(),
        },
        "json": {
            "pyarrow": pyarrow.json.read_json,
            "polars": pl.read_json,
            "duckdb": lambda path: duckdb.sql(f"FROM read_json('{path}')").to_arrow_table(),
        },
    }
    for kind, readers in libraries.items():
        path = str(folder / f"big.{kind}")

        def parts(path: str = path) -> None:
            for part in tallybayes.rows(path).parts():
                part.read()

        times = {"ours": parts, **{k: lambda r=r, p=path: r(p) for k, r in readers.items()}}
        each = (f"{k} {min(seconds(read) for _ in range(3)):.2f}" for k, read in times.items())
        print(f"{kind:<8}{', '.join(each)}")


def main(argv: list[str]) -> int:
    """Runs the benchmark.

    Parameters
    ----------
    argv : list of str
        Options.

    Returns
    -------
    int
        0: what differs is a finding.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks readers", description=__doc__)
    parser.add_argument("--speed", action="store_true", help="read larger files, too")
    asked = parser.parse_args(argv)
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print(f"{'':<42}{''.join(f'{library:<8}' for library in LIBRARIES)}")
        compared("CSV", CSV, folder, ".csv")
        compared("lines", LINES, folder, ".jsonl")
        compared("array", ARRAYS, folder, ".json")
        if asked.speed:
            timed(folder)
    return 0
