r"""Text that is safe to print: control characters are shown as escapes.

Names and values come from files of strangers, and a terminal obeys what is in them: an escape
sequence can clear the screen, and a bidirectional mark can reverse a line. Every sentence, table
and error passes through :func:`visible` before it is printed. Machine-readable output (CSV, JSON,
Parquet) does not: it holds the names as they are.
"""

from __future__ import annotations

import re

__all__ = ["formula_safe", "in_ascii", "json_safe", "one_line", "visible"]

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
