"""A column of rows as documents: CSV, JSON lines, Parquet and Arrow."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import repeat
from typing import Any

from tallybayes.errors import OptionError, SourceError, called, listed, suggestion
from tallybayes.sources.arrow import parts_kept
from tallybayes.sources.cells import TextFile
from tallybayes.sources.contract import RowsKept, Source
from tallybayes.sources.document_source import Document, DocumentSource
from tallybayes.sources.files import header_of
from tallybayes.sources.options import Spelling
from tallybayes.sources.places import need_group, need_kept, need_target
from tallybayes.sources.reading import PartsRead, as_written
from tallybayes.tables import Column, Strings, arrow
from tallybayes.tables.columns import values_of

__all__ = ["DocumentRows"]


class DocumentRows(DocumentSource):
    """The rows of a source.

    A row whose cell is empty or missing is an empty document.

    Parameters
    ----------
    source : Source
    column : str or None
        Of the documents; None is the only one beside the labels.
    target : str or None
        Of the labels.
    label : str or None
        Of all documents, where it is given.
    skip_unlabelled : bool
    alone : collection of str, optional
        The columns that the rows may have beside these two; any by default.
    """

    has_names = False
    takes_target = True

    def __init__(
        self,
        source: Source,
        column: str | None,
        target: str | None,
        label: str | None,
        skip_unlabelled: bool,
        alone: Collection[str] | None = None,
    ) -> None:
        super().__init__(source.name, label, skip_unlabelled)
        self._source, self.column, self.target, self._alone = source, column, target, alone
        self._read_so_far = PartsRead(source.name)

    @property
    def header(self) -> list[str]:
        """The names of all columns."""
        return header_of(self._source)

    def keep_columns(self, names: Sequence[str]) -> None:
        need_kept(self, names)
        self.keep = names

    def keep_group(self, group: str | None) -> None:
        if group is not None:
            need_group(self, group, self.target, None)
            self.group, self.keep = group, (group,)

    def read(self, labelled: bool, target: str | None = None) -> Iterator[Document]:
        target = target or self.target
        if labelled and target is None:
            raise OptionError(
                "the model does not say which column holds the label: name it by "
                f"{called('target')}"
            )
        keyed = isinstance(self._source, TextFile) and self._source.keyed
        names = self.header
        column = self._column_of(names, target)
        label_column = target if labelled else None
        if label_column is not None and label_column not in names and not keyed:
            need_target(self, label_column, names)
        read = [column, *([] if label_column is None else [label_column])]
        read = list(dict.fromkeys(read))
        self._read_so_far = PartsRead(self.name)
        first = 0
        for part in parts_kept(self._source, read, read, self.keep):
            table, seen = part.read(), self._read_so_far.add(part)
            seen.n_rows = seen.n_kept = table.n_rows
            strings = _strings(table.columns, column, None, table.n_rows)
            spelling = Spelling() if part.typed else None
            labels = (
                [None] * table.n_rows
                if label_column is None
                else _strings(table.columns, label_column, spelling, table.n_rows)
            )
            written = arrow.read(table.kept).columns if isinstance(table, RowsKept) else {}
            kept = [_strings(written, name, None, table.n_rows) for name in self.keep]
            beside = zip(*kept, strict=True) if kept else repeat(())
            for i, (text, label, row) in enumerate(zip(strings, labels, beside, strict=False)):
                yield Document(text or "", label, "", first + i, part.done, row)
            first += table.n_rows

    def _column_of(self, names: list[str], target: str | None) -> str:
        """The name of the column of documents."""
        if self._alone is not None:
            known = {self.column, target, *self._alone}
            for name in names:
                if name not in known:
                    raise SourceError(
                        f"{self.name}: {name!r} stands beside the documents: leave it out with "
                        f"{called('column', f'{name}=none')}"
                    )
        if self.column is None:
            others = [name for name in names if name != target]
            if len(others) > 1:
                others = [name for name in others if name not in self.keep]
            if len(others) == 1:
                return others[0]
            raise OptionError(
                f"{self.name} has the columns {listed(names)}: name that of the documents by "
                f"{called('text')}"
            )
        if self.column not in names:
            raise SourceError(
                f"{self.name} has no column {self.column!r} of documents; its columns are "
                f"{listed(names)}. Name it by {called('text')}.{suggestion(self.column, names)}"
            )
        return self.column

    def where(self, document: Document) -> str:
        file, place = self._read_so_far.file_and_place(document.number)
        return f"{file}, {place}"

    def where_labels_are(self, target: str | None) -> str:
        return f"fill in its {target or self.target!r}"


def _strings(
    columns: Mapping[str, Column], name: str, spelling: Spelling | None, n_rows: int
) -> list[Any]:
    """A column as strings, None for a missing value; strings are as they are without a spelling."""
    if name not in columns:  # as of JSON lines
        return [None] * n_rows
    column = columns[name]
    if spelling is None and isinstance(column, Strings):
        return values_of(column)
    return values_of(as_written(column, name, spelling or Spelling(missing=("",))))
