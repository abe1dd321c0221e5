"""How the rows of a model were read: their columns, kinds and spelling, kept beside the model."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

from tallybayes.errors import ModelFileError
from tallybayes.estimators.saving import EXTRA
from tallybayes.persistence import Unfit, constructed, fit
from tallybayes.sources.cells import Kind
from tallybayes.sources.contract import Source
from tallybayes.sources.files import is_database, is_paths, source_of, source_of_paths
from tallybayes.sources.options import MISSING, DateOrder, Spelling

__all__ = ["ReadBy", "opened_for", "remember", "spelling_of"]

Strings = list[str] | tuple[str, ...]


@dataclass(frozen=True)
class _Kept:
    """What is kept beside a model."""

    target: str | None = None
    column: str | None = None
    made: str | None = None
    weight: str | None = None
    kinds: dict[str, Kind | None] = field(default_factory=dict)
    missing: Strings = MISSING
    missing_of: dict[str, Strings] = field(default_factory=dict)
    decimal: str = "."
    thousands: str | None = None
    dates: DateOrder = "ymd"
    flatten: bool = False


RENAMED = {"gaps": "missing", "gaps_of": "missing_of"}
"""What files of earlier versions call an entry, and what it is called now."""


@dataclass(eq=False)
class ReadBy:
    """How rows or documents were read.

    Parameters
    ----------
    target : str or None
        The column of the labels, or the header of messages that holds them.
    column : str or None
        Of documents, where these are rows.
    weight : str or None
        The column of weights.
    kinds : dict
        The kind of each column, where that is known.
    spelling : Spelling
        Of strings: missing values, numbers and dates.
    flatten : bool
        Whether objects within rows were flattened.
    made : str or None
        The digest of the counts that a command has made; those that the model has now may be
        others.
    """

    target: str | None = None
    column: str | None = None
    weight: str | None = None
    kinds: dict[str, Kind | None] = field(default_factory=dict)
    spelling: Spelling = Spelling()  # noqa: RUF009  # frozen
    flatten: bool = False
    made: str | None = None

    @classmethod
    def of(cls, extra: Any, path: str = "the model") -> ReadBy:
        """Read what a model file has beside its model.

        Parameters
        ----------
        extra : dict or None
            What is beside it.
        path : str
            The file, for messages.

        Returns
        -------
        ReadBy
            How rows were read.

        Raises
        ------
        ModelFileError
            If an entry is not what it should be.
        """
        own = (extra or {}).get("cli", {})
        if isinstance(own, dict):
            own = {RENAMED.get(name, name): value for name, value in own.items()}
        where = "the command line's part"
        try:
            mine: _Kept = fit(_Kept, own, where)
            missing_of = {name: tuple(strings) for name, strings in mine.missing_of.items()}
            marks = mine.decimal, missing_of, mine.thousands, mine.dates
            spelling = constructed(Spelling, where, tuple(mine.missing), *marks)
        except Unfit as error:
            raise ModelFileError(f"{path} is whole, but no model file: {error}") from error
        columns = mine.target, mine.column, mine.weight, mine.kinds
        return cls(*columns, spelling, mine.flatten, mine.made)

    def extra(self) -> dict[str, Any]:
        """Write what a model file has beside its model.

        Returns
        -------
        dict
            What is not as it is by default.
        """
        spelling = self.spelling
        own = {
            "target": self.target,
            "column": self.column,
            "made": self.made,
            "weight": self.weight,
            "kinds": self.kinds,
            "missing": spelling.missing,
            "missing_of": spelling.missing_of,
            "decimal": spelling.decimal,
            "thousands": spelling.thousands,
            "dates": spelling.dates,
            "flatten": self.flatten,
        }
        usual = vars(_Kept())
        return {"cli": {name: value for name, value in own.items() if value != usual[name]}}


def remember(estimator: Any, read_by: ReadBy) -> None:
    """Keeps beside an estimator how its rows were read; its file will have it, too."""
    estimator.__dict__[EXTRA] = {**estimator.__dict__.get(EXTRA, {}), **read_by.extra()}


def spelling_of(source: Any) -> Spelling:
    """How a source reads strings; of paths and of what has types, as usual."""
    if not hasattr(type(source), "parts"):  # attributes of a frame may be its columns
        return Spelling()
    first = getattr(source, "sources", [source])[0]
    found = getattr(first, "spelling", None) or getattr(
        getattr(first, "source", None), "spelling", None
    )
    return found if isinstance(found, Spelling) else Spelling()


def opened_for(estimator: Any, x: Any) -> Source:
    """A source for an estimator: paths are read as those of its fit were."""
    if EXTRA not in estimator.__dict__ or not is_paths(x) or is_database(x):
        return source_of(x)
    known = estimator.read_by_
    paths = [x] if not isinstance(x, list | tuple) else x
    return source_of_paths(
        list(map(os.fspath, paths)), flatten=known.flatten, spelling=known.spelling
    )
