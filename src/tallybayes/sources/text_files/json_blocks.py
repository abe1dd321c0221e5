"""JSON lines in blocks that threads parse beside each other, with the result of one after another.

What a column is, its first value decides, and the block that has it may not be the first to be
parsed. So a parsed block waits until those before it are parsed, and parses what no thread has
begun.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any

from tallybayes.sources.text_files import jsonlines
from tallybayes.sources.text_files.arrow_json import ArrowJson
from tallybayes.sources.text_files.cells import Kind, Misfit
from tallybayes.sources.text_files.json_batches import Infinite, as_cells, settle
from tallybayes.sources.text_files.jsonlines import JsonText
from tallybayes.sources.text_files.options import Spelling

__all__ = ["JsonBlock", "JsonReader"]


class JsonReader:
    """How the blocks of a file are read.

    Parameters
    ----------
    text : JsonText
        The file.
    spelling : Spelling
    kinds : dict
        The kinds of columns that are known.
    wanted : callable
        Says whether a column is read.
    """

    text: JsonText
    spelling: Spelling
    wanted: Callable[[str], bool]

    def __init__(
        self,
        text: JsonText,
        spelling: Spelling,
        kinds: dict[str, Kind | None],
        wanted: Callable[[str], bool],
    ) -> None:
        self.text, self.spelling, self.wanted = text, spelling, wanted
        self.kinds = kinds
        self._quick = ArrowJson(wanted, text.flattening)
        self._last: JsonBlock | None = None

    def block(self, lines: list[bytes], first: int) -> JsonBlock | None:
        """The next block, of which the first line has that number; None where all are blank. The
        first one is parsed at once, since most columns are known by it."""
        if not any(line.strip() for line in lines):
            return None
        begins = self._last is None
        block = JsonBlock(self, lines, first, self._last, self._quick)
        if begins:
            block.settle()
        self._last = block
        return block

    def quick(self) -> ArrowJson:
        """A parser that knows the columns of the first block."""
        return self._quick.copy()


class JsonBlock:
    """Some lines, which are read on any thread."""

    def __init__(
        self,
        reader: JsonReader,
        lines: list[bytes],
        first: int,
        before: JsonBlock | None,
        quick: ArrowJson,
    ) -> None:
        self._reader, self._first = reader, first
        self._lines: list[bytes] | None = lines
        self._before: JsonBlock | None = before
        self._quick = quick if before is None else reader.quick()
        self._settled = False
        self._kinds: dict[str, Kind | None] = {}
        self._table: Any = None
        self._lock = Lock()

    def read(self) -> Any:
        """The rows as a table of Arrow, whose columns are of their kinds.

        Raises
        ------
        Misfit
            For a cell that is not of its column's kind; `row` is its line, less one.
        SourceError
        """
        reader = self._reader
        with self._lock:
            table = self._parsed()
        self.settle()
        try:
            return as_cells(table, self._kinds, reader.wanted, reader.spelling)
        except Misfit as misfit:
            misfit.row = self._line(misfit.row) - 1
            raise
        except Infinite as found:
            where = f"{reader.text.unit} {self._line(found.row):,}"
            raise found.error(reader.text.name, where) from None

    def kept(self, names: Sequence[str]) -> Any:
        """Columns as they are written, in a table of Arrow."""
        with self._lock:
            table, lines = self._parsed(), self._lines or []
        return jsonlines.kept_columns(self._reader.text, lines, self._first, names, table)

    def settle(self) -> None:
        """Enters what columns are by their first values, here or in blocks before."""
        waiting: list[JsonBlock] = []
        block: JsonBlock | None = self
        while block is not None and not block._settled:
            waiting.append(block)
            block = block._before
        for block in reversed(waiting):
            with block._lock:
                if not block._settled:
                    reader = block._reader
                    settle(block._parsed(), reader.kinds, reader.wanted, reader.spelling)
                    block._kinds = dict(reader.kinds)  # not what later blocks decide
                    block._settled, block._before = True, None

    def _parsed(self) -> Any:
        """The table, which is made once."""
        if self._table is None:
            reader, lines = self._reader, self._lines or []
            self._table = jsonlines.parsed(
                reader.text, lines, self._first, reader.wanted, self._quick
            )
        return self._table

    def _line(self, row: int) -> int:
        """The line of a row."""
        rows = [i for i, line in enumerate(self._lines or []) if line.strip()]
        return self._first + rows[row]
