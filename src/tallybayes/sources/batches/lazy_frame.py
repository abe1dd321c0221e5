"""polars' lazy frames. Imported only when one arrives."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from polars.exceptions import PolarsError

from tallybayes.errors import SourceError
from tallybayes.sources.arrow import columns_of, names_read
from tallybayes.sources.contract import MAX_PART_VALUES, Part, SourceColumn
from tallybayes.tables import polars

__all__ = ["LazyFrame"]


class LazyFrame:
    """A polars.LazyFrame, evaluated in batches each time that it is read.

    Parameters
    ----------
    frame : polars.LazyFrame

    Raises
    ------
    SourceError
        If the query cannot be planned, or polars is too old to give batches.
    """

    once = False
    name = "the LazyFrame"

    def __init__(self, frame: Any) -> None:
        if not hasattr(frame, "collect_batches"):
            raise SourceError(
                "this version of polars cannot give a LazyFrame in batches: update polars, or "
                "collect() the frame"
            )
        self._frame = frame
        with self._explained():
            self.schema: Any = frame.limit(0).collect().to_arrow().schema

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (PolarsError, OSError) as error:
            raise SourceError(f"{self.name} cannot be evaluated: {error}") from error

    def columns(self) -> dict[str, SourceColumn]:
        return columns_of(self.schema)

    def parts(
        self, names: Sequence[str] | None = None, as_written: Collection[str] = ()
    ) -> Iterator[Part]:
        for frame in self._frames(names_read(self.schema, names, self.name)):
            yield Part(partial(polars.read, frame), self.name)

    def record_batches(self, names: Sequence[str] | None = None) -> Iterator[Any]:
        """The rows as Arrow record batches, with these columns or all."""
        for frame in self._frames(list(self.schema.names if names is None else names)):
            yield from frame.to_arrow().to_batches()

    def _frames(self, names: Sequence[str]) -> Iterator[Any]:
        rows = max(1, (MAX_PART_VALUES >> 3) // max(1, len(names)))
        with self._explained():
            yield from self._frame.select(names).collect_batches(
                chunk_size=rows,
                lazy=True,
                engine="streaming",  # whatever polars is set to: the other one holds all rows
            )
