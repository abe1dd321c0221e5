"""Columns of strings that are read as text because they are prose.

The tally counts them as levels, like all undeclared strings, so order and batches do not matter and
forgetting restores the column. When the tally is read, a column is prose if nearly all rows have
different strings, and the strings are sentences whose words recur (see
:mod:`tallybayes.tokens.prose`). Its levels then become terms, as if it were declared `Text()`.
"""

from __future__ import annotations

from collections.abc import Container, Iterator

import numpy as np

from tallybayes.engines.contract import Group
from tallybayes.engines.tables import text_group
from tallybayes.families.text import Text
from tallybayes.models.data_warnings.identifiers import IDENTIFIER_ROWS
from tallybayes.schema import Columns, Schema
from tallybayes.tally import LevelCounts, TableTally
from tallybayes.tokens.prose import are_prose

__all__ = ["PROSE", "prose_as_terms", "prose_columns"]

PROSE = Text()
"""What a column of prose is read as."""

MIN_ROWS = IDENTIFIER_ROWS
MIN_DISTINCT_SHARE = 0.75  # strings of each row


def prose_columns(tally: TableTally, declared: Container[str]) -> tuple[str, ...]:
    """The columns of levels that are prose, of those that are not declared.

    Parameters
    ----------
    tally : TableTally
        Its mixed columns are already read as levels or numbers.
    declared : container of str
    """
    row_weight = tally.classes.row_weights.overall * (1.0 + 1e-9)
    found = []
    for name, columns, group in _levels(tally):
        if name in declared:
            continue
        assert columns.levels is not None
        rows = group.counts.sum(axis=0)
        held = np.flatnonzero(rows > 0.0)
        if len(held) >= max(MIN_ROWS, MIN_DISTINCT_SHARE * float(rows.sum()) / row_weight):
            strings = [str(level) for level in columns.levels[0][held].tolist()]
            if are_prose(strings):
                found.append(name)
    return tuple(found)


def _levels(tally: TableTally) -> Iterator[tuple[str, Columns, LevelCounts]]:
    """The columns that hold nothing but levels, all of which are named."""
    of_numbers = {g.names for g in tally.schema.groups if g.kind != "levels"}
    for columns, group in zip(tally.schema.groups, tally.groups, strict=True):
        if not isinstance(group, LevelCounts) or columns.names in of_numbers:
            continue
        if columns.names is not None and columns.levels is not None and columns.n_all is None:
            yield columns.names[0], columns, group


def prose_as_terms(tally: TableTally, names: Container[str]) -> TableTally:
    """The same rows, the levels of some columns as the terms of documents."""
    as_terms = {name: _terms(name, tally, c, g) for name, c, g in _levels(tally) if name in names}
    if not as_terms:
        return tally
    groups: list[Group] = []
    for columns, group in zip(tally.schema.groups, tally.groups, strict=True):
        name = columns.names[0] if columns.names else ""
        groups += as_terms.get(name, [(columns, group)])
    schema = Schema(tally.schema.classes, tuple(c for c, _ in groups), by_name=True)
    return TableTally(schema, tally.classes, tuple(t for _, t in groups))


def _terms(name: str, tally: TableTally, columns: Columns, group: LevelCounts) -> list[Group]:
    assert columns.levels is not None
    held = np.flatnonzero(group.counts.any(axis=0))
    documents = [str(level) for level in columns.levels[0][held].tolist()]
    of_row, codes = np.nonzero(group.counts[:, held].T)
    weights = np.ascontiguousarray(group.counts[codes, held[of_row]])
    n_classes = len(tally.schema.classes)
    return text_group(
        name, documents, of_row, PROSE.terms, codes.astype(np.int32), n_classes, weights
    )
