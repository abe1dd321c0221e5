"""What people see: notes and progress on standard error, tables or one JSON document on output."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from rich import box
from rich.console import Console, Group
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from tallybayes.cli.reading.batch import Batch

__all__ = ["Bar", "document", "note", "progress", "say", "table"]


NARROWEST = 60  # letters; narrower tables would be cut within words


def note(message: str) -> None:
    """A message on standard error."""
    print(" ".join(message.split()), file=sys.stderr)


def say(*items: Any) -> None:
    """Results for people on standard output."""
    console = Console(file=sys.stdout, highlight=False, markup=False, emoji=False)
    console.width = max(console.width, NARROWEST)
    for item in items:
        console.print(item)


def _plain(value: Any) -> Any:
    """A value as JSON has it; what is not finite is null."""
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def is_unicode(stream: Any) -> bool:
    """Whether a stream takes any letter."""
    return (getattr(stream, "encoding", None) or "").lower().replace("-", "") in ("utf8", "utf16")


def document(command: str, content: dict[str, Any]) -> None:
    """Results for machines: one JSON document on standard output."""
    content = {"command": command, **_plain(content)}
    print(json.dumps(content, ensure_ascii=not is_unicode(sys.stdout), indent=1))


def table(title: str, columns: Iterable[str], rows: Iterable[Iterable[Any]]) -> Group:
    """A table below its title; columns whose name begins with ">" are set to the right."""
    made = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        right = column.startswith(">")
        made.add_column(
            Text(column.removeprefix(">")),
            justify="right" if right else "left",
            no_wrap=right,
            overflow="fold",
        )
    for row in rows:
        made.add_row(*(cell if isinstance(cell, Text) else Text(str(cell)) for cell in row))
    return Group(Text(title, style="bold"), made)


class Bar:
    """A progress bar on standard error; on anything but a terminal, nothing."""

    def __init__(self, shown: Progress | None) -> None:
        self._shown = shown

    def over(self, batches: Iterable[Batch], what: str) -> Iterator[Batch]:
        """The batches, with the bar moving as they are used."""
        if self._shown is None:
            yield from batches
            return
        task = self._shown.add_task(what, total=None)
        rows = 0
        for batch in batches:
            yield batch
            rows += batch.table.num_rows
            total = None if batch.done is None else 1.0
            text = f"{what}, {rows:,} rows"
            self._shown.update(task, total=total, completed=batch.done or 0.0, description=text)
        self._shown.update(task, total=1.0, completed=1.0)

    @contextmanager
    def during(self, what: str) -> Iterator[None]:
        """Shows that something of unknown length is going on."""
        task = None if self._shown is None else self._shown.add_task(what, total=None)
        yield
        if task is not None and self._shown is not None:
            self._shown.update(task, total=1.0, completed=1.0)


@contextmanager
def progress() -> Iterator[Bar]:
    """A :class:`Bar` that is cleared away at the end."""
    console = Console(file=sys.stderr)
    if not console.is_terminal:
        yield Bar(None)
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as shown:
        yield Bar(shown)
