"""Errors and messages for people, on standard error, in characters that are safe to print.

This module is imported first of all, and imports nothing that is slow.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tallybayes.cli import interrupts
from tallybayes.errors import OptionError

__all__ = [
    "DATA",
    "EXTRA",
    "INTERRUPTED",
    "OUTPUT",
    "USAGE",
    "Failure",
    "as_option",
    "formula_safe",
    "in_ascii",
    "is_unicode",
    "json_safe",
    "naming_output",
    "need_output",
    "one_line",
    "open_closed",
    "report",
    "tell",
    "visible",
]


# ---- errors as one line that states what to do, and an exit code ---------------------------------
DATA, USAGE, INTERRUPTED = 1, 2, 130
EXTRA = {"typer", "rich", "pyarrow"}  # what the extra "cli" installs
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


def as_option(name: str, value: Any = None) -> str:
    """An argument of the library as an option, with its value."""
    if name == "missing":
        return "--only-null"
    given = "" if value is None or value is True else f" {value}"
    return f"--{name.replace('_', '-')}{given}"


def _is_arrow(error: BaseException) -> bool:
    """Whether it is an error of Arrow, which is not imported to find out."""
    arrow = sys.modules.get("pyarrow")
    return arrow is not None and isinstance(error, arrow.ArrowException)


def _line(error: BaseException) -> tuple[str, int]:
    import typer  # which the application has imported

    if isinstance(error, typer.Abort | KeyboardInterrupt) or interrupts.happened():
        return interrupts.message(), interrupts.exit_code()
    if isinstance(error, Failure):
        return str(error), error.code
    if isinstance(error, OptionError):
        return str(error), USAGE
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
    if isinstance(error, ValueError | OSError | ImportError) or _is_arrow(error):
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


# ---- messages on standard error ------------------------------------------------------------------
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


# ---- text that is safe to print: control characters are shown as escapes -------------------------
# Names and values come from files of strangers, and a terminal obeys what is in them: an escape
# sequence can clear the screen, and a bidirectional mark can reverse a line. Every sentence, table
# and error passes through :func:`visible` before it is printed. Machine-readable output (CSV,
# JSON, Parquet) does not: it holds the names as they are.
WORDS = {
    "…": "...",
    "–": "-",
    "−": "-",
    "×": "x",
    "±": "+/-",
    "←": "<-",
    "→": "->",
    "│": "|",
    "█": "#",
    "ᵀ": "'",
    "²": "^2",
}
"""The signs of messages and tables where a stream takes ASCII only."""

# C0, DEL and C1 controls; soft hyphen, zero-width and bidirectional marks; line and paragraph
# separators; byte-order mark, annotations, surrogates and tags. ZWJ and ZWNJ are letters' own.
HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)
SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def _escaped(found: re.Match[str]) -> str:
    letter = found[0]
    code = ord(letter)
    if letter in SHORT:
        return SHORT[letter]
    return (
        f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"
    )


NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what begins a formula of a spreadsheet


def visible(text: str) -> str:
    r"""A string with control characters, bidirectional marks and the like written as escapes.

    >>> visible("a\x1b[31mb")
    'a\\x1b[31mb'
    """
    return HIDDEN.sub(_escaped, text)


def in_ascii(text: str) -> str:
    """A string in ASCII: signs as words or like signs, other characters as escapes.

    >>> in_ascii("95 % ± 1 → 2")
    '95 % +/- 1 -> 2'
    """
    for sign, word in WORDS.items():
        text = text.replace(sign, word)
    return text.encode("ascii", "backslashreplace").decode()


def one_line(message: str) -> str:
    """A message on one line, safe to print; line ends become spaces."""
    return visible(" ".join(part.strip() for part in message.splitlines()))


def json_safe(document: str) -> str:
    """A JSON document in which hidden characters are JSON escapes: the same values when parsed."""
    return HIDDEN.sub(_json_escape, document)


def formula_safe(text: str) -> str:
    """A string with "'" before it where a spreadsheet would take it for a formula; numbers stay.

    >>> formula_safe("=1+1"), formula_safe("-1.5")
    ("'=1+1", '-1.5')
    """
    is_formula = text.startswith(FORMULA) and not NUMBER.fullmatch(text)
    return "'" + text if is_formula else text


def _json_escape(found: re.Match[str]) -> str:
    if found[0] == "\n":  # between the items: inside a string it is an escape already
        return "\n"
    units = found[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2))


# ---- standard streams that the shell has closed (``>&-``) ----------------------------------------
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
        raise Failure(
            f"standard output is closed, so the result would be lost: leave it open{remedy}"
        )
