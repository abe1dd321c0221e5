"""Errors as one line that states what to do, and an exit code."""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import typer

from tallybayes.cli.terminal import interrupts
from tallybayes.cli.terminal.messages import tell

__all__ = [
    "DATA",
    "DEBUG",
    "EXTRA",
    "INTERRUPTED",
    "OUTPUT",
    "USAGE",
    "Failure",
    "naming_output",
    "report",
    "suggestion",
]

DATA, USAGE, INTERRUPTED = 1, 2, 130
EXTRA = {"typer", "rich", "pyarrow"}  # what the extra "cli" installs
MIN_SIMILARITY = 0.65  # from 0 to 1, from which on a name may be another one mistyped
DEBUG = "TALLYBAYES_DEBUG"  # set to 1 for tracebacks


OUTPUT = "standard output"


@contextmanager
def naming_output() -> Iterator[None]:
    """Errors of standard output name it."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        error.filename = OUTPUT if error.filename is None else error.filename
        raise


class Failure(Exception):
    """A message for users; `code` is the exit code."""

    def __init__(self, message: str, code: int = DATA) -> None:
        super().__init__(message)
        self.code = code


def suggestion(name: str, names: Iterable[str]) -> str:
    """ " Did you mean …?" where a name is close to one of `names`, else nothing."""
    by_folded = {known.casefold(): known for known in names}
    close = difflib.get_close_matches(name.casefold(), by_folded, 1, MIN_SIMILARITY)
    return f" Did you mean {by_folded[close[0]]!r}?" if close else ""


def _is_arrow(error: BaseException) -> bool:
    """Whether it is an error of Arrow, which is not imported to find out."""
    arrow = sys.modules.get("pyarrow")
    return arrow is not None and isinstance(error, arrow.ArrowException)


def _line(error: BaseException) -> tuple[str, int]:
    if isinstance(error, typer.Abort | KeyboardInterrupt) or interrupts.happened():
        return interrupts.message(), interrupts.exit_code()
    if isinstance(error, Failure):
        return str(error), error.code
    if hasattr(error, "format_message"):  # a usage error of typer
        path = getattr(getattr(error, "ctx", None), "command_path", "tallybayes")
        return f"{error.format_message()} (see {path} --help)", USAGE
    if isinstance(error, MemoryError):
        return "memory is used up: leave out columns of many strings (--column NAME=none)", DATA
    if isinstance(error, IsADirectoryError):
        return f"{error.filename} is a directory: name a file in it", DATA
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror}", DATA
    if isinstance(error, ModuleNotFoundError) and error.name in EXTRA:
        return f"the command line needs {error.name}: pip install 'tallybayes[cli]'", DATA
    if isinstance(error, ValueError | OSError) or _is_arrow(error):
        return str(error), DATA
    kind = type(error).__name__
    return f"unexpected {kind}: {error}. This is a defect; {DEBUG}=1 shows where", DATA


def report(error: BaseException) -> int:
    """Prints the line of an error on standard error; the exit code."""
    if os.environ.get(DEBUG) == "1" and not hasattr(error, "format_message"):
        import traceback

        traceback.print_exception(error)
    message, code = _line(error)
    tell(f"tallybayes: error: {message}")
    return code
