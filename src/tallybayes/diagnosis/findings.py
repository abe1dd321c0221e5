"""What the strings of a column look like, and the option that reads them so.

The notes of ``tallybayes fit`` and :func:`tallybayes.doctor` both come from here.
"""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tallybayes.errors import listed
from tallybayes.sources.csv_files import tabbed
from tallybayes.sources.opening import DELIMITERS, delimiter_of, is_arff, is_comment
from tallybayes.sources.options import BLANKS, MISSING, Spelling

__all__ = [
    "MAX_STRAYS",
    "NAMELESS",
    "Finding",
    "is_number",
    "layout_of",
    "means_missing",
    "null_options",
    "numbers_as_written",
    "of_labels",
    "options_of",
    "quoted",
    "strings_as_read",
]


MAX_STRAYS = 3  # strings of a column that may all mean missing
MIN_NUMBERS_PER_STRAY = 10  # numbers, for so many strays
MIN_NUMBER_CLASSES = 20  # numbers as classes, from which on they may be a quantity
MIN_GROUPED = 2  # different numbers with points before three digits

SPACES = " \u00a0\u2009\u202f"
NUMBER = {
    ".": re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"),
    ",": re.compile(r"[+-]?([0-9]+,?[0-9]*|,[0-9]+)([eE][+-]?[0-9]+)?"),
}
"""Numbers, by their decimal sign."""

SIGNS = {",": ",", ".": r"\.", "space": f"[{SPACES}]", "apostrophe": "['\u2019]"}
GROUPED = {
    (sign, decimal): re.compile(
        rf"[+-]?[1-9][0-9]{{0,2}}({shape}[0-9]{{3}})+({re.escape(decimal)}[0-9]*)?"
    )
    for sign, shape in SIGNS.items()
    for decimal in ".,"
    if sign != decimal
}
"""Numbers with a sign between groups of three digits, by the sign and that of decimals."""

MONEY = r"[$€£¥]"
DIGITS = rf"[0-9]{{1,3}}([.,'\u2019{SPACES}][0-9]{{3}})*([.,][0-9]+)?|[0-9]+([.,][0-9]+)?"
SIGNED = re.compile(rf"[+-]?{MONEY}?\s?[+-]?({DIGITS})\s?(%|{MONEY})?")
UNIT = re.compile(rf"[+-]?({DIGITS})\s?(?P<unit>[^\W\d_]{{1,4}}[.²³]?)")
BRACKETED = re.compile(rf"(?P<unit>\()({DIGITS})\)")
OTHER_DIGITS = re.compile(r"[+-]?\d+([.,]\d+)?")

DATED = re.compile(r"[0-9]{1,4}[./-][0-9]{1,2}[./-][0-9]{1,4}([T ].*)?")
ENDING = re.compile(r"([0-9]{1,2})([./-])([0-9]{1,2})[./-]([0-9]{4}|[0-9]{2})([T ].*)?")
MONTH = re.compile(r"[12][0-9]{3}[-/](0[1-9]|1[0-2])")
PADDED = re.compile(r"0[0-9]+")
MISSING_WORDS = frozenset(
    (
        *("n/a", "n.a.", "na", "nil", "none", "null", "nan", "unknown", "missing", "undefined"),
        *("void", "unspecified", "unbekannt", "inconnu", "desconocido", "k.a.", "tbd", "empty"),
    )
)


@dataclass(frozen=True)
class Finding:
    """Something odd about a column, or about all of a file.

    Parameters
    ----------
    kind : str
        A short name, such as "decimal comma".
    message : str
        What is odd, and what to do, after the name of the column.
    column : str, optional
    changes : mapping
        What reads it as it is meant: options of :func:`tallybayes.csv`, and "columns", families by
        name.
    """

    kind: str
    message: str
    column: str | None = None
    changes: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        about = f"column {self.column!r} " if self.column is not None else ""
        return f"{about}{self.message}"


NAMELESS = Finding(
    "column without a name", "a column without a name (such as a written index) is not read"
)


# ---- options of a command, and of a call, that mend a finding ------------------------------------
def quoted(text: str) -> str:
    """A string as a shell takes it."""
    return text if re.fullmatch(r"[\w.@%+:=/-]+", text) else "'" + text.replace("'", "'\\''") + "'"


def null_options(name: str, strings: Iterable[str]) -> str:
    """The options that read strings of a column as missing."""
    return " ".join(f"--null {quoted(name + '=' + text)}" for text in strings)


