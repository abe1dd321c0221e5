"""Bodies of requests as rows, and answers as bodies: JSON, JSON lines and Arrow.

Everything that arrives is from a stranger. What a body may hold is bounded before it is read
further, and a refusal states the rule, what arrived and what to do.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from struct import unpack_from
from typing import Any

from tallybayes.errors import listed

__all__ = [
    "ARROW",
    "JSON",
    "LINES",
    "Limits",
    "Refused",
    "Rows",
    "arrow_body",
    "as_json",
    "need_scalars",
    "parsed",
    "read_rows",
]

JSON, LINES = "application/json", "application/x-ndjson"
ARROW = "application/vnd.apache.arrow.stream"
MEDIA_TYPES = {
    JSON: JSON,
    LINES: LINES,
    "application/ndjson": LINES,
    "application/jsonl": LINES,
    ARROW: ARROW,
}
MAX_FLOAT = 1.7976931348623157e308
MAX_SHOWN = 40  # characters of a value in a message
NUMBERS = frozenset((int, float))
SCALARS = NUMBERS | {str, bool, type(None)}


@dataclass(frozen=True)
class Limits:
    """What the service takes; beyond it a request is refused.

    Parameters
    ----------
    body : int
        Bytes of a body.
    rows : int
        Rows of a body.
    string : int
        Characters of a value.
    id : int
        Characters of an id, a subject, a label or the name of a column.
    columns : int
        Columns of a row.
    rate : float
        Requests a second of each token that has no rate of its own, over all workers.
    waiting : int
        Requests of a worker that are worked on, or wait for it; more are refused with 503.
    connections : int
        Connections of a worker; more are refused with 503.
    seconds : float
        In which the headers, and then the body, have to arrive.
    shutdown : float
        Seconds in which requests that were accepted are finished.
    """

    body: int = 16 << 20
    rows: int = 10_000
    string: int = 1_000_000
    id: int = 1_000
    columns: int = 10_000
    rate: float = 1_000.0
    waiting: int = 64
    connections: int = 1_000
    seconds: float = 10.0
    shutdown: float = 30.0


class Refused(Exception):
    """A request that is answered by an error.

    Parameters
    ----------
    status : int
        Of HTTP.
    message : str
        The rule, what arrived, and what to do.
    **headers
        Of the answer; ``_`` stands for ``-``.
    """

    status: int
    message: str

    def __init__(self, status: int, message: str, **headers: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message
        self.headers: dict[str, str] = {
            name.replace("_", "-"): value for name, value in headers.items()
        }


@dataclass
class Rows:
    """Rows of a body, and what stands beside each.

    Parameters
    ----------
    rows : list of dict, or pyarrow.Table
        The rows, None for a body that has none.
    beside : dict of str to list
        By "label", "id", "subject", "weight" and "time", of those that the body has.
    """

    rows: Any
    beside: dict[str, list[Any]]

    def __len__(self) -> int:
        return 0 if self.rows is None else len(self.rows)


# ---- JSON ----------------------------------------------------------------------------------------
def _no_constant(name: str) -> Any:
    raise Refused(400, f"JSON has no {name}: give a finite number, or null for a missing value")


DECODER = json.JSONDecoder(parse_constant=_no_constant)
ENCODER = json.JSONEncoder(allow_nan=False, separators=(",", ":"))


def parsed(body: bytes) -> Any:
    """Parse JSON strictly.

    Parameters
    ----------
    body : bytes
        A document.

    Returns
    -------
    object
        What it holds.

    Raises
    ------
    Refused
        400 for anything else than JSON in UTF-8.
    """
    try:
        return DECODER.decode(body.decode())
    except UnicodeDecodeError as error:
        at = f"byte {error.start} is not"
        raise Refused(400, f"a body is text in UTF-8, and {at}: encode it as UTF-8") from None
    except RecursionError:
        message = "a body is nested two levels deep, and this one is far deeper: flatten it"
        raise Refused(400, message) from None
    except json.JSONDecodeError as error:
        at = f"{error.msg} at line {error.lineno}, column {error.colno}"
        raise Refused(400, f"the body is no JSON document: {at}") from None
    except ValueError:  # Python reads no number of more than 4,300 digits
        message = "a number of the body has more than 4,300 digits: give it as a string"
        raise Refused(400, message) from None


def as_json(value: Any) -> bytes:
    """Write an answer.

    Parameters
    ----------
    value : object
        Without infinite numbers.

    Returns
    -------
    bytes
        JSON in UTF-8.
    """
    return ENCODER.encode(value).encode()


def _shown(value: Any) -> str:
    """A value in a message, short."""
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "an object"
    if isinstance(value, str):
        text = ascii(value[: MAX_SHOWN + 1])
        return f"the string {text if len(value) <= MAX_SHOWN else text[:MAX_SHOWN] + '…'}"
    try:
        text = repr(value)
    except ValueError:  # an integer of more digits than Python writes
        return "a number of thousands of digits"
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…"


def _is_text(value: str, max_length: int) -> bool:
    """Whether a string is short enough, and has no half of a surrogate pair."""
    if len(value) > max_length:
        return False
    if value.isascii():
        return True
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _text_rule(value: str, max_length: int) -> str:
    if len(value) > max_length:
        return (
            f"has {len(value):,} characters, and {max_length:,} are allowed: shorten it, or start "
            "the service with a larger limit"
        )
    return "has half of a surrogate pair, which is not a character: repair or drop it"


def _has_plain_strings(body: bytes, limits: Limits) -> bool:
    """Whether no string of a body can be too long, or have half of a surrogate pair."""
    return len(body) <= limits.string and body.isascii() and b"\\u" not in body


def _are_fine(rows: Sequence[Any], known: Mapping[str, Any]) -> bool:
    """Whether rows with plain strings keep to all rules; False may need a closer look."""
    if set(map(type, rows)) != {dict} or not set().union(*rows) <= known.keys():
        return False
    values = list(chain.from_iterable(map(dict.values, rows)))
    kinds = set(map(type, values))
    if kinds & NUMBERS:
        numbers = [value for value in values if type(value) in NUMBERS]
        if min(numbers) < -MAX_FLOAT or max(numbers) > MAX_FLOAT:
            return False
    return kinds <= SCALARS


def need_scalars(rows: Sequence[Any], limits: Limits, known: Mapping[str, Any] | None) -> None:
    """Refuse rows that are not objects of finite numbers, strings, booleans and null.

    Parameters
    ----------
    rows : sequence
        As they were parsed.
    limits : Limits
        Of strings and columns.
    known : mapping or None
        The names of columns that need no check.

    Raises
    ------
    Refused
        422, naming row and column.
    """
    names = {} if known is None else known
    max_string = limits.string
    for i, row in enumerate(rows):
        if type(row) is not dict:
            message = f"a row is an object of values by column; row {i} is {_shown(row)}"
            raise Refused(422, message)
        if not row.keys() <= names.keys():
            if len(row) > limits.columns:
                message = f"a row has at most {limits.columns:,} columns; row {i} has {len(row):,}"
                raise Refused(422, message)
            for name in row:
                if not _is_text(name, limits.id):
                    rule = _text_rule(name, limits.id)
                    raise Refused(422, f"row {i}: the name {_shown(name)} of a column {rule}")
        for name, value in row.items():
            kind = type(value)
            if kind is str:
                if len(value) > max_string or not (value.isascii() or _is_text(value, max_string)):
                    at = f"row {i}, column {name!r}: {_shown(value)}"
                    raise Refused(422, f"{at} {_text_rule(value, max_string)}")
            elif kind is float or kind is int:
                if not -MAX_FLOAT <= value <= MAX_FLOAT:
                    raise Refused(
                        422,
                        f"a number is finite and within ±1.8e308; row {i}, column {name!r} holds "
                        "another one: give it as a string, or null for a missing value",
                    )
            elif value is not None and kind is not bool:
                raise Refused(
                    422,
                    f"a value is a number, a string, true, false or null; row {i}, column {name!r} "
                    f"holds {_shown(value)}: make a column of each of its parts",
                )


# ---- what stands beside rows ---------------------------------------------------------------------
def _need_label(value: Any, limits: Limits) -> str | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return None if -MAX_FLOAT <= value <= MAX_FLOAT else "is not finite"
    return _need_name(value, limits)


def _need_name(value: Any, limits: Limits) -> str | None:
    if not isinstance(value, str):
        return f"is {_shown(value)}, and not a string"
    if not value:
        return "is empty"
    return None if _is_text(value, limits.id) else _text_rule(value, limits.id)


def _need_weight(value: Any, _: Limits) -> str | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    fine = is_number and 0.0 <= value <= MAX_FLOAT
    return None if fine else f"is {_shown(value)}, and not a finite number from 0 on"


def _need_time(value: Any, _: Limits) -> str | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    fine = is_number and 0.0 <= value < 1e12
    return None if fine else f"is {_shown(value)}, and not seconds since 1970"


RULES: dict[str, Callable[[Any, Limits], str | None]] = {
    "label": _need_label,
    "id": _need_name,
    "subject": _need_name,
    "weight": _need_weight,
    "time": _need_time,
}


def _need_beside(beside: Mapping[str, Sequence[Any]], n_rows: int | None, limits: Limits) -> None:
    for name, values in beside.items():
        if n_rows is not None and len(values) != n_rows:
            raise Refused(
                422, f"each row has one {name}: there are {n_rows:,} rows and {len(values):,}"
            )
        if len(values) > limits.rows:
            raise _too_many(len(values), limits)
        rule = RULES[name]
        for i, value in enumerate(values):
            wrong = rule(value, limits)
            if wrong is not None:
                raise Refused(422, f"{name} {i} {wrong}")


def _too_many(n_rows: int, limits: Limits) -> Refused:
    return Refused(
        413,
        f"a body has at most {limits.rows:,} rows; this one has {n_rows:,}: send it in parts, or "
        "start the service with a larger limit",
    )


# ---- rows of a body ------------------------------------------------------------------------------
def read_rows(
    body: bytes,
    media_type: str,
    limits: Limits,
    *,
    needs: Iterable[str] = ("row",),
    allows: Iterable[str] = (),
    names: Mapping[str, str] | None = None,
    known: Mapping[str, Any] | None = None,
) -> Rows:
    """Read the rows of a body.

    Parameters
    ----------
    body : bytes
        As it arrived.
    media_type : str
        Of its header, without parameters.
    limits : Limits
        What it may hold.
    needs : iterable of str
        What it has to have: "row", or what stands beside rows.
    allows : iterable of str
        What else it may have.
    names : mapping, optional
        Of Arrow, the columns that hold what stands beside the rows.
    known : mapping, optional
        The names of columns that need no check.

    Returns
    -------
    Rows
        One or more, or none where none are needed.

    Raises
    ------
    Refused
        400 for a malformed body, 413 for too large a one, 415 for another type, 422 for values that
        no row has.
    """
    kind = MEDIA_TYPES.get(media_type.strip().lower() or JSON)
    needs, allows = list(needs), list(allows)
    if kind is None:
        kinds = listed([JSON, LINES, ARROW])
        got = _shown(media_type[: 2 * MAX_SHOWN])
        raise Refused(415, f"the type of a body is {kinds}; got {got}")
    if kind == ARROW:
        found = _of_arrow(body, limits, [*needs, *allows], names or {})
    elif kind == LINES:
        found = _of_lines(body, limits, [*needs, *allows])
    else:
        found = _of_document(parsed(body), [*needs, *allows])
    n_rows = None if found.rows is None else len(found.rows)
    lengths = {name: len(values) for name, values in found.beside.items()}
    if max(n_rows or 0, *lengths.values(), 0) > limits.rows:
        raise _too_many(max(n_rows or 0, *lengths.values(), 0), limits)
    for name in needs:
        given = n_rows if name == "row" else lengths.get(name)
        if not given:
            state = "has none" if given is None else "is empty"
            raise Refused(422, f"the body needs {name}s, and {state}: give one or more")
    _need_beside(found.beside, n_rows, limits)
    if isinstance(found.rows, list):
        plain = _has_plain_strings(body, limits)
        if known is None or not plain or not _are_fine(found.rows, known):
            need_scalars(found.rows, limits, known)
    return found


def _of_document(document: Any, may_have: Sequence[str]) -> Rows:
    """Rows of a JSON document: lists by plural."""
    plurals = {f"{name}s": name for name in may_have}
    if not isinstance(document, dict):
        got = _shown(document)
        raise Refused(422, f"a body is an object with {listed(map(repr, plurals))}; it is {got}")
    unknown = sorted(document.keys() - plurals.keys())
    if unknown:
        raise Refused(
            422,
            f"a body is an object with {listed(map(repr, plurals))}; it has {_shown(unknown[0])}",
        )
    lists = {plurals[name]: values for name, values in document.items() if values is not None}
    for name, values in lists.items():
        if not isinstance(values, list):
            raise Refused(422, f"{name}s is a list; it is {_shown(values)}")
    return Rows(lists.pop("row", None), lists)


def _of_lines(body: bytes, limits: Limits, may_have: Sequence[str]) -> Rows:
    """Rows of JSON lines: of a body with rows alone each line is one, otherwise an object of the
    row and what stands beside it."""
    lines = [line for line in body.split(b"\n") if line.strip()]
    if len(lines) > limits.rows:
        raise _too_many(len(lines), limits)
    documents = []
    for i, line in enumerate(lines):
        try:
            documents.append(parsed(line))
        except Refused as error:
            raise Refused(error.status, f"line {i + 1}: {error.message}") from None
    if list(may_have) == ["row"]:
        return Rows(documents, {})
    lists: dict[str, list[Any]] = {}
    for i, document in enumerate(documents):
        fits = isinstance(document, dict) and document.keys() <= set(may_have)
        if not fits or (i and document.keys() != documents[0].keys()):
            raise Refused(
                422,
                f"a line is an object with some of {listed(map(repr, may_have))}, the same ones on "
                f"all lines; line {i + 1} is another",
            )
        for name, value in document.items():
            lists.setdefault(name, []).append(value)
    return Rows(lists.pop("row", None), lists)


# ---- Arrow ---------------------------------------------------------------------------------------
def _of_arrow(
    body: bytes, limits: Limits, may_have: Sequence[str], names: Mapping[str, str]
) -> Rows:
    """Rows of an Arrow stream; columns that stand beside them are named in the query."""
    import pyarrow as pa
    import pyarrow.compute as pc

    _need_plain_buffers(body)
    batches, n_rows = [], 0
    try:
        with pa.ipc.open_stream(body) as stream:
            schema = stream.schema
            for field in schema:
                _need_flat(field)
            for batch in stream:
                n_rows += batch.num_rows
                if n_rows > limits.rows:  # before they are decoded: a column of nulls has no bytes
                    raise _too_many(n_rows, limits)
                batch.validate(full=True)
                batches.append(batch)
        table = pa.Table.from_batches(batches, schema)
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0][:200]
        raise Refused(400, f"the body is no Arrow stream that can be read: {reason}") from None
    columns = table.column_names
    if len(columns) > limits.columns or len(set(columns)) < len(columns):
        raise Refused(
            422, f"columns have different names, and there are at most {limits.columns:,} of them"
        )
    beside: dict[str, list[Any]] = {}
    for name in may_have:
        column = names.get(name, name)
        if name != "row" and column in columns:
            values = table.column(column).to_pylist()
            if name == "time":
                values = [v.timestamp() if hasattr(v, "timestamp") else v for v in values]
            beside[name] = values
            table = table.drop_columns([column])
    for column, values in zip(table.column_names, table.columns, strict=True):
        if not _is_text(column, limits.id):
            raise Refused(422, f"the name {_shown(column)} {_text_rule(column, limits.id)}")
        kind = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            held = values.cast(kind) if kind is not values.type else values
            longest = pc.max(pc.utf8_length(held)).as_py() or 0
            if longest > limits.string:
                rule = (
                    f"holds a string of {longest:,} characters, and {limits.string:,} are allowed"
                )
                raise Refused(422, f"column {column!r} {rule}: shorten it")
    return Rows(table if table.num_columns or "row" in may_have else None, beside)


def _need_flat(field: Any) -> None:
    """Refuses a column of lists or other nested values, whose bytes may be few for many values."""
    import pyarrow as pa

    kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    scalar = (
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_decimal(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_null(kind)
        or pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_temporal(kind)
    )
    if not scalar:
        raise Refused(
            422,
            f"a column holds numbers, strings, booleans or times; {field.name[:100]!r} is of "
            f"the type {str(kind)[:100]}: make a column of each of its parts",
        )


def _need_plain_buffers(body: bytes) -> None:
    """Refuses compressed buffers, which a few bytes can make large: Arrow states no size in
    advance, so the messages of the stream are read for a field "compression".

    A message is a length, a flatbuffer of this length, and a body whose length is in it.
    """
    at = 0
    while at + 8 <= len(body):
        length, begin = unpack_from("<i", body, at)[0], at + 4
        if length == -1:  # since version 0.15 of the format the length follows this mark
            length, begin = unpack_from("<i", body, at + 4)[0], at + 8
        if length <= 0:
            return
        try:
            message = begin + unpack_from("<I", body, begin)[0]
            of_body, header = _slot(body, message, 3), _slot(body, message, 2)
            size = 0 if of_body is None else unpack_from("<q", body, of_body)[0]
            kind = _slot(body, message, 1)
            tag = 0 if kind is None else body[kind]
            if header is not None and tag in (2, 3):  # a batch of a dictionary, or of rows
                batch = header + unpack_from("<I", body, header)[0]
                if tag == 2:
                    inner = _slot(body, batch, 1)
                    batch = batch if inner is None else inner + unpack_from("<I", body, inner)[0]
                if _slot(body, batch, 3) is not None:
                    raise Refused(
                        415,
                        "buffers of Arrow are taken as they are, and these are compressed: write "
                        "the stream without compression",
                    )
        except Exception as error:
            if isinstance(error, Refused):
                raise
            raise Refused(400, "the body is no Arrow stream: its messages do not fit") from None
        if size < 0:
            raise Refused(400, "the body is no Arrow stream: a length in it is negative")
        at = begin + length + size


def _slot(body: bytes, table: int, field: int) -> int | None:
    """Where a field of a table of a flatbuffer is; None where it is absent."""
    vtable = table - int(unpack_from("<i", body, table)[0])
    if vtable < 0:
        raise ValueError(vtable)
    size = unpack_from("<H", body, vtable)[0]
    if 4 + 2 * field + 2 > size:
        return None
    offset = unpack_from("<H", body, vtable + 4 + 2 * field)[0]
    return table + int(offset) if offset else None


def arrow_body(columns: Mapping[str, Any]) -> bytes:
    """Write an answer as an Arrow stream.

    Parameters
    ----------
    columns : mapping
        Values by name.

    Returns
    -------
    bytes
        The stream.
    """
    import pyarrow as pa

    table = pa.table({name: pa.array(values) for name, values in columns.items()})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return bytes(sink.getvalue())


def finite(value: float) -> float | None:
    """A number for JSON; None for one that is not finite, as −∞ of a class that is ruled out."""
    return value if math.isfinite(value) else None
