"""Base of CSV and JSON lines as sources."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from tallybayes.sources.contract import Part, SourceColumn
from tallybayes.sources.text_files.cells import Kind
from tallybayes.sources.text_files.options import Spelling

__all__ = ["TextFile"]


class TextFile(ABC):
    """Rows of text: a :class:`~tallybayes.sources.contract.Source` whose columns have no types."""

    name: str
    once: bool
    keeps = True

    spelling: Spelling
    """How the next reading takes strings."""

    keyed: bool
    """Whether rows may lack a column, as those of JSON lines."""

    nameless: bool
    """Whether a column has no name, and is not read."""

    kinds: Mapping[str, Kind | None]
    """The kinds of columns as the last reading has found them so far."""

    @property
    @abstractmethod
    def header(self) -> list[str]:
        """The names of the columns, before a row is read: all of CSV, and of JSON lines those of
        the first rows."""

    @abstractmethod
    def written(self) -> Iterator[Any]:
        """The rows as Arrow tables, block by block: strings as they are written, the values of JSON
        lines in their types. Only for what can be read again."""

    @abstractmethod
    def place(self, row: int) -> str:
        """A row (from 0) as people find it, such as "line 5"."""

    @abstractmethod
    def columns(self) -> dict[str, SourceColumn]:
        """The columns by name."""

    @abstractmethod
    def parts(
        self,
        names: Sequence[str] | None = None,
        as_written: Collection[str] = (),
        kept: Sequence[str] = (),
    ) -> Iterator[Part]:
        """The rows in their order; `kept` are columns besides, whose cells stay as they are written
        (:class:`~tallybayes.sources.contract.RowsKept`)."""
