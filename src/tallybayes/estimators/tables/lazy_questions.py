"""The questions of :class:`LazyNaiveBayes` to its source: the relevant columns, and their
counts."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from tallybayes.engines.contract import (
    Condition,
    CountLevels,
    CountNumbers,
    SourceColumn,
)
from tallybayes.families.choice import UNDECLARED
from tallybayes.models.data_warnings import Watched, warn_of_odd_values
from tallybayes.models.declarations import Declared, declared, names_declared
from tallybayes.models.rows import Held, rows_to_score
from tallybayes.parameters import Unseen
from tallybayes.tables import Column, Numbers, Strings, Table, read_table
from tallybayes.threads import get_num_threads

__all__ = [
    "Where",
    "columns_that_count",
    "condition",
    "counts_needed",
    "need_choice",
    "need_families",
    "need_names",
    "need_strength",
    "rows_asked",
    "table_asked",
]

Where = str | tuple[str, Sequence[Any]]

LEVELS = ("text", "category", "boolean")
"""Kinds of columns that are levels unless they are declared otherwise; others are numbers."""


def condition(where: Any) -> list[Condition]:
    """A condition in SQL as the engine takes it; raises ValueError for anything else."""
    if where is None:
        return []
    text, values = (where, ()) if isinstance(where, str) else (where[0], tuple(where[1]))
    if not isinstance(text, str) or not text.strip() or "\0" in text:
        raise ValueError(
            "where= is a condition in SQL, such as 'age > 30', or with values of its own "
            f"('age > ?', [30]); got {where!r}"
        )
    return [Condition(text, values)]


def need_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """Raises ValueError for a parameter that is not one of its choices."""
    if value not in choices:
        raise ValueError(f"{name} is one of {', '.join(map(repr, choices))}; got {value!r}")


def need_strength(name: str, value: Any) -> None:
    """Raises ValueError for a smoothing that is not a number of rows."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < np.inf:
        raise ValueError(f"{name} is a finite number from 0 on, in rows; got {value!r}")


def _need_family(name: str, family: Any) -> None:
    """Raises ValueError for a family that needs more than the counts of the levels in question."""
    if family is not None and family.together is None and not family.needs_values:
        return
    if family is not None and family.needs_levels:
        raise ValueError(
            f"columns= gives {name!r} a Dirichlet with a probability for each level, but not the "
            "levels: declare them, Categorical(levels=[…], prior=…)"
        )
    raise ValueError(
        f"columns= gives {name!r} the family {family!r}: LazyNaiveBayes reads Categorical, "
        "Gaussian without a transform, and Poisson, whose counts or moments one statement brings. "
        "Fit a NaiveBayes for the others."
    )


def need_names(there: Sequence[str], target: str, given: Any) -> None:
    """Raises ValueError where a source lacks the target, or a column that is declared."""
    if target not in there:
        raise ValueError(
            f"the source has no column {target!r}, the target; its columns are {list(there)}"
        )
    names = [name for name in there if name != target]
    for name in names_declared(given):
        if name not in names:
            why = "is the target" if name == target else "the source does not have"
            raise ValueError(f"columns= names {name!r}, which {why}; it has {names}")


def need_families(given: Any) -> None:
    """Raises ValueError for a family that needs more than counts of levels and moments."""
    what = declared(given)
    families = [*what.groups.items(), *what.families.items(), *what.by_type]
    for name, family in families:
        if family is not None:
            _need_family(str(name), family)


def columns_that_count(
    there: Mapping[str, SourceColumn], target: str, given: Any
) -> tuple[dict[str, SourceColumn], Declared]:
    """The columns of a source that count, without the target, and their families.

    Parameters
    ----------
    there : mapping
        The columns of the source.
    target : str
    given : mapping or list of pairs
        Families by column name or type.
    """
    need_names(list(there), target, given)
    names = [name for name in there if name != target]
    what = declared(given)
    if what.groups:
        _need_family(str(next(iter(what.groups))), next(iter(what.groups.values())))
    columns: dict[str, SourceColumn] = {}
    for name in names:
        column = there[name]
        if what.left_out(name):
            continue
        if column.kind is None:
            raise ValueError(
                f"column {name!r} of the source is of the type {column.type}, neither number, "
                f"text, boolean nor date: leave it out, columns={{{name!r}: None}}"
            )
        columns[name] = column
    return columns, _with_families(columns, what)


