"""CSV and JSON lines as a source: what each cell is, is decided cell by cell."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from typing import Any

from tallybayes.errors import SourceError
from tallybayes.sources.arrow_types import columns_of
from tallybayes.sources.contract import Part, ReadAgain, SourceColumn
from tallybayes.sources.text_files.cells import Kind, Misfit
from tallybayes.sources.text_files.data_file import DataFile
from tallybayes.tables import arrow

__all__ = ["TextFile"]


class TextFile:
    """A text file of rows.

    Parameters
    ----------
    path : str
    **options
        Of :class:`~tallybayes.sources.text_files.data_file.DataFile`.
    """

    def __init__(self, path: str, **options: Any) -> None:
        self._open: Callable[[], DataFile] = partial(DataFile, path, **options)
        file = self._open()
        self.name, self.once = file.name, file.once
        self._kept: DataFile | None = file if file.once else None
        self._columns: dict[str, SourceColumn] | None = None
        self._mixed: set[str] = set()

    def columns(self) -> dict[str, SourceColumn]:
        if self._columns is None:
            if self.once:
                raise SourceError(f"{self.name} can be read only once: save it to a file first")
            self._columns = columns_of(next(self._open().batches({})).table.schema)
        return self._columns

    def parts(
        self, names: Sequence[str] | None = None, as_written: Collection[str] = ()
    ) -> Iterator[Part]:
        file, self._kept = self._kept or self._open(), None
        kinds: dict[str, Kind | None] = dict.fromkeys(as_written, "text")
        kinds |= dict.fromkeys(self._mixed - set(as_written), "number or text")
        header = file.header
        for name in names or () if header is not None else ():
            if header is not None and name not in header:
                raise SourceError(f"{self.name} has no column {name!r}; its columns are {header}")
        wanted: Any = (lambda _: True) if names is None else frozenset(names).__contains__
        try:
            for batch in file.batches(kinds, wanted):
                yield Part(partial(arrow.read, batch.table), self.name, typed=False)
        except Misfit as misfit:
            where = f"{self.name}, {file.where(misfit.row)}"
            if self.once:
                raise SourceError(
                    f"{where}: column {misfit.column!r} holds {misfit.value!r}, which is not a "
                    f"{misfit.kind}, unlike the rows before, and it can be read only once: declare "
                    "the column as Categorical(), or save the rows to a file"
                ) from None
            self._mixed.add(misfit.column)
            raise ReadAgain(where) from None
