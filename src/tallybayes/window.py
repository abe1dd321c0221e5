"""Tallies by time: the counts of each hour of the last days, and of any span between them.

A span is the sum of its hours, so that it is what counting its rows would give: of whole weights
bit for bit, of others to rounding. Sums of 24 steps are kept, and a long span adds these.
Rows leave with their hour, and nothing is subtracted. To take a span away from other counts,
subtract its tally: with whole weights this is exact, with others to rounding.
"""

from __future__ import annotations

import math
import os
from datetime import UTC, datetime, timedelta
from numbers import Real
from typing import Any, BinaryIO, Self

import numpy as np
from numpy.typing import NDArray

from tallybayes import persistence
from tallybayes.engines.contract import need_columns
from tallybayes.errors import shown
from tallybayes.estimators.naive_bayes import collect
from tallybayes.estimators.sources import rows_of, tables_of
from tallybayes.persistence import flat, need, nested, numbered
from tallybayes.tables import Numbers, Table
from tallybayes.tally import TableTally
from tallybayes.tally.saved import plain_arrays, tally_header
from tallybayes.threads import get_num_threads
from tallybayes.validation import as_numpy, seconds_of

__all__ = ["Window"]

HOURS_OF_DAY = 24.0
RUN = 24  # steps whose sum is kept
ROUNDING = 1e-6  # of a step, by which a time of day as a share of the day may be rounded down

Time = Any
"""A datetime or date (UTC, unless it has a zone), or seconds since 1970."""


