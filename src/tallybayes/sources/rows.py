"""Rows of a source with predictions, those that have a label, and values as they are written."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tallybayes.errors import SourceError, listed
from tallybayes.sources.arrow import chunk_of, parts_kept
from tallybayes.sources.cells import Kind, TextFile, cells, kind_of
from tallybayes.sources.contract import (
    Part,
    ReadAgain,
    RowsKept,
    Source,
    SourceColumn,
    is_distributed,
    is_nested,
    over_parts,
)
from tallybayes.sources.files import Several, inner_of, is_source, source_of
from tallybayes.sources.options import Spelling
from tallybayes.tables import Column, Empty, Mixed, Numbers, Strings, Table
from tallybayes.tables.columns import strings_of

__all__ = [
    "Labelled",
    "PredictedRows",
    "Predictions",
    "files_of",
    "first_written",
    "labelled",
    "read_as",
    "written_values",
]


# ---- rows of a source with their predictions, computed batch by batch when they are read ---------
Predictions = tuple[NDArray[Any], NDArray[np.float64]]
"""The label of each row, and its probabilities (n_rows, n_classes)."""


class PredictedRows:
    """Rows with their predictions: an Arrow stream that is computed when it is read.

    Whatever takes ``__arrow_c_stream__`` takes it, each time from the first row on: pyarrow, pandas
    and polars; DuckDB, which registers it; ``adbc_ingest`` of ADBC, which writes it to a database.
    A few batches are in memory at a time. Its rows can be read again where those of the source can.

    Columns of Arrow batches stay as they are; those of text, which has no types, are strings as
    they are written.

    Parameters
    ----------
    source : Source
    kept, read : sequence of str
        Columns that stay, and columns that are predicted from.
    as_written : collection of str
        Those of the latter that are strings, where the source has no types.
    classes : array (n_classes,)
    predict : callable (Table) -> Predictions

    Raises
    ------
    SourceError
        If a column that stays has a name that the predictions need, or the source is text and typed
        files side by side.
    """

    def __init__(
        self,
        source: Source,
        kept: Sequence[str],
        read: Sequence[str],
        as_written: Collection[str],
        classes: NDArray[Any],
        predict: Callable[[Table], Predictions],
    ) -> None:
        self._source, self._read, self._as_written = source, read, as_written
        self._predict = predict
        files = files_of(source)
        if all(isinstance(inner_of(file), TextFile) for file in files):
            self._kept = [pa.field(name, pa.string()) for name in kept]
        elif all(hasattr(inner_of(file), "schema") for file in files):
            self._kept = [files[0].schema.field(name) for name in kept]
        else:
            raise SourceError(
                f"{source.name}: some are text, whose columns have no types, and some are not: "
                "predict each kind by itself"
            )
        self._made = [pa.field("prediction", pa.array(classes.tolist()).type)]
        self._made += [pa.field(f"p({label})", pa.float64()) for label in classes.tolist()]
        taken = [field.name for field in self._made if field.name in kept]
        if taken:
            raise SourceError(
                f"{source.name} has a column {taken[0]!r}, which is what the predictions are "
                "called: rename it, or leave it out of keep="
            )
        self._schema = pa.schema([*self._kept, *self._made])

    def __repr__(self) -> str:
        return f"<predictions of {self._source.name}: {', '.join(self._schema.names)}>"

    @property
    def schema(self) -> Any:
        """Its columns, as a pyarrow.Schema: those that are kept, ``prediction``, ``p(label)``."""
        return self._schema

    def record_batches(self) -> Iterator[Any]:
        """The rows as pyarrow record batches.

        Yields
        ------
        pyarrow.RecordBatch
            Some rows.

        Raises
        ------
        ValueError
            If the source cannot be read, or a value is not admitted.
        """
        kept = [field.name for field in self._kept]
        try:
            parts = parts_kept(self._source, self._read, self._as_written, kept)
            for done in over_parts(parts, self._predicted):
                yield done.result
        except ReadAgain as again:  # rows before it have been predicted and handed on
            raise SourceError(
                f"{again}, unlike the rows before: correct it, or declare the column as "
                "Categorical() and fit anew"
            ) from None

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """The rows as an Arrow stream in C; see
        https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html."""
        reader = pa.RecordBatchReader.from_batches(self._schema, self.record_batches())
        return reader.__arrow_c_stream__(requested_schema)

    def _predicted(self, table: Table, part: Part) -> Any:
        """The rows of a part with their predictions."""
        columns = []
        for field in self._kept:
            assert isinstance(table, RowsKept)
            column = table.kept.column(field.name)
            try:
                column = column.cast(field.type)
            except pa.ArrowException as error:
                raise SourceError(
                    f"{part.where}: column {field.name!r} is of the type {column.type}, and in the "
                    f"first file {field.type}, as which it cannot be kept ({error}): leave it out "
                    "of keep="
                ) from None
            columns.append(chunk_of(column))
        labels, proba = self._predict(table)
        columns.append(pa.array(labels.tolist(), self._made[0].type))
        columns += [pa.array(np.ascontiguousarray(column)) for column in proba.T]
        return pa.record_batch(columns, schema=self._schema)


# ---- the rows of a source that have a label ------------------------------------------------------
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


# ---- the values of a source as they are written --------------------------------------------------
def files_of(source: Source) -> list[Any]:
    """The files of a source, or the source."""
    return list(source.sources) if isinstance(source, Several) else [source]


def written_values(
    source: Any, names: Collection[str] | None = None
) -> Iterator[dict[str, Strings]]:
    """The values of a source that can be read again, part by part, as they are written without
    surrounding space; columns that hold more than single values are not there. `what` of a column
    is "text" for what has no type, else what the readers of tables call it."""
    if isinstance(source, TextFile):
        for table in source.written():
            yield {
                name: _of_arrow(table.column(name).combine_chunks())
                for name in table.column_names
                if names is None or name in names
            }
        return
    if names is not None:
        columns = source.columns()
        names = [name for name in names if name not in columns or not is_nested(columns[name])]
    for part in source.parts(None if names is None else list(names)):
        table = part.read()
        yield {name: _of_column(column) for name, column in table.columns.items()}


def first_written(source: Source, names: Collection[str]) -> Mapping[str, list[str]]:
    """The strings that some columns hold in the first rows, by column, as they are written;
    nothing of a source that can be read only once."""
    file = files_of(source)[0]
    if file.once:
        return {}
    if not isinstance(file, TextFile):
        kinds = {name: column.kind for name, column in file.columns().items()}
        names = [name for name in names if kinds.get(name) in ("text", "mixed")]
    if not names:
        return {}
    values = next(written_values(file, names), {})
    return {name: found.levels for name, found in values.items() if found.what == "text"}


def read_as(
    levels: Collection[str], name: str, spelling: Spelling
) -> tuple[Kind | None, list[str], list[str]]:
    """What strings are read as, if they are all that a column holds: its kind, and of one of
    numbers or strings those that are numbers, and those that are strings."""
    column = pa.array(list(levels), pa.string())
    spelling = spelling.of(name)
    kind = kind_of(column, spelling)
    if kind != "number or text":
        return kind, [], []
    found = cells(column, kind, name, spelling)
    if pa.types.is_floating(found.type):
        is_number = found.is_valid()
    elif pa.types.is_struct(found.type):
        is_number = pc.struct_field(found, "number").is_valid()
    else:
        is_number = pa.array(np.zeros(len(column), bool))
    missing = pc.is_in(column, value_set=pa.array(list(spelling.missing), pa.string()))
    strings = pc.and_not(pc.invert(is_number), missing)
    return kind, column.filter(is_number).to_pylist(), column.filter(strings).to_pylist()


def _of_arrow(column: Any) -> Strings:
    """A column of a text file, of one chunk."""
    kind = column.type
    if pa.types.is_null(kind):
        return Strings(np.full(len(column), -1, np.int32), [], "null")
    if pa.types.is_boolean(kind):
        column, what = pc.if_else(column, "True", "False"), "boolean"
    elif pa.types.is_floating(kind):
        what = "float"
        whole = pc.equal(column, pc.round(column))
        plain = column.cast(pa.int64(), safe=False).cast(pa.string())
        column = pc.if_else(whole, plain, column.cast(pa.string()))
    else:
        column, what = pc.utf8_trim_whitespace(column.cast(pa.string())), "text"
    encoded = column.dictionary_encode()
    codes = pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False)
    return Strings(codes, encoded.dictionary.to_pylist(), what)


def _of_column(column: Column) -> Strings:
    if isinstance(column, Empty):
        return Strings(np.full(column.n_rows, -1, np.int32), [], "null")
    strings = column if isinstance(column, Strings) else strings_of(column)
    what = column.what if isinstance(column, Numbers | Strings) else "mixed"
    return Strings(strings.codes, strings.levels, what)
