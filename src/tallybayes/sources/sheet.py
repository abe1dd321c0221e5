"""A sheet of a workbook as CSV, so that a table is read as if it had been saved so."""

from __future__ import annotations

import csv
import io
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from functools import partial
from itertools import accumulate
from typing import Any

from tallybayes.errors import SourceError, listed
from tallybayes.sources.csv_files import CsvFile
from tallybayes.sources.opening import HEAD_BYTES
from tallybayes.sources.options import Layout, Spelling

__all__ = ["SheetFile"]


Row = list[Any]

MAX_EXACT = 1e15  # whole numbers that a float holds digit by digit
TITLE_ROWS = 10  # in which a table may begin below a title


class SheetFile(CsvFile):
    """A sheet of a workbook: xlsx, xlsm, xlsb, xls or ods.

    The cells are what Excel would save as CSV, but for their format: numbers have all digits, dates
    are ISO dates, and spans of time are seconds. Errors such as #N/A are missing. Columns and last
    rows without a value are not there.

    Parameters
    ----------
    path : str
    stream : Stream
        The file.
    sheet : str, optional
        By default the only one that has values.
    layout : Layout
        Header, names, and rows that are skipped, counted from the first row of the sheet.
    spelling : Spelling
    **options
        Of :class:`~tallybayes.sources.csv_files.CsvFile`.

    Raises
    ------
    SourceError
        If there is no such sheet, several may be meant, or python-calamine is not installed.
    """

    def __init__(
        self,
        path: str,
        stream: Any,
        *,
        sheet: str | None = None,
        layout: Layout = Layout(),  # noqa: B008  # frozen
        spelling: Spelling = Spelling(),  # noqa: B008  # frozen
        **options: Any,
    ) -> None:
        name = "standard input" if path == "-" else path
        with stream:
            first, rows = _rows_of(name, stream.read(), sheet)
        below = max(0, layout.skip - first)
        rows = _trimmed(rows[below:])
        if not rows:
            skipped = f" below the {layout.skip} rows that are skipped" if layout.skip else ""
            raise SourceError(f"{name}: the sheet has no values{skipped}")
        if layout.header and layout.names is None:
            _need_header(name, rows, first + below)
        text, ends = _as_csv(rows, first + below, spelling.decimal)
        self._ends = ends
        super().__init__(
            path,
            layout=replace(layout, delimiter="tab", skip=0),
            spelling=spelling,
            reopen=partial(_Text, text),
            **options,
        )

    def _line(self, line: int) -> str:
        """A line of the text as the row of the sheet, counted from 1 as there."""
        return f"line {bisect_right(self._ends, line - 1) + 1:,} of the sheet"


class _Text(io.BytesIO):
    """A text in memory, with what a stream has."""

    @property
    def done(self) -> float:
        """The share that has been read."""
        return self.tell() / max(1, len(self.getbuffer()))

    def look(self, is_enough: Callable[[bytes], bool]) -> bytes:
        """The first bytes, which are not read yet, until they are enough."""
        text, size = self.getvalue(), HEAD_BYTES
        while size < len(text) and not is_enough(text[:size]):
            size *= 2
        return text[:size]


# ---- the workbook --------------------------------------------------------------------------------
def _rows_of(name: str, data: bytes, sheet: str | None) -> tuple[int, list[Row]]:
    """How many rows come before the first one with a value, and the rows from it on."""
    try:
        import python_calamine as calamine
    except ImportError:
        raise SourceError(
            f"{name} is an Excel workbook, which python-calamine reads, and that is not installed: "
            "pip install 'tallybayes[excel]', or save the sheet as CSV"
        ) from None
    try:
        book = calamine.CalamineWorkbook.from_filelike(io.BytesIO(data))
        if sheet is not None:
            if sheet not in book.sheet_names:
                raise SourceError(
                    f"{name} has no sheet {sheet!r}; its sheets are "
                    f"{listed(map(repr, book.sheet_names))}"
                )
            return _values(book.get_sheet_by_name(sheet))
        shown = [
            each.name
            for each in book.sheets_metadata
            if each.typ == calamine.SheetTypeEnum.WorkSheet
            and each.visible == calamine.SheetVisibleEnum.Visible
        ]
        found = {each: _values(book.get_sheet_by_name(each)) for each in shown}
    except (calamine.CalamineError, OSError) as error:
        raise SourceError(
            f"{name} cannot be read as an Excel workbook ({error}). Does it have a password? Save "
            "it without one, or the sheet as CSV"
        ) from None
    full = [each for each, (_, rows) in found.items() if rows]
    if len(full) > 1:
        raise SourceError(
            f"{name} has the sheets {listed(map(repr, full))}: name one by --sheet (in Python, "
            f"tallybayes.files(path, sheet={full[0]!r}))"
        )
    return found[full[0]] if full else (0, [])


def _values(sheet: Any) -> tuple[int, list[Row]]:
    if sheet.start is None:
        return 0, []
    rows = sheet.to_python(skip_empty_area=True)
    has_values = any(value != "" for row in rows for value in row)
    return int(sheet.start[0]), rows if has_values else []


def _trimmed(rows: Sequence[Row]) -> list[Row]:
    """Rows without columns that have no value, and without such rows at the end."""
    n = next((i for i in range(len(rows), 0, -1) if any(v != "" for v in rows[i - 1])), 0)
    columns = [column for column in zip(*rows[:n], strict=True) if any(v != "" for v in column)]
    return list(map(list, zip(*columns, strict=True)))


def _need_header(name: str, rows: Sequence[Row], before: int) -> None:
    """Raises where a title comes before the header."""
    filled = [sum(v != "" for v in row) for row in rows[:TITLE_ROWS]]
    wide = next((i for i, n in enumerate(filled) if n > 1), 0)
    if filled[0] <= 1 and wide:
        title = next((str(v) for v in rows[0] if v != ""), "")
        raise SourceError(
            f"{name} begins with {title[:40]!r}, before the header: --skip {before + wide} reads "
            f"what is below (in Python, tallybayes.files(path, skip={before + wide}))"
        )


# ---- cells of a sheet as text --------------------------------------------------------------------
def _as_csv(rows: Sequence[Row], first: int, decimal: str) -> tuple[bytes, list[int]]:
    """Rows as tab-separated text, below as many blank lines as rows come before them; and for each
    row of the sheet how many lines end with it."""
    written: dict[type, Callable[[Any], str]] = {
        str: str,
        bool: lambda value: "TRUE" if value else "FALSE",
        int: str,
        float: partial(_number, decimal=decimal),
        date: date.isoformat,
        datetime: _moment,
        time: time.isoformat,
        timedelta: lambda value: _number(value.total_seconds(), decimal),
    }
    text = io.StringIO()
    cells = [[written[type(value)](value) for value in row] for row in rows]
    csv.writer(text, delimiter="\t", lineterminator="\n").writerows(cells)
    lines = [1] * first + [1 + sum(cell.count("\n") for cell in row) for row in cells]
    return b"\n" * first + text.getvalue().encode(), list(accumulate(lines))


def _number(value: float, decimal: str) -> str:
    if value.is_integer() and abs(value) < MAX_EXACT:
        return str(int(value))
    return repr(value).replace(".", decimal)


def _moment(value: datetime) -> str:
    return value.isoformat(sep=" ")