def options_of(changes: Mapping[str, Any]) -> str:
    """Options of :func:`tallybayes.files`, and families, as the command line has them."""
    named = {",": ",", ".": ".", " ": "space", "'": "apostrophe"}
    parts: list[str] = []
    for name, value in changes.items():
        if name == "header":
            parts.append("--no-header")
        elif name == "names":
            parts.append(f"--names {quoted(','.join(value))}")
        elif name == "missing":
            parts.append("--only-null")
            parts += [f"--null {quoted(text)}" for text in value if text]
        elif name == "missing_of":
            parts += [null_options(column, strings) for column, strings in value.items()]
        elif name == "columns":
            for column, family in value.items():
                parts.append(f"--column {quoted(f'{column}={_family(family)}')}")
        elif name in ("flatten", "union_by_name"):
            parts.append(f"--{name.replace('_', '-')}")
        elif name == "thousands":
            parts.append(f"--thousands {named[value]}")
        elif name == "delimiter":
            parts.append(f"--delimiter {'tab' if value == chr(9) else quoted(value)}")
        else:
            parts.append(f"--{name} {quoted(str(value)) if value != ',' else ','}")
    return " ".join(parts)


def _family(family: Any) -> str:
    return "none" if family is None else "categorical"


# ---- what strings look like ----------------------------------------------------------------------
def is_number(text: str, decimal: str = ".") -> bool:
    """Whether a string is a number to the reader."""
    return NUMBER[decimal].fullmatch(text) is not None


def means_missing(text: str) -> bool:
    """Whether a string among numbers can only mean that the number is missing."""
    return not any(c.isalnum() for c in text) or text.lower() in MISSING_WORDS


def strings_as_read(
    name: str,
    levels: Sequence[str],
    spelling: Spelling,
    *,
    n_numbers: int | None = None,
    numbers: Collection[str] = (),
) -> Finding | None:
    """What the strings of a column look like that a reader does not take for numbers or dates.

    Parameters
    ----------
    name : str
    levels : sequence of str
        The strings, each once.
    spelling : Spelling
        How they were read.
    n_numbers : int, optional
        How many different numbers stand among them; None where the column is mainly numbers, so
        that few strings are not reported.
    numbers : collection of str
        The numbers as they are written, where that is known.
    """
    if not levels:
        return None
    decimal = spelling.decimal
    other = "," if decimal == "." else "."
    if found := _grouped(name, levels, numbers, decimal):
        return found
    if all(NUMBER[other].fullmatch(v) and other in v for v in levels if not is_number(v)):
        looks = "and looks like numbers with a decimal "
        if any(other in v for v in levels) and decimal == ".":
            return Finding(
                "decimal comma", f"{looks}comma: add --decimal ,", name, {"decimal": ","}
            )
        if decimal == "," and any("." in v for v in levels):
            example = next(v for v in levels if "." in v)
            return Finding(
                "decimal point", f"{looks}point, such as {example!r}: omit --decimal", name
            )
    strays = [v for v in levels if not is_number(v) and not is_number(v, decimal)]
    enough = (
        n_numbers is not None and len(levels) - len(strays) + n_numbers >= MIN_NUMBERS_PER_STRAY
    )
    if enough and 0 < len(strays) <= MAX_STRAYS:
        return Finding(
            "strings among numbers",
            f"because of {listed(map(repr, strays))} among numbers: if that means missing, add "
            f"{null_options(name, strays)}",
            name,
            {"missing_of": {name: strays}} if all(map(means_missing, strays)) else {},
        )
    if not strays:
        return None
    return _other_numbers(name, levels) or _dates(name, levels)


def _grouped(
    name: str, levels: Sequence[str], numbers: Collection[str], decimal: str
) -> Finding | None:
    """Numbers with a sign of thousands."""
    both = [*levels, *numbers]
    for (sign, point), pattern in sorted(GROUPED.items(), key=lambda item: item[0][1] != decimal):
        examples = [v for v in levels if pattern.fullmatch(v)]
        if not examples or not all(
            pattern.fullmatch(v) or NUMBER[point].fullmatch(v) for v in both
        ):
            continue
        changes: dict[str, Any] = {"thousands": {"space": " ", "apostrophe": "'"}.get(sign, sign)}
        if point != decimal and (sign == "." or any(point in v for v in both)):
            changes["decimal"] = point
        return Finding(
            "thousands",
            f"and looks like numbers, such as {examples[0]!r}: add {options_of(changes)}",
            name,
            changes,
        )
    return None


