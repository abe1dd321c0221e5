"""What columns= declares: a family for a column, or for a group of columns."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Container, Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from tallybayes.errors import FamilyWarning, warn_user
from tallybayes.families.contract import Criterion
from tallybayes.families.priors import Estimate
from tallybayes.families.registry import family_names, family_of_name, is_family
from tallybayes.models.data_warnings import is_index_name, tiny_columns, warn_of_tiny
from tallybayes.persistence import NonNegative
from tallybayes.schema import Kind
from tallybayes.score import Unseen
from tallybayes.tables import Empty, Table
from tallybayes.tables.columns import as_text
from tallybayes.tally import CrossMoments, GridCounts, Moments, TableTally
from tallybayes.tokens.analyzer import Analyzer

__all__ = [
    "ColumnReading",
    "Declared",
    "Reading",
    "check_counts",
    "declared",
    "names_declared",
    "need_family",
    "need_two_levels",
]


KINDS: dict[type, tuple[str, ...]] = {
    bool: ("boolean",),
    int: ("integer",),
    float: ("float", "duration", "time"),
    str: ("text", "category", "mixed"),
    datetime.date: ("date",),
    decimal.Decimal: ("float",),
}

# how the types of NumPy, pandas, polars and Arrow are called, and what the readers call them
DTYPE_NAMES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("bool", ("boolean",)),
    ("uint", ("integer",)),
    ("int", ("integer",)),
    ("decimal", ("float",)),
    ("float", ("float",)),
    ("double", ("float",)),
    ("halffloat", ("float",)),
    ("date", ("date",)),
    ("timestamp", ("date",)),
    ("duration", ("duration",)),
    ("timedelta", ("duration",)),
    ("time", ("time",)),
    ("cat", ("category",)),
    ("enum", ("category",)),
    ("dictionary", ("category",)),
    ("str", ("text", "mixed")),
    ("large_str", ("text", "mixed")),
    ("<u", ("text", "mixed")),
    ("object", ("text", "mixed")),
)


@dataclass(frozen=True, eq=False)
class Declared:
    """Families by column and by group.

    Parameters
    ----------
    families : dict
        By column name; None leaves the column out.
    groups : dict
        By tuple of column names.
    by_type : tuple of pairs
        What the readers call columns of a type, and their family; the last that fits holds. A
        column's type is that of the first batch in which it has a value.
    assumed : frozenset of str
        Columns whose family nobody declared: it is that of their type.

    Attributes
    ----------
    reads : dict
        By column of a family or a group, what is read of it: "levels", "documents" or "numbers".
    columns_left_out : set of str
        The columns that are declared to be left out, whatever they hold.
    together : dict
        By group, what is counted of it.
    analyzers : dict
        By column of text, how its documents become terms.
    """

    families: dict[str, Any]
    groups: dict[tuple[str, ...], Any]
    by_type: tuple[tuple[tuple[str, ...], Any], ...] = ()
    assumed: frozenset[str] = frozenset()
    reads: dict[str, str] = field(init=False, repr=False)
    columns_left_out: set[str] = field(init=False, repr=False)
    together: dict[tuple[str, ...], Kind] = field(init=False, repr=False)
    analyzers: dict[str, Analyzer] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        own = {name: family for name, family in self.families.items() if family is not None}
        reads = {name: family.reads for name, family in own.items()}
        reads |= {name: "numbers" for names in self.groups for name in names}
        documents = {name: own[name].terms for name in own if reads[name] == "documents"}
        vars(self).update(
            reads=reads,
            columns_left_out=self.families.keys() - own.keys(),
            together={names: family.together for names, family in self.groups.items()},
            analyzers=documents,
        )

    def is_written_index(self, name: str) -> bool:
        """Whether a column is the index of a data frame, which nobody has declared to be read."""
        is_declared = name in self.reads and name not in self.assumed
        return not is_declared and is_index_name(name)

    @property
    def correlated(self) -> set[str]:
        """Columns that are in a group of numbers with their products."""
        together = self.together.items()
        return {name for names, kind in together if kind == "cross" for name in names}

    def resolved(self, table: Table, counted: Container[str] = ()) -> Declared:
        """With the families that types give to the table's columns, but for those that are declared
        by name or `counted` already."""
        families: dict[str, Any] = {}
        for name, column in table.columns.items():
            settled = name in self.families or name in self.reads or name in counted
            if settled or isinstance(column, Empty):
                continue
            found = [family for kinds, family in self.by_type if column.what in kinds]
            if found:
                families[name] = found[-1]
        return replace(self, families={**self.families, **families}) if families else self

    def completed(self, other: Declared, counted: Container[str]) -> Declared:
        """With what another model's first values settled by the same types, but for columns that
        are `counted` here already."""
        settled = {*self.families, *self.reads}
        families = {
            name: family
            for name, family in other.families.items()
            if name not in settled
            and name not in counted
            and any(repr(family) == repr(given) for _, given in self.by_type)  # not all compare
        }
        return replace(self, families={**self.families, **families}) if families else self

    def without(self, names: Container[str]) -> Declared:
        """Without what the types of these columns settled, as before their first values."""
        families = {name: family for name, family in self.families.items() if name not in names}
        return replace(self, families=families)

    def is_text(self, name: str) -> bool:
        return self.reads.get(name) in ("levels", "documents")

    def least(self, name: str) -> int:
        """What its numbers may be: 0 anything, 1 not negative, 2 positive."""
        family = self.families.get(name)
        if family is None:
            family = next((f for names, f in self.groups.items() if name in names), None)
        return 0 if family is None else int(family.least)

    def levels(self, name: str) -> list[str] | None:
        """The declared levels of a column, as strings."""
        family = self.families.get(name)
        if family is None or family.levels is None:
            return None
        return [as_text(level) for level in family.levels]

    def most_levels(self, name: str) -> int | None:
        """How many levels a column may have, where that is limited."""
        family = self.families.get(name)
        return None if family is None else family.most_levels


def _kinds_of(key: Any) -> tuple[str, ...] | None:
    """What the readers call columns of a type, if the key is one."""
    if isinstance(key, str | list | tuple):
        return None
    if isinstance(key, type) and key in KINDS:
        return KINDS[key]
    if isinstance(key, type) and issubclass(key, np.generic):
        key = np.dtype(key)
    named = (key.__name__ if isinstance(key, type) else str(key)).lower()
    for name, kinds in DTYPE_NAMES:
        if named.startswith(name):
            return kinds
    foreign = type(key).__module__.partition(".")[0] in ("polars", "pyarrow")
    if foreign or isinstance(key, type) or hasattr(key, "kind") or hasattr(key, "name"):
        raise ValueError(
            f"columns= names the type {key!r}; types are {', '.join(t.__name__ for t in KINDS)}, "
            "or a dtype of numpy, pandas, polars or pyarrow that is one of them"
        )
    return None


def _names_of(key: Any) -> list[str]:
    """The columns that a key of columns= names."""
    return [str(k) for k in key] if isinstance(key, list | tuple) else [str(key)]


def _pairs(columns: Any) -> list[Any]:
    """What columns= holds, as pairs."""
    if isinstance(columns, str):
        return []
    pairs = list(columns.items() if isinstance(columns, Mapping) else columns)
    for pair in pairs:
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise ValueError(f"columns= takes pairs of a key and a family, got {pair!r}")
        need_family(*pair)
    return pairs


def names_declared(columns: Any) -> list[str]:
    """The columns that columns= names: in a stream of rows they may yet come."""
    keys = [key for key, _ in _pairs(columns) if _kinds_of(key) is None]
    return [name for key in keys for name in _names_of(key)]


def need_family(key: Any, family: Any) -> None:
    """Raises ValueError where columns= gives a key something that is not a family for it."""
    if family is None:
        return
    if not is_family(family):
        raise ValueError(
            f"columns= gives {key!r} the family {family!r}: give {_families(alone=True)} from "
            f"tallybayes.families, {_families(alone=False)} for a tuple of columns, or None to "
            "leave the column out"
        )
    family.check(key)
    if family.levels is not None:
        levels = [as_text(level) for level in family.levels]
        if len(set(levels)) < len(levels):
            twice = next(level for level in levels if levels.count(level) > 1)
            raise ValueError(
                f"columns= gives {key!r} the level {twice!r} twice, among {levels}: 1, 1.0 and '1' "
                "are one level of a table; name each once"
            )
    if not family.alone and not isinstance(key, tuple):
        raise ValueError(
            f"columns= gives {key!r} a {type(family).__name__}, which is for a group of columns: "
            "name them in a tuple, ('w1', 'w2')"
        )
    if family.together == "cross":
        _need_group_of_numbers(key)


def _families(*, alone: bool) -> str:
    """The families of single columns, or of groups."""
    found = [family for name in family_names() if (family := family_of_name(name)) is not None]
    names = [family.__name__ for family in found if family.alone == alone]
    return " or ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _need_group_of_numbers(key: Any) -> None:
    """Raises ValueError where a full covariance is given to what is not a group of columns."""
    if isinstance(key, tuple):
        if len(key) == 1:
            raise ValueError(
                f"columns= gives the group {key!r} a Gaussian with covariance='full', but one "
                f"column has no covariance: name it by itself, {key[0]!r}"
            )
        twice = [name for name in key if key.count(name) > 1]
        if twice:
            raise ValueError(f"columns= names {twice[0]!r} twice in the group {key!r}")
    elif isinstance(key, list) or _kinds_of(key) is not None:
        raise ValueError(
            f"columns= gives {key!r} a Gaussian with covariance='full', which is for a group of "
            "columns: name them in a tuple, ('height', 'weight'), or give each column by itself "
            "covariance='diag'"
        )


def is_group(family: Any, named: list[str]) -> bool:
    """Whether columns with this family are read together."""
    together = family is not None and family.together is not None
    return together and (not family.alone or len(named) > 1)


def declared(columns: Any) -> Declared:
    """Families by column, group and type.

    Parameters
    ----------
    columns : "auto", mapping, or list of pairs
        Keys are a column name, a list or tuple of names, or a type: bool, int, float, str,
        datetime.date, decimal.Decimal, or a dtype. A name overrides a type. A tuple with a family
        of groups is a group; with any other family, each of its columns.

    Raises
    ------
    ValueError
        For a column that is in two groups, or something that is not a family.
    """
    if isinstance(columns, str):  # "auto"
        return Declared({}, {})
    by_type: list[tuple[tuple[str, ...], Any]] = []
    by_name: dict[str, Any] = {}
    groups: dict[tuple[str, ...], Any] = {}
    for key, family in _pairs(columns):
        kinds = _kinds_of(key)
        if kinds is not None:
            by_type.append((kinds, family))
            continue
        named = _names_of(key)
        if is_group(family, named):
            groups[tuple(named)] = family
            family.check_group(len(named))
        else:
            if family is not None:
                family = family.of_one_column()
            by_name.update(dict.fromkeys(named, family))
    grouped = [name for names in groups for name in names]
    for name in grouped:
        if grouped.count(name) > 1 or name in by_name:
            raise ValueError(
                f"columns= has {name!r} in a group and elsewhere, too: a column counts once"
            )
    return Declared(by_name, groups, tuple(by_type))


# ---- whether the counts of a column fit its declared family --------------------------------------
def check_counts(tally: TableTally, declared: Declared, warned: set[Hashable]) -> None:
    """Checks a tally that a model begins to hold against the families that are declared.

    Warns, once a fit, of columns of counts that hold fractions, and of columns that are declared
    Gaussian and whose squares underflow.

    Raises
    ------
    ValueError
        If a column that is declared Bernoulli has more than two levels.
    """
    if declared.families or declared.groups:
        need_two_levels(tally, declared)
        _warn_of_fractions(tally, declared, warned)
        _warn_of_tiny_numbers(tally, declared, warned)


def need_two_levels(tally: TableTally, declared: Declared) -> None:
    """Raises ValueError where a column that is declared Bernoulli has more than two levels."""
    for columns in tally.schema.groups:
        if columns.kind != "levels" or columns.names is None or columns.levels is None:
            continue
        name, levels = columns.names[0], columns.levels[0].tolist()
        most = declared.most_levels(name)
        if most is not None and declared.levels(name) is None and len(levels) > most:
            family = type(declared.families[name]).__name__
            raise ValueError(
                f"column {name!r} is declared {family}, which has at most {most} levels, but it "
                f"holds {sorted(levels)}: declare it Categorical(), or clean it"
            )


def _warn_of_fractions(tally: TableTally, declared: Declared, warned: set[Hashable]) -> None:
    """Warns of columns of counts that hold other numbers, once a fit."""
    for columns, group in tally.pairs:
        if not isinstance(group, GridCounts) or columns.names is None:
            continue
        family = declared.families.get(columns.names[0])
        if family is None or not family.whole:
            continue
        values = group.values()
        fractions = values[(values != np.floor(values)) & group.counts.any(axis=0)]
        if len(fractions):
            warn_user(
                f"column {columns.names[0]!r} is declared {type(family).__name__}, which is a "
                f"family of counts, but it holds {fractions[0]:.6g}, which is not a whole number: "
                "declare Gaussian(), or give counts",
                FamilyWarning,
                warned=warned,
                about=columns.names[0],
            )


def _warn_of_tiny_numbers(tally: TableTally, declared: Declared, warned: set[Hashable]) -> None:
    """Warns of columns that are declared Gaussian and whose squares underflow, once a fit."""
    tiny: list[str] = []
    for columns, group in tally.pairs:
        names = columns.names
        if names is None or not isinstance(group, Moments | CrossMoments):
            continue
        of_one = declared.families.get(names[0])  # a group is read by its squares, too
        if isinstance(group, CrossMoments) or getattr(of_one, "needs_squares", False):
            tiny += [names[j] for j in tiny_columns(group).tolist()]
    warn_of_tiny(tiny, warned)


# ---- how a tally of columns is read, and the reading of each column ------------------------------
class Reading(NamedTuple):
    """How a tally is read, beside the class prior.

    Parameters
    ----------
    declared : Declared
    alpha : float or {"evidence", "loo_likelihood", "loo_log_loss"}
        Smoothing: of declared families in rows of weight 1, of others and of bins in effective
        rows; or how it is chosen, for each column or, by "loo_log_loss", on rows. Then it begins at
        one effective row.
    estimate : {"mean", "map", "mle", "posterior"}
        For columns that are not declared.
    unseen : {"smooth", "ignore", "error"}
    missing : {"ignore", "level"}
    scale : float
        What alpha was multiplied by on rows, families and bins as they are.
    """

    declared: Declared
    alpha: NonNegative | Criterion | Literal["loo_log_loss"]
    estimate: Estimate
    unseen: Unseen
    missing: Literal["ignore", "level"]
    scale: NonNegative = 1.0


@dataclass(frozen=True, eq=False)
class ColumnReading:
    """One column as the model reads it.

    Parameters
    ----------
    name : str
    holds : str
        "strings", "numbers", "numbers and strings", "counts" or "nothing yet".
    family : str
    why : str
    part : Part, CorrelatedPart or Term, optional
        None for a column that does not count; columns of a group share one.
    alpha : float or None
        The strength of smoothing, in rows of weight 1, where it follows the model's or was chosen.
    brief : str
        The family in fewer words, where `family` is long.
    is_usual : bool
        Whether `why` is the rule for such columns, and needs no remark.
    """

    name: str
    holds: str
    family: str
    why: str
    part: Any
    alpha: float | None = None
    brief: str = ""
    is_usual: bool = False
