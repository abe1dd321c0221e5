"""Notes on data that may mean something other than what was read.

A column of strings that were meant as numbers or dates is not an error, but makes the model worse.
The note names the column and the option that reads it as meant.
"""

from __future__ import annotations

from collections.abc import Container
from itertools import islice
from typing import TYPE_CHECKING

from tallybayes.cli.console import note, number_of
from tallybayes.diagnosis.findings import (
    MAX_STRAYS,
    NAMELESS,
    Finding,
    is_number,
    null_options,
    numbers_as_written,
    of_labels,
    quoted,
    strings_as_read,
)
from tallybayes.errors import listed
from tallybayes.models.rows import Held, is_infinite
from tallybayes.sources.rows import first_written
from tallybayes.tally import GridCounts

if TYPE_CHECKING:
    from tallybayes.cli.document_file import DocumentFile
    from tallybayes.cli.documents import DocumentSource
    from tallybayes.cli.model_file import ModelFile
    from tallybayes.cli.rows import Rows
    from tallybayes.estimators.table_base import TableClassifier
    from tallybayes.estimators.text import TextNB
    from tallybayes.schema import Schema

__all__ = [
    "need_finite",
    "note_counted_unlabelled",
    "note_data_quality",
    "note_new_classes",
    "note_stale",
    "note_strays",
    "note_unlabelled",
    "strings_beside_numbers",
]


MAX_LEVELS = 10_000  # levels of a column that are looked at


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
        note(f"note: {NAMELESS}")
    for name, levels in _strings(file).items():
        held = file.table.holds[name]
        beside = held.numbers and held.strings
        n_numbers = None if beside else _n_numbers(file, name)
        if finding := strings_as_read(name, levels, file.spelling, n_numbers=n_numbers):
            read = "holds strings beside its numbers" if beside else "was read as strings"
            note(f"note: column {name!r} {read} {finding.message}")
        if held.together:
            note(
                f"note: column {name!r} is mainly strings, and has too many numbers for levels: "
                f"all of them are one level. To keep each, add --column "
                f"{quoted(name + '=categorical')}"
            )
    for finding in _numbers(file, source):
        note(f"note: {finding}")
    if numbers := of_labels(file.classes):
        note(f"note: {file.target!r} {numbers.message}")


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


def _numbers(file: ModelFile, source: Rows) -> list[Finding]:
    """What numbers look like as they are written, by the first rows."""
    declared = file.table.reading.declared
    held = file.table.holds
    names = [name for name, kind in held.items() if kind.numbers and name not in declared.families]
    found = []
    for name, levels in first_written(source.source, names).items():
        written = [text for text in levels if is_number(text, file.spelling.decimal)]
        if finding := numbers_as_written(name, written, file.spelling):
            found.append(finding)
    return found


# ---- strings in columns of numbers ---------------------------------------------------------------
# They become levels beside the numbers, and a note names the line of the first one.
def _levels(schema: Schema) -> dict[str, list[str]]:
    """The levels of each column that is counted by itself."""
    return {
        group.names[0]: group.levels[0].tolist()
        for group in schema.groups
        if group.names is not None and group.levels is not None
    }


def strings_beside_numbers(model: TableClassifier) -> dict[str, list[str]]:
    """The strings of each column that is mainly numbers."""
    from tallybayes.cli.model_file import state_of

    state = state_of(model)
    levels = _levels(state.tally_read.schema)
    return {
        name: levels[name] for name, held in state.holds.items() if held.numbers and held.strings
    }


def need_finite(model: TableClassifier, source: Rows) -> None:
    """Raises for a column of numbers whose only strings are infinite numbers, such as inf."""
    from tallybayes.cli.model_file import state_of

    state = state_of(model)
    levels = _levels(state.schema)
    for name, (row, _) in source.first_strings.items():
        held = state.counted.get(name, Held())
        if held.numbers and held.strings and all(map(is_infinite, levels[name])):
            raise source.infinite(name, row)


def note_strays(file: ModelFile, source: Rows, known: Container[str] = ()) -> None:
    """Reports where the first string is in each column of numbers.

    Parameters
    ----------
    file : ModelFile
        The model of what was read.
    source : Rows
    known : container of str
        Columns that held strings beside numbers before.
    """
    for name, strings in strings_beside_numbers(file.model).items():
        if name in known or name not in source.first_strings:
            continue
        row, text = source.first_strings[name]
        where = source.where(row)
        others = (
            f"{len(strings) - 1:,} other strings come"
            if len(strings) > 2
            else "1 other string comes"
        )
        more = f", and {others} later" if len(strings) > 1 else ""
        advice = (
            f". If that means missing, add {null_options(name, strings)}"
            if len(strings) <= MAX_STRAYS
            else ""
        )
        note(
            f"note: column {name!r}: {where} holds {text!r}{more}; strings are levels beside the "
            f"numbers{advice}"
        )
