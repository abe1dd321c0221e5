"""Every exception and warning of tallybayes beside the built-in ones.

Each exception is also a :class:`ValueError`, which code written for scikit-learn catches. Each
warning is a :class:`TallyWarning`, which is a :class:`UserWarning`, and has a class for its cause.
To silence one cause::

    import warnings
    from tallybayes.errors import LeftOutWarning

    warnings.simplefilter("ignore", LeftOutWarning)

Warnings name the line of the caller, outside tallybayes and scikit-learn. A warning about a fitted
model is given once for each fit, however many folds, batches or rows are predicted afterwards.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = [
    "DependentRowsWarning",
    "FamilyWarning",
    "IncompatibleTallies",
    "IndexOrderWarning",
    "InvalidDocument",
    "LabelConflict",
    "LeakWarning",
    "LeftOutWarning",
    "MixedColumnWarning",
    "ModelFileError",
    "NegativeTally",
    "OptionError",
    "RareClassWarning",
    "RuledOutWarning",
    "SlowTokensWarning",
    "SmoothingWarning",
    "SourceError",
    "SourceWarning",
    "StaleWarning",
    "StoreError",
    "StoreWarning",
    "TallyWarning",
    "UnderflowWarning",
    "UnfinishedForget",
    "UninformativeWarning",
    "UnseenLevel",
    "UnseenWarning",
    "WeightScaleWarning",
    "ZoneWarning",
    "called",
    "listed",
    "options_called",
    "shown",
    "suggestion",
    "warn_user",
]

LIBRARIES = {"tallybayes", "sklearn", "joblib"}
"""Packages whose lines are not the caller's: a warning from a pipeline names who called it."""


def warn_user(
    message: str | TallyWarning,
    category: type[TallyWarning],
    *,
    warned: set[Hashable] | None = None,
    about: Hashable = None,
) -> None:
    """Warn at the line that called into the package, however deep the reason lies.

    Parameters
    ----------
    message : str or TallyWarning
        What is wrong, and what to do.
    category : type of TallyWarning
        The class of the warning.
    warned : set, optional
        What has been warned of already, as (category, about). A warning in it is not repeated, and
        a new one is added.
    about : hashable, optional
        What the warning concerns, such as a column, where several of one category may come.
    """
    if warned is not None and (category, about) in warned:
        return
    warnings.warn(message, category, stacklevel=_caller_level())
    if warned is not None:
        warned.add((category, about))


def _caller_level() -> int:
    """The stacklevel, for :func:`warn_user`, of the innermost frame outside of LIBRARIES.

    A worker process or thread has no frame of the caller; then it is the innermost frame outside of
    this package.
    """
    level, frame = 0, sys._getframe(1)
    outside = None
    while frame is not None:
        level += 1
        top = frame.f_globals.get("__name__", "").partition(".")[0]
        if top not in LIBRARIES:
            return level
        if top != "tallybayes" and outside is None:
            outside = level
        frame = frame.f_back  # type: ignore[assignment]
    return outside or level


def listed(names: Iterable[str], max_names: int = 20) -> str:
    """Join names to a readable list, cut after `max_names`.

    Parameters
    ----------
    names : iterable of str
        Names to list.
    max_names : int
        How many are listed; of others only the number.

    Returns
    -------
    str
        The names, separated by commas.
    """
    names = list(names)
    rest = len(names) - max_names
    return ", ".join(names[:max_names]) + (f" and {rest} more" if rest > 0 else "")


def shown(value: Any) -> str:
    """Write a value for a message.

    Parameters
    ----------
    value : Any
        What was given.

    Returns
    -------
    str
        As Python writes it; a number or string of NumPy as if it were Python's.
    """
    return repr(value.item() if getattr(value, "ndim", None) == 0 else value)


# ---- how messages call arguments -----------------------------------------------------------------
def _in_python(name: str, value: Any) -> str:
    return f"{name}=" if value is None else f"{name}={value!r}"


_call: Callable[[str, Any], str] = _in_python


def called(name: str, value: Any = None) -> str:
    """Name an argument for readers of a message: ``weight=``, on the command line ``--weight``.

    Parameters
    ----------
    name : str
        The argument.
    value : object, optional
        A value to give it.

    Returns
    -------
    str
        As it is typed.
    """
    return _call(name, value)


