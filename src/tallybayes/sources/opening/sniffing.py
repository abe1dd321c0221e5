"""Which format a file has, and which delimiter."""

from __future__ import annotations

import codecs
import csv
import io
import re
from itertools import dropwhile
from typing import Literal

from tallybayes.errors import SourceError
from tallybayes.sources.opening.foreign import WORKBOOKS, is_workbook
from tallybayes.sources.opening.preamble import is_comment
from tallybayes.sources.opening.unpacking import suffix_of

__all__ = ["FORMATS", "Format", "delimiter_of", "format_of", "need_text"]

Format = Literal["csv", "jsonl", "parquet", "arrow", "excel"]
FORMATS: dict[str, Format] = {
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".arff": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    **dict.fromkeys(WORKBOOKS, "excel"),
}
DELIMITERS = ",;\t|"
JSON_ARRAY = re.compile(rb"\[\s*\{")


def format_of(path: str, head: bytes) -> Format:
    """The format, by the first bytes and then by the suffix."""
    if is_workbook(path, head):
        return "excel"
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith((b"ARROW1", b"\xff\xff\xff\xff")):
        return "arrow"
    start = head.removeprefix(codecs.BOM_UTF8).lstrip()
    if start.startswith(b"{") or JSON_ARRAY.match(start):
        return "jsonl"
    by_suffix = FORMATS.get(suffix_of(path), "csv")
    if by_suffix in ("parquet", "arrow", "excel"):
        raise SourceError(
            f"{path} is not a file of {by_suffix}, although its name says so, or it is damaged"
        )
    return by_suffix


def need_text(path: str, head: bytes) -> None:
    """Raises for an empty file and for one that is not text."""
    if not head.strip():
        raise SourceError(
            f"{path} is empty: it needs a header line with the column names, and rows"
        )
    if b'"tallybayes"' in head[:4096] and b"\x00" in head[:8]:
        raise SourceError(
            f"{path} is a tallybayes model, but data is expected here: swap the arguments?"
        )
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise SourceError(
            f"{path} is UTF-16 text: name its encoding (--encoding utf-16 on the command line)"
        )
    if b"\x00" in head:
        raise SourceError(
            f"{path} is a binary file of an unknown kind: data is CSV, JSON lines, Parquet or "
            "Arrow (or text in another encoding: name that one)"
        )


def delimiter_of(text: str) -> str:
    """The delimiter that gives the first lines the same number of fields, and the most of them."""
    lines = text.splitlines(keepends=True)
    if len(lines) > 1:
        lines.pop()  # perhaps cut off
    lines = list(dropwhile(is_comment, lines)) or lines
    best, best_score = ",", (0.0, 0)
    for delimiter in DELIMITERS:
        try:
            sizes = [len(r) for r in csv.reader(io.StringIO("".join(lines)), delimiter=delimiter)]
        except csv.Error:
            continue
        sizes = [size for size in sizes if size][:200]
        if not sizes or sizes[0] < 2:
            continue
        alike = sum(size == sizes[0] for size in sizes) / len(sizes)
        if (alike, sizes[0]) > best_score:
            best, best_score = delimiter, (alike, sizes[0])
    return best
