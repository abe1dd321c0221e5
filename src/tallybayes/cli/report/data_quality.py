"""Notes on columns that may mean something other than what was read.

A column of strings that were meant as numbers or dates is not an error, but makes the model worse.
The note names the column and the option that reads it as meant.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

from tallybayes.cli.io.model_file import ModelFile
from tallybayes.cli.io.rows import Rows
from tallybayes.cli.io.strays import MAX_STRAYS, null_options, quoted
from tallybayes.cli.terminal.console import note, number_of
from tallybayes.errors import listed
from tallybayes.tally import GridCounts

if TYPE_CHECKING:
    from tallybayes.cli.io.document_file import DocumentFile
    from tallybayes.cli.io.documents.source import DocumentSource
    from tallybayes.estimators.text.text_nb import TextNB

__all__ = [
    "note_counted_unlabelled",
    "note_data_quality",
    "note_new_classes",
    "note_stale",
    "note_unlabelled",
]

MAX_LEVELS = 10_000  # levels of a column that are looked at
MIN_NUMBERS_PER_STRAY = 10  # numbers, for so many strays
MIN_NUMBER_CLASSES = 20  # numbers as classes, from which on they may be a quantity

DECIMAL_POINT = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+")
MONEY = r"[$€£¥]"
SIGNED = re.compile(rf"[+-]?{MONEY}?\s?[+-]?\d{{1,3}}([,' ]?\d{{3}})*(\.\d+)?\s?(%|{MONEY})?")
GROUPED = {
    sign: re.compile(rf"[+-]?\d{{1,3}}({shape}\d{{3}})+([.,]\d*)?")
    for sign, shape in ((",", ","), (".", r"\."), (" ", "[ \u00a0\u202f]"), ("'", "'"))
}
"""Numbers with a sign between groups of three digits, by the sign."""

DATED = re.compile(r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}([T ].*)?")
ENDING = re.compile(r"(\d{1,2})([./-])(\d{1,2})[./-]\d{4}([T ].*)?")


def note_data_quality(file: ModelFile, source: Rows) -> None:
    """Reports columns of strings that look like something else, and columns that are not read.

    Parameters
    ----------
    file : ModelFile
        The model of what was read.
    source : Rows
        What it was read from.
    """
    if source.nameless:
        note("note: a column without a name (such as a written index) is not read")
    for name, levels in _strings(file).items():
        held = file.table.holds[name]
        beside = held.numbers and held.strings
        if finding := _finding(
            name, levels, file.spelling.decimal, None if beside else _n_numbers(file, name)
        ):
            read = "holds strings beside its numbers" if beside else "was read as strings"
            note(f"note: column {name!r} {read} {finding}")
        if held.together:
            note(
                f"note: column {name!r} is mainly strings, and has too many numbers for levels: "
                f"all of them are one level. To keep each, add --column "
                f"{quoted(name + '=categorical')}"
            )
    numbers = [c for c in file.classes if DECIMAL_POINT.fullmatch(c)]
    if len(numbers) == len(file.classes) > MIN_NUMBER_CLASSES:
        note(
            f"note: {file.target!r} has {len(numbers)} different numbers, each of them a class: if "
            "they are a quantity, group them into a few classes first"
        )


def note_unlabelled(source: Rows | DocumentSource, unit: str = "row") -> None:
    """Reports how many rows or documents were left out because they have no label."""
    if source.unlabelled:
        rows = number_of(source.unlabelled, unit)
        note(f"note: {source.name}: {rows} without a label left out")


def note_counted_unlabelled(source: DocumentSource, model: TextNB) -> None:
    """Reports the use of documents without a label."""
    if not source.unlabelled:
        note(f"note: {source.name}: every document has a label, so --unlabelled had nothing to do")
        return
    documents, weight = number_of(source.unlabelled, "document"), model.unlabelled_weight_
    if weight == 0.0:
        note(
            f"note: {source.name}: {documents} without a label not counted: with them, labelled "
            "documents that were held out are not predicted better beyond chance"
        )
        return
    note(
        f"note: {source.name}: {documents} without a label counted by their probabilities, each as "
        f"{weight:g} of a document, after {number_of(model.n_iter_, 'iteration')}"
    )


def note_stale(file: ModelFile, path: str) -> None:
    """Reports that weights or a calibration are older than the counts."""
    if file.stale:
        weighted = file.table.chosen.weighting is not None
        chosen = "weights and pairs were" if weighted else "calibration was"
        note(
            f"warning: the {chosen} learned on other counts: tallybayes reweight {path} DATA "
            "learns again, on rows that the model has counted"
        )


def note_new_classes(file: ModelFile | DocumentFile, before: list[str]) -> None:
    """Reports the classes that came with the rows that were added."""
    rows = dict(zip(file.classes, file.class_rows.tolist(), strict=True))
    new = [
        f"{name!r} ({number_of(rows[name], file.unit)})"
        for name in file.classes
        if name not in before
    ]
    if new:
        what = "class is" if len(new) == 1 else "classes are"
        note(
            f"warning: the {what} new to the model: {listed(new, 10)}. Correct the data if that is "
            f"a misspelling: tallybayes forget takes the {file.unit}s away again"
        )


def _strings(file: ModelFile) -> dict[str, list[str]]:
    """Strings of each column that is not declared as levels."""
    declared = file.table.reading.declared
    return {
        group.names[0]: [str(level) for level in islice(group.levels[0], MAX_LEVELS)]
        for group in file.table.schema.groups
        if group.names is not None
        and group.levels is not None
        and not declared.is_text(group.names[0])
    }


def _n_numbers(file: ModelFile, name: str) -> int:
    """Different numbers that a column holds beside its strings, as far as they are
    distinguished."""
    pairs = zip(file.table.schema.groups, file.table.tally.groups, strict=True)
    return sum(
        len(group.keys)
        for columns, group in pairs
        if isinstance(group, GridCounts) and columns.names == (name,)
    )


def _finding(name: str, levels: list[str], decimal: str, n_numbers: int | None) -> str:
    """What strings look like, and what reads them so; nothing where they look like strings.

    `n_numbers` is how many different numbers stand among them; None where the column is mainly
    numbers, so that few strings are not reported.
    """
    if not levels:
        return ""
    if decimal == "." and all(map(DECIMAL_COMMA.fullmatch, levels)):
        return "and looks like numbers with a decimal comma: add --decimal ,"
    number = DECIMAL_COMMA if decimal == "," else DECIMAL_POINT
    strays = [v for v in levels if not DECIMAL_POINT.fullmatch(v) and not number.fullmatch(v)]
    enough = (
        n_numbers is not None and len(levels) - len(strays) + n_numbers >= MIN_NUMBERS_PER_STRAY
    )
    if enough and 0 < len(strays) <= MAX_STRAYS:
        return (
            f"because of {listed(map(repr, strays))} among numbers: if that means missing, "
            f"add {null_options(name, strays)}"
        )
    for sign, pattern in GROUPED.items():
        if all(
            DECIMAL_POINT.fullmatch(v) or number.fullmatch(v) or pattern.fullmatch(v)
            for v in levels
        ):
            example = next(v for v in levels if pattern.fullmatch(v))
            other = "." if sign == "," or (sign != "." and "," not in example) else ","
            decimals = "" if other == decimal else f" --decimal {other}"
            named = {" ": "space", "'": "apostrophe"}.get(sign, sign)
            return f"and looks like numbers, such as {example!r}: add --thousands {named}{decimals}"
    if strays and all(map(SIGNED.fullmatch, levels)):
        return (
            f"and looks like numbers with signs, such as {strays[0]!r}: write plain digits with a "
            "point"
        )
    if all(map(DATED.fullmatch, levels)):
        order = _order(levels)
        what = f"add --dates {order}" if order else "write them as 2020-01-31"
        return f"and looks like dates, such as {levels[0]!r}: {what}"
    return ""


def _order(levels: list[str]) -> str:
    """The order of dates in digits, where they end with the year and some day is beyond 12; where
    none is, that of the countries that write the sign."""
    found = [ENDING.fullmatch(level) for level in levels]
    if not all(found):
        return ""
    first, second = ([int(m[i]) for m in found if m] for i in (1, 3))
    if max(first) > 12 or max(second) > 12:
        return "dmy" if max(first) > max(second) else "mdy"
    dotted = all(m[2] == "." for m in found if m)
    return "dmy" if dotted else "dmy, or --dates mdy where the month comes first"