def _with_families(columns: Mapping[str, SourceColumn], what: Declared) -> Declared:
    """With the families that types give, and Gaussian for other numbers."""
    kinds = {n: "float" if c.kind == "decimal" else str(c.kind) for n, c in columns.items()}
    typed: dict[str, Column] = {
        name: Strings(np.empty(0, np.int32), [], kind)
        if kind in LEVELS
        else Numbers(np.empty(0), kind)
        for name, kind in kinds.items()
    }
    what = what.resolved(Table(typed, 0, True))
    families = dict(what.families)
    assumed = [n for n, kind in kinds.items() if n not in families and kind not in LEVELS]
    for name in kinds:
        if families.get(name) is not None:
            _need_family(name, families[name])
    families |= dict.fromkeys(assumed, UNDECLARED)
    return Declared(families, {}, assumed=frozenset(assumed))


def counts_needed(
    x: Table, what: Declared, missing: Literal["ignore", "level"]
) -> dict[str, CountLevels | CountNumbers]:
    """What has to be counted for these rows: levels, then numbers.

    Parameters
    ----------
    x : Table
    what : Declared
    missing : {"ignore", "level"}
        Whether a column without a value in any of the rows is left out.
    """
    levels: dict[str, CountLevels | CountNumbers] = {}
    numbers: dict[str, CountLevels | CountNumbers] = {}
    for name, column in x.columns.items():
        if isinstance(column, Numbers):
            there = not np.isnan(column.values.astype(np.float64, copy=False)).all()
        else:
            there = isinstance(column, Strings) and bool((column.codes >= 0).any())
        if not there and missing == "ignore":
            continue
        if what.is_number(name):
            numbers[name] = CountNumbers(non_negative=what.least(name) == 1, grid=False)
            continue
        all_of_them = what.levels(name)
        if all_of_them is not None:
            levels[name] = CountLevels(all_of_them, closed=True)
            continue
        found: list[str] = []
        if isinstance(column, Strings):
            used = np.unique(column.codes)
            found = [column.levels[code] for code in used.tolist() if code >= 0]
        levels[name] = CountLevels(found)
    return levels | numbers


def table_asked(rows: Any, columns: Sequence[str]) -> Table:
    """The rows of the question; those of an array have the source's columns in their order."""
    table = read_table(rows, get_num_threads())
    if not table.n_rows:
        raise ValueError("no row is asked about: give at least one")
    if table.named:
        return table
    if len(table.columns) != len(columns):
        raise ValueError(
            f"the rows are an array of {len(table.columns)} columns, but the source has "
            f"{len(columns)} beside the target: {list(columns)}"
        )
    return Table(dict(zip(columns, table.columns.values(), strict=True)), table.n_rows, True)


def rows_asked(
    rows: Any,
    columns: Mapping[str, SourceColumn],
    what: Declared,
    unseen: Unseen,
    warned: set[Hashable],
) -> Table:
    """The rows of the question, each column as the source counts it.

    Parameters
    ----------
    rows : table, list of dicts or array (n_rows, n_columns)
    columns : mapping
        The columns of the source that count.
    what : Declared
    unseen : {"smooth", "ignore", "error"}
        With "error" booleans are not watched for odd values: they are refused.
    warned : set
        What was warned of.
    """
    table = table_asked(rows, list(columns))
    holds = {
        name: Held(numbers=True, dates=column.kind == "date")
        if what.is_number(name)
        else Held(strings=True, booleans=column.kind == "boolean")
        for name, column in columns.items()
    }
    records = isinstance(rows, list | tuple)
    names = list(columns)
    x = rows_to_score(table, names, names, holds, what, records=records)
    counts = [n for n in names if (f := what.families.get(n)) is not None and f.whole]
    booleans = [name for name in names if holds[name].booleans and unseen != "error"]
    warn_of_odd_values(x, Watched(tuple(counts), tuple(booleans)), warned)
    return x
