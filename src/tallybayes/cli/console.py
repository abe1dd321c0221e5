"""Printed output: notes and progress on standard error, tables or one JSON document on output.

Only this module draws with rich. Every text passes through ``visible``: names in a file cannot
control the terminal and are not read as markup.
"""

from __future__ import annotations

import json
import math
import os
import stat
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text as StyledText

from tallybayes import on_progress
from tallybayes.cli.messages import in_ascii, is_unicode, json_safe, naming_output, tell, visible

__all__ = [
    "cut",
    "document",
    "line",
    "note",
    "number_of",
    "pieces",
    "progress",
    "say",
    "say_as_is",
    "set_quiet",
    "table",
]


MIN_WIDTH = 30  # characters; a terminal that reports less is assumed to have this
MAX_CELL = 60  # characters of a name in a table
MIN_WRAPPED = 12  # characters that a column of strings keeps before the table is set as a list


_quiet = False


def set_quiet(quiet: bool) -> None:
    """Whether notes, tables and progress are left out: errors, data and JSON are printed."""
    global _quiet
    _quiet = quiet


def note(message: str) -> None:
    """A message on standard error."""
    if not _quiet:
        tell(message)


def number_of(amount: float, what: str) -> str:
    """So many things: "1 row", "1,200 rows", "0.5 rows"."""
    return f"{amount:,.10g} {what}" if amount == 1 else f"{amount:,.10g} {what}s"


def line(text: str = "", style: str = "") -> StyledText:
    """A line, or a cell of a table, in a style."""
    return StyledText(_printable(text), style=style)


def _printable(text: str) -> str:
    """A string as standard output takes it."""
    text = visible(text)
    return text if is_unicode(sys.stdout) else in_ascii(text)


def pieces(parts: Iterable[tuple[str, str]]) -> StyledText:
    """A line of several pieces, each a string and its style."""
    return StyledText.assemble(*((_printable(text), style) for text, style in parts))


def say(*items: Any) -> None:
    """Results for people on standard output."""
    if _quiet:
        return
    console = Console(file=sys.stdout, highlight=False, markup=False, emoji=False)
    console.width = max(console.width, MIN_WIDTH)
    with naming_output():
        for item in items:
            console.print(item)


def say_as_is(text: str) -> None:
    """Lines that are to be copied, which are not broken to the width of the terminal."""
    with naming_output():
        for part in text.splitlines():
            print(visible(part))


def _plain(value: Any) -> Any:
    """A value for JSON; values that are not finite are null."""
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def document(command: str, content: dict[str, Any]) -> None:
    """Results for machines: one JSON document on standard output."""
    content = {"command": command, **_plain(content)}
    with naming_output():
        print(json_safe(json.dumps(content, ensure_ascii=not is_unicode(sys.stdout), indent=1)))


class _Table:
    """A table below its title; where it is wider than the terminal, a list of its rows."""

    def __init__(
        self, title: str, heads: list[str], rows: list[list[StyledText]], chart: bool
    ) -> None:
        self.title, self.heads, self.rows, self.chart = title, heads, rows, chart

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield line(self.title, "bold")
        if self._width(len(self.heads)) <= options.max_width:
            yield self._as_table(len(self.heads))
        elif self.chart and self._width(len(self.heads) - 1) <= options.max_width:
            yield self._as_table(len(self.heads) - 1)
        else:
            yield from self._as_list()

    def _width(self, n_columns: int) -> int:
        """Letters that the first columns need: strings may wrap, numbers and charts may not."""
        needed = 0
        for j, head in enumerate(self.heads[:n_columns]):
            cells = [line(head.removeprefix(">")), *(row[j] for row in self.rows)]
            natural = max(cell.cell_len for cell in cells)
            if not head.startswith(">") and not (self.chart and j == len(self.heads) - 1):
                words = (cell_len(word) for cell in cells for word in cell.plain.split())
                natural = min(natural, max(MIN_WRAPPED, *words))
            needed += natural + 3
        return needed

    def _as_table(self, n_columns: int) -> Table:
        made = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for head in self.heads[:n_columns]:
            right = head.startswith(">")
            made.add_column(
                line(head.removeprefix(">")),
                justify="right" if right else "left",
                no_wrap=right,
                overflow="fold",
            )
        for row in self.rows:
            made.add_row(*row[:n_columns])
        return made

    def _as_list(self) -> Iterator[StyledText]:
        """Each row as its first cell, and the others below it beside their heads."""
        heads = [head.removeprefix(">") for head in self.heads[: len(self.heads) - self.chart]]
        widest = max((cell_len(head) for head in heads[1:]), default=0)
        for row in self.rows:
            yield line()
            yield StyledText.assemble((row[0].plain or "–", row[0].style))
            for head, cell in zip(heads[1:], row[1:], strict=False):
                if cell.plain:
                    yield StyledText.assemble(f"  {_printable(head).ljust(widest)}  ", cell)
        yield line()


