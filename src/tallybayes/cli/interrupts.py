"""Ctrl-C, remembered: an exception may be lost on its way through a library, this is not."""

from __future__ import annotations

import signal
from typing import Any

__all__ = ["install", "need_none"]

_seen = False


def _interrupt(*_: Any) -> None:
    global _seen
    _seen = True
    raise KeyboardInterrupt


def install() -> None:
    """Takes over SIGINT, where it is not ignored."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)


def need_none() -> None:
    """Raises KeyboardInterrupt if there was a Ctrl-C: called before a file is replaced."""
    if _seen:
        raise KeyboardInterrupt
