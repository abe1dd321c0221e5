"""Predictions as CSV, JSON lines, Parquet or Arrow, a batch at a time."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc_csv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tallybayes.cli.interrupts import replacement_of
from tallybayes.cli.messages import USAGE, Failure, formula_safe, json_safe, naming_output, visible
from tallybayes.sources import FORMATS, replacing

__all__ = ["rounded", "writing"]


EXACT_POWER = 22  # of ten, at most, in float64


class Writer(Protocol):
    """Takes predictions, in order: columns of strings, and of probabilities beside them."""

    def write(self, strings: list[list[str]], proba: NDArray[np.float64] | None) -> None: ...

    def close(self) -> None: ...

    def abandon(self) -> None:
        """Lets go of what is half written."""


class _ByLine(Writer):
    """A writer that holds nothing back."""

    def close(self) -> None:
        pass

    def abandon(self) -> None:
        pass


class _Csv(_ByLine):
    def __init__(
        self,
        file: IO[bytes],
        columns: list[str],
        delimiter: str = ",",
        spelt: Callable[[str], str] = str,
    ) -> None:
        columns = [spelt(name) for name in columns]
        self._file, self._delimiter, self._columns = file, delimiter, columns
        self._spelt = spelt
        self._head = [columns]  # written with the first rows: an error before leaves nothing
        self._plain = pc_csv.WriteOptions(
            include_header=False, delimiter=delimiter, quoting_style="none"
        )

    def _put(self, rows: Iterable[Iterable[Any]]) -> None:
        text = io.StringIO()
        out = csv.writer(text, delimiter=self._delimiter, lineterminator="\n")
        out.writerows(self._head)
        out.writerows(rows)
        self._head = []
        self._file.write(text.getvalue().encode())
        self._file.flush()

    def write(self, strings: list[list[str]], proba: NDArray[np.float64] | None) -> None:
        if self._spelt is not str:
            spelt = {text: self._spelt(text) for text in set().union(*strings)}
            strings = [[spelt[text] for text in column] for column in strings]
        some = set().union(*strings)
        if any(c in text for text in some for c in f'{self._delimiter}"\r\n'):
            self._put(_rows(strings, proba))
            return
        self._put([])
        table = pa.table(_columns(strings, proba), names=self._columns)
        pc_csv.write_csv(table, self._file, self._plain)  # Arrow writes numbers ten times as fast
        self._file.flush()


class _JsonLines(_ByLine):
    def __init__(self, file: IO[bytes], columns: list[str]) -> None:
        self._file, self._columns = file, columns

    def write(self, strings: list[list[str]], proba: NDArray[np.float64] | None) -> None:
        for row in _rows(strings, proba):
            line = _json_line(self._columns, row)
            self._file.write(line.encode() + b"\n")
        self._file.flush()


class _Document(_ByLine):
    """One JSON document, written as the rows come."""

    def __init__(self, file: IO[bytes], columns: list[str]) -> None:
        self._file, self._columns, self._rows = file, columns, 0
        self._head = b'{"command": "predict", "predictions": ['  # written with the first rows

    def write(self, strings: list[list[str]], proba: NDArray[np.float64] | None) -> None:
        for row in _rows(strings, proba):
            line = _json_line(self._columns, row)
            self._file.write((b",\n" if self._rows else self._head + b"\n") + line.encode())
            self._rows += 1
        self._file.flush()

    def close(self) -> None:
        self._file.write(b'\n], "rows": %d}\n' % self._rows)
        self._file.flush()


class _Columnar(Writer):
    def __init__(self, file: IO[bytes], columns: list[str], n_strings: int, parquet: bool) -> None:
        self._schema = pa.schema(
            [(n, pa.string() if i < n_strings else pa.float64()) for i, n in enumerate(columns)]
        )
        self._out = (
            pq.ParquetWriter(file, self._schema) if parquet else pa.ipc.new_file(file, self._schema)
        )

    def write(self, strings: list[list[str]], proba: NDArray[np.float64] | None) -> None:
        self._out.write_table(pa.table(_columns(strings, proba), schema=self._schema))

    def close(self) -> None:
        self._out.close()

    def abandon(self) -> None:
        """Closes Arrow's writer, which would do so when it is collected, into a closed file."""
        with contextlib.suppress(Exception):
            self._out.close()