def table(
    title: str, heads: Iterable[str], rows: Iterable[Sequence[Any]], *, chart: bool = False
) -> Any:
    """A table below its title.

    Parameters
    ----------
    title : str
    heads : iterable of str
        Those that begin with ">" are set to the right.
    rows : iterable of sequences of str or StyledText
        Long cells are cut.
    chart : bool
        Whether the last column is drawn, and dropped where there is no room.
    """
    return _Table(cut(title, 3 * MAX_CELL), [cut(h) for h in heads], [*map(_cells, rows)], chart)


def _cells(row: Sequence[Any]) -> list[StyledText]:
    return [cell if isinstance(cell, StyledText) else line(cut(str(cell))) for cell in row]


def cut(text: str, max_length: int = MAX_CELL) -> str:
    """A string of at most so many characters."""
    return text if len(text) <= max_length else text[: max_length - 1] + "…"


class Bar:
    """A progress bar on standard error, for what the library reports."""

    def __init__(self, shown: Progress) -> None:
        self._shown = shown
        self._tasks: list[tuple[TaskID, str, float]] = []  # each within the one before

    def hear(self, event: Any) -> None:
        """Shows what is being done, how far it has come, or that it has ended."""
        if hasattr(event, "total"):  # a step of what is being done
            if self._tasks:
                task, what, _ = self._tasks[-1]
                text = f"{what}: {event}"
                self._shown.update(task, description=text, completed=event.done, total=event.total)
            return
        if not event.what:
            self._shown.remove_task(self._tasks.pop()[0])
            if self._tasks:
                self._shown.update(self._tasks[-1][0], visible=True)
            return
        if event.rows is None:
            if self._tasks:
                self._shown.update(self._tasks[-1][0], visible=False)
            task = self._shown.add_task(event.what, total=None)
            self._tasks.append((task, event.what, time.monotonic()))
            return
        task, what, began = self._tasks[-1]
        text = f"{what}, {number_of(event.rows, event.unit)}"
        seconds = time.monotonic() - began
        if event.size and event.done is not None and seconds > 0.0:
            text += f", {event.done * event.size / seconds / 1e6:,.0f} MB/s"
        total = None if event.done is None else 1.0
        self._shown.update(task, total=total, completed=event.done or 0.0, description=text)


def _is_file(stream: Any) -> bool:
    try:
        return stat.S_ISREG(os.fstat(stream.fileno()).st_mode)
    except (OSError, ValueError):
        return False


@contextmanager
def progress(*, writes_output: bool = False) -> Iterator[None]:
    """Shows a :class:`Bar` that is cleared away at the end; results are printed after it.

    Parameters
    ----------
    writes_output : bool
        Whether results are written to standard output meanwhile. There is then a bar only if that
        is a file: a terminal, or what reads a pipe, would print beside it.
    """
    console = Console(file=sys.stderr)
    hidden = _quiet or os.environ.get("TALLYBAYES_PROGRESS") == "0" or not console.is_terminal
    if hidden or (writes_output and not _is_file(sys.stdout)):
        yield
        return
    columns = TextColumn("{task.description}", markup=False), BarColumn(20), TimeRemainingColumn()
    # standard output is left alone: it may be a file, and rich would send it to standard error
    shown = Progress(*columns, console=console, transient=True, redirect_stdout=False)
    with shown, on_progress(Bar(shown).hear):
        yield
