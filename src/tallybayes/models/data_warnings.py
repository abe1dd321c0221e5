"""Warnings of data that a model cannot mean: identifiers, dependent rows, odd and unseen values."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes.errors import (
    DependentRowsWarning,
    FamilyWarning,
    LeakWarning,
    LeftOutWarning,
    RareClassWarning,
    TallyWarning,
    UnderflowWarning,
    UninformativeWarning,
    UnseenWarning,
    WeightScaleWarning,
    ZoneWarning,
    listed,
    warn_user,
)
from tallybayes.schema import Schema
from tallybayes.tables import Mixed, Numbers, Strings, Table
from tallybayes.tables.columns import ZONES, values_of, zone_of
from tallybayes.tally import ClassCounts, CrossMoments, GridCounts, Moments

if TYPE_CHECKING:
    from tallybayes.models.weighting import WeightingNow
    from tallybayes.weighted.cells import ColumnCells

__all__ = [
    "IDENTIFIER_ROWS",
    "WRITTEN_INDEX",
    "Watched",
    "identifies_groups",
    "is_identifier",
    "is_index_name",
    "tiny_columns",
    "warn_of_groups",
    "warn_of_identifier",
    "warn_of_light_rows",
    "warn_of_odd_values",
    "warn_of_rows",
    "warn_of_tiny",
    "warn_of_unknown_keys",
    "warn_of_unseen",
    "warn_of_written_index",
    "warn_of_zones",
]


# ---- data warnings -------------------------------------------------------------------------------
# Warnings of data that a model cannot mean: identifiers, dependent rows, odd and unseen values.
# ---- rows that belong together, as columns that identify groups of them show ---------------------
Array = NDArray[np.float64]

MIN_GROUPS = 50  # values of a column that identifies groups
MIN_GROUP_ROWS = 2.0  # rows of a value, in the median
MIN_PURE_SHARE = 0.99  # of the rows have a value that comes with one label
MAX_CHANCE_SHARE = 0.5  # of the rows may have one by chance
MAX_NAMES = 5


def identifies_groups(counts: Array, numbers: GridCounts | None) -> bool:
    """Whether the values of a column identify groups of rows with one label each, as the number of
    a customer does. Numbers do not, where neighbours have the same label: they predict it.

    Parameters
    ----------
    counts : float64 array (n_classes, n_values)
        In effective rows; those of numbers first, ascending.
    numbers : GridCounts, optional
        Counts of the numbers among them.
    """
    rows = counts.sum(axis=0)
    held = np.flatnonzero(rows > 0.0)
    if len(held) < MIN_GROUPS or np.median(rows[held]) < MIN_GROUP_ROWS:
        return False
    if numbers is not None and numbers.shift:  # a cell has several numbers
        return False
    counts, rows = counts[:, held], rows[held]
    total, share = float(rows.sum()), counts.sum(axis=1) / float(rows.sum())
    pure = counts.max(axis=0) >= rows * (1.0 - 1e-9)
    by_chance = float((rows * (share[:, None] ** rows).sum(axis=0)).sum())
    if rows[pure].sum() < MIN_PURE_SHARE * total or by_chance > MAX_CHANCE_SHARE * total:
        return False
    if numbers is None:
        return True
    label = counts.argmax(axis=0)
    alike = float((label[1:] == label[:-1]).mean())
    return alike < 0.5 * (1.0 + float(share @ share))


def warn_of_groups(values: Mapping[str, int], n_rows: float, warned: set[Hashable]) -> None:
    """Warns, once for each fit, of columns that identify groups of rows; `values` has how many
    values each has."""
    if not values:
        return
    several = "columns" if len(values) > 1 else "column"
    identify = "identify" if len(values) > 1 else "identifies"
    most = max(values.values())
    warn_user(
        f"the {several} {listed(map(repr, values), MAX_NAMES)} {identify} groups of rows with one "
        f"label each, {most:,} groups of about {n_rows / most:.3g} rows. If rows of a group belong "
        "together, such as those of one customer, rows of new groups are predicted worse than the "
        "figures of the fit say: name the groups by groups= (--group COLUMN), or leave the "
        f"{several} out",
        DependentRowsWarning,
        warned=warned,
        about="groups",
    )


# ---- columns of strings that are all different, as identifiers are -------------------------------
IDENTIFIER_ROWS = 50
"""From so many rows on, a column of all-different strings is an identifier and left out."""


def is_identifier(counts: Array, n_named: int, n_levels: int, row_weight: float = 1.0) -> bool:
    """Whether every level of a column of strings, with these counts (n_classes, n_cells), has but
    one row, and there are many. Levels that are not named share a cell and have one row each where
    there are as many rows as levels.

    `row_weight` is that of an effective row, u = Σw²/Σw: levels of one row each have Σk² = u·Σk
    over their counts k, and any two rows in one level make it more.
    """
    rows = counts.sum(axis=0)
    named = rows[:n_named]
    most = row_weight * (1.0 + 1e-9)
    alone = float((named * named).sum()) <= most * float(named.sum())
    return n_levels >= IDENTIFIER_ROWS and alone and float(rows.sum()) <= most * n_levels


def warn_of_identifier(name: str, counts: Array, warned: set[Hashable]) -> None:
    """Warns that the column is left out, once for each fit; `counts` are of its levels."""
    warn_user(
        f"column {name!r} is left out: its {int(counts.sum())} strings are all different, as an "
        "identifier's are. Declare a family for it in columns= to use it, or columns={...: None} "
        "to silence this",
        LeftOutWarning,
        warned=warned,
        about=name,
    )


# ---- the index of a data frame, which pandas writes beside its columns --------------------------
def warn_of_zones(schema: Schema, warned: set[Hashable]) -> None:
    """Warns of columns whose times had a zone in some rows and none in others, once for each
    fit."""
    for group in schema.groups:
        if group.zone == "both" and group.kind == "moments" and group.names is not None:
            warn_user(
                ZONES.format(name=group.names[0]),
                ZoneWarning,
                warned=warned,
                about=group.names[0],
            )


WRITTEN_INDEX = "the index of a data frame, not a column"


def is_index_name(name: str) -> bool:
    """Whether pandas writes an index without a name so, in Parquet and in tables of Arrow."""
    return re.fullmatch(r"__index_level_\d+__", name) is not None


DECLARE = "declare a family for it in columns= to use it, or columns={...: None} to silence this"
"""What to do about a written index where columns are declared."""


def warn_of_written_index(name: str, warned: set[Hashable], advice: str = DECLARE) -> None:
    """Warns that the column is left out, once for each fit."""
    warn_user(
        f"column {name!r} is left out: it is the index that pandas wrote, such as numbers of rows. "
        f"Write without it (index=False, preserve_index=False), or {advice}",
        LeftOutWarning,
        warned=warned,
        about=name,
    )


# ---- rows to predict whose values do not fit the kind of their column ----------------------------
BOOLEANS = frozenset((True, False, "True", "False", None))  # 1 and 0 are equal to them


class Watched(NamedTuple):
    """Columns that are watched for odd values.

    Parameters
    ----------
    counts : tuple of str
        Columns declared Poisson: a fraction is odd.
    booleans : tuple of str
        Columns that were learned as booleans: any other value is odd, unless it is refused.
    zoned : tuple of str
        Columns that were learned as times with a time zone: one without is odd.
    local : tuple of str
        Columns that were learned as times without a time zone: one with a zone is odd.
    """

    counts: tuple[str, ...] = ()
    booleans: tuple[str, ...] = ()
    zoned: tuple[str, ...] = ()
    local: tuple[str, ...] = ()

    @property
    def columns(self) -> list[str]:
        """All of them."""
        return [name for names in self for name in names]

    def may_be_odd(self, row: Mapping[str, Any], warned: set[Hashable]) -> bool:
        """Whether a row as a dict may hold an odd value that was not warned of. It is then read as
        a table, which is certain."""
        for kind, names in zip(KINDS, self, strict=True):
            for name in names:
                if not kind.fits(row.get(name)) and (kind.warning, name) not in warned:
                    return True
        return False


def _is_count(value: Any) -> bool:
    if isinstance(value, float):
        return value != value or value.is_integer()
    return value is None or isinstance(value, int | np.integer)


def _is_boolean(value: Any) -> bool:
    return value in BOOLEANS or (isinstance(value, float) and value != value)


def warn_of_odd_values(table: Table, watched: Watched, warned: set[Hashable]) -> None:
    """Warns of fractions in columns declared Poisson, and of other values in columns of booleans.

    Parameters
    ----------
    table : Table
        The rows, as they are scored.
    watched : Watched
    warned : set
        What the model has warned of already; see :func:`~tallybayes.errors.warn_user`.
    """
    for kind, names in zip(KINDS, watched, strict=True):
        for name in names:
            column = table.columns.get(name)
            row = kind.first(column)
            if column is not None and row is not None:
                value = values_of(column.take(slice(row, row + 1)))[0]
                message = kind.message.format(row=row, name=name, value=value)
                warn_user(message, kind.warning, warned=warned, about=name)


def _first_fraction(column: Any) -> int | None:
    """The first row that holds a fraction."""
    numbers = column.numbers if isinstance(column, Mixed) else column
    if not isinstance(numbers, Numbers) or numbers.values.dtype.kind != "f":
        return None
    values = numbers.values
    return _first((values != np.floor(values)) & ~np.isnan(values))


def _first_other(column: Any) -> int | None:
    """The first row that holds a level beside True and False."""
    if not isinstance(column, Strings):
        return None
    other = np.array([*(level not in BOOLEANS for level in column.levels), False])
    return _first(other[column.codes]) if other.any() else None


def _first_without_zone(column: Any) -> int | None:
    """The first row with a time that has no zone, where none has one."""
    if not isinstance(column, Numbers) or column.zone != "without":
        return None
    return _first(column.values % 1.0 > 0.0)


def _first_with_zone(column: Any) -> int | None:
    """The first row with a time, where one has a zone."""
    if not isinstance(column, Numbers) or column.zone not in ("with", "both"):
        return None
    return _first(~np.isnan(column.values))


def _first(found: NDArray[np.bool_]) -> int | None:
    """The first row for which the condition holds."""
    return int(np.argmax(found)) if found.any() else None


class _Kind(NamedTuple):
    """Odd values of one kind: the check of a value of a dict, the first row of a column with such a
    value, and the message."""

    fits: Callable[[Any], bool]
    first: Callable[[Any], int | None]
    message: str
    warning: type[TallyWarning]


KINDS = (
    _Kind(
        _is_count,
        _first_fraction,
        "row {row}, column {name!r} holds {value}, which is not a whole number, but the column is "
        "declared Poisson, which is a family of counts: give counts, or declare Gaussian() before "
        "training",
        FamilyWarning,
    ),
    _Kind(
        _is_boolean,
        _first_other,
        "row {row}, column {name!r} holds {value!r}, but training had only True and False in it: "
        "it is read as a level that was not seen. Give a boolean, 0, 1, or None if it is missing",
        UnseenWarning,
    ),
    _Kind(
        lambda value: zone_of(value) != "without",
        _first_without_zone,
        "row {row}, column {name!r} holds {value}, a time without a time zone, but training had "
        "times with one: it is read as UTC. Give its zone, such as pandas' .dt.tz_localize does",
        ZoneWarning,
    ),
    _Kind(
        lambda value: zone_of(value) != "with",
        _first_with_zone,
        "row {row}, column {name!r} holds a time with a time zone, {value} in UTC, but training "
        "had times without one, which are read as UTC: if those were of another zone, train again "
        "with times that have it",
        ZoneWarning,
    ),
)
"""The kinds of the columns of :class:`Watched`, in its order."""


# ---- columns of numbers so small that their squares underflow ------------------------------------
MIN_SQUARE = 1e-296
"""Of a mean square below this, the variance of a class without spread, 1e-9 of it, is rounding:
variances below 2.2e-308 are not full float64."""


def tiny_columns(tally: Moments | CrossMoments) -> NDArray[np.intp]:
    """The columns whose values differ, but whose squared differences underflow."""
    moments = tally if isinstance(tally, Moments) else tally.columns()
    rows, squares = moments.n.sum(axis=0), moments.s2_hi.sum(axis=0)
    differ = (moments.s1_hi != 0.0).any(axis=0)
    return np.flatnonzero(differ & (np.abs(squares) < MIN_SQUARE * rows))


def warn_of_tiny(names: Sequence[object], warned: set[Hashable]) -> None:
    """Warns, once for each fit, of the columns `names`."""
    if names:
        several = "columns" if len(names) > 1 else "column"
        warn_user(
            f"the numbers of the {several} {listed(map(repr, names))} differ by less than about "
            "1e-148, and the squares of such differences underflow: a Gaussian takes the numbers "
            "for constant. Multiply them by a constant, such as 1e160",
            UnderflowWarning,
            warned=warned,
        )


# ---- rows to predict without any key, or any level of a column, that was learned -----------------
MIN_ROWS = 20  # rows, of which some should have a level that was seen
MAX_LEVELS = 50  # of a column whose levels should be known


def warn_of_unknown_keys(
    rows: Sequence[Mapping[Any, Any]], names: Iterable[str], warned: set[Hashable]
) -> None:
    """Warns of a row of which no key is a column that the model has seen: it adds nothing."""
    known = set(names)
    for i, row in enumerate(rows if known else ()):
        if row and known.isdisjoint(map(str, row)):
            warn_user(
                f"row {i}: none of its keys is a column of the model, {_some(list(map(str, row)))} "
                f"against {_some(list(names))}. Its prediction is the class prior",
                UnseenWarning,
                warned=warned,
                about="keys",
            )
            return


def warn_of_unseen(table: Table, schema: Schema, learned: float, warned: set[Hashable]) -> None:
    """Warns of columns of few levels in which no row has one that was seen: they may be of another
    kind, or written in another way.

    Parameters
    ----------
    table : Table
        As the model reads it.
    schema : Schema
    learned : float
        Rows that were counted.
    warned : set
        What the model has warned of already; see :func:`~tallybayes.errors.warn_user`.
    """
    if table.n_rows < MIN_ROWS:
        return
    most = min(MAX_LEVELS, learned / 2)  # of more, new ones are not a surprise
    for group in schema.groups:
        for name, seen in zip(group.names or [], group.levels or [], strict=False):
            column = table.columns.get(name)
            if not isinstance(column, Strings) or not 0 < len(seen) <= most:
                continue
            first = {column.levels[code] for code in column.codes[:MIN_ROWS] if code >= 0}
            given = _levels_of(column) if first.isdisjoint(seen) else first
            if len(given) and given.isdisjoint(seen):
                warn_user(
                    f"column {name!r}: none of its levels in {table.n_rows} rows was seen in "
                    f"training, {_some(sorted(given))} against {_some(list(seen))}. If that is not "
                    "as it should be, give the column as it was given then",
                    UnseenWarning,
                    warned=warned,
                    about=name,
                )


def _levels_of(column: Strings) -> set[str]:
    """The levels that rows have."""
    return {column.levels[code] for code in np.unique(column.codes) if code >= 0}


def _some(levels: list[str]) -> str:
    return ", ".join(map(repr, levels[:3])) + (", …" if len(levels) > 3 else "")


# ---- row weights so small that a declared smoothing outweighs the rows ---------------------------
MIN_ROW_WEIGHT = 0.1
"""An effective row of less weight is outweighed ten times by a smoothing of one row."""


def warn_of_light_rows(classes: ClassCounts, alpha: float, warned: set[Hashable]) -> None:
    """Warns, once for each fit, where an effective row weighs less than 0.1, with the factor by
    which to multiply the weights. `alpha` is the declared smoothing, in rows of weight 1."""
    unit = classes.pooled_row_weight
    if unit >= MIN_ROW_WEIGHT:
        return
    warn_user(
        f"the weights sum to {classes.count.sum():.3g}, but are those of about "
        f"{classes.pooled_effective_rows:.0f} rows: smoothing by {alpha:g} weighs as much as "
        f"{alpha / unit:.3g} rows. If a row is to count as one, multiply sample_weight by "
        f"{1.0 / unit:.4g}",
        WeightScaleWarning,
        warned=warned,
    )


# ---- data-quality warnings about the rows that weights were learned on ---------------------------

MIN_LEARNED_ROWS = 50  # rows: with fewer, nobody expects much
MIN_CLASS_ROWS = 5  # rows of a class
MIN_SHARED_CELLS = 0.95  # of the rows share their cell with another row


def warn_of_rows(now: WeightingNow, classes: NDArray[Any], rows: Array, n_columns: int) -> None:
    """Warns of classes with next to no rows, of a column that alone determines the class, and
    where nothing could be learned.

    Parameters
    ----------
    now : WeightingNow
    classes : array (n_classes,)
    rows : float64 array (n_classes,)
        The rows of each class.
    n_columns : int
        The columns of the table, including those that are left out.
    """
    total = rows.sum()
    if total < MIN_LEARNED_ROWS:
        return
    rare = [
        f"{classes[k]} ({rows[k]:g})"
        for k in np.flatnonzero((rows > 0.0) & (rows < MIN_CLASS_ROWS))
    ]
    if rare:
        warn_user(
            f"classes with fewer than {MIN_CLASS_ROWS} rows: {listed(rare, MAX_NAMES)}. "
            "Predictions of these classes are unreliable: add rows, or join them to other classes",
            RareClassWarning,
        )
    deciding = [column.name for column in now.columns if _decides_alone(column)]
    if deciding:
        each = "each of the columns" if len(deciding) > 1 else "the column"
        warn_user(
            f"{each} {listed(map(repr, deciding), MAX_NAMES)} alone determines the class of all "
            f"{total:g} rows without error. Is it the class by another name, or only known "
            f"afterwards? Then leave it out: columns={{{deciding[0]!r}: None}}, or --column "
            f"{deciding[0]}=none",
            LeakWarning,
        )
    if n_columns and not len(now.score.speaking) and not now.score.text_parts:
        warn_user(
            f"no column of {n_columns} predicts the class better than chance on "
            f"{total:g} rows: every prediction is by the shares of the classes",
            UninformativeWarning,
        )


def _decides_alone(column: ColumnCells) -> bool:
    """Whether each cell holds rows of one class, and few rows are alone in their cells."""
    held = column.counts.sum(axis=1)
    apart = (column.counts > 0.0).sum(axis=1) <= 1
    return bool(apart.all() and held[held >= 2.0].sum() > MIN_SHARED_CELLS * held.sum())
