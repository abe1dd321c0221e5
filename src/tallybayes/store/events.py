"""Events of a store as plain bytes: rows, labels, keyed hashes of ids, times.

A row is encoded by what it holds and by no schema, because schemas grow: JSON with sorted keys, in
UTF-8. A missing value is null, and a date is its text in a list. A document is a JSON string.
"""

from __future__ import annotations

import json
import math
import numbers
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime
from functools import lru_cache
from hashlib import blake2b
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from tallybayes import validation
from tallybayes.errors import StoreError
from tallybayes.tables import Numbers, read_table
from tallybayes.tables.columns import values_of

__all__ = [
    "Event",
    "decoded_label",
    "decoded_rows",
    "digest_of",
    "encoded_label",
    "encoded_rows",
    "hashed",
    "hashes_of",
    "kind_of_label",
    "mixed_column",
    "rows_given",
    "seconds_of",
    "weights_of",
]

MAX_ROW = 1 << 24  # bytes of an encoded row
MAX_ID = 1024  # bytes of an id or a subject
MAX_NUMBER = 1e100
"""The largest number of a row. Squares of such numbers add up without an overflow, so that a row
that was accepted can always be counted, whatever the others hold."""


class Event(NamedTuple):
    """A row that is learned, as a ledger keeps it.

    Parameters
    ----------
    id, subject : bytes or None
        Keyed hashes. The event of a request has the digest of its content as its subject.
    time : float
        Seconds since 1970.
    label : str or None
        JSON; None of a tombstone.
    weight : float
        What the row counts, from 0 on.
    row : bytes or None
        The encoded row; None in a store that keeps no rows.
    """

    id: bytes | None
    subject: bytes | None
    time: float
    label: str | None
    weight: float
    row: bytes | None


# ---- rows ----------------------------------------------------------------------------------------
def _special(value: Any) -> Any:
    """A value that JSON does not know, as one that it does."""
    if isinstance(value, np.generic) and not isinstance(value, np.datetime64):
        return _plain(value.item())
    if isinstance(value, np.datetime64):
        return None if np.isnat(value) else _special(value.astype("datetime64[us]").item())
    if type(value).__name__ in ("NAType", "NaTType"):  # of pandas
        return None
    if isinstance(value, date):
        return [value.isoformat()]
    if isinstance(value, numbers.Real):
        return _plain(float(value))
    raise _no_scalar(value)


def _no_scalar(value: Any) -> StoreError:
    return StoreError(
        f"a row holds {value!r}, a {type(value).__name__}: a store keeps strings, numbers, "
        "booleans, dates and missing values. Convert it, or leave the column out"
    )


def _plain(value: Any) -> Any:
    """NaN as a missing value; other values as they are."""
    return None if isinstance(value, float) and value != value else value


_encode = json.JSONEncoder(
    sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_special
).encode


NUMBERS = frozenset({int, float})
PLAIN = NUMBERS | {str, bool, type(None)}


def _are_known(rows: Sequence[Any], known: Mapping[str, str]) -> bool:
    """Whether rows hold plain values alone, in columns that are known to hold no dates. Then no
    rule of :func:`_columns_of` can be broken, and nothing is new."""
    if set(map(type, rows)) != {dict}:
        return False
    names = set().union(*rows)
    values = list(chain.from_iterable(map(dict.values, rows)))
    kinds = set(map(type, values))
    if not (kinds <= PLAIN and names <= known.keys()) or "date" in map(known.get, names):
        return False
    sizes = [abs(value) for value in values if type(value) in NUMBERS] if kinds & NUMBERS else ()
    return not sizes or max(sizes) <= MAX_NUMBER  # NaN is passed over, or compares as False


def _columns_of(row: Mapping[Any, Any], known: Mapping[str, str], new: dict[str, str]) -> None:
    """Refuses numbers that could not be counted with others, and dates among other values; adds
    columns that nothing is known of to `new`."""
    for name, value in row.items():
        kind, of = "value", type(value)
        if of is not str and of is not bool:
            if value is None:
                continue
            if isinstance(value, float | int | np.number):
                if not -MAX_NUMBER <= value <= MAX_NUMBER:
                    if value != value:
                        continue
                    raise StoreError(
                        f"column {name!r} holds {_short(value)}: a store keeps numbers from −1e100 "
                        "to 1e100, the squares of which can be added. Leave the value out, or "
                        "rescale the column"
                    )
            elif isinstance(value, date | np.datetime64):
                if value != value:  # NaT
                    continue
                kind = "date"
            elif isinstance(value, list | tuple | dict):
                raise _no_scalar(value)
        held = known.get(name) or new.get(name)
        if held is None:
            if not isinstance(name, str):
                raise StoreError(f"a row has the column {name!r}: names of columns are strings")
            new[name] = kind
        elif held != kind:
            raise mixed_column(name, kind, held)


def _short(value: Any) -> str:
    """A number in few characters, also one of 10,000 digits."""
    if isinstance(value, int) and abs(value) > 1 << 64:
        return f"a whole number of {value.bit_length():,} bits"
    return repr(value)


