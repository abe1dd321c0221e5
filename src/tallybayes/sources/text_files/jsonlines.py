"""JSON lines: an object a line. Keys that a line lacks are missing values."""

from __future__ import annotations

import codecs
import io
import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pyarrow as pa

from tallybayes.errors import SourceError, listed
from tallybayes.sources.opening.stream import Stream
from tallybayes.sources.text_files.arrow_json import ArrowJson
from tallybayes.sources.text_files.batch import Batch

__all__ = ["NestedValue", "batches", "blocks", "first_keys", "lines_of_rows", "parsed"]

MAX_SHOWN = 40  # characters of a value in a message
HINT = ": turn the array into lines (jq -c '.[]')"


class NestedValue(SourceError):
    """A value that is an object or an array; `kind` says which."""

    column: str
    kind: str

    def __init__(self, message: str, column: str, kind: str) -> None:
        super().__init__(message)
        self.column, self.kind = column, kind


def _column(values: list[Any], name: str, path: str, lines: list[int]) -> Any:
    """Values as a column of one type; mixed ones become strings."""
    types = {type(value) for value in values} - {type(None)}
    for odd in (dict, list):
        if odd in types:
            at = next(i for i, value in enumerate(values) if type(value) is odd)
            raise NestedValue(
                f"{path}, line {lines[at]}: {name!r} holds {_beginning(values[at])}; columns "
                f"hold numbers, strings or true/false: unpack it, or leave it out of the file",
                name,
                "object" if odd is dict else "array",
            )
    if types <= {int, float}:
        return pa.array([None if v is None else float(v) for v in values], pa.float64())
    if types == {bool}:
        return pa.array(values, pa.bool_())
    from tallybayes.tables.values import as_text  # slow to import

    return pa.array([None if v is None else as_text(v) for v in values], pa.string())


def _beginning(value: Any) -> str:
    """The first characters of a value as JSON."""
    pieces: list[str] = []
    for piece in json.JSONEncoder().iterencode(value):
        pieces.append(piece)
        if sum(map(len, pieces)) >= MAX_SHOWN:
            break
    return "".join(pieces)[:MAX_SHOWN]


def first_keys(head: bytes) -> list[str]:
    """The keys of the first rows, of the first bytes of a file; nothing where they hold less than
    a row."""
    keys: dict[str, None] = {}
    for line in head.removeprefix(codecs.BOM_UTF8).split(b"\n"):
        try:
            row = json.loads(line) if line.strip() else {}
        except (ValueError, RecursionError):  # cut off, or reading it explains it
            break
        keys.update(dict.fromkeys(row) if isinstance(row, dict) else {})
    return list(keys)


def _rows(path: str, lines: Iterable[bytes], first: int) -> Iterator[tuple[int, dict[str, Any]]]:
    """The number of each line that holds an object, the first being `first`, and the object."""
    for number, line in enumerate(lines, first):
        if number == 1:
            line = line.removeprefix(codecs.BOM_UTF8)
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            hint = HINT if line.lstrip().startswith(b"[") else ""
            raise SourceError(
                f"{path}, line {number} is not valid JSON ({error}): JSON lines hold one object "
                f"per line{hint}"
            ) from None
        except RecursionError:
            raise SourceError(
                f"{path}, line {number} holds objects or arrays within each other, too deep to be "
                "read: columns hold numbers, strings or true/false, so leave it out of the file"
            ) from None
        if not isinstance(row, dict):
            hint = HINT if isinstance(row, list) else ": each line has to be one"
            raise SourceError(f"{path}, line {number} is not a JSON object{hint}")
        yield number, row


def lines_of_rows(path: str, stream: Stream) -> Iterator[int]:
    """The line of each row, from 1."""
    return (number for number, _ in _rows(path, io.BufferedReader(stream), 1))


def batches(
    path: str, stream: Stream, block: int, wanted: Callable[[str], bool]
) -> Iterator[Batch]:
    """The rows; numbers are float64, and columns that are not wanted are empty.

    A row in which no key is wanted is an error: its keys are misspelt, or it is of another file.
    """
    first, quick = 0, ArrowJson(wanted)
    for lines, number in blocks(stream, block):
        table = parsed(path, lines, number, wanted, quick)
        if table is not None:
            yield Batch(table, first, stream.done)
            first += table.num_rows


def blocks(stream: Stream, block: int) -> Iterator[tuple[list[bytes], int]]:
    """The lines of a file, so many bytes at a time, with the number of the first of them."""
    file, number = io.BufferedReader(stream), 1
    while lines := file.readlines(block):
        yield lines, number
        number += len(lines)


def parsed(
    path: str, lines: list[bytes], first: int, wanted: Callable[[str], bool], quick: ArrowJson
) -> Any:
    """The rows of some lines as a table, of which the first has that number; None where all are
    blank."""
    table = quick.table(lines)
    if table is None:  # as Python reads it, with an error that names the line
        table = _table(path, lines, first, wanted)
    return table


def _table(path: str, lines: list[bytes], first: int, wanted: Callable[[str], bool]) -> Any:
    """The rows of some lines, of which the first has that number; None where all are blank."""
    rows: list[dict[str, Any]] = []
    numbers: list[int] = []
    names: dict[str, None] = {}
    for number, row in _rows(path, lines, first):
        if not any(map(wanted, row)):
            has = f"it has {listed(row, 10)}" if row else "it is empty"
            raise SourceError(f"{path}, line {number} has none of the keys that are read: {has}")
        rows.append(row)
        numbers.append(number)
        names.update(dict.fromkeys(row))
    if not rows:
        return None
    nothing = pa.nulls(len(rows))
    return pa.table(
        {
            n: _column([row.get(n) for row in rows], n, path, numbers) if wanted(n) else nothing
            for n in names
        }
    )
