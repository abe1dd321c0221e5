"""Paths, folders and patterns as sources."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import pyarrow as pa

from tallybayes.errors import OptionError, SourceError, listed
from tallybayes.sources.arrow import arrow_of, explained, parts_kept
from tallybayes.sources.contract import Part, RowsKept, Source, SourceColumn, is_nested
from tallybayes.sources.opening import (
    FORMATS,
    Format,
    Stream,
    files_at,
    folder_of_pattern,
    format_of,
    is_remote,
    is_workbook,
    need_readable,
    read_once,
    suffix_of,
)
from tallybayes.sources.options import (
    MISSING,
    DateOrder,
    Layout,
    Spelling,
    need_apart,
)
from tallybayes.tables import Column, Empty, Numbers, Strings, Table
from tallybayes.tables.columns import days_of_text
from tallybayes.tables.read import is_of

__all__ = [
    "Several",
    "csv",
    "files",
    "files_of",
    "header_of",
    "holds_data",
    "inner_of",
    "is_database",
    "is_in_database",
    "is_in_duckdb",
    "is_paths",
    "is_relation",
    "is_source",
    "is_spark_frame",
    "rows",
    "size_of",
    "source_of",
    "source_of_paths",
]


# ---- a source with columns from elsewhere --------------------------------------------------------
# A file with columns that it does not hold: keys that the names of its folders give, and columns
# of other files.
MISSING_KEY = "__HIVE_DEFAULT_PARTITION__"
"""The value of a key that is missing, as Hive, Spark and DuckDB write it."""

WHOLE = re.compile(r"[+-]?\d{1,15}")
DAY = re.compile(r"\d{4}-\d\d-\d\d")
ARROW_TYPES = {"integer": pa.int64(), "date": pa.date32()}
"""What keys are in Arrow; others are strings."""


def keys_of(folder: str, path: str) -> dict[str, str | None]:
    """The keys and values in the names of the folders between a folder and a file in it, such as
    year=2020; None for a missing value."""
    found: dict[str, str | None] = {}
    for part in Path(path).relative_to(folder).parts[:-1]:
        key, equals, value = part.partition("=")
        if equals:
            found[unquote(key)] = None if value == MISSING_KEY else unquote(value)
    return found


def kinds_of_keys(files: Sequence[Mapping[str, str | None]]) -> dict[str, str]:
    """What the values of each key are in all files: "integer", "date" or "text"."""
    kinds = {}
    for key in files[0]:
        values = [value for keys in files if (value := keys.get(key)) is not None]
        kinds[key] = "text"
        if values and all(map(WHOLE.fullmatch, values)):
            kinds[key] = "integer"
        elif values and all(DAY.fullmatch(v) and days_of_text(v) is not None for v in values):
            kinds[key] = "date"
    return kinds


def inner_of(source: Any) -> Any:
    """The file that a source reads, without the columns that are added to it."""
    return source.source if isinstance(source, WithColumns) else source


class WithColumns:
    """A source with more columns, each of one value.

    Parameters
    ----------
    source : Source
    keys : mapping of str to (str or None)
        The value of each key.
    kinds : mapping of str to str
        What the keys hold.
    lacking : sequence of SourceColumn
        Columns that the file does not have; they are missing in each of its rows.
    """

    keeps = True

    def __init__(
        self,
        source: Source,
        keys: Mapping[str, str | None],
        kinds: Mapping[str, str],
        lacking: Sequence[SourceColumn] = (),
    ) -> None:
        self.source, self.name, self.once = source, source.name, source.once
        self._keys, self._kinds = keys, kinds
        self._lacking = {column.name: column for column in lacking}
        both = [key for key in keys if key in source.columns()]
        if both:
            raise SourceError(
                f"{self.name} holds the column {listed(map(repr, both))}, which the name of its "
                "folder gives as well: rename one of them"
            )

    def columns(self) -> dict[str, SourceColumn]:
        keys = {key: SourceColumn(key, kind, kind) for key, kind in self._kinds.items()}
        return {**self.source.columns(), **self._lacking, **keys}

    @property
    def schema(self) -> Any:
        """The columns in Arrow; of a source of Arrow batches."""
        found = self.source.schema  # type: ignore[attr-defined]
        for name in self._lacking:
            found = found.append(pa.field(name, pa.null()))
        for key, kind in self._kinds.items():
            found = found.append(pa.field(key, ARROW_TYPES.get(kind, pa.string())))
        return found

    def parts(
        self,
        names: Sequence[str] | None = None,
        as_written: Collection[str] = (),
        kept: Sequence[str] = (),
    ) -> Iterator[Part]:
        more = [*self._lacking, *self._kinds]
        added = more if names is None else [name for name in names if name in more]
        own = None if names is None else [name for name in names if name not in more]
        written = [name for name in as_written if name not in more]
        own_kept = [name for name in kept if name not in more]
        for part in parts_kept(self.source, own, written, own_kept):
            yield part._replace(read=partial(self._read, part, added, as_written, kept))

    def _read(
        self, part: Part, added: Sequence[str], as_written: Collection[str], kept: Sequence[str]
    ) -> Table:
        table = part.read()
        n_rows, columns = table.n_rows, dict(table.columns)
        for name in added:
            columns[name] = self._column(name, n_rows, name in as_written and not part.typed)
        if not kept:
            return Table(columns, n_rows, True)
        own = table.kept if isinstance(table, RowsKept) else pa.table({})
        rows = {name: pa.nulls(n_rows) for name in kept if name in self._lacking}
        for name in self._keys.keys() & kept:
            rows[name] = arrow_of(self._column(name, n_rows, not part.typed))
        rows = {name: rows[name] if name in rows else own.column(name) for name in kept}
        return RowsKept(columns, n_rows, True, pa.table(rows))

    def _column(self, name: str, n_rows: int, written: bool) -> Column:
        value = self._keys.get(name)
        if value is None:
            return Empty(n_rows)
        kind = "text" if written else self._kinds[name]
        if kind == "integer":
            return Numbers(np.full(n_rows, int(value)), "integer")
        if kind == "date":
            return Numbers(np.full(n_rows, days_of_text(value)), "date")
        return Strings(np.zeros(n_rows, dtype=np.int32), [value], "text")


# ---- several files, one below the other ----------------------------------------------------------
class Several:
    """Sources with the same columns, in whatever order.

    A column may be of another type in another of them: numbers and strings are then counted beside
    each other, as in a column of a table.

    Parameters
    ----------
    sources : sequence of Source
        At least one.
    name : str

    Raises
    ------
    SourceError
        If one lacks a column, or has one more.
    """

    name: str
    sources: list[Source]
    keeps = True

    def __init__(self, sources: Sequence[Source], name: str) -> None:
        self.name, self.sources = name, list(sources)
        self.once: bool = any(source.once for source in sources)
        first = self.sources[0]
        self._columns = first.columns()
        for source in self.sources[1:]:
            _need_alike(self._columns, first.name, source.columns(), source.name)

    def columns(self) -> dict[str, SourceColumn]:
        return self._columns

    def parts(
        self,
        names: Sequence[str] | None = None,
        as_written: Collection[str] = (),
        kept: Sequence[str] = (),
    ) -> Iterator[Part]:
        sizes = [size_of(source.name) for source in self.sources]
        whole, before = sum(sizes), 0
        for source, size in zip(self.sources, sizes, strict=True):
            for part in parts_kept(source, names, as_written, kept):
                done = None
                if whole and part.done is not None:
                    done = (before + size * part.done) / whole
                yield part._replace(done=done)
            before += size


def size_of(name: str) -> int:
    """The bytes of a file; 0 where there is none by this name, as of a source in a database."""
    try:
        return os.path.getsize(name)
    except OSError:
        return 0


def _need_alike(first: dict[str, Any], name: str, other: dict[str, Any], its: str) -> None:
    lacking = [column for column in first if column not in other]
    more = [column for column in other if column not in first]
    if lacking:
        raise SourceError(
            f"{its} lacks {listed(map(repr, lacking), 5)}, which {name} has: add the column, with "
            "missing values where nothing is known, or leave the file out"
        )
    if more:
        raise SourceError(
            f"{its} has {listed(map(repr, more), 5)}, which {name} lacks: add the column there, "
            "with missing values where nothing is known, or leave the file out"
        )
    for column, mine in first.items():
        theirs = other[column]
        if is_nested(mine) != is_nested(theirs):
            raise SourceError(
                f"{its}: column {column!r} holds {theirs.type}, and in {name} {mine.type}: only "
                "columns of single values are counted. Write it alike in both files, or leave it "
                "out of them"
            )


# ---- files, folders and what else is named as data -----------------------------------------------
SQL = re.compile(r"\s*(select|with|from)\s", re.IGNORECASE)

TITLES: dict[Format, str] = {
    "csv": "CSV",
    "jsonl": "JSON lines",
    "parquet": "a Parquet file",
    "arrow": "an Arrow file",
    "excel": "an Excel workbook",
}


def files_of(path: str) -> list[str]:
    """The files that a path, a folder or a pattern stands for, sorted by name.

    Of a folder, and of those in it, files whose names end as data does; hidden files and folders,
    and those whose names begin with an underscore, are left out, as writers of data sets have it.

    Raises
    ------
    SourceError
        If there is none.
    """
    return _found(path)[0]


def _found(path: str) -> tuple[list[str], str | None]:
    """The files, and the folder below which the names of folders may be keys: that which is given,
    or the beginning of a pattern."""
    if is_remote(path):
        return _files_at(path)
    if os.path.isdir(path):
        return _files_in(Path(path)), path
    if SQL.match(path) and not os.path.exists(path):
        raise SourceError(
            f"{path[:80]!r} is SQL and no file: give tallybayes.sql(text, connection), or a "
            "database and --sql on the command line"
        )
    if os.path.exists(path) or not glob.has_magic(path):
        return [path], None
    found = sorted(name for name in glob.glob(path, recursive=True) if os.path.isfile(name))
    if not found:
        raise SourceError(f"no file matches the pattern {path!r}")
    return found, folder_of_pattern(path) or ("/" if path.startswith("/") else "")


def _files_at(url: str) -> tuple[list[str], str | None]:
    found, folder, is_folder = files_at(url)
    if not is_folder:
        return found, folder
    named = [name for name in found if suffix_of(name) in FORMATS]
    if not named:
        raise _without_data(url)
    return named, folder


def _without_data(folder: object) -> SourceError:
    return SourceError(
        f"{folder} is a folder without data: no name in it ends in {', '.join(FORMATS)}"
    )


def _files_in(folder: Path) -> list[str]:
    found: list[str] = []
    for path in sorted(folder.rglob("*")):
        inner = path.relative_to(folder).parts
        if (
            any(name.startswith((".", "_", "~$")) for name in inner)  # ~$ is a lock of Excel
            or suffix_of(path.name) not in FORMATS
        ):
            continue
        if path.is_file():
            found.append(str(path))
    if not found:
        raise _without_data(folder)
    return found


def rows(
    data: Any,
    *,
    format: Format | None = None,
    sql: str | None = None,
    table: str | None = None,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    header: bool = True,
    names: Sequence[str] | None = None,
    skip: int = 0,
    sheet: str | None = None,
    flatten: bool = False,
    union_by_name: bool = False,
    decimal: str = ".",
    thousands: str | None = None,
    dates: DateOrder = "ymd",
    missing: Sequence[str] = MISSING,
    missing_of: Mapping[str, Sequence[str]] | None = None,
) -> Source:
    """Open the rows of anything, as a source to learn from or to predict.

    A path by itself is read with the defaults. The command line has the same options.

    Parameters
    ----------
    data : path-like or list of them, or whatever else is read part by part
        Files, folders, patterns or URLs, where files may be packed; a database, with `sql` or
        `table`; record batches, datasets, lazy frames and DataFrames of Spark, which have no
        options.
    format : {"csv", "jsonl", "parquet", "arrow", "excel"}, optional
        By default found from the content and the name. "jsonl" is JSON lines, or one array of
        objects; "excel" is a workbook, xlsx, xlsb, xls or ods (extra ``excel``).
    sql, table : str, optional
        The query or the table, where `data` is a database: a DuckDB file, the URL of a PostgreSQL
        database, or a connection.
    delimiter : str, optional
        Of CSV: one ASCII character, "tab", or "blanks" for any run of spaces and tabs. By default
        it is found among ``,``, ``;``, tab and ``|``.
    encoding : str, default="utf-8"
        Of the text of CSV, such as "latin-1".
    header : bool, default=True
        Whether the first line of CSV, or row of a sheet, has the names of the columns.
    names : sequence of str, optional
        The names of all columns, in place of those of the header. Without either, columns are
        column1, column2 and so on.
    skip : int, default=0
        How many lines, or rows of a sheet, come before the header, or before the first row.
    sheet : str, optional
        The sheet of a workbook; by default the only one that has values.
    flatten : bool, default=False
        Whether the keys of objects within rows of JSON, and the fields of structs of Parquet and
        Arrow, are columns: the key b of an object in column a is the column a.b. By default, such
        columns are left out, with a warning. Arrays are left out in any case.
    union_by_name : bool, default=False
        Whether the files may have other columns than the first; a column that a file lacks is
        missing there.
    decimal : {".", ","}, default="."
        The decimal sign of numbers in CSV, in strings of JSON and in cells of text; so are the
        options below. Columns of Parquet and Arrow, and cells of numbers and dates, have types.
    thousands : {".", ",", "'", " "}, optional
        The sign between groups of three digits, as in 1.000,00.
    dates : {"ymd", "dmy", "mdy"}, default="ymd"
        The order of dates in digits that end with the year, such as 31.12.2020; under "ymd" these
        are strings. Dates that begin with the year, such as 2020/1/31 and 2020年1月31日, and those
        with the month in English, such as Jan 01 2020, 18-Nov-21 and those of RFC 2822, are read in
        any case. Times of day, such as 07:30 and 7:30:15 PM, are the seconds since midnight.
    missing : sequence of str
        Strings that are missing values, among numbers and among strings. By default those that
        pandas, polars, R, DuckDB and Excel write: "", NA, <NA>, NaN, nan, -nan, NaT, null, NULL and
        Excel's errors, such as #N/A; and ?. ``missing=[""]`` takes all of these as text.
    missing_of : mapping of str to sequence of str, optional
        More of them, by column.

    Returns
    -------
    Source
        For :meth:`NaiveBayes.fit` and whatever else takes one.

    Raises
    ------
    ValueError
        If an option has a wrong value, and (a SourceError) if there is no file or one cannot be
        read, or if two columns get one name.

    See Also
    --------
    documents : Documents, of folders, mailboxes and columns.
    labelled : The rows that have a label.

    Examples
    --------
    >>> import tempfile, tallybayes
    >>> people = tempfile.NamedTemporaryFile("w", suffix=".json")
    >>> _ = people.write('[{"who": {"age": 30}, "y": "a"}, {"who": {"age": 60}, "y": "b"}]')
    >>> people.flush()
    >>> model = tallybayes.NaiveBayes().fit(tallybayes.rows(people.name, flatten=True), "y")
    >>> model.feature_names_in_.tolist()
    ['who.age']
    >>> people.close()
    """
    if format is not None and format not in TITLES:
        raise ValueError(f"format {format!r} is not one of {listed(TITLES)}")
    layout = Layout(
        delimiter=delimiter,
        encoding=encoding,
        header=header,
        names=None if names is None else tuple(names),
        skip=skip,
    )
    of_columns = {name: tuple(strings) for name, strings in (missing_of or {}).items()}
    spelling = Spelling(tuple(missing), decimal, of_columns, thousands, dates)
    need_apart(layout, spelling)
    asked = [*layout.given, *(["format"] if format else []), *(["sheet"] if sheet else [])]
    asked += ["flatten"] * flatten + ["union_by_name"] * union_by_name
    asked += ["the spelling of values"] * (spelling != Spelling())
    in_database = sql is not None or table is not None
    if in_database or not (is_paths(data) or data == []):
        if asked:
            what = "a database" if in_database else f"a {type(data).__name__}"
            raise OptionError(f"{listed(asked)} is for files, and the rows are of {what}: omit it")
        return source_of(data, sql=sql, table=table)
    given = [data] if isinstance(data, str | os.PathLike) else data
    return source_of_paths(
        [os.fspath(path) for path in given],
        format,
        layout=layout,
        sheet=sheet,
        flatten=flatten,
        union_by_name=union_by_name,
        spelling=spelling,
    )


def csv(paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], **options: Any) -> Source:
    """Open CSV files of any dialect, as a source to learn from or to predict.

    The declarations of ARFF say how its rows are laid out, and which columns are levels.

    Parameters
    ----------
    paths : path-like or list of them
        Files, folders, patterns or URLs; files may be packed.
    **options : object
        Those of :func:`tallybayes.rows`.

    Returns
    -------
    Source
        For :meth:`NaiveBayes.fit` and whatever else takes one.

    Raises
    ------
    ValueError
        As :func:`tallybayes.rows` does.

    See Also
    --------
    rows : The rows of anything, with every option.

    Examples
    --------
    >>> import tempfile, tallybayes
    >>> sales = tempfile.NamedTemporaryFile("w", suffix=".txt")
    >>> _ = sales.write("3 shops\\nyes  1.200,50\\nno      80,00\\n")
    >>> sales.flush()
    >>> names = ["sold", "price"]
    >>> rows = tallybayes.csv(
    ...     sales.name, skip=1, header=False, names=names, delimiter="blanks",
    ...     decimal=",", thousands=".",
    ... )
    >>> tallybayes.NaiveBayes().fit(rows, "sold").predict([{"price": 1000}]).tolist()
    ['yes']
    >>> sales.close()
    """
    return rows(paths, format="csv", **options)


def files(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], **options: Any
) -> Source:
    """Open files of any format, as a source to learn from or to predict.

    Parameters
    ----------
    paths : path-like or list of them
        Files, folders, patterns or URLs; files may be packed.
    **options : object
        Those of :func:`tallybayes.rows`.

    Returns
    -------
    Source
        For :meth:`NaiveBayes.fit` and whatever else takes one.

    Raises
    ------
    ValueError
        As :func:`tallybayes.rows` does.

    See Also
    --------
    rows : The rows of anything, with every option.
    """
    return rows(paths, **options)


def source_of_paths(
    paths: Sequence[str],
    format: Format | None = None,
    *,
    layout: Layout = Layout(),  # noqa: B008  # frozen
    sheet: str | None = None,
    flatten: bool = False,
    union_by_name: bool = False,
    **text: Any,
) -> Source:
    """Files, folders and patterns as one source; "-" is standard input.

    Parameters
    ----------
    paths : sequence of str
    format : {"csv", "jsonl", "parquet", "arrow", "excel"}, optional
        Found by the first bytes and the suffix by default.
    layout : Layout
        Of CSV; of a workbook, the header and what comes before it. Other formats have none.
    sheet : str, optional
        Of a workbook.
    flatten : bool
        Whether the keys of objects within rows are columns, such as a.b. CSV has no objects.
    union_by_name : bool
        Whether files may have other columns than the first; one that a file lacks is missing there.
    **text
        How text is read: options of :class:`~tallybayes.sources.csv_files.CsvFile`.

    Raises
    ------
    SourceError
        If there is no file, or one cannot be read or has other columns than the first.
    """
    found: list[tuple[str, str | None]] = []
    for path in paths:
        each, folder = _found(path)
        found += [(name, folder) for name in each]
    if not found:
        raise SourceError("the list of paths is empty: name at least one file")
    names = [name for name, _ in found]
    sources = [_source_of_file(name, format, layout, sheet, flatten, text) for name in names]
    keys = [{} if folder is None else keys_of(folder, name) for name, folder in found]
    for name, own in zip(names, keys, strict=True):
        if list(own) != list(keys[0]):
            raise SourceError(
                f"{names[0]} has the keys {listed(map(repr, keys[0])) or 'none'} in the names of "
                f"its folders, and {name} {listed(map(repr, own)) or 'none'}: all files have the "
                "same keys, in the same order"
            )
    sources = _with_columns(sources, keys, union_by_name)
    return sources[0] if len(sources) == 1 else Several(sources, f"a set of {len(names)} files")


def _with_columns(
    sources: Sequence[Source], keys: Sequence[Mapping[str, str | None]], union_by_name: bool
) -> list[Source]:
    """The files with the keys of their folders and, by name, the columns of all."""
    if not keys[0] and not union_by_name:
        return list(sources)
    kinds = kinds_of_keys(keys)
    every: dict[str, SourceColumn] = {}
    for source in sources if union_by_name else ():
        for name, column in source.columns().items():
            known = every.get(name)
            if known is None or (known.kind is None and not is_nested(known)):
                every[name] = column
    return [
        WithColumns(
            source, own, kinds, [c for name, c in every.items() if name not in source.columns()]
        )
        for source, own in zip(sources, keys, strict=True)
    ]


def _source_of_file(
    path: str,
    format: Format | None,
    layout: Layout,
    sheet: str | None,
    flatten: bool,
    text: dict[str, Any],
) -> Source:
    name = "standard input" if path == "-" else path
    with explained(name, "data"):
        stream = Stream(path)
        try:
            if not (is_workbook(name, stream.head) and format in (None, "excel")):
                need_readable(name, stream.head)
            format = format or format_of(name, stream.head)
            if sheet is not None and format != "excel":
                raise SourceError(f"{name} is {TITLES[format]}, and sheet is for Excel: omit it")
        except BaseException:
            stream.close()
            raise
    if format == "csv":
        from tallybayes.sources.csv_files import CsvFile

        return CsvFile(path, stream, layout=layout, **text)
    given = [*layout.given]
    if format == "excel":
        given = [option for option in given if option in ("delimiter", "encoding")]
    if given:
        stream.close()
        raise SourceError(
            f"{name} is {TITLES[format]}, and {listed(given)} is for CSV. Omit it, or read "
            "other files separately"
        )
    if format == "excel":
        from tallybayes.sources.sheet import SheetFile

        return SheetFile(path, stream, sheet=sheet, layout=layout, **text)
    if format == "jsonl":
        from tallybayes.sources.json_files import JsonLines

        return JsonLines(path, stream, flatten=flatten, **text)
    stream.close()
    if read_once(path):
        raise SourceError(
            f"{name} can be read only once, which {format} does not allow: save it to a file first"
        )
    if format == "parquet":
        from tallybayes.sources.batches import ParquetFile

        return ParquetFile(path, flatten=flatten)
    from tallybayes.sources.batches import ArrowFile

    return ArrowFile(path, flatten=flatten)


def header_of(source: Source) -> list[str]:
    """The names of the columns of a source, before a row is read where that can be."""
    header = getattr(source, "header", None)
    return list(source.columns()) if header is None else list(header)


def holds_data(folder: str) -> bool:
    """Tell whether a folder has a file of rows by its name; .txt may as well be a document.

    Parameters
    ----------
    folder : str
        The folder.

    Returns
    -------
    bool
        Whether there is one, in whatever folder below.
    """
    return any(
        suffix_of(path.name) in FORMATS and path.suffix != ".txt" and path.name[0] not in "._"
        for path in Path(folder).rglob("*")
    )


# ---- recognising sources of rows, and their kind -------------------------------------------------
def _has_contract(x: Any) -> bool:
    """Whether x's class has the methods of a source; attributes of frames may be their columns."""
    return all(callable(getattr(type(x), name, None)) for name in ("columns", "parts"))


