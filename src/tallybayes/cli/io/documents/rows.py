"""A column of rows as documents: CSV, JSON lines, Parquet and Arrow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from tallybayes.cli.io.documents.source import Document, DocumentSource
from tallybayes.cli.io.targets import need_target
from tallybayes.cli.terminal.failures import USAGE, Failure, suggestion
from tallybayes.errors import listed
from tallybayes.sources.text_files.batch import Batch
from tallybayes.sources.text_files.cells import as_strings
from tallybayes.sources.text_files.data_file import DataFile

__all__ = ["DocumentRows"]


class DocumentRows(DocumentSource):
    """The rows of a file.

    A row whose cell is empty or missing is an empty document.

    Parameters
    ----------
    source : DataFile
    column : str or None
        Of the documents; None is the only one beside the labels.
    target : str or None
        Of the labels.
    label : str or None
        Of all documents, where it is given.
    alone : set of str, optional
        The columns that the rows may have beside these two; any by default.
    """

    has_names = False
    takes_target = True

    def __init__(
        self,
        source: DataFile,
        column: str | None,
        target: str | None,
        label: str | None,
        alone: set[str] | None = None,
    ) -> None:
        super().__init__(source.name, label, source.skip_unlabelled)
        self._source, self._column, self._target, self._alone = source, column, target, alone

    def read(self, labelled: bool, target: str | None) -> Iterator[Document]:
        target = target or self._target
        if labelled and target is None:
            raise Failure(
                "the model does not say which column holds the label: name it by --target", USAGE
            )
        asked = target if labelled else None
        for batch in self._source.raw(lambda name: True):
            names = batch.table.column_names
            column = self._column_of(names, target)
            if asked is not None and asked not in names and self._source.format != "jsonl":
                need_target(self._source, asked, names)
            strings = self._strings(batch, column)
            labels = self._labels(batch, asked)
            for i, (text, label) in enumerate(zip(strings, labels, strict=True)):
                yield Document(text, label, "", batch.first + i, batch.done)

    def _column_of(self, names: list[str], target: str | None) -> str:
        """The name of the column of documents."""
        if self._alone is not None:
            known = {self._column, target, *self._alone}
            for name in names:
                if name not in known:
                    raise Failure(
                        f"{self.name}: {name!r} stands beside the documents: leave it out with "
                        f"--column {name}=none"
                    )
        if self._column is None:
            others = [name for name in names if name != target]
            if len(others) == 1:
                return others[0]
            raise Failure(
                f"{self.name} has the columns {listed(names)}: name that of the documents by "
                "--text",
                USAGE,
            )
        if self._column not in names:
            raise Failure(
                f"{self.name} has no column {self._column!r} of documents; its columns are "
                f"{listed(names)}. Name it by --text.{suggestion(self._column, names)}"
            )
        return self._column

    def _strings(self, batch: Batch, name: str) -> list[str]:
        column = _flat(batch.table.column(name))
        kind = column.type
        if pa.types.is_dictionary(kind):
            column = column.cast(kind.value_type)
        elif not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
            if pa.types.is_nested(kind) or pa.types.is_binary(kind):
                raise Failure(f"{self.name}: column {name!r} is of the type {kind}, and not text")
            column = as_strings(column, self._source.spelling)
        return [text or "" for text in column.to_pylist()]

    def _labels(self, batch: Batch, target: str | None) -> list[str | None]:
        if target is None or target not in batch.table.column_names:
            return [None] * batch.table.num_rows
        column = _flat(batch.table.column(target))
        labels: list[str | None] = as_strings(column, self._source.spelling.of(target)).to_pylist()
        return labels

    def where(self, document: Document) -> str:
        return f"{self.name}, {self._source.where(document.number)}"

    def where_labels_are(self, target: str | None) -> str:
        return f"fill in its {target or self._target!r}"


def _flat(column: Any) -> Any:
    column = column.combine_chunks()
    return pa.concat_arrays(column.chunks) if isinstance(column, pa.ChunkedArray) else column
