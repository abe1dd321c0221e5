"""JSON lines: an object a line. Keys that a line lacks are missing values.

The elements of a JSON array come as lines, too, and objects within objects may be flattened.
"""

from __future__ import annotations

import codecs
import io
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from tallybayes.errors import SourceError, listed
from tallybayes.sources.flattening import HINT as FLATTEN
from tallybayes.sources.flattening import Flattening, SameName, flat
from tallybayes.sources.text_files.arrow_json import EXACT, ArrowJson
from tallybayes.sources.text_files.batch import Batch
from tallybayes.sources.text_files.json_array import too_deep

__all__ = [
    "JsonText",
    "NestedValue",
    "batches",
    "blocks",
    "first_keys",
    "kept_columns",
    "lines_of_rows",
    "parsed",
]

NUMBERS = json.JSONDecoder()
DIGITS = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str)
"""Gives numbers as they are written."""

MAX_SHOWN = 40  # characters of a value in a message


class JsonText(NamedTuple):
    """A file of JSON.

    Parameters
    ----------
    name : str
    unit : str
        What a row is: a "line", or an "element" of an array.
    flattening : Flattening, optional
        Of objects; without it, columns do not hold any.
    """

    name: str
    unit: str = "line"
    flattening: Flattening | None = None

    def at(self, number: int) -> str:
        """A row for messages, by its number from 1."""
        return f"{self.name}, {self.unit} {number}"


class NestedValue(SourceError):
    """A value that is an object or an array; `kind` says which."""

    column: str
    kind: str

    def __init__(self, message: str, column: str, kind: str) -> None:
        super().__init__(message)
        self.column, self.kind = column, kind