def is_paths(x: Any) -> bool:
    """Whether x is a path, or a list of them."""
    if isinstance(x, str | os.PathLike):
        return True
    return (
        isinstance(x, list | tuple) and bool(x) and all(isinstance(p, str | os.PathLike) for p in x)
    )


def is_spark_frame(x: Any) -> bool:
    """Whether x is a DataFrame of Spark, of the classic kind or of Spark Connect, or read as one.
    Nothing is imported."""
    return is_of(x, "pyspark.sql", "DataFrame") or is_of(
        x, "tallybayes.sources.spark", "SparkFrame"
    )


def is_source(x: Any) -> bool:
    """Whether x is read part by part: paths, readers and iterators of record batches, datasets,
    polars' lazy frames, Spark's DataFrames, and what has the contract itself. No row is read,
    nothing imported."""
    kind = type(x)  # for an attribute of its own a frame looks among its columns
    return (
        is_paths(x)
        or is_spark_frame(x)
        or is_of(x, "polars", "LazyFrame")
        or is_of(x, "pyarrow.dataset", "Dataset")
        or isinstance(x, Iterator)
        or (hasattr(kind, "__arrow_c_stream__") and hasattr(kind, "to_arrow_reader"))
        or (hasattr(kind, "__arrow_c_stream__") and not hasattr(kind, "__len__"))
        or _has_contract(x)
    )


