"""A progress bar for learning that takes more than two seconds.

By default it is shown in notebooks and on terminals only: logs, pipes and tests do not change. On a
terminal it is rich's, if rich is installed; in a notebook it is an HTML element that IPython shows,
without widgets. It disappears when the work is done.

Work that consists of steps reports them by :func:`steps`, and what shows progress hears it by
:func:`on_progress`. Where nobody listens nothing is done.
"""

from __future__ import annotations

import contextvars
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from html import escape
from importlib import import_module
from itertools import count
from typing import Any, NamedTuple, Protocol, TypeVar

__all__ = [
    "Reading",
    "Step",
    "learning_shown",
    "on_progress",
    "over",
    "reading_shown",
    "set_progress",
    "steps",
    "ticking",
]

DELAY_SECONDS = 2.0  # seconds without a bar
INTERVAL_SECONDS = 0.5  # seconds between its changes

T = TypeVar("T")
R = TypeVar("R")

_wanted: bool | None = None
_busy = threading.local()
_hearing = threading.local()


class Step(NamedTuple):
    """How far work has come.

    Parameters
    ----------
    what : str
        What is counted, in the plural, such as "fits".
    done : int
    total : int
        How many there are, at most.
    """

    what: str
    done: int
    total: int

    def __str__(self) -> str:
        return f"{self.done} of {self.total} {self.what}"


class Reading(NamedTuple):
    """How far reading has come, or that something else is going on.

    Parameters
    ----------
    what : str
        What is being done, such as "counting"; empty where it has ended.
    rows : int, optional
        How many rows or documents have been read; None where it begins or has ended.
    unit : str
        "row" or "document"; empty where nothing is read.
    done : float, optional
        The share of the source that has been read, where that is known.
    size : int, optional
        The bytes that there are to read.
    """

    what: str
    rows: int | None = None
    unit: str = ""
    done: float | None = None
    size: int | None = None


@contextmanager
def reading_shown(
    what: str, unit: str = "", size: int | None = None
) -> Iterator[Callable[[int, float | None], None]]:
    """Reports that something is done; what it gives takes how many rows have been read, and what
    share of all.

    Parameters
    ----------
    what : str
        Such as "counting".
    unit : str
        "row" or "document"; empty where nothing is read.
    size : int, optional
        The bytes that there are to read.
    """
    hear = getattr(_hearing, "by", None)
    if hear is None or not what:
        yield _ignored
        return
    hear(Reading(what, None, unit, None, size))
    try:
        yield lambda rows, done: hear(Reading(what, rows, unit, done, size))
    finally:
        hear(Reading(""))


class Batch(Protocol):
    """Some rows or documents that are read together."""

    @property
    def n_rows(self) -> int: ...

    @property
    def done(self) -> float | None: ...


B = TypeVar("B", bound=Batch)


def over(batches: Iterable[B], what: str, unit: str) -> Iterator[B]:
    """The batches, reported as they are used."""
    rows = 0
    with reading_shown(what, unit) as tick:
        for batch in batches:
            yield batch
            rows += batch.n_rows
            tick(rows, batch.done)


def _ignored(rows: int, done: float | None) -> None:
    pass


@contextmanager
def steps(what: str, total: int) -> Iterator[Callable[[], None]]:
    """Work of so many steps; what it gives is called after each one, from any thread. Steps within
    a step are shown only where that is the only one.

    Parameters
    ----------
    what : str
        What is counted, in the plural, such as "fits".
    total : int
        How many there are, at most.
    """
    hear = getattr(_hearing, "by", None)
    if hear is None or _hearing.within:
        yield _nothing
        return
    done = count(1)
    hear(Step(what, 0, total))
    _hearing.within = total > 1
    try:
        yield lambda: hear(Step(what, next(done), total))
    finally:
        _hearing.within = False


def _nothing() -> None:
    pass


def ticking(do: Callable[[T], R], tick: Callable[[], None]) -> Callable[[T], R]:
    """The same work, of which each piece is a step."""

    def done(piece: T) -> R:
        found = do(piece)
        tick()
        return found

    return done


@contextmanager
def on_progress(hear: Callable[[Any], None]) -> Iterator[None]:
    """Hear of the progress of this thread within the ``with`` block, where no bar is shown.

    Parameters
    ----------
    hear : callable (Reading or Step)
        Called with a :class:`~tallybayes.progress.Reading` when something begins (`rows` is None),
        while rows are read, and when it ends (`what` is empty); and with a
        :class:`~tallybayes.progress.Step`, such as "3 of 10 fits", while something is learned. What
        begins within something else ends before it.

    Yields
    ------
    None
        Nothing.

    Examples
    --------
    >>> import tallybayes
    >>> x, y = [[0.0], [1.0], [2.0], [3.0]] * 5, [0, 0, 1, 1] * 5
    >>> seen = []
    >>> with tallybayes.on_progress(seen.append):
    ...     _ = tallybayes.WeightedNaiveBayes().fit(x, y)
    >>> len(seen) > 0
    True
    """
    before = vars(_hearing).copy()
    _hearing.by, _hearing.within = hear, False
    busy, _busy.now = getattr(_busy, "now", False), True
    try:
        yield
    finally:
        _busy.now = busy
        vars(_hearing).clear()
        vars(_hearing).update(before)


