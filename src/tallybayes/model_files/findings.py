"""Notes on data that may mean something other than what was read.

A column of strings that were meant as numbers or dates is not an error, but makes the model worse.
The note names the column and what reads it as meant.
"""

from __future__ import annotations

from collections.abc import Container
from itertools import islice
from typing import Any

from tallybayes.diagnosis.findings import (
    MAX_STRAYS,
    NAMELESS,
    Finding,
    is_number,
    null_options,
    numbers_as_written,
    quoted,
    strings_as_read,
)
from tallybayes.models.rows import Held, is_infinite
from tallybayes.models.table import TableModel
from tallybayes.schema import Schema
from tallybayes.sources.reading import Rows
from tallybayes.sources.rows import first_written
from tallybayes.tally import GridCounts

__all__ = ["need_finite", "notes_of", "state_of", "strays", "strings_beside_numbers"]


MAX_LEVELS = 10_000  # levels of a column that are looked at


def state_of(model: Any) -> TableModel:
    """What a model of a table holds."""
    state = model._fitted()
    assert isinstance(state, TableModel)
    return state


def notes_of(model: Any, source: Rows) -> list[str]:
    """Columns of strings that look like something else, and columns that are not read.

    Parameters
    ----------
    model : NaiveBayes or WeightedNaiveBayes
        Of what was read.
    source : Rows
        What it was read from.
    """
    state, spelling = state_of(model), source.spelling
    found = [str(NAMELESS)] if source.nameless else []
    for name, levels in _strings(state).items():
        held = state.holds[name]
        beside = held.numbers and held.strings
        _, grid = state.tally.by_key.get(((name,), "grid"), (None, None))
        n_numbers = None if beside else len(grid.keys) if isinstance(grid, GridCounts) else 0
        if finding := strings_as_read(name, levels, spelling, n_numbers=n_numbers):
            read = "holds strings beside its numbers" if beside else "was read as strings"
            found.append(f"column {name!r} {read} {finding.message}")
        if held.together:
            found.append(
                f"column {name!r} is mainly strings, and has too many numbers for levels: all of "
                f"them are one level. To keep each, add --column {quoted(name + '=categorical')}"
            )
    return [*found, *map(str, _numbers(state, source))]


def _strings(state: TableModel) -> dict[str, list[str]]:
    """Strings of each column that is not declared as levels."""
    declared = state.reading.declared
    return {
        group.names[0]: [str(level) for level in islice(group.levels[0], MAX_LEVELS)]
        for group in state.schema.groups
        if group.names is not None
        and group.levels is not None
        and not declared.is_text(group.names[0])
    }


def _numbers(state: TableModel, source: Rows) -> list[Finding]:
    """What numbers look like as they are written, by the first rows."""
    declared = state.reading.declared
    held = state.holds
    names = [name for name, kind in held.items() if kind.numbers and name not in declared.families]
    found = []
    for name, levels in first_written(source.source, names).items():
        written = [text for text in levels if is_number(text, source.spelling.decimal)]
        if finding := numbers_as_written(name, written, source.spelling):
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


def strings_beside_numbers(model: Any) -> dict[str, list[str]]:
    """The strings of each column that is mainly numbers."""
    state = state_of(model)
    levels = _levels(state.tally_read.schema)
    return {
        name: levels[name] for name, held in state.holds.items() if held.numbers and held.strings
    }


def need_finite(model: Any, source: Rows) -> None:
    """Raises for a column of numbers whose only strings are infinite numbers, such as inf."""
    state = state_of(model)
    levels = _levels(state.schema)
    for name, (row, _) in source.first_strings.items():
        held = state.counted.get(name, Held())
        if held.numbers and held.strings and all(map(is_infinite, levels[name])):
            raise source.infinite(name, row)


def strays(model: Any, source: Rows, known: Container[str] = ()) -> list[str]:
    """Where the first string is in each column of numbers.

    Parameters
    ----------
    model : NaiveBayes or WeightedNaiveBayes
        Of what was read.
    source : Rows
    known : container of str
        Columns that held strings beside numbers before.
    """
    found = []
    for name, strings in strings_beside_numbers(model).items():
        if name in known or name not in source.first_strings:
            continue
        row, text = source.first_strings[name]
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
        found.append(
            f"column {name!r}: {source.where(row)} holds {text!r}{more}; strings are levels beside "
            f"the numbers{advice}"
        )
    return found