def _other_numbers(name: str, levels: Sequence[str]) -> Finding | None:
    """Numbers that no option reads."""
    for kind, what, pattern in (
        ("signs", "numbers with signs", SIGNED),
        ("units", "numbers with a unit", UNIT),
        ("brackets", "numbers of which negative ones stand in brackets", BRACKETED),
        ("digits of another script", "numbers in digits of another script", OTHER_DIGITS),
    ):
        examples = [v for v in levels if not is_number(v) and pattern.fullmatch(v)]
        matches = [m for v in examples if (m := pattern.fullmatch(v))]
        units = {m["unit"] for m in matches if "unit" in pattern.groupindex}
        plain = sum(SIGNED.fullmatch(v) is not None for v in levels if v not in examples)
        enough = len(examples) >= (2 if kind == "units" else 1)
        if enough and len(examples) + plain == len(levels) and len(units) <= 1:
            return Finding(
                kind,
                f"and looks like {what}, such as {examples[0]!r}: write plain digits with a point",
                name,
            )
    return None


def _dates(name: str, levels: Sequence[str]) -> Finding | None:
    if all(map(MONTH.fullmatch, levels)):
        first = levels[0].replace("/", "-")
        return Finding(
            "months",
            f"and looks like months, such as {levels[0]!r}: write the first day, {first}-01",
            name,
        )
    if not all(map(DATED.fullmatch, levels)):
        return None
    order, advice = _order(levels)
    what = f"add --dates {advice}" if advice else "write them as 2020-01-31"
    changes = {"dates": order} if order else {}
    message = f"and looks like dates, such as {levels[0]!r}: {what}"
    return Finding("dates", message, name, changes)


def _order(levels: Sequence[str]) -> tuple[str, str]:
    """The order of dates in digits, where they end with the year and some day is beyond 12; where
    none is, that of the countries that write the sign. And the same for people."""
    found = [ENDING.fullmatch(level) for level in levels]
    if not all(found):
        return "", ""
    first, second = ([int(m[i]) for m in found if m] for i in (1, 3))
    if max(first) > 12 or max(second) > 12:
        order = "dmy" if max(first) > max(second) else "mdy"
        return order, order
    dotted = all(m[2] == "." for m in found if m)
    return "dmy", "dmy" if dotted else "dmy, or --dates mdy where the month comes first"


# ---- numbers as they are written -----------------------------------------------------------------
def of_labels(labels: Collection[str]) -> Finding | None:
    """Labels that are numbers, and many."""
    if len(labels) <= MIN_NUMBER_CLASSES or not all(map(is_number, labels)):
        return None
    return Finding(
        "numbers as labels",
        f"has {len(labels)} different numbers, each of them a class: if they are a quantity, "
        "group them into a few classes first",
    )


def numbers_as_written(name: str, written: Collection[str], spelling: Spelling) -> Finding | None:
    """What the numbers of a column look like as they are written.

    Parameters
    ----------
    name : str
    written : collection of str
        Strings that are read as numbers, each once.
    spelling : Spelling
    """
    changes: dict[str, Any]
    padded = [v for v in written if PADDED.fullmatch(v)]
    if padded and all(v.isascii() and v.isdigit() for v in written):
        changes = {"columns": {name: "categorical"}}
        return Finding(
            "leading zeros",
            f"has leading zeros, such as {padded[0]!r}, which numbers lose: if they are codes, add "
            f"{options_of(changes)}",
            name,
            changes,
        )
    if spelling.decimal != "." or spelling.thousands is not None:
        return None
    grouped = [v for v in written if GROUPED[".", ","].fullmatch(v)]
    whole = [v for v in written if v.lstrip("+-").isdigit()]
    alone = len(grouped) + len(whole) == len(written)
    if len(grouped) >= MIN_GROUPED and whole and alone and all(abs(int(v)) < 1000 for v in whole):
        changes = {"thousands": ".", "decimal": ","}
        return Finding(
            "thousands",
            f"holds {grouped[0]!r} beside {whole[0]!r}, which look like numbers with points "
            f"between thousands: if so, add {options_of(changes)}",
            name,
            changes,
        )
    return None


# ---- the layout of a text file -------------------------------------------------------------------
# How the lines of a text file are laid out: encoding, delimiter, lines before the header, and
# whether there is a header.
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
