"""CSV cell by cell: what each cell is, is asked of it alone."""

import csv
import io
import math
import re

import pyarrow as pa

from tallybayes.tables.columns import text_of_number

MISSING = ("", "NA", "?", "NaN", "nan", "null")
TRUTH = {"true": "True", "TRUE": "True", "false": "False", "FALSE": "False"}


def read_csv_cells(text, delimiter=",", decimal=".", as_written=()):
    """The columns by name: ("date", datetimes) where all cells are dates, else ("cells", numbers
    and strings); None for a missing value."""
    header, *rows = [r for r in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if r]
    columns = {}
    for j, name in enumerate(header):
        cells = [stripped(row[j]) for row in rows]
        cells = [None if cell in MISSING else cell for cell in cells]
        columns[name.strip()] = read_column(cells, decimal, name.strip() in as_written)
    return columns


def stripped(cell):
    return pa.compute.utf8_trim_whitespace(pa.array([cell], pa.string()))[0].as_py()


def read_column(cells, decimal, as_written):
    if as_written:
        return "cells", [spelt(cell, decimal) for cell in cells]
    numbers = [number(cell, decimal) for cell in cells]
    if all(value is None for value in numbers):
        dates = [moment(cell) for cell in cells]
        if any(dates) and all(
            d is not None or c is None for d, c in zip(dates, cells, strict=True)
        ):
            return "date", dates
    pairs = zip(numbers, cells, strict=True)
    return "cells", [spelt(cell, decimal) if value is None else value for value, cell in pairs]


def number(cell, decimal):
    """A finite number, or None."""
    if cell is None:
        return None
    if decimal == ",":
        if "." in cell:
            return None
        cell = cell.replace(",", ".")
    try:
        value = pa.array([cell]).cast(pa.float64())[0].as_py()
    except pa.ArrowInvalid:
        return None
    return value if math.isfinite(value) else None


def moment(cell):
    """A point in time, in UTC where it has a zone, or None."""
    if cell is None:
        return None
    for zone in (None, "UTC"):
        try:
            found = pa.array([cell]).cast(pa.timestamp("us", zone)).cast(pa.timestamp("us"))
            return found[0].as_py()
        except pa.ArrowInvalid:
            continue
    return None


def spelt(cell, decimal):
    """A level: one spelling for booleans and for decimal numbers."""
    if cell is None:
        return None
    if re.fullmatch(rf"-?(0|[1-9][0-9]*){re.escape(decimal)}[0-9]*", cell):
        return text_of_number(float(cell.replace(",", ".")))
    return TRUTH.get(cell, cell)
