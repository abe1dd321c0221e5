"""Whether a file has the named columns, checked before anything slow is imported."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Never, Protocol

from tallybayes.cli.terminal.failures import USAGE, Failure, suggestion
from tallybayes.errors import listed
from tallybayes.sources.opening import header_hint

__all__ = [
    "Header",
    "Named",
    "missing_target",
    "need_columns",
    "need_group",
    "need_kept",
    "need_target",
    "need_weight",
]


class Header(NamedTuple):
    """The columns of a source, before it is opened for its rows."""

    name: str
    header: list[str]


class Named(Protocol):
    """Anything with columns: rows of tables, or of documents."""

    @property
    def name(self) -> str: ...

    @property
    def header(self) -> list[str]: ...


def missing_target(source: Named) -> Never:
    """Raises: no option names the label's column."""
    raise Failure(
        "Missing option '--target' / '-t': the label's column. The columns of "
        f"{source.name} are {listed(source.header)}",
        USAGE,
    )


def need_target(source: Named, target: str, columns: list[str]) -> None:
    """Raises where the data has no such column."""
    if target not in columns:
        hint = suggestion(target, columns) or header_hint(columns)
        if len(columns) == 1 and not hint:
            hint = " Is the --delimiter another?"
        raise Failure(
            f"{source.name} has no column {target!r}; its columns are {listed(columns)}.{hint}"
        )


def need_kept(source: Named, names: Sequence[str]) -> None:
    """Raises where the data has not the columns that --keep names."""
    for name in names:
        if name not in source.header:
            raise Failure(
                f"--keep names {name!r}, which {source.name} does not have; its columns are "
                f"{listed(source.header)}.{suggestion(name, source.header)}"
            )


def need_weight(source: Named, weight: str) -> None:
    """Raises where the data has no such column of weights."""
    if weight not in source.header:
        raise Failure(
            f"{source.name} has no column {weight!r} of weights (--weight); its columns are "
            f"{listed(source.header)}.{suggestion(weight, source.header)}"
        )


def need_group(source: Named, group: str, target: str | None, weight: str | None) -> None:
    """Raises where the column of groups is not there, or is the target or that of weights."""
    columns = source.header
    if group not in columns:
        raise Failure(
            f"--group names {group!r}, which {source.name} does not have; its columns are "
            f"{listed(columns)}.{suggestion(group, columns)}"
        )
    if group in (target, weight):
        what = "target" if group == target else "column of weights"
        raise Failure(f"--group {group} is the {what}: name the column of groups", USAGE)


def need_columns(
    source: Named, target: str, families: dict[str, Any], weight: str | None = None
) -> None:
    """Raises where the columns of the training rows are not those that the options name.

    Parameters
    ----------
    source : Named
    target : str
    families : dict
        By the column's name, as --column gives them.
    weight : str, optional
        The column of weights.
    """
    columns = source.header
    need_target(source, target, columns)
    for name in families:
        if name not in columns:
            from tallybayes.families.registry import family_names

            raise Failure(
                f"--column names {name!r}, which {source.name} does not have; its columns "
                f"are {listed(columns)} (families: {listed(family_names())})."
                + suggestion(name, columns)
            )
    if target in families:
        raise Failure(f"--column {target} is the target, which has no family: leave it out")
    if weight is not None and (weight == target or weight in families):
        what = "the target" if weight == target else "given a family by --column"
        raise Failure(f"--weight {weight} is {what}: weights are a column of their own", USAGE)
    if len(columns) < 2 + (weight is not None):
        raise Failure(
            f"{source.name} has no column beside {target!r} to learn from (is the "
            "--delimiter another?)"
        )
