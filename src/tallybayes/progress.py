"""A progress bar for learning that takes more than two seconds.

By default it is shown in notebooks and on terminals only: logs, pipes and tests do not change. On a
terminal it is rich's, if rich is installed; in a notebook it is an HTML element that IPython shows,
without widgets. It disappears when the work is done.
"""

from __future__ import annotations

import contextvars
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from html import escape
from importlib import import_module
from typing import Any, Protocol

__all__ = ["learning_shown", "set_progress", "without_bars"]

DELAY_SECONDS = 2.0  # seconds without a bar
INTERVAL_SECONDS = 0.5  # seconds between its changes

_wanted: bool | None = None
_busy = threading.local()


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

    def update(self, seconds: float) -> None:
        """Shows how long it has taken."""

    def close(self) -> None:
        """Takes it away."""


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell is not None and hasattr(shell, "kernel")


def _is_wanted() -> bool:
    """Whether a bar may be shown here and now."""
    if _wanted is None and os.environ.get("TALLYBAYES_PROGRESS") != "0":
        return in_notebook() or bool(sys.stderr is not None and sys.stderr.isatty())
    return bool(_wanted)


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

    def _html(self, seconds: float) -> dict[str, str]:
        text = f"{self.what} … {seconds:.0f} s"
        bar = f'<progress aria-label="{escape(self.what)}"></progress> <span>{escape(text)}</span>'
        return {"text/html": bar, "text/plain": text}

    def update(self, seconds: float) -> None:
        self._shown.update(self._html(seconds), raw=True)

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
        self._shown.add_task(what, total=None)
        self._shown.start()

    def update(self, seconds: float) -> None:
        """rich moves it by itself."""

    def close(self) -> None:
        self._shown.stop()


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
    within = getattr(_busy, "now", False)
    return _bar_beside(what) if not within and _is_wanted() else nullcontext()


@contextmanager
def _bar_beside(what: str) -> Iterator[None]:
    done = threading.Event()
    context = contextvars.copy_context()  # by which a notebook knows the cell
    thread = threading.Thread(target=context.run, args=(_show, what, done), daemon=True)
    thread.start()
    try:
        with without_bars():
            yield
    finally:
        done.set()
        thread.join()


@contextmanager
def without_bars() -> Iterator[None]:
    """Shows no bars of this module in this thread: whoever calls has one."""
    before = getattr(_busy, "now", False)
    _busy.now = True
    try:
        yield
    finally:
        _busy.now = before


def _show(what: str, done: Any) -> None:
    """Waits, shows the bar, and moves it until the work is done."""
    began = time.monotonic()
    if done.wait(DELAY_SECONDS):
        return
    bar = opened(what)
    if bar is None:
        return
    try:
        while not done.wait(INTERVAL_SECONDS):
            bar.update(time.monotonic() - began)
    finally:
        bar.close()
