"""Columns delimited by runs of blanks, rewritten to columns delimited by tabs."""

from __future__ import annotations

import re

__all__ = ["tabbed"]

EDGES = re.compile(rb"^[ \t]+|[ \t]+(?=\r?\n|\r?\Z)", re.MULTILINE)
RUN = re.compile(rb"[ \t]+")
PIECES = re.compile(
    rb'(?P<quoted>(?:^|(?<=[ \t\r\n]))"(?:[^"]|"")*")'
    rb"|(?P<edge>^[ \t]+|[ \t]+(?=\r?\n|\r?\Z))|(?P<run>[ \t]+)",
    re.MULTILINE,
)


def tabbed(data: bytes) -> bytes:
    """Whole lines with one tab for each run of spaces and tabs between fields, and none at either
    end; what stands in quotes stays."""
    if b'"' not in data:
        return RUN.sub(b"\t", EDGES.sub(b"", data))
    return PIECES.sub(_piece, data)


def _piece(found: re.Match[bytes]) -> bytes:
    if found.lastgroup == "quoted":
        return found[0]
    return b"" if found.lastgroup == "edge" else b"\t"
