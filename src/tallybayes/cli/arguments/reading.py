"""How data files are read, by the options of a command.

This module is imported for every ``--help``; slow imports follow when a file is opened.
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast, get_type_hints

from tallybayes.cli.arguments.reading_options import (
    Block,
    Dates,
    Decimal,
    Delimiter,
    Encoding,
    Flatten,
    FormatName,
    HeaderLine,
    Label,
    Names,
    NoUsualNulls,
    NullStrings,
    Sheet,
    Skip,
    SkipUnlabelled,
    Sql,
    TableName,
    TextColumn,
    Thousands,
    UnionByName,
    Weight,
)
from tallybayes.cli.terminal import interrupts
from tallybayes.cli.terminal.failures import USAGE, Failure, suggestion
from tallybayes.errors import listed
from tallybayes.sources.databases.names import is_url, shown
from tallybayes.sources.opening import Format
from tallybayes.sources.options import Layout, Spelling, need_apart

if TYPE_CHECKING:
    from tallybayes.cli.io.document_file import DocumentFile
    from tallybayes.cli.io.documents.source import DocumentSource
    from tallybayes.cli.io.model_file import ModelFile
    from tallybayes.cli.io.rows import Rows
    from tallybayes.cli.io.targets import Header
    from tallybayes.sources.contract import Source

__all__ = ["TEXT_FORMATS", "Reading", "reads", "reads_labels", "reads_training"]

FORMATS = ("csv", "jsonl", "parquet", "arrow", "excel")
TEXT_FORMATS = ("mbox", "text")
LABEL_OPTIONS = ("skip_unlabelled", "label", "weight")  # options for where labels are read
EXPECTED_OPTIONS = ("text", "label")  # and for where a model declares what is expected


class Reading:
    """How files are read, by the options of a command.

    Raises
    ------
    Failure
        With the code for usage, for an option that cannot be.
    """

    null: list[str]
    null_of: dict[str, list[str]]
    text: TextColumn
    label: Label
    sql: Sql
    table: TableName

    def __init__(
        self,
        delimiter: Delimiter = None,
        decimal: Decimal = None,
        thousands: Thousands = None,
        dates: Dates = None,
        header: HeaderLine = True,
        names: Names = None,
        skip: Skip = 0,
        format: FormatName = None,
        null: NullStrings = None,
        only_null: NoUsualNulls = False,
        encoding: Encoding = "utf-8",
        block: Block = None,
        text: TextColumn = None,
        sql: Sql = None,
        table: TableName = None,
        union_by_name: UnionByName = False,
        flatten: Flatten = False,
        sheet: Sheet = None,
        skip_unlabelled: SkipUnlabelled = False,
        label: Label = None,
        weight: Weight = None,
    ) -> None:
        known = (*FORMATS, *TEXT_FORMATS)
        if format is not None and format not in known:
            raise Failure(f"--format {format!r} is not one of {listed(known)}", USAGE)
        self.only_null = only_null
        self.null, self.null_of = _null_strings(null or [])
        given = {"decimal": decimal, "thousands": thousands, "dates": dates}
        self._given: dict[str, Any] = {n: v for n, v in given.items() if v is not None}
        try:
            self.layout: Layout = Layout(
                delimiter=delimiter,
                encoding=encoding,
                header=header,
                names=None if names is None else tuple(n.strip() for n in names.split(",")),
                skip=skip,
            )
            need_apart(self.layout, self._spelling(Spelling()))
        except ValueError as error:
            raise Failure(f"--{error}", USAGE) from None
        self.format = format
        self.text, self.label, self.weight = text, label, weight
        self.skip_unlabelled = skip_unlabelled
        self.block, self.union_by_name, self.flatten = block, union_by_name, flatten
        self.sheet = sheet
        self.sql, self.table, self._queried = sql, table, False

    def open_for(self, file: ModelFile | DocumentFile, paths: list[str]) -> Any:
        """Rows for a model of tables, documents for one of text."""
        if file.unit == "document":
            return self.open_documents(paths, cast("DocumentFile", file))
        return self.open(paths, cast("ModelFile", file))

    def open(
        self,
        paths: list[str],
        file: ModelFile | None = None,
        left_out: Collection[str] = (),
        need: Callable[[Header], None] | None = None,
    ) -> Rows:
        """Rows with these options; what they leave open is as it was for the model. `need` looks
        at the columns before anything slow is imported."""
        from tallybayes.cli.io.targets import Header
        from tallybayes.sources.files import header_of, source_of_paths

        interrupts.keep_from_arrow()
        self._need_tables()
        for path in paths:
            _need_no_documents(path)
        spelling = Spelling() if file is None else file.spelling
        flatten = self.flatten or (file is not None and file.flatten)
        try:
            spelling = self._spelling(spelling)
            need_apart(self.layout, spelling)
        except ValueError as error:
            raise Failure(f"--{error}", USAGE) from None
        source = self._database(paths) or source_of_paths(
            paths,
            cast("Format | None", self.format),
            layout=self.layout,
            sheet=self.sheet,
            flatten=flatten,
            spelling=spelling,
            mixed=[] if file is None else file.columns_with_strings,
            left_out=left_out,
            union_by_name=self.union_by_name,
            **({} if self.block is None else {"block": self.block}),
        )
        header = header_of(source)
        if need is not None:
            need(Header(source.name, header))
        for name in self.null_of:
            if name not in header:
                raise Failure(
                    f"--null names the column {name!r}, which {source.name} does not have; its "
                    f"columns are {listed(header)}.{suggestion(name, header)}"
                )
        from tallybayes.cli.io.rows import Rows
        from tallybayes.cli.io.targets import need_weight

        weight = self.weight or (None if file is None else file.weight_column)
        if self.weight is not None:
            need_weight(Header(source.name, header), self.weight)
        return Rows(
            source,
            spelling,
            skip_unlabelled=self.skip_unlabelled,
            weight=weight,
            flatten=flatten,
        )

    def _spelling(self, usual: Spelling) -> Spelling:
        """How strings are read: what the options leave open is as usual."""
        missing, missing_of = usual.missing, dict(usual.missing_of)
        if self.only_null:
            missing, missing_of = ("",), {}
        for name, strings in self.null_of.items():
            missing_of[name] = tuple(dict.fromkeys([*missing_of.get(name, ()), *strings]))
        return replace(
            usual,
            missing=tuple(dict.fromkeys([*missing, *self.null])),
            missing_of=missing_of,
            **self._given,
        )

    def _database(self, paths: list[str]) -> Source | None:
        """A table or query of a database, where that is what is named."""
        from tallybayes.sources.databases.duckdb import is_file
        from tallybayes.sources.files import source_of

        named = self.sql is not None or self.table is not None
        if not any(is_url(path) or is_file(path) for path in paths):
            if named and not self._queried:
                raise Failure(
                    f"--sql and --table are for databases, and {paths[0]} is neither a DuckDB "
                    "file nor postgresql://user@host/database",
                    USAGE,
                )
            return None
        if len(paths) > 1:
            raise Failure("a database is read by itself: name no other data", USAGE)
        if (self.sql is None) == (self.table is None):
            name = shown(paths[0]) if is_url(paths[0]) else paths[0]
            raise Failure(
                f"{name} is a database: say which rows by --table NAME or by --sql 'SELECT …'",
                USAGE,
            )
        if self.layout.given:
            raise Failure(
                f"--{self.layout.given[0]} is for CSV, and {paths[0]} is a database: omit it", USAGE
            )
        self._queried = True
        return source_of(paths[0], sql=self.sql, table=self.table)

    def _need_no_weight(self) -> None:
        """Raises for weights of documents."""
        if self.weight is not None:
            raise Failure(
                "--weight is for models of tables, and this is one of text: omit it", USAGE
            )

    def _need_tables(self) -> None:
        """Raises for options of text."""
        for option, value in (("--text", self.text), ("--label", self.label)):
            if value is not None:
                raise Failure(
                    f"{option} is for models of text, and this is one of tables: omit it", USAGE
                )
        if self.format in TEXT_FORMATS:
            raise Failure(
                f"--format {self.format} is for models of text; rows are {listed(FORMATS)}", USAGE
            )

    def open_column(
        self,
        paths: list[str],
        rows: Rows,
        column: str,
        target: str | None,
        left_out: Collection[str],
    ) -> DocumentSource:
        """A column of documents in rows, beside which there are only labels and columns left
        out."""
        self._need_no_weight()
        if rows.once:
            from tallybayes.cli.io.documents.opening import spelling_of_documents
            from tallybayes.cli.io.documents.rows import DocumentRows

            rows.read_as(spelling_of_documents(target))
            given = (column, target, None, self.skip_unlabelled, set(left_out))
            return DocumentRows(rows.source, *given)
        from tallybayes.cli.io.documents.opening import Wanted, open_rows

        wanted = Wanted(
            layout=self.layout,
            format=self.format,
            column=column,
            target=target,
            skip_unlabelled=self.skip_unlabelled,
            block=self.block,
            sheet=self.sheet,
            flatten=self.flatten,
            union_by_name=self.union_by_name,
            alone=set(left_out),
        )
        return open_rows(paths, wanted)

    def open_documents(
        self, paths: list[str], file: DocumentFile | None = None, target: str | None = None
    ) -> DocumentSource:
        """Documents with these options; what they leave open is as it was for the model, whose
        labels are in `target` if there is none."""
        from tallybayes.cli.io.documents.opening import Wanted, open_documents

        self._need_no_weight()
        wanted = Wanted(
            layout=self.layout,
            format=self.format,
            column=self.text or (file.column if file is not None else None),
            target=target if file is None else file.target,
            from_rows=file is not None and file.column is not None,
            label=self.label,
            skip_unlabelled=self.skip_unlabelled,
            block=self.block,
            sheet=self.sheet,
            flatten=self.flatten or (file is not None and file.flatten),
            union_by_name=self.union_by_name,
        )
        return open_documents(paths, wanted)


def _null_strings(given: list[str]) -> tuple[list[str], dict[str, list[str]]]:
    """The strings for all columns, and those for one, by its name; the last "=" parts them."""
    everywhere: list[str] = []
    by_column: dict[str, list[str]] = {}
    for text in given:
        name, _, value = text.rpartition("=")
        if name:
            by_column.setdefault(name, []).append(value)
        else:
            everywhere.append(text)
    return everywhere, by_column


def _need_no_documents(path: str) -> None:
    """Raises for a folder without data, such as one of documents."""
    if os.path.isdir(path):
        from tallybayes.sources.files import holds_data

        if not holds_data(path):
            raise Failure(
                f"{path} is a directory without files of rows, such as .csv or .parquet: name a "
                "file in it, or another folder"
            )


def _need_files(given: dict[str, Any]) -> None:
    """Raises where a file that a command is given is not there, or is not of its kind."""
    from tallybayes.cli.io.places import need_data, need_model

    if "model" in given:
        need_model(given["model"])
    for path in given.get("data", ()):
        need_data(path)


def reads_labels(run: Callable[..., None]) -> Callable[..., None]:
    """A command that reads rows or documents with labels, for a model."""
    return reads(run, without=())


def reads_training(run: Callable[..., None]) -> Callable[..., None]:
    """A command that reads rows or documents with labels, without a model."""
    return reads(run, without=EXPECTED_OPTIONS)


def reads(
    run: Callable[..., None], *, without: tuple[str, ...] = LABEL_OPTIONS
) -> Callable[..., None]:
    """A command that reads data: its parameter `reading` becomes the options of Reading."""
    hints = get_type_hints(run, include_extras=True)
    more = get_type_hints(Reading.__init__, include_extras=True)
    own = list(inspect.signature(run).parameters.values())
    options = list(inspect.signature(Reading.__init__).parameters.values())[1:]
    options = [p for p in options if p.name not in without]
    names = [p.name for p in options]
    parameters = [p.replace(annotation=hints[p.name]) for p in own if p.name != "reading"]
    parameters += [p.replace(annotation=more[p.name]) for p in options]

    @functools.wraps(run)
    def command(**given: Any) -> None:
        reading = Reading(**{name: given.pop(name) for name in names})
        _need_files(given)
        run(**given, reading=reading)

    command.__dict__["__signature__"] = inspect.Signature(parameters)
    command.__annotations__ = {p.name: p.annotation for p in parameters}
    return command