def mixed_column(name: str, kind: str, held: str) -> StoreError:
    """The error for dates among other values.

    Parameters
    ----------
    name : str
        The column.
    kind, held : {"date", "value"}
        What came, and what rows held before.
    """
    words = {"date": "dates", "value": "other values"}
    return StoreError(
        f"column {name!r} holds {words[kind]}, and {words[held]} in rows before: the two cannot be "
        "counted together. Convert them, or give the column another name"
    )


def _encoded(row: Any) -> str:
    """A row, or a document, as JSON."""
    try:
        return _encode(row)
    except ValueError as error:
        if isinstance(error, StoreError):
            raise
        return _encode({name: _plain(value) for name, value in row.items()})


def _encoded_together(rows: Sequence[Any]) -> list[bytes]:
    """Rows as JSON. Rows of a table are encoded in one call and split at ``},{``, unless a string
    holds that as well or NaN is among the values."""
    try:
        if set(map(type, rows)) == {dict}:
            with suppress(ValueError):
                found = _encode(rows)[2:-2].encode().split(b"},{")
                if len(found) == len(rows):
                    return [b"{%b}" % text for text in found]
        return [_encoded(row).encode() for row in rows]
    except UnicodeEncodeError as error:
        raise StoreError(
            f"a row holds text that is no valid Unicode ({error.reason}): decode it with "
            "errors='replace'"
        ) from error


def encoded_rows(
    rows: Sequence[Any], known: Mapping[str, str]
) -> tuple[list[bytes], dict[str, str]]:
    """Rows as they are kept.

    Parameters
    ----------
    rows : sequence of dict or str
        From :func:`rows_given`.
    known : mapping of str to {"date", "value"}
        What the columns of earlier rows hold.

    Returns
    -------
    (list of bytes, dict)
        The canonical encoding of each, and what columns hold that are not known.

    Raises
    ------
    StoreError
        For what cannot be kept: the message names the column and the value.
    """
    new: dict[str, str] = {}
    if not _are_known(rows, known):
        for row in rows:
            if not isinstance(row, str):
                _columns_of(row, known, new)
    found = _encoded_together(rows)
    longest = max(map(len, found), default=0)
    if longest > MAX_ROW:
        raise StoreError(
            f"a row takes {longest:,} bytes; at most {MAX_ROW:,} are kept. Leave out the column "
            "that is so long"
        )
    return found, new


def decoded_rows(rows: Sequence[bytes]) -> list[Any]:
    """The inverse of :func:`encoded_rows`.

    Parameters
    ----------
    rows : sequence of bytes
        Encoded rows.

    Returns
    -------
    list of dict or str
        Dates are dates again.
    """
    text = b"[" + b",".join(rows) + b"]"
    found: list[Any] = json.loads(text)
    if b':["' in text:
        for row in found:
            if isinstance(row, dict):
                row.update({n: _date_of(v[0]) for n, v in row.items() if isinstance(v, list)})
    return found


def _date_of(text: str) -> date:
    return date.fromisoformat(text) if len(text) == 10 else datetime.fromisoformat(text)


def rows_given(rows: Any, documents: bool) -> list[Any]:
    """Rows as a list of dicts, or documents as a list of strings.

    Parameters
    ----------
    rows : list of dict or str, or table
        A table of pandas, polars or pyarrow, or anything with ``__arrow_c_stream__``.
    documents : bool
        Whether the store learns documents.

    Returns
    -------
    list of dict or list of str
        As they were given.

    Raises
    ------
    StoreError
        For rows of another kind than the store learns.
    """
    if documents:
        found = rows if isinstance(rows, list) else list(rows)
        for text in found:
            if not isinstance(text, str):
                raise StoreError(
                    "this store learns documents, each a string; got a "
                    f"{type(text).__name__}: give the text itself"
                )
        return found
    if isinstance(rows, list | tuple) and all(issubclass(t, Mapping) for t in set(map(type, rows))):
        return list(rows)
    if isinstance(rows, Mapping | str | bytes | list | tuple):
        raise StoreError(
            "this store learns rows: give a table, or a list of dicts of values by column; got "
            f"{str(rows)[:60]!r}"
        )
    table = read_table(rows)
    if not table.named:
        raise StoreError(
            "the rows of a store have names of columns, because columns come and go: give a table "
            "with names, or a list of dicts"
        )
    columns = {name: _values(column) for name, column in table.columns.items()}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _values(column: Any) -> list[Any]:
    """The values of a column, in their types."""
    values = values_of(column)
    if not isinstance(column, Numbers):
        return values
    if column.what == "date":
        return [None if value is None else _date_of(value) for value in values]
    if column.what == "boolean":
        return [None if value is None else bool(value) for value in values]
    return values


