"""Messages for people on standard error."""

from __future__ import annotations

import contextlib
import os
import sys

from tallybayes.cli.terminal.escapes import in_ascii, one_line

__all__ = ["is_unicode", "tell"]

MIN_WIDTH = 20  # characters that a line may have on any terminal


def is_unicode(stream: object) -> bool:
    """Whether a stream takes any letter."""
    encoding = getattr(stream, "encoding", None) or ""
    return encoding.lower().replace("-", "") in ("utf8", "utf16")


def tell(message: str) -> None:
    """Prints a message on standard error, hidden characters as escapes: one line for programs, and
    on a terminal lines that end between words."""
    text = one_line(message)
    if not is_unicode(sys.stderr):
        text = in_ascii(text)
    if sys.stderr.isatty():
        import shutil
        import textwrap

        width = shutil.get_terminal_size().columns
        with contextlib.suppress(OSError, ValueError):  # that of standard error, not of output
            width = os.get_terminal_size(sys.stderr.fileno()).columns or width
        text = textwrap.fill(
            text, max(width, MIN_WIDTH), break_long_words=False, break_on_hyphens=False
        )
    print(text, file=sys.stderr)
