"""What a command reads of the rows of a source."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from tallybayes.cli.terminal.console import Bar
from tallybayes.sources.cells import Kind

__all__ = ["Labels", "Plan"]


Labels = Callable[[NDArray[Any]], NDArray[Any]]
"""Labels as strings in the type that a model has them in."""


@dataclass(frozen=True)
class Plan:
    """The columns and labels that a command reads.

    Parameters
    ----------
    bar : Bar
    doing : str
        The text of the progress bar.
    target : str, optional
        The column of labels.
    names : sequence of str, optional
        The other columns that are read; what a row lacks is missing. None: all.
    keep : sequence of str
        Columns that are handed on as they are, whether or not the model reads them as well.
    kinds : mapping
        The kind of each column. Where it is None or not given, the cells decide.
    left_out : collection of str
        Columns that are not read.
    fitting : bool
        Whether a model is made: kinds that are given are then declared.
    labels : callable, optional
        Makes labels those of a model; by default they are strings.
    weight : str, optional
        The column of weights.
    group : str, optional
        The column of groups of rows, which the model does not read.
    then : str
        What follows the last row, for the progress bar.
    """

    bar: Bar
    doing: str
    target: str | None = None
    names: Sequence[str] | None = None
    keep: Sequence[str] = ()
    kinds: Mapping[str, Kind | None] = field(default_factory=dict)
    left_out: Collection[str] = ()
    fitting: bool = False
    labels: Labels | None = None
    weight: str | None = None
    group: str | None = None
    then: str = ""