def is_relation(x: Any) -> bool:
    """Whether x is a relation of DuckDB. Nothing is imported."""
    return is_of(x, "duckdb", "DuckDBPyRelation")


def is_in_database(x: Any) -> bool:
    """Whether x is what :func:`tallybayes.sql` or :func:`tallybayes.table` makes. Nothing is
    imported."""
    return is_of(x, "tallybayes.sources.database_rows", "DatabaseRows")


def is_in_duckdb(x: Any) -> bool:
    """Whether x is such a table or query in DuckDB."""
    return is_in_database(x) and is_of(x.database, "tallybayes.sources.databases", "DuckDB")


def is_database(x: Any) -> bool:
    """Tell whether something is the URL of a database, or the path of a file that is one.

    Parameters
    ----------
    x : object
        Anything.

    Returns
    -------
    bool
        Whether it is one.
    """
    if not isinstance(x, str | os.PathLike):
        return False
    from tallybayes.sources.databases import is_file, is_url

    where = os.fspath(x)
    return is_url(where) or is_file(where)


def source_of(x: Any, *, sql: str | None = None, table: str | None = None) -> Source:
    """The source that x is.

    Parameters
    ----------
    x : path, folder, pattern or list of them; pyarrow.RecordBatchReader or another object with
        ``__arrow_c_stream__``; iterator of record batches; pyarrow.dataset.Dataset;
        polars.LazyFrame; pyspark.sql.DataFrame; or Source
    sql, table : str, optional
        A query, or the name of a table, where x is a database: a DuckDB file, the URL of a
        PostgreSQL database, or a connection.

    Raises
    ------
    SourceError
        If it cannot be read.
    TypeError
        If it is none of these.
    """
    if sql is not None or table is not None or is_database(x):
        from tallybayes.sources.database_rows import rows_at

        return rows_at(x, sql, table)
    if _has_contract(x):
        source: Source = x
        return source
    if is_paths(x):
        given = [x] if isinstance(x, str | os.PathLike) else x
        return source_of_paths([os.fspath(path) for path in given])
    if is_of(x, "polars", "LazyFrame"):
        from tallybayes.sources.batches import LazyFrame

        return LazyFrame(x)
    if is_spark_frame(x):
        from tallybayes.sources.spark import SparkFrame

        return SparkFrame(x)
    from tallybayes.sources.batches import Batches

    if hasattr(x, "to_arrow_reader"):
        return Batches.of_relation(x)
    if is_of(x, "pyarrow.dataset", "Dataset"):
        return Batches.of_dataset(x)
    if hasattr(x, "__arrow_c_stream__"):
        return Batches.of_reader(x)
    if isinstance(x, Iterator):
        return Batches.of_iterator(x)
    raise TypeError(
        "a source of rows is a path, a reader or iterator of record batches, a dataset or a "
        f"LazyFrame; got a {type(x).__name__}"
    )