def _json_line(columns: list[str], row: list[Any]) -> str:
    return json_safe(json.dumps(dict(zip(columns, row, strict=True)), ensure_ascii=False))


def _columns(strings: list[list[str]], proba: NDArray[np.float64] | None) -> list[Any]:
    columns = [pa.array(column, pa.string()) for column in strings]
    return columns + ([] if proba is None else [pa.array(p) for p in np.ascontiguousarray(proba.T)])


def _rows(strings: list[list[str]], proba: NDArray[np.float64] | None) -> Iterator[list[Any]]:
    rows = zip(*strings, strict=True)
    if proba is None:
        return (list(row) for row in rows)
    return ([*row, *p] for row, p in zip(rows, proba.tolist(), strict=True))


def rounded(proba: NDArray[np.float64], digits: int) -> NDArray[np.float64]:
    """Probabilities with so many significant digits."""
    size = np.floor(np.log10(np.maximum(proba, np.finfo(float).tiny)))
    decimals = digits - 1 - size
    scale = 10.0 ** np.minimum(decimals, EXACT_POWER)
    found: NDArray[np.float64] = np.round(proba * scale) / scale
    for at in zip(*np.nonzero(decimals > EXACT_POWER), strict=True):
        found[at] = float(f"{proba[at]:.{digits}g}")
    return found


def _writer(
    file: IO[bytes],
    path: str,
    columns: list[str],
    n_strings: int,
    document: bool,
    spelt: Callable[[str], str],
) -> Writer:
    if document:
        return _Document(file, columns)
    suffix = Path(path).suffix.lower()
    kind = FORMATS.get(suffix, "csv" if path == "-" else None)
    if kind == "jsonl":
        return _JsonLines(file, columns)
    if kind in ("parquet", "arrow"):
        return _Columnar(file, columns, n_strings, kind == "parquet")
    return _Csv(file, columns, "\t" if suffix == ".tsv" else ",", spelt)


@contextmanager
def writing(
    path: str,
    columns: list[str],
    n_strings: int = 1,
    document: bool = False,
    *,
    safe: bool = False,
) -> Iterator[Writer]:
    """A writer to a file, which is there whole or not at all, or to standard output ("-").

    Parameters
    ----------
    path : str
        Its suffix determines the format.
    columns : list of str
        "prediction", and before it "document" where documents have names; then one a class for
        probabilities.
    n_strings : int
        How many of them hold strings, the first ones.
    document : bool
        One JSON document instead.
    safe : bool
        Whether strings that a spreadsheet would take for formulas get a "'" before them, in CSV.
    """
    spelt: Callable[[str], str] = formula_safe if safe else str
    if safe and (document or FORMATS.get(Path(path).suffix.lower(), "csv") != "csv"):
        raise Failure("--safe-csv is for predictions as CSV: leave it out", USAGE)
    if path == "-":
        if sys.stdout.isatty():  # it is read by people
            spelt = visible
        writer = _writer(sys.stdout.buffer, path, columns, n_strings, document, spelt)
        with naming_output():
            yield writer
            writer.close()
        return
    if FORMATS.get(Path(path).suffix.lower(), "excel") == "excel":
        raise Failure(
            f"-o {path}: the suffix gives the format: .csv, .tsv, .jsonl, .parquet or .arrow", USAGE
        )
    with replacing(path, replacement_of(path)) as file:
        writer = _writer(file, path, columns, n_strings, document, spelt)
        try:
            yield writer
        except BaseException:
            writer.abandon()
            raise
        writer.close()