@contextmanager
def options_called(call: Callable[[str, Any], str]) -> Iterator[None]:
    """Name arguments in another way in the messages of this process, as a command line does.

    Parameters
    ----------
    call : callable (str, object) -> str
        How an argument is typed, with its value where that is not None.

    Yields
    ------
    None
        Nothing.
    """
    global _call
    before, _call = _call, call
    try:
        yield
    finally:
        _call = before


MIN_SIMILARITY = 0.65  # from 0 to 1, from which on a name may be another one mistyped


def suggestion(name: str, names: Iterable[str]) -> str:
    """Ask whether another name was meant.

    Parameters
    ----------
    name : str
        What was given.
    names : iterable of str
        What there is.

    Returns
    -------
    str
        " Did you mean …?" where one of `names` is close, else nothing.
    """
    import difflib

    by_folded = {known.casefold(): known for known in names}
    close = difflib.get_close_matches(name.casefold(), by_folded, 1, MIN_SIMILARITY)
    return f" Did you mean {by_folded[close[0]]!r}?" if close else ""


class IncompatibleTallies(ValueError):
    """Two tallies that do not count the same thing were combined.

    Cure: count both with the same columns, levels and kinds, such as by one `schema`.
    """


class NegativeTally(ValueError):
    """More would be removed than was counted.

    Cure: forget only rows that were learned, with the weights that they had.

    Parameters
    ----------
    message : str
        What is wrong, and what to do.
    label : str, optional
        The class where it was found, if that is known.
    column : str, optional
        The column, if it was in one.
    """

    label: str | None
    column: str | None

    def __init__(
        self, message: str = "", *, label: str | None = None, column: str | None = None
    ) -> None:
        super().__init__(message)
        self.label, self.column = label, column


class SourceError(ValueError):
    """A source of rows cannot be read; the message names the source, the place in it, and what to
    do.

    Cure: do what the message says; it names the file, the line and the column.

    Parameters
    ----------
    message : str
        What is wrong, and what to do.
    place : str, optional
        Where a row stands that is wrong: a file and a line.
    row : int, optional
        Its number in the file, or in what else holds it, from 0.
    column : str, optional
        The column that is wrong.
    """

    place: str | None
    row: int | None
    column: str | None

    def __init__(
        self,
        message: str = "",
        *,
        place: str | None = None,
        row: int | None = None,
        column: str | None = None,
    ) -> None:
        super().__init__(message)
        self.place, self.row, self.column = place, row, column


class OptionError(SourceError):
    """An argument for reading is lacking, or does not fit what is read.

    Cure: give the option that the message names, or leave it out.

    Parameters
    ----------
    message : str
        What is wrong, and what to do.
    place, row, column : optional
        As of a SourceError.
    """


class UnseenLevel(ValueError):
    """A level that training did not see arrived where ``unseen="error"``.

    Cure: declare the level in ``levels=``, or take ``unseen="smooth"`` or ``"ignore"``.
    """


class InvalidDocument(ValueError, AttributeError, TypeError):
    """A document is missing, is not text, or is not valid Unicode.

    Cure: give a string for each document; leave out rows without one.

    scikit-learn raises an AttributeError, a TypeError or a ValueError for them, by the options.
    """


class ModelFileError(ValueError):
    """A file is not a whole and unaltered tallybayes model that this version can read.

    Cure: fetch the file again, or save the model again with the version that made it.
    """


class StoreError(ValueError):
    """A store cannot be opened, or cannot do what was asked; the message says whether it changed.

    Cure: do what the message says.
    """


class LabelConflict(StoreError):
    """A row was learned again under another label; nothing of the call was counted.

    Cure: call ``relabel`` where the new label is right; leave the row out where it is not.

    Parameters
    ----------
    message : str
        What is wrong, and what to do.
    id : str, int or bytes, optional
        The id of the row.
    label, learned : label, optional
        The label that came, and the one that the row was learned with.
    """

    def __init__(
        self, message: str = "", *, id: Any = None, label: Any = None, learned: Any = None
    ) -> None:
        super().__init__(message)
        self.id: Any = id
        self.label: Any = label
        self.learned: Any = learned