# ---- labels, ids, times, weights -----------------------------------------------------------------
def encoded_label(label: Any) -> str:
    """A label as JSON.

    Parameters
    ----------
    label : str, bool, int or float
        NumPy's scalars are taken for their values.

    Returns
    -------
    str
        One text for one label.

    Raises
    ------
    StoreError
        For a missing label, or one of another type.
    """
    try:
        return _encoded_label(label)
    except TypeError:  # a list, which cannot be a key
        raise _no_label(label) from None


@lru_cache(4096, typed=True)
def _encoded_label(label: Any) -> str:
    if isinstance(label, np.generic):
        label = label.item()
    if isinstance(label, float) and label.is_integer():
        label = int(label)  # 1.0 == 1
    if isinstance(label, float) and not math.isfinite(label):
        label = None
    if not isinstance(label, str | bool | int | float):
        raise _no_label(label)
    text = _encode(label)
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise StoreError(f"the label {label!r} is no valid Unicode: decode it first") from None
    return text


def _no_label(label: Any) -> StoreError:
    return StoreError(
        f"a label is a string, a boolean or a finite number, got {label!r}: leave rows without "
        "a label out"
    )


def kind_of_label(text: str) -> str:
    """What a label is, so that labels of different kinds are not mixed.

    Parameters
    ----------
    text : str
        JSON.

    Returns
    -------
    {"string", "boolean", "number"}
        By its first character.
    """
    return "string" if text[0] == '"' else "boolean" if text[0] in "tf" else "number"


def decoded_label(text: str | None) -> Any:
    """The inverse of :func:`encoded_label`.

    Parameters
    ----------
    text : str or None
        JSON; None of a tombstone.

    Returns
    -------
    str, bool, int, float or None
        The label.
    """
    return None if text is None else json.loads(text)


def hashed(value: Any, key: bytes, what: str) -> bytes:
    """The keyed hash of an id or a subject, 16 bytes; see :func:`hashes_of`."""
    return hashes_of([value], key, what)[0]


def hashes_of(values: Sequence[Any], key: bytes, what: str) -> list[bytes]:
    """The keyed hashes of ids or subjects, 16 bytes each.

    Parameters
    ----------
    values : sequence of str, bytes or int
        What they stand for is not kept: addresses and names are personal data.
    key : bytes
        The key of the store.
    what : str
        "id", "subject" or "request", which makes hashes of one text differ.

    Returns
    -------
    list of bytes
        BLAKE2b, keyed.

    Raises
    ------
    StoreError
        For another type, or more than 1,024 bytes.
    """
    named = [_bytes_of(value, what) for value in values]
    longest = max(map(len, named), default=0)
    if longest > MAX_ID:
        raise StoreError(
            f"an {what} has {longest:,} bytes; at most {MAX_ID:,} are taken: give a key of the "
            "row, not its content"
        )
    begun, found = _keyed(key, what).copy, []
    for content in named:
        keyed = begun()
        keyed.update(content)
        found.append(keyed.digest())
    return found


def _bytes_of(value: Any, what: str) -> bytes:
    """What is hashed of an id or a subject."""
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, int) and not isinstance(value, bool):
        return b"%d" % value
    if isinstance(value, bytes):
        return value
    raise StoreError(f"an {what} is a string, bytes or a whole number, got {value!r}"[:200])


def digest_of(request: str, content: Sequence[Any]) -> bytes:
    """What tells the content of a request from that of another one, 16 bytes.

    Parameters
    ----------
    request : str
        The name of the request. It is the key of the digest and is not kept, so that nobody who
        lacks it can try contents.
    content : sequence
        Lists of bytes, strings and numbers.

    Returns
    -------
    bytes
        BLAKE2b, keyed.
    """
    key = blake2b(request.encode("utf-8", "surrogatepass"), digest_size=32).digest()
    text = repr(content).encode("utf-8", "surrogatepass")
    return blake2b(text, digest_size=16, key=key, person=b"request").digest()


@lru_cache
def _keyed(key: bytes, what: str) -> Any:
    """A hash that has read its key."""
    return blake2b(digest_size=16, key=key, person=what.encode())


def seconds_of(time: Any) -> float:
    """A time in seconds since 1970.

    Parameters
    ----------
    time : float, datetime or date
        A datetime without a zone is taken for UTC.

    Returns
    -------
    float
        Finite.

    Raises
    ------
    StoreError
        For anything else.
    """
    try:
        return validation.seconds_of(time)
    except ValueError as error:
        raise StoreError(str(error)) from None


def weights_of(weights: Any, n_rows: int) -> list[float]:
    """Weights of rows, 1 where none are given.

    Parameters
    ----------
    weights : array-like (n_rows,) or None
        Finite, from 0 on.
    n_rows : int
        How many rows there are.

    Returns
    -------
    list of float
        One for each row.

    Raises
    ------
    StoreError
        For a weight that is none; the message names its row.
    """
    if weights is None:
        return [1.0] * n_rows
    found = [float(weight) for weight in weights]
    for i, weight in enumerate(found):
        if not 0.0 <= weight <= MAX_NUMBER:
            raise StoreError(
                f"row {i} has the weight {weight!r}: weights are finite and from 0 on. forget "
                "takes rows away"
            )
    return found
