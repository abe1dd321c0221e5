"""Standard streams that the shell has closed (``>&-``)."""

from __future__ import annotations

import os
import sys

__all__ = ["need_output", "open_closed"]

STDOUT = 1  # its file descriptor

_closed: set[int] = set()  # file descriptors that were closed when the process began


def open_closed() -> None:
    """Opens what the shell has closed: no other file shall take that number."""
    for number in (0, STDOUT, 2):
        try:
            os.fstat(number)
        except OSError:
            _closed.add(number)
            os.open(os.devnull, os.O_RDWR)  # which takes the lowest number that is free
    if sys.stdin is None:
        sys.stdin = open(os.devnull)  # noqa: SIM115  as long as the process
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
