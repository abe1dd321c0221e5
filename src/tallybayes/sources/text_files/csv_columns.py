"""Blocks of CSV as columns: cells are parsed with the type of the cells before them or, if that
fails, as strings one by one. The result is the same."""

from __future__ import annotations

import io
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pc_csv

from tallybayes.errors import SourceError
from tallybayes.sources.text_files.blocks import Block
from tallybayes.sources.text_files.cells import (
    Kind,
    Misfit,
    cells,
    encoded_cells,
    is_plain,
    parsed_as,
    settled,
)
from tallybayes.sources.text_files.delimited import (
    Dialect,
    explained,
    first_uneven,
    line_of_record,
)
from tallybayes.sources.text_files.options import Spelling

__all__ = ["CsvColumns"]

ENCODED = pa.dictionary(pa.int32(), pa.string())


class CsvColumns:
    """Reads the columns of blocks, on several threads.

    Parameters
    ----------
    name : str
        The file, for messages.
    dialect : Dialect
    spelling : Spelling
    names : sequence of str
        The columns that are read.
    kinds : mapping of str to Kind
        Of columns whose kind is known; others have that of their first value.
    """

    def __init__(
        self,
        name: str,
        dialect: Dialect,
        spelling: Spelling,
        names: Sequence[str],
        kinds: Mapping[str, Kind],
    ) -> None:
        self._name, self._dialect, self._spelling = name, dialect, spelling
        self._names = list(names)
        self.kinds: dict[str, Kind] = dict(kinds)
        self._types: dict[str, Any] = {}  # as what a column is parsed; a wrong one costs time only

    def settle(self, block: Block) -> Mapping[str, Kind | None]:
        """The kinds that columns have from this block on; None before the first value. Blocks have
        to come in their order."""
        open_names = [name for name in self._names if name not in self._types]
        if open_names:
            table = self._strings(block, open_names)
            for name in open_names:
                column, spelling = _chunk(table, name), self._spelling.of(name)
                kind = settled(column, self.kinds.get(name), spelling)
                if kind is not None:
                    self.kinds[name] = kind
                    self._expect(name, column, kind)
        return {name: self.kinds.get(name) for name in self._names}

    def _expect(self, name: str, column: Any, kind: Kind) -> None:
        """Parses a column from here on as what this one, of strings, holds."""
        expected = parsed_as(column, kind, self._spelling.of(name))
        if name in self._spelling.missing_of and not pa.types.is_dictionary(expected):
            expected = (
                ENCODED if kind not in ("date", "time") else pa.string()
            )  # the parser has one list only
        self._types[name] = expected

    def n_rows(self, block: Block) -> int:
        """How many rows a block has."""
        return int(self._strings(block, self._dialect.named[:1]).num_rows)

    def as_written(self, block: Block) -> Any:
        """The cells of a block, as strings that are not changed, in a pyarrow.Table."""
        return self._strings(block, self._names)

    def kept(self, block: Block, names: Sequence[str]) -> Any:
        """These cells of a block as they are written, in a pyarrow.Table; null where nothing is."""
        table = self._strings(block, names)
        nothing = pa.scalar(None, pa.string())
        columns = [table.column(name) for name in names]
        return pa.table(
            [pc.if_else(pc.equal(column, ""), nothing, column) for column in columns],
            names=list(names),
        )

    def read(self, block: Block, kinds: Mapping[str, Kind | None]) -> Any:
        """The cells of a block.

        Parameters
        ----------
        block : Block
        kinds : mapping of str to Kind or None
            What :meth:`settle` has returned for it.

        Returns
        -------
        pyarrow.Table
            Of columns as :func:`~tallybayes.sources.text_files.cells.cells` has them.

        Raises
        ------
        Misfit
            If a cell is not of its column's kind; `row` is one of the block.
        SourceError
            If the block cannot be parsed.
        """
        columns = self._typed(block, kinds)
        rest = [name for name in self._names if name not in columns]
        if rest:
            table = self._strings(block, rest)
            for name in rest:
                column, spelling = _chunk(table, name), self._spelling.of(name)
                columns[name] = cells(column, kinds[name], name, spelling)
                kind = kinds[name]
                if kind is not None:
                    self._expect(name, column, kind)
        return pa.table({name: columns[name] for name in self._names})

    def _typed(self, block: Block, kinds: Mapping[str, Kind | None]) -> dict[str, Any]:
        """The columns whose cells are all of the type that was expected."""
        types = {n: t for n, t in self._types.items() if kinds[n] is not None and t != pa.string()}
        if not types:
            return {}
        try:
            table = self._parsed(block, types, self._spelling)
        except pa.ArrowInvalid:
            return {}
        found = {}
        for name in types:
            column, kind = _chunk(table, name), kinds[name]
            if pa.types.is_dictionary(column.type) and kind is not None:
                found[name] = encoded_cells(column, kind, self._spelling.of(name))
            elif not pa.types.is_floating(column.type) or is_plain(column):
                found[name] = column
        return found

    def _strings(self, block: Block, names: Collection[str]) -> Any:
        try:
            return self._parsed(block, dict.fromkeys(names, pa.string()), None)
        except (pa.ArrowException, UnicodeError) as error:
            text = self._text(block)
            raise explained(
                self._name,
                self._dialect,
                error,
                lambda: first_uneven(text, self._dialect, block.line),
            ) from None

    def _parsed(self, block: Block, types: dict[str, Any], spelling: Spelling | None) -> Any:
        """Columns as these types; as they are written where no spelling is given."""
        missing = {
            "strings_can_be_null": spelling is not None,
            "null_values": list(spelling.missing) if spelling is not None else [],
            "decimal_point": spelling.decimal if spelling is not None else ".",
        }
        return pc_csv.read_csv(
            pa.BufferReader(block.data),
            read_options=pc_csv.ReadOptions(
                use_threads=False,
                block_size=len(block.data) + 1,
                column_names=self._dialect.header,
                skip_rows_after_names=int(block.header),
            ),
            parse_options=pc_csv.ParseOptions(
                delimiter=self._dialect.delimiter, newlines_in_values=True
            ),
            convert_options=pc_csv.ConvertOptions(
                column_types=types, include_columns=list(types), **missing
            ),
        )

    def _text(self, block: Block) -> io.StringIO:
        return io.StringIO(block.data.decode("utf-8", "replace"), newline="")

    def line_of(self, block: Block, row: int) -> int:
        """The line of a row of a block (from 0)."""
        line = line_of_record(self._text(block), self._dialect, row + int(block.header), block.line)
        return block.line if line is None else line

    def unfit(self, block: Block, misfit: Misfit) -> SourceError:
        """A cell that does not fit, in what can be read only once."""
        return SourceError(
            f"{self._name}, line {self.line_of(block, misfit.row):,}: column {misfit.column!r} "
            f"holds {misfit.value!r}, which is not a {misfit.kind}, unlike the rows before, and it "
            f"can be read only once: declare the column as Categorical() (--column "
            f"{misfit.column}=categorical on the command line), or save the rows to a file"
        )


def _chunk(table: Any, name: str) -> Any:
    column = table.column(name).combine_chunks()
    return pa.concat_arrays(column.chunks) if isinstance(column, pa.ChunkedArray) else column