class RequestConflict(StoreError):
    """A request was sent again with other content; nothing of the call was counted.

    Cure: give each request a name of its own, and send it again only as it was.
    """


class UnfinishedForget(StoreError):
    """Rows are forgotten and no longer counted, but a file still holds their bytes.

    Cure: end the process or the transaction that the message speaks of, and call ``forget`` with
    the same ids again.
    """


class TallyWarning(UserWarning):
    """Base of all warnings of tallybayes.

    Cure: each cause has a class of its own, below.
    """


class LeftOutWarning(TallyWarning):
    """A column is not used: its values cannot recur in other rows, or it is the index of a frame.

    Cure: declare a family for the column to use it, or None for it to be left out silently.
    """


class SourceWarning(TallyWarning):
    """A source holds something that is left out, or read otherwise than it looks.

    Cure: look at what the message names; unpack or declare it if it matters.
    """


class MixedColumnWarning(TallyWarning):
    """A column of numbers holds some strings, which become levels beside the numbers.

    Cure: give None where a string means a missing value (``--null``), or declare Categorical().
    """


class ZoneWarning(TallyWarning):
    """Times with a time zone meet times without one in a column, in training or between training
    and prediction; those without are read as UTC.

    Cure: give all times a zone, or none.
    """


class IndexOrderWarning(TallyWarning):
    """X and y are pandas objects with the same index in another order: rows are matched by
    position.

    Cure: give ``y.loc[X.index]`` if the index says which belong together; else
    ``y.set_axis(X.index)``.
    """


class DependentRowsWarning(TallyWarning):
    """Rows are not independent observations: they repeat, or belong together in groups.

    Cure: name what belongs together with ``groups=`` (``--group``), or count each row once.
    """


class UnderflowWarning(TallyWarning):
    """Numbers are so small that their squares underflow, and a Gaussian takes them for constant.

    Cure: multiply the column by a constant, such as 1e160.
    """


class FamilyWarning(TallyWarning):
    """A column holds values that its declared family is not meant for.

    Cure: declare the family that fits the values, or change the values.
    """


class UnseenWarning(TallyWarning):
    """Rows to predict do not look like those learned, such as a column with only new levels.

    Cure: compare the columns, types and spellings of the new rows with those learned.
    """


class RareClassWarning(TallyWarning):
    """A class has so few rows that predictions of it are unreliable.

    Cure: add rows of the class, or join it to another.
    """


class LeakWarning(TallyWarning):
    """A column alone gives the class of every row, as a copy of the labels does.

    Cure: leave the column out, ``columns={name: None}``, if it is known only after the class.
    """


class UninformativeWarning(TallyWarning):
    """No column separates the classes better than chance could.

    Cure: add columns that say something about the class; look for a shuffled label.
    """


class SlowTokensWarning(TallyWarning):
    """A token pattern has no compiled kernel, and Python's ``re`` finds the tokens.

    Cure: take one of the patterns that the message names, if speed matters.
    """


class SmoothingWarning(TallyWarning):
    """The smoothing asked for was changed to one that can be computed with.

    Cure: give a smoothing that can be computed with, or ``force_alpha=True``.
    """


class WeightScaleWarning(TallyWarning):
    """Sample weights have a scale at which smoothing outweighs the rows.

    Cure: multiply the weights as the message says, so that a row counts as one.
    """


class RuledOutWarning(TallyWarning):
    """Every class gives a row the probability 0; its posterior is the class prior.

    Cure: smooth, ``alpha`` above 0.
    """


class StoreWarning(TallyWarning):
    """A store lies where it may lose what it has acknowledged, such as on a network file system.

    Cure: move the store to a local disk, or use PostgreSQL.
    """


class StaleWarning(TallyWarning):
    """Something chosen on rows, such as a calibration, was chosen with other counts.

    Cure: call ``reweight``, ``recalibrate``, ``tune`` or ``fit`` with rows that were learned.

    Parameters
    ----------
    state : str
        What is older.
    advice : str
        What to do in Python.
    command : str
        What to do on the command line.
    """

    def __init__(
        self,
        state: str,
        advice: str = "",
        command: str = "tallybayes reweight learns them again",
    ) -> None:
        super().__init__(f"{state}: {advice}" if advice else state)
        self.state = state
        self.command = command
