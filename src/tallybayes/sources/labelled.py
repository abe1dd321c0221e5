"""The rows of a source that have a label."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.errors import SourceError, listed
from tallybayes.sources.contract import Part, Source, SourceColumn, is_distributed
from tallybayes.sources.find import is_source, source_of
from tallybayes.tables import Column, Empty, Mixed, Strings, Table

__all__ = ["Labelled", "labelled"]


def labelled(rows: Any, target: str) -> Source:
    """Leave out the rows of a source that have no label, as ``--skip-unlabelled`` does.

    ``fit`` refuses a row without a label, since it may be a mistake. Of a frame, drop such rows
    with ``dropna`` or ``drop_nulls``; of a query, with WHERE, so that the database still counts.

    Parameters
    ----------
    rows : path, list of paths or source
        Whatever :meth:`NaiveBayes.fit` reads part by part, such as :func:`tallybayes.csv`.
    target : str
        The column of the labels.

    Returns
    -------
    Source
        The rows that have a value there, in their order. Messages call them as `rows` does.

    Raises
    ------
    TypeError
        If `rows` is not read part by part.
    ValueError
        If it has no such column, or its rows are on a cluster: filter these there.

    Examples
    --------
    >>> import tempfile, tallybayes
    >>> flowers = tempfile.NamedTemporaryFile("w", suffix=".csv")
    >>> _ = flowers.write("colour,kind\\nred,rose\\nred,\\nwhite,lily\\n")
    >>> flowers.flush()
    >>> rows = tallybayes.labelled(flowers.name, "kind")
    >>> tallybayes.NaiveBayes().fit(rows, "kind").class_count_.tolist()
    [1.0, 1.0]
    >>> flowers.close()
    """
    if not is_source(rows):
        raise TypeError(
            f"rows is {type(rows).__name__}, and labelled() takes paths and what is read part by "
            "part: of a frame, drop the rows where the label is missing"
        )
    source = source_of(rows)
    if is_distributed(source):
        raise SourceError(f"{source.name} is on a cluster: filter the rows there")
    if target not in (columns := source.columns()):
        raise SourceError(f"{source.name} has no column {target!r}, it has {listed(columns)}")
    return Labelled(source, target)


class Labelled:
    """The rows of a source that have a label.

    Parameters
    ----------
    source : Source
    target : str
        The column of the labels.
    at_most : int, optional
        How many of them; by default all.
    """

    def __init__(self, source: Source, target: str, at_most: int | None = None) -> None:
        self._source, self._target, self._at_most = source, target, at_most
        self.name, self.once = source.name, source.once

    def columns(self) -> dict[str, SourceColumn]:
        """Those of the source."""
        return self._source.columns()

    def parts(
        self, names: Sequence[str] | None = None, as_written: Collection[str] = ()
    ) -> Iterator[Part]:
        """The rows of each part that have a label."""
        left, before, where = self._at_most, 0, ""
        of_file: list[int] = []  # the numbers of its rows that are kept
        asked = None if names is None else [*dict.fromkeys([*names, self._target])]
        for part in self._source.parts(asked, {*as_written, self._target}):
            table = part.read()
            kept = np.flatnonzero(_there(table.columns[self._target]))[:left]
            if part.where != where:  # another file
                where, before, of_file = part.where, 0, []
            of_file = [*of_file, *(before + kept).tolist()]
            before += table.n_rows
            table = table.take(kept)
            if names is not None and self._target not in names:
                columns = {n: c for n, c in table.columns.items() if n != self._target}
                table = Table(columns, table.n_rows, True)
            place = partial(_place, part, of_file) if part.place is not None else None
            yield part._replace(read=partial(_given, table), place=place)
            if left is not None and (left := left - table.n_rows) <= 0:
                return


def _there(column: Column) -> NDArray[np.bool_]:
    """In which rows a column has a value."""
    if isinstance(column, Empty):
        return np.zeros(column.n_rows, dtype=bool)
    if isinstance(column, Strings):
        return np.asarray(column.codes >= 0)
    if isinstance(column, Mixed):
        return _there(column.numbers) | _there(column.strings)
    values = np.asarray(column.values)
    return ~np.isnan(values) if values.dtype.kind == "f" else np.ones(len(values), dtype=bool)


def _given(table: Table) -> Table:
    return table


def _place(part: Part, kept: Sequence[int], row: int) -> str:
    """A row of those that are kept, as people find it."""
    assert part.place is not None
    return part.place(kept[row])
