"""Rows of ARFF, rewritten to those of CSV."""

from __future__ import annotations

import re

__all__ = ["as_csv", "without_comment"]

COMMENT = re.compile(rb"^[ \t]*%[^\r\n]*", re.MULTILINE)
QUOTED = re.compile(
    rb"(?P<before>^|,)[ \t]*(?P<sign>['\"])(?P<text>(?:\\.|(?!(?P=sign))[^\\\r\n])*)(?P=sign)"
    rb"[ \t]*(?=,|\r?$)",
    re.MULTILINE,
)


def as_csv(data: bytes) -> bytes:
    """Whole lines with comments as blank lines, and quotes of either kind as those of CSV."""
    if b"%" in data:
        data = COMMENT.sub(b"", data)
    return QUOTED.sub(_requoted, data) if b"'" in data or b"\\" in data else data


def _requoted(found: re.Match[bytes]) -> bytes:
    text = re.sub(rb"\\(.)", rb"\1", found["text"])
    return found["before"] + b'"' + text.replace(b'"', b'""') + b'"'


def without_comment(line: str) -> str:
    """A line, blank where it is a comment."""
    return "\n" if line.lstrip().startswith("%") else line
