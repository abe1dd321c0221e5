"""Rows and documents of files, as a store learns them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tallybayes.errors import OptionError, StoreError, called, listed, suggestion
from tallybayes.sources.contract import restarted
from tallybayes.sources.document_source import DocumentSource
from tallybayes.sources.reading import Plan
from tallybayes.store.events import rows_given
from tallybayes.tables import Table
from tallybayes.tables.columns import values_of

if TYPE_CHECKING:
    from tallybayes.sources.reading import Rows

__all__ = ["Given", "read"]

Given = dict[str, list[Any] | None]
"""What :meth:`Store.learn` takes, by name."""

LETTERS = 1 << 22  # about how many of the documents are read at a time


def read(
    source: Rows | DocumentSource,
    target: str | None,
    beside: Mapping[str, str | None],
    columns: Mapping[str, str],
    kind_of_label: str | None,
) -> Given:
    """All rows of a source.

    Parameters
    ----------
    source : Rows or DocumentSource
        What is read.
    target : str or None
        The column of the labels; None for none.
    beside : mapping of {"ids", "subjects", "weights", "times"} to str or None
        Columns that are not learned from. Documents with names have these as ids.
    columns : mapping of str to {"date", "value"}
        What columns of the store hold.
    kind_of_label : {"string", "number", "boolean"} or None
        What the labels of the store are.

    Returns
    -------
    dict
        "rows", "labels" where there is a target, and what is beside.
    """
    special = {name: column for name, column in beside.items() if column is not None}
    if isinstance(source, DocumentSource):
        given = _documents(source, target, special)
    else:
        given = restarted(lambda: _rows(source, target, special, columns))
    for name, to in (("weights", float), ("times", _time)):
        values = given.get(name)
        if values is not None:
            given[name] = [to(value) for value in values]
    labels = given.get("labels")
    if labels is not None and kind_of_label in ("number", "boolean"):
        given["labels"] = [json.loads(label.lower()) for label in labels]
    return given


def _rows(
    source: Rows, target: str | None, special: Mapping[str, str], columns: Mapping[str, str]
) -> Given:
    header = source.header
    for name, column in special.items():
        if column not in header:
            raise OptionError(
                f"{source.name} has no column {column!r} of {name}; its columns are "
                f"{listed(header)}.{suggestion(column, header)}"
            )
    kinds: dict[str, Any] = {name: "date" for name, kind in columns.items() if kind == "date"}
    kinds |= dict.fromkeys(special.values(), "text")
    plan = Plan("learning", target, kinds=kinds, fitting=True)
    given: dict[str, list[Any]] = {"rows": [], "labels": []} | {name: [] for name in special}
    with source.reading(plan):
        for table in source.over(lambda table: table):
            held = dict(table.columns)
            for name, column in special.items():
                given[name] += values_of(held.pop(column))
            if target is not None:
                given["labels"] += values_of(held.pop(target))
            if held:
                given["rows"] += rows_given(Table(held, table.n_rows, True), False)
    if target is None:
        del given["labels"]
    return dict(given)


def _documents(source: DocumentSource, target: str | None, special: Mapping[str, str]) -> Given:
    named = source.has_names and "ids" not in special
    given: dict[str, list[Any]] = {"rows": [], "labels": []} | {name: [] for name in special}
    if named:
        given["ids"] = []
    source.keep_columns(list(special.values()))
    for batch in source.batches(LETTERS, labelled=True, target=target):
        given["rows"] += batch.strings
        given["labels"] += batch.labels
        for j, name in enumerate(special):
            given[name] += batch.kept(j)
        if named:
            given["ids"] += batch.names
    return dict(given)


def _time(text: str | None) -> Any:
    """A time as it is written: seconds, or a date in ISO 8601."""
    from datetime import datetime

    try:
        return float(text or "")
    except ValueError:
        pass
    try:
        return datetime.fromisoformat(text or "")
    except ValueError:
        raise StoreError(
            f"{called('time_column')} holds {text!r}, which is neither seconds since 1970 nor a "
            "date such as 2026-11-28T10:15:00+00:00: correct it"
        ) from None
