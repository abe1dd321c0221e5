"""Several files, one below the other."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from tallybayes.errors import SourceError, listed
from tallybayes.sources.contract import Part, Source, SourceColumn, parts_kept

__all__ = ["Several", "is_nested", "size_of"]


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


def is_nested(column: SourceColumn) -> bool:
    """Whether a column holds more than single values; not one without values so far."""
    return column.kind is None and column.type not in ("text", "null")
