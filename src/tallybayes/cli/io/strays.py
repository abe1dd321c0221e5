"""Strings in columns of numbers: they become levels beside the numbers, and a note names the line
of the first one."""

from __future__ import annotations

from collections.abc import Container

from tallybayes.cli.io.model_file import ModelFile, state_of
from tallybayes.cli.io.rows import Rows
from tallybayes.cli.terminal.console import note
from tallybayes.diagnosis.findings import MAX_STRAYS, null_options
from tallybayes.estimators.tables.base import TableClassifier
from tallybayes.models.columns.mixed import Held, is_infinite
from tallybayes.schema import Schema

__all__ = [
    "need_finite",
    "note_strays",
    "strings_beside_numbers",
]


def _levels(schema: Schema) -> dict[str, list[str]]:
    """The levels of each column that is counted by itself."""
    return {
        group.names[0]: group.levels[0].tolist()
        for group in schema.groups
        if group.names is not None and group.levels is not None
    }


def strings_beside_numbers(model: TableClassifier) -> dict[str, list[str]]:
    """The strings of each column that is mainly numbers."""
    state = state_of(model)
    levels = _levels(state.tally_read.schema)
    return {
        name: levels[name] for name, held in state.holds.items() if held.numbers and held.strings
    }


def need_finite(model: TableClassifier, source: Rows) -> None:
    """Raises for a column of numbers whose only strings are infinite numbers, such as inf."""
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
