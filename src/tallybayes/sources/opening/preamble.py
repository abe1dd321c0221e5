"""What comes before the rows of a text file: comments, Excel's separator line, the declarations of
ARFF; and files that are sparse."""

from __future__ import annotations

import csv
import re
from typing import NamedTuple

from tallybayes.errors import SourceError

__all__ = [
    "Arff",
    "arff_of",
    "has_data",
    "is_arff",
    "is_comment",
    "lines_before_header",
    "need_header",
    "need_no_sparse",
]

COMMENT = ("#", "%", "//", "|")  # a bar in adult.test of UCI
SEPARATOR = re.compile(r"sep=.?", re.IGNORECASE)  # of Excel
LIBSVM = re.compile(r"[+-]?[\w.]+([ \t]+\d+:[+-]?[\d.]+([eE][+-]?\d+)?)+[ \t]*(#.*)?")
ARFF = re.compile(r"(\s*(%[^\n]*)?\n)*\s*@relation\b", re.IGNORECASE)
DATA = re.compile(r"^\s*@data\b[^\n]*\n?", re.IGNORECASE | re.MULTILINE)
ATTRIBUTE = re.compile(
    r"^\s*@attribute\s+('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|\S+)\s*(\S.*?)?\s*$",
    re.IGNORECASE | re.MULTILINE,
)
MAX_LOOKED_AT = 200  # lines


class Arff(NamedTuple):
    """The declarations of an ARFF file.

    Parameters
    ----------
    names : list of str
    levels : list of str
        The attributes that are nominal, or strings: their values are levels as they are written.
    n_lines : int
        How many lines come before the rows.
    """

    names: list[str]
    levels: list[str]
    n_lines: int


def is_arff(text: str) -> bool:
    """Whether a text begins as ARFF does."""
    return ARFF.match(text) is not None


def has_data(text: str) -> bool:
    """Whether a text of ARFF goes as far as a row."""
    found = DATA.search(text)
    rows = text[found.end() :].splitlines(keepends=True) if found else []
    return any(row.strip() and row[0] != "%" and row.endswith("\n") for row in rows)


def is_comment(line: str) -> bool:
    """Whether a line is a comment, or Excel's line of the separator."""
    return line.startswith(COMMENT) or SEPARATOR.fullmatch(line.rstrip("\r\n")) is not None


def arff_of(path: str, text: str) -> Arff:
    """The declarations at the beginning of a text.

    Raises
    ------
    SourceError
        If there are no rows after them, or the rows are sparse.
    """
    found = DATA.search(text)
    attributes = ATTRIBUTE.findall(text[: found.start()] if found else text)
    if found is None or not attributes:
        raise SourceError(f"{path} is an ARFF file without @attribute lines, or without @data")
    rows = (line.strip() for line in text[found.end() :].splitlines())
    if next((row for row in rows if row and not row.startswith("%")), "").startswith("{"):
        raise SourceError(
            f"{path} is a sparse ARFF file, which is not read: save it dense (in Weka, the filter "
            "SparseToNonSparse)"
        )
    names = [_unquoted(name) for name, _ in attributes]
    kinds = [kind.lower() for _, kind in attributes]
    levels = [n for n, k in zip(names, kinds, strict=True) if k.startswith(("{", "string"))]
    return Arff(names, levels, text[: found.end()].count("\n"))


def _unquoted(name: str) -> str:
    inner = name[1:-1] if len(name) > 1 and name[0] in "'\"" and name[-1] == name[0] else name
    return re.sub(r"\\(.)", r"\1", inner).strip()


def need_no_sparse(path: str, text: str) -> None:
    """Raises for rows that name the numbers of their columns, as those of libsvm do."""
    lines = [line for line in text.splitlines()[:MAX_LOOKED_AT] if line.strip()]
    if lines and all(LIBSVM.fullmatch(line) for line in lines[: max(1, len(lines) - 1)]):
        raise SourceError(
            f"{path} is a libsvm file: its rows are sparse, with numbers for names. "
            "sklearn.datasets.load_svmlight_file reads it, and MultinomialNB, BernoulliNB or "
            "ComplementNB take its matrix"
        )


def lines_before_header(text: str, delimiter: str) -> int:
    """How many lines of comments, or for Excel, come before the header of CSV.

    A header may begin with a sign of comments, as #chrom does: it has as many fields as the line
    after it.
    """
    lines = text.splitlines()[:MAX_LOOKED_AT]
    n = 0
    for line in lines:
        if line.strip() and not is_comment(line):
            break
        n += 1
    if not n or n == len(lines) or SEPARATOR.fullmatch(lines[0]):
        return n if n < len(lines) else 0
    last, below = (
        len(next(csv.reader([line], delimiter=delimiter))) for line in lines[n - 1 : n + 1]
    )
    return n - 1 if last == below else n


def need_header(path: str, text: str, delimiter: str, skip: int) -> None:
    """Raises where comments, or a line for Excel, come before the header, with the option that
    skips them."""
    n = lines_before_header(text, delimiter)
    if n:
        first = text.splitlines()[0][:40]
        what = f"{n} lines, of which the first is" if n > 1 else "the line"
        raise SourceError(
            f"{path} begins with {what} {first!r}, before the header: --skip {skip + n} reads what "
            f"is below (in Python, tallybayes.csv(path, skip={skip + n}))"
        )