class Window:
    """The tallies of the last days, by hour.

    Parameters
    ----------
    days : float, optional
        How far back from the newest row rows are kept; None: all.
    hours : float, default=1.0
        The length of a step. Rows of one step are counted together.

    Attributes
    ----------
    steps : dict of datetime to TableTally
        By its beginning (UTC), the counts of each step that has rows, in order.
    late : float
        The weight of the rows that were left out because they were older than the window.

    See Also
    --------
    tallybayes.compare : What moved between two spans.

    Examples
    --------
    >>> import pandas as pd
    >>> from tallybayes import Window
    >>> time = pd.date_range("2026-05-01", periods=480, freq="h")
    >>> rows = pd.DataFrame({"time": time, "pay": ["card", "cash"] * 240})
    >>> window = Window(days=14).count(rows, "time")
    >>> len(window.steps), window.last(7).classes.count.tolist()
    (336, [168.0])
    """

    def __init__(self, days: float | None = 30.0, *, hours: float = 1.0) -> None:
        for name, value in (("days", days), ("hours", hours)):
            if value is not None and not 0.0 < value < float("inf"):
                raise ValueError(f"{name} is a length of time above 0, got {shown(value)}")
        if days is not None and days * HOURS_OF_DAY < hours:
            raise ValueError(
                f"a window of {days} days is shorter than a step of {hours} hours: shorten the step"
            )
        self.days: float | None = days
        self.hours: float = float(hours)
        self.late: float = 0.0
        self._tallies: dict[int, TableTally] = {}
        self._runs: dict[int, TableTally] = {}

    def __repr__(self) -> str:
        rows = sum(float(t.classes.count.sum()) for t in self._tallies.values())
        return f"Window(days={self.days}, hours={self.hours:g}): {rows:,.10g} rows"

    def __eq__(self, other: object) -> bool:
        """The same steps with the same counts."""
        if not isinstance(other, Window):
            return NotImplemented
        mine = self.days, self.hours, self._tallies
        return mine == (other.days, other.hours, other._tallies)

    __hash__ = None  # type: ignore[assignment]

    @property
    def steps(self) -> dict[datetime, TableTally]:
        """By its beginning (UTC), the counts of each step that has rows, in order."""
        return {self._begin(i): self._tallies[i] for i in sorted(self._tallies)}

    # ---- counting --------------------------------------------------------------------------------
    def add(self, tally: TableTally, time: Time) -> Self:
        """Add the counts of rows of one step.

        Parameters
        ----------
        tally : TableTally
            Such as :func:`tallybayes.collect` gives; it is not changed.
        time : datetime, date or float
            A time of the rows; a number is seconds since 1970, and a time without a zone is UTC.

        Returns
        -------
        Window
            Itself. Rows that are older than the window are left out and are counted in `late`.

        Raises
        ------
        ValueError
            If this is no tally of columns by name, has a negative count (a NegativeTally), or does
            not join with the others (an IncompatibleTallies).
        """
        if not isinstance(tally, TableTally) or not tally.schema.by_name:
            raise ValueError(
                "add takes a tally of columns by name, such as tallybayes.collect gives, and got a "
                f"{type(tally).__name__}: count(rows, time) counts rows by their column of times"
            )
        tally.need_non_negative("add")
        step = int(np.floor(seconds_of(time) / (3600.0 * self.hours) + ROUNDING))
        newest = max(self._tallies, default=step)
        if self.days is not None and step <= newest - self._n_steps(self.days):
            self.late += float(tally.classes.count.sum())
            return self
        held = self._tallies.get(step)
        for other in list(self._tallies.values())[-1:]:
            other.schema.join(tally.schema)  # raises before anything is changed
        self._tallies[step] = tally.copy() if held is None else held + tally
        self._runs.pop(step // RUN, None)
        if self.days is not None:
            oldest = max(newest, step) - self._n_steps(self.days)
            for old in [i for i in self._tallies if i <= oldest]:
                del self._tallies[old]
                self._runs.pop(old // RUN, None)
        return self

    def count(
        self,
        rows: Any,
        time: str,
        target: str | None = None,
        columns: Any = "auto",
        *,
        sample_weight: str | None = None,
    ) -> Self:
        """Count rows, each in its step.

        Parameters
        ----------
        rows : table or source of rows
            As for :func:`tallybayes.collect`.
        time : str
            The column of times: dates, or seconds since 1970. It is not counted.
        target : str, optional
            The column of labels.
        columns : "auto", mapping or list of pairs, default="auto"
            Families by column.
        sample_weight : str, optional
            The column of weights.

        Returns
        -------
        Window
            Itself.

        Raises
        ------
        ValueError
            If a column is lacking, or a row has no time; the window is then as before.
        """
        for name, given in (("time", time), ("target", target), ("sample_weight", sample_weight)):
            if not isinstance(given, str) and (given is not None or name == "time"):
                raise ValueError(
                    f"{name} is the name of a column, as each step takes its own rows; got a "
                    f"{type(given).__name__}: make it a column, such as rows.assign({name}=…)"
                )
        source, found = rows_of(as_numpy(rows), get_num_threads()), dict[int, TableTally]()
        need_columns([time], list(source.columns()), "column of times,")
        for table in tables_of(source, None, ()):
            steps = self._steps_of(table, time)
            others = {name: c for name, c in table.columns.items() if name != time}
            plain = Table(others, table.n_rows, True)
            order = np.argsort(steps, kind="stable")
            firsts = np.flatnonzero(np.diff(steps[order], prepend=steps[order[:1]] - 1))
            for at in np.split(order, firsts[1:]):
                some = plain.take(at)
                tally = collect(some, target, columns, sample_weight=sample_weight)
                step = int(steps[at[0]])
                found[step] = found[step] + tally if step in found else tally
        before = self.late, dict(self._tallies), dict(self._runs)
        try:
            for step in sorted(found):
                self.add(found[step], step * 3600.0 * self.hours)
        except ValueError:  # counts that do not join with the others
            self.late, self._tallies, self._runs = before
            raise
        return self

    def _steps_of(self, table: Table, time: str) -> NDArray[np.int64]:
        """The step of each row."""
        column = table.columns[time]
        if not isinstance(column, Numbers):
            raise ValueError(
                f"the column {time!r} has no times: give datetimes, or seconds since 1970"
            )
        values = np.asarray(column.values, dtype=np.float64)
        if not np.isfinite(values).all():
            row = int(np.argmin(np.isfinite(values)))
            raise ValueError(f"row {row} has no time in {time!r}: fill it in, or leave the row out")
        hours = values * HOURS_OF_DAY if column.what == "date" else values / 3600.0
        return np.floor(hours / self.hours + ROUNDING).astype(np.int64)

    # ---- spans -----------------------------------------------------------------------------------
    def between(self, start: Time | None = None, end: Time | None = None) -> TableTally:
        """The counts of a span.

        Parameters
        ----------
        start, end : datetime, date or float, optional
            From the beginning of a step, and until that of another one, whose rows do not belong to
            it. By default from the first step and to the end of the last one.

        Returns
        -------
        TableTally
            The sum of the steps.

        Raises
        ------
        ValueError
            If an end lies within a step, or the span has no rows.
        """
        if not self._tallies:
            raise ValueError("the window has no rows: count some first")
        first = min(self._tallies) if start is None else self._step_at(start)
        last = max(self._tallies) + 1 if end is None else self._step_at(end)
        found: TableTally | None = None
        i, end_of_rows = max(first, min(self._tallies)), min(last, max(self._tallies) + 1)
        while i < end_of_rows:
            run = i // RUN
            whole = i == run * RUN and i + RUN <= last
            part = self._run(run) if whole else self._tallies.get(i)
            i += RUN if whole else 1
            if part is not None:
                found = part.copy() if found is None else found + part
        if found is None:
            raise ValueError(
                f"there are no rows from {self._begin(first)} to {self._begin(last)}; the window "
                f"has rows from {self._begin(min(self._tallies))} to "
                f"{self._begin(max(self._tallies) + 1)}"
            )
        return found

    def last(self, days: float) -> TableTally:
        """The counts of the last days, up to the end of the newest step.

        Parameters
        ----------
        days : float
            How many; whole steps at least.

        Returns
        -------
        TableTally
            The sum of the steps.

        Raises
        ------
        ValueError
            If that is not a number of steps above 0, or there are no rows.
        """
        finite = isinstance(days, Real) and math.isfinite(days)
        steps = days * HOURS_OF_DAY / self.hours if finite else 0.0
        if not steps >= 1.0 or abs(steps - round(steps)) > ROUNDING:
            raise ValueError(
                f"a span is a number of days above 0 and whole steps of {self.hours:g} hours, got "
                f"{shown(days)}: give a multiple of a step"
            )
        first, end = min(self._tallies, default=0), max(self._tallies, default=0) + 1
        return self.between(self._begin(max(end - round(steps), first)), self._begin(end))

    def _run(self, run: int) -> TableTally | None:
        """The sum of RUN steps, kept."""
        if run not in self._runs:
            steps = range(run * RUN, (run + 1) * RUN)
            parts = [self._tallies[i] for i in steps if i in self._tallies]
            if not parts:
                return None
            total: TableTally = sum(parts[1:], parts[0])
            self._runs[run] = total
        return self._runs[run]

    def _n_steps(self, days: float) -> int:
        return max(round(days * HOURS_OF_DAY / self.hours), 1)

    def _begin(self, step: int) -> datetime:
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(hours=step * self.hours)

    def _step_at(self, time: Time) -> int:
        steps = seconds_of(time) / (3600.0 * self.hours)
        if abs(steps - round(steps)) > ROUNDING:
            raise ValueError(
                f"a span begins and ends with a step of {self.hours:g} hours, and {time} lies "
                f"within the one from {self._begin(int(np.floor(steps)))} on"
            )
        return round(steps)

    # ---- files -----------------------------------------------------------------------------------
    def save(self, path: str | os.PathLike[str] | BinaryIO) -> None:
        """Write the tallies of all steps to a file that :meth:`load` reads.

        Parameters
        ----------
        path : path-like or binary file
            The file; an existing one is replaced whole or not at all.

        Raises
        ------
        ModelFileError
            A ValueError: labels that a file cannot hold.
        OSError
            If the file cannot be written.
        """
        steps = sorted(self._tallies)
        tallies = [self._tallies[i] for i in steps]
        header = {
            "window": "Window",
            "days": self.days,
            "hours": self.hours,
            "late": self.late,
            "steps": steps,
            "tallies": [tally_header(tally.schema) for tally in tallies],
        }
        arrays = [nested(flat(plain_arrays(tally.arrays()))) for tally in tallies]
        persistence.write(path, header, {"step": dict(enumerate(arrays))})

    @classmethod
    def load(cls, path: str | os.PathLike[str] | BinaryIO) -> Self:
        """Read a window that :meth:`save` wrote.

        A file may come from anywhere: nothing in it is executed, and all of it is checked.

        Parameters
        ----------
        path : path-like or binary file
            The file.

        Returns
        -------
        Window
            With the same counts, bit for bit.

        Raises
        ------
        ModelFileError
            A ValueError: another kind of file, one that was altered, or content that no window has.
        OSError
            If the file cannot be read.
        """
        with persistence.opened(path, "window") as (header, tree):
            need(isinstance(header, dict) and header.get("window") == "Window", "it is a window")
            steps, headers = header["steps"], header["tallies"]
            window = cls(header["days"], hours=header["hours"])
            window.late = float(header["late"])
            arrays = numbered(tree, "step", len(steps), "the window") if steps else []
            need(steps == sorted(set(steps)), "steps are in order")
            need(all(type(i) is int for i in steps), "steps are whole numbers")
            for step, head, part in zip(steps, headers, arrays, strict=True):
                window._tallies[step] = TableTally.restored(head, part)
        return window
