"""How the lines of a text file are laid out: encoding, delimiter, lines before the header, and
whether there is a header."""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from tallybayes.diagnosis.findings import Finding, is_number, options_of
from tallybayes.sources.opening.preamble import is_arff, is_comment
from tallybayes.sources.opening.sniffing import DELIMITERS, delimiter_of
from tallybayes.sources.text_files.blanks import tabbed
from tallybayes.sources.text_files.options import BLANKS, MISSING

__all__ = ["layout_of"]

MAX_LINES = 500  # that are looked at
MIN_ALIKE = 0.9  # of the lines have as many fields
MIN_PAIRED = 0.8  # of the bytes beyond ASCII stand in pairs where letters are Chinese


def layout_of(head: bytes) -> tuple[dict[str, Any], list[Finding]]:
    """The options of :func:`tallybayes.csv` that a file needs which begins so, and why."""
    changes: dict[str, Any] = {}
    found: list[Finding] = []
    if head.startswith(codecs.BOM_UTF8):
        found.append(Finding("byte-order mark", "the file begins with a byte-order mark: not read"))
    encoding = _encoding(head)
    if encoding != "utf-8":
        changes["encoding"] = encoding
        what = f"the file is not utf-8 text: --encoding {encoding} reads it"
        found.append(Finding("encoding", what, None, {"encoding": encoding}))
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    text = decoder.decode(head).removeprefix("\ufeff")
    if is_arff(text):
        found.append(Finding("ARFF", "the file is ARFF, whose declarations name its columns"))
        return changes, found
    lines = list(itertools.islice(io.StringIO(text, newline=""), MAX_LINES))
    if len(lines) > 1 and not lines[-1].endswith(("\n", "\r")):
        lines.pop()  # perhaps cut off
    delimiter, n_fields = _delimiter(lines)
    skip = _lines_before(lines, delimiter, n_fields)
    if skip:
        changes["skip"] = skip
        what = f"{skip} line{'s come' if skip > 1 else ' comes'} before the rows"
        message = f"{what}, such as {lines[0].strip()[:40]!r}: --skip {skip} leaves them out"
        found.append(Finding("lines before the header", message, None, {"skip": skip}))
    below = "".join(lines[skip:])
    if delimiter == BLANKS or delimiter != delimiter_of(below):
        changes["delimiter"] = delimiter
        option = options_of({"delimiter": delimiter})
        what = f"the delimiter is not one of the usual signs: {option}"
        if delimiter != BLANKS:
            what = f"the first lines mislead about the delimiter: {option}"
        found.append(Finding("delimiter", what, None, {"delimiter": delimiter}))
    if reason := _without_header(_records(lines[skip:], delimiter)):
        changes["header"] = False
        message = f"the first line looks like a row, because {reason}: --no-header reads it as one"
        found.append(Finding("no header", message, None, {"header": False}))
    return changes, found


def _encoding(head: bytes) -> str:
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        pass
    else:
        return "utf-8"
    try:
        codecs.getincrementaldecoder("gb18030")().decode(head)
    except UnicodeDecodeError:
        return "cp1252"
    runs = [len(run) for run in re.findall(rb"[\x80-\xff]+", head)]  # Latin letters stand alone
    paired = sum(n for n in runs if n % 2 == 0)
    return "gb18030" if paired >= MIN_PAIRED * sum(runs) else "cp1252"


def _records(lines: Sequence[str], delimiter: str) -> list[list[str]]:
    if delimiter == BLANKS:
        lines = tabbed("".join(lines).encode("utf-8", "replace")).decode().splitlines(True)
        delimiter = "\t"
    try:
        return [
            [field.strip() for field in record]
            for record in csv.reader(lines, delimiter=delimiter)
            if record
        ]
    except csv.Error:
        return []


def _delimiter(lines: Sequence[str]) -> tuple[str, int]:
    """The delimiter that gives the most lines the same number of fields, and this number."""
    best, best_score = (",", 1), (0.0, 0)
    for delimiter in (*DELIMITERS, BLANKS):
        if delimiter == BLANKS and best_score[0] >= MIN_ALIKE:
            break
        sizes = Counter(map(len, _records(lines, delimiter)))
        if not sizes:
            continue
        n_fields, n_lines = max(sizes.items(), key=lambda item: (item[1], item[0]))
        score = round(n_lines / sum(sizes.values()), 1), n_fields
        if n_fields > 1 and score > best_score:
            best, best_score = (delimiter, n_fields), score
    return best


def _lines_before(lines: Sequence[str], delimiter: str, n_fields: int) -> int:
    """How many lines come before the first record that is like most."""
    if n_fields < 2:
        return len(list(itertools.takewhile(is_comment, lines)))
    for n, line in enumerate(lines):
        records = _records([line], delimiter)
        alike = bool(records) and len(records[0]) == n_fields
        quoted = line.count('"') % 2 == 1  # it goes on in the next line
        if alike or (quoted and not is_comment(line)):
            return n if any(text.strip() for text in lines[:n]) else 0
    return 0


def _without_header(records: Sequence[Sequence[str]]) -> str:
    """Why the first record is a row, and not a header; nothing where it is a header."""
    if len(records) < 3:
        return ""
    first, rest = records[0], [record for record in records[1:] if len(record) == len(records[0])]
    if not rest:
        return ""
    columns = list(zip(*rest, strict=True))
    known = [[v for v in column if v not in MISSING] for column in columns]
    above_numbers = [
        name
        for name, column in zip(first, known, strict=True)
        if column and all(_is_number(v) for v in column)
    ]
    numbers = [name for name in above_numbers if _is_number(name)]
    if any(not _is_number(name) and name not in MISSING for name in above_numbers):
        return ""
    values = [float(name.replace(",", ".")) for name in numbers]
    if len(values) > 2 and all(b - a == 1.0 for a, b in itertools.pairwise(values)):
        return ""  # years, or numbered columns
    if numbers:
        return f"{numbers[0]!r} stands above numbers"
    repeated = [
        name
        for name, column in zip(first, known, strict=True)
        if name and name in column and len(set(column)) * 2 < len(column) + 2
    ]
    if 2 * len(repeated) >= len(first):
        return f"{repeated[0]!r} is a value of its column, too"
    return ""


def _is_number(text: str) -> bool:
    return is_number(text) or is_number(text, ",")