def _column(values: list[Any], name: str, text: JsonText, lines: list[int]) -> Any:
    """Values as a column of one type; mixed ones become strings."""
    types = {type(value) for value in values} - {type(None)}
    for odd in (dict, list):
        if odd in types:
            at = next(i for i, value in enumerate(values) if type(value) is odd)
            raise NestedValue(
                f"{text.at(lines[at])}: {name!r} holds {_beginning(values[at])}; columns "
                "hold numbers, strings or true/false: unpack it, or leave it out of the file"
                + (FLATTEN if odd is dict else ""),
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


def first_keys(head: bytes, flatten: bool = False) -> list[str]:
    """The keys of the first rows, of the first bytes of a file; nothing where they hold less than
    a row."""
    keys: dict[str, None] = {}
    flattening = Flattening()
    for line in head.removeprefix(codecs.BOM_UTF8).split(b"\n"):
        try:
            row = json.loads(line) if line.strip() else {}
            if isinstance(row, dict):
                keys.update(dict.fromkeys(flattening.row(row) if flatten else row))
        except (ValueError, RecursionError):  # cut off, or reading it explains it
            break
    return [*keys, *flattening.without_values()]


def _has_open_keys(text: JsonText, row: dict[str, Any]) -> bool:
    """Whether null stands in a flattened row, perhaps for an object with a key that is read."""
    return text.flattening is not None and any(value is None for _, value in flat(row))


def _rows(
    text: JsonText, lines: Iterable[bytes], first: int, decoder: json.JSONDecoder = NUMBERS
) -> Iterator[tuple[int, Any]]:
    """The number of each line that holds an object, the first being `first`, and the object."""
    each = "one object per line" if text.unit == "line" else "objects"
    for number, line in enumerate(lines, first):
        if number == 1:
            line = line.removeprefix(codecs.BOM_UTF8)
        if not line.strip():
            continue
        try:
            row = decoder.decode(line.decode("utf-8", "surrogatepass"))
        except ValueError as error:
            raise SourceError(
                f"{text.at(number)} is not valid JSON ({error}): JSON {text.unit}s hold {each}"
            ) from None
        except RecursionError:
            raise too_deep(text.at(number)) from None
        if not isinstance(row, dict):
            raise SourceError(
                f"{text.at(number)} is not a JSON object: each {text.unit} has to be one"
            )
        yield number, row


def lines_of_rows(text: JsonText, stream: Any) -> Iterator[int]:
    """The line of each row, from 1."""
    return (number for number, _ in _rows(text, io.BufferedReader(stream), 1))


def batches(
    text: JsonText,
    stream: Any,
    block: int,
    wanted: Callable[[str], bool],
    kept: Sequence[str] = (),
) -> Iterator[Batch]:
    """The rows; numbers are float64, and columns that are not wanted are empty; `kept` are columns
    as they are written.

    A row in which no key is wanted is an error: its keys are misspelt, or it is of another file.
    """
    first, quick = 0, ArrowJson(wanted, text.flattening)
    for lines, number in blocks(stream, block):
        table = parsed(text, lines, number, wanted, quick)
        if table is not None:
            written = kept_columns(text, lines, number, kept, table) if kept else None
            yield Batch(table, first, stream.done, written)
            first += table.num_rows


def blocks(stream: Any, block: int) -> Iterator[tuple[list[bytes], int]]:
    """The lines of a file, so many bytes at a time, with the number of the first of them."""
    file, number = io.BufferedReader(stream), 1
    while lines := file.readlines(block):
        yield lines, number
        number += len(lines)


def parsed(
    text: JsonText, lines: list[bytes], first: int, wanted: Callable[[str], bool], quick: ArrowJson
) -> Any:
    """The rows of some lines as a table, of which the first has that number; None where all are
    blank."""
    table = quick.table(lines)
    if table is None:  # as Python reads it, with an error that names the line
        table = _table(text, lines, first, wanted)
    return table


def kept_columns(
    text: JsonText, lines: list[bytes], first: int, names: Sequence[str], table: Any
) -> Any:
    """Columns of some lines as they are written, numbers digit by digit, in a pyarrow.Table.

    Parameters
    ----------
    text, lines, first
        As for :func:`parsed`.
    names : sequence of str
    table : pyarrow.Table
        The same rows, parsed.
    """
    there, is_exact = table.schema, table.schema.metadata == EXACT
    if is_exact and all(
        n in there.names and pa.types.is_string(there.field(n).type) for n in names
    ):
        return table.select(list(names))
    rows = []
    for number, row in _rows(text, lines, first, DIGITS):
        rows.append(row if text.flattening is None else text.flattening.row(row))
        for name in names:
            if isinstance(rows[-1].get(name), dict | list):
                _column([rows[-1][name]], name, text, [number])  # which refuses it
    truth = {True: "true", False: "false"}
    return pa.table(
        {
            name: pa.array(
                [truth[v] if isinstance(v, bool) else v for v in (row.get(name) for row in rows)],
                pa.string(),
            )
            for name in names
        }
    )


def _table(text: JsonText, lines: list[bytes], first: int, wanted: Callable[[str], bool]) -> Any:
    """The rows of some lines, of which the first has that number; None where all are blank."""
    rows: list[dict[str, Any]] = []
    numbers: list[int] = []
    names: dict[str, None] = {}
    for number, given in _rows(text, lines, first):
        row = given
        if text.flattening is not None:
            try:
                row = text.flattening.row(given)
            except SameName as error:
                raise SourceError(f"{text.at(number)}: {error}") from None
        if not any(map(wanted, row)) and not _has_open_keys(text, given):
            has = f"it has {listed(row, 10)}" if row else "it is empty"
            raise SourceError(f"{text.at(number)} has none of the keys that are read: {has}")
        rows.append(row)
        numbers.append(number)
        names.update(dict.fromkeys(row))
    if not rows:
        return None
    nothing = pa.nulls(len(rows))
    columns = {
        n: _column([row.get(n) for row in rows], n, text, numbers) if wanted(n) else nothing
        for n in names
    }
    return pa.table(columns or {"": nothing})
