"""Standard streams: those that the shell has closed (``>&-``), and messages on standard error."""

from __future__ import annotations

import contextlib
import os
import sys

__all__ = ["need_output", "open_closed", "tell"]

STDOUT = 1  # its file descriptor
NARROWEST = 20  # characters that a line may have on any terminal

_closed: set[int] = set()  # file descriptors that were closed when the process began


def open_closed() -> None:
    """Opens what the shell has closed: no other file shall take that number."""
    for number in (0, STDOUT, 2):
        try:
            os.fstat(number)
        except OSError:
            _closed.add(number)
            os.open(os.devnull, os.O_RDWR)  # which takes the lowest number that is free
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115  as long as the process
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115


def need_output(remedy: str = "") -> None:
    """Raises if standard output was closed, for a command whose result would be lost.

    Parameters
    ----------
    remedy : str
        What else to do than to leave it open, as " or …".
    """
    if STDOUT in _closed:
        from tallybayes.cli.terminal.failures import Failure

        raise Failure(
            f"standard output is closed, so the result would be lost: leave it open{remedy}"
        )


def tell(message: str) -> None:
    """Prints a message on standard error, hidden characters as escapes: one line for programs, and
    on a terminal lines that end between words."""
    from tallybayes.cli.terminal.escapes import one_line

    text = one_line(message)
    if sys.stderr.isatty():
        import shutil
        import textwrap

        width = shutil.get_terminal_size().columns
        with contextlib.suppress(OSError, ValueError):  # that of standard error, not of output
            width = os.get_terminal_size(sys.stderr.fileno()).columns or width
        text = textwrap.fill(
            text, max(width, NARROWEST), break_long_words=False, break_on_hyphens=False
        )
    print(text, file=sys.stderr)