def set_progress(shown: bool | None) -> None:
    """Show a progress bar for learning that takes more than two seconds, or none.

    Parameters
    ----------
    shown : bool or None
        True and False hold everywhere; None is the default: in notebooks and on terminals, unless
        the environment variable ``TALLYBAYES_PROGRESS`` is 0.
    """
    if not (shown is None or isinstance(shown, bool)):
        raise TypeError(f"set_progress takes True, False or None, got {shown!r}")
    global _wanted
    _wanted = shown


class Bar(Protocol):
    """A progress bar."""

    def update(self, seconds: float, step: Step | None) -> None:
        """Shows how long it has taken, and how far it has come where that is known."""

    def close(self) -> None:
        """Takes it away."""


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell is not None and hasattr(shell, "kernel")


class NotebookBar:
    """A bar in the output of a notebook's cell.

    Parameters
    ----------
    what : str
    """

    def __init__(self, what: str) -> None:
        self.what = what
        display = import_module("IPython.display").display  # which a notebook has
        self._shown = display(self._html(DELAY_SECONDS), raw=True, display_id=True)

    def _html(self, seconds: float, step: Step | None = None) -> dict[str, str]:
        text = f"{_said(self.what, step)} … {seconds:.0f} s"
        value = "" if step is None else f' value="{step.done}" max="{step.total}"'
        label = f'aria-label="{escape(self.what)}"'
        bar = f"<progress {label}{value}></progress> <span>{escape(text)}</span>"
        return {"text/html": bar, "text/plain": text}

    def update(self, seconds: float, step: Step | None) -> None:
        self._shown.update(self._html(seconds, step), raw=True)

    def close(self) -> None:
        self._shown.update({"text/html": "", "text/plain": ""}, raw=True)


class TerminalBar:
    """A bar on standard error, by rich.

    Parameters
    ----------
    what : str
    """

    def __init__(self, what: str) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
        console = Console(stderr=True)
        self._shown = Progress(*columns, console=console, transient=True, redirect_stdout=False)
        self._what, self._task = what, self._shown.add_task(what, total=None)
        self._shown.start()

    def update(self, seconds: float, step: Step | None) -> None:
        """Shows the step; rich counts the seconds by itself."""
        if step is not None:
            text = _said(self._what, step)
            self._shown.update(self._task, description=text, completed=step.done, total=step.total)

    def close(self) -> None:
        self._shown.stop()


def _said(what: str, step: Step | None) -> str:
    return what if step is None else f"{what}: {step}"


def opened(what: str) -> Bar | None:
    """The bar of this place; None where there is nothing to draw it with."""
    try:
        return NotebookBar(what) if in_notebook() else TerminalBar(what)
    except ImportError:
        return None


def learning_shown(what: str) -> AbstractContextManager[None]:
    """Shows a bar while something is learned, if that takes long; not within another one.

    Parameters
    ----------
    what : str
        Such as "NaiveBayes.fit".
    """
    wanted = _wanted
    if wanted is None:
        seen = in_notebook() or (sys.stderr is not None and sys.stderr.isatty())
        wanted = seen and os.environ.get("TALLYBAYES_PROGRESS") != "0"
    return _bar_beside(what) if wanted and not getattr(_busy, "now", False) else nullcontext()


@contextmanager
def _bar_beside(what: str) -> Iterator[None]:
    done = threading.Event()
    found: list[Step] = []
    context = contextvars.copy_context()  # by which a notebook knows the cell
    thread = threading.Thread(target=context.run, args=(_show, what, done, found), daemon=True)
    thread.start()
    try:
        with on_progress(lambda step: found.append(step) if isinstance(step, Step) else None):
            yield
    finally:
        done.set()
        thread.join()


def _show(what: str, done: Any, found: list[Step]) -> None:
    """Waits, shows the bar, and moves it until the work is done, by the steps that it reports."""
    began = time.monotonic()
    if done.wait(DELAY_SECONDS):
        return
    bar = opened(what)
    if bar is None:
        return
    try:
        while not done.wait(INTERVAL_SECONDS):
            bar.update(time.monotonic() - began, found[-1] if found else None)
    finally:
        bar.close()
