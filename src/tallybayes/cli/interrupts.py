"""Ctrl-C and termination signals are remembered, because a library may swallow the exception."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

from tallybayes.cli.quick_imports import import_arrow

__all__ = [
    "exit_code",
    "happened",
    "install",
    "keep_from_arrow",
    "message",
    "need_none",
    "replacement_of",
]


_seen: int | None = None  # the signal
_waits = False  # while a file is replaced and that is noted, which belong together
_replaced: list[str] = []


def _interrupt(number: int, _: Any) -> None:
    global _seen
    _seen = number
    if not _waits:
        raise KeyboardInterrupt


def install() -> None:
    """Takes over SIGINT, SIGTERM and SIGHUP, where they are not ignored.

    Each becomes a KeyboardInterrupt, so that drafts are removed and locks given back.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _interrupt)


def keep_from_arrow() -> None:
    """Arrow leaves Ctrl-C to Python's own handler."""
    import_arrow()
    import pyarrow

    pyarrow.enable_signal_handlers(False)


def happened() -> bool:
    """Whether there was such a signal."""
    return _seen is not None


def need_none() -> None:
    """Raises KeyboardInterrupt if there was one: called where work could go on without noticing."""
    if _seen is not None:
        raise KeyboardInterrupt


def replacement_of(path: str) -> Callable[[str, str], None]:
    """``os.replace`` for a file that people call `path`: not after an interrupt, and noted, so that
    :func:`message` is right."""

    def replace(draft: str, target: str) -> None:
        global _waits
        _waits = True
        try:
            need_none()
            os.replace(draft, target)
            _replaced.append(path)
        finally:
            _waits = False

    return replace


def exit_code() -> int:
    """128 plus the number of the signal, as in shells: 130 for Ctrl-C, 143 for SIGTERM."""
    return 128 + (_seen or signal.SIGINT)


def message() -> str:
    """What happened, and what became of files."""
    what = "interrupted" if _seen in (None, signal.SIGINT) else "terminated"
    if not _replaced:
        return f"{what}; model files are as they were"
    return f"{what} after {' and '.join(_replaced)} had been written, which is complete"
