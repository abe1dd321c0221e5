"""What the columns of a model mean, and its class labels. A schema holds no counts."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from operator import is_
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from tallybayes import _kernels
from tallybayes.errors import IncompatibleTallies
from tallybayes.persistence import Shape, Within, distinct
from tallybayes.readable import html_table, plain
from tallybayes.tables.columns import Zone, as_text, joined_zones

__all__ = [
    "Columns",
    "Kind",
    "Schema",
    "SomeLevels",
    "are_among",
    "joined_labels",
    "numbered_strings",
    "places_among",
    "ranked_whole_numbers",
]

MAX_SHOWN = 10
"""Groups, columns and classes that a notebook lists."""

Kind = Literal["levels", "sums", "moments", "grid", "cross", "terms"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Columns:
    """A run of columns that are counted in one way.

    Parameters
    ----------
    kind : {"levels", "sums", "moments", "grid", "cross", "terms"}
        The kind of tally they need.
    n_features : int
        1 unless it is given, as of a table's column.
    names : tuple of str, optional
        Column names; two schemas with names join only if the names are the same.
    threshold : float, optional
        For sums: a value x counts as [x > threshold].
    non_negative : bool
        For sums: negative values are refused.
    n_levels : int64 array (n_features,), optional
        For levels: the number N_j of levels of each column; their codes are 0 … N_j−1. Of open
        columns it is how many `levels` there are.
    levels : tuple of arrays, optional
        For levels: the declared values of each column, in the order of their codes.
    origin : float64 array (n_features,), optional
        For moments and cross moments: the fixed origin c of Σ(x−c) and Σ(x−c)², or of
        Σ(x−c)(x−c)ᵀ.
    open : bool
        For levels of a table's column: levels may be added and are joined by value. Missing values
        are not counted: they are what is left of the class counts.
    dates : bool
        For moments and grid of a table's column: its numbers are days since 1970, which join with
        no other numbers.
    zone : {"", "with", "without", "both"}
        Of dates: whether their times had a time zone, in which all of them are UTC. Columns of
        times join whatever they had, and schemas that differ in it alone are equal.
    terms : str
        For terms of a table's column: how its documents become terms, in words; tallies of other
        terms do not join.
    """

    kind: Kind
    n_features: Annotated[int, Within(1, 2**31)] = 1
    names: Annotated[tuple[str, ...], distinct] | None = None
    threshold: float | None = None
    non_negative: bool = False
    n_levels: Annotated[NDArray[np.int64], Shape("n_features"), Within(0, 2**31)] | None = None
    levels: tuple[Annotated[NDArray[Any], Shape(None), distinct], ...] | None = None
    origin: Annotated[NDArray[np.float64], Shape("n_features")] | None = None
    open: bool = False
    dates: bool = False
    zone: Zone = ""
    terms: str = ""

    def __post_init__(self) -> None:
        if self.open and self.levels:
            object.__setattr__(self, "n_levels", np.array([len(self.levels[0])], dtype=np.int64))

    @property
    def key(self) -> tuple[tuple[str, ...] | None, str]:
        """What distinguishes the groups of a table's schema."""
        return self.names, self.kind

    @property
    def n_all(self) -> int | None:
        """How many levels a table's column has, where only some of them are named."""
        return None

    def name_of(self, column: int) -> str:
        """A column as errors call it: its name where it has one, else its number."""
        return str(column) if self.names is None else f"{column} ({self.names[column]!r})"

    def join(self, other: Columns) -> Columns:
        """The columns that hold both: the larger number of levels, this one's origin."""
        if self.n_all is not None or other.n_all is not None:
            raise IncompatibleTallies(
                f"column {(self.names or '?')[0]!r} names some of its levels only, as a question "
                "asked for them: such counts cannot be merged; ask the joined source"
            )
        if self.kind != other.kind:
            raise IncompatibleTallies(
                f"columns counted as {self.kind} and as {other.kind} cannot be merged"
            )
        if self.n_features != other.n_features:
            raise IncompatibleTallies(
                f"the models have {self.n_features} and {other.n_features} features; only models "
                "of the same columns can be merged"
            )
        if self.names is not None and other.names is not None and self.names != other.names:
            first = next(
                j for j, (a, b) in enumerate(zip(self.names, other.names, strict=True)) if a != b
            )
            raise IncompatibleTallies(
                f"the feature names differ: column {first} is {self.names[first]!r} in one model "
                f"and {other.names[first]!r} in the other; order the columns alike before training"
            )
        if self.threshold != other.threshold:
            raise IncompatibleTallies(
                f"one model counted x > {self.threshold}, the other x > {other.threshold}"
            )
        if self.dates != other.dates:
            raise IncompatibleTallies(
                f"column {self.names and self.names[0]!r} holds dates in one part and numbers in "
                "another: give all of it as dates, or all as numbers"
            )
        if self.terms != other.terms:
            raise IncompatibleTallies(
                f"column {self.names and self.names[0]!r} was counted as other terms in each part, "
                f"{self.terms} and {other.terms}: declare the same Text(…) for all parts"
            )
        if self.open and other.open:
            return self._with_levels_of(other)
        if (self.levels is None) != (other.levels is None) or (
            self.levels is not None
            and other.levels is not None
            and not all(map(np.array_equal, self.levels, other.levels))
        ):
            raise IncompatibleTallies(
                "the models declare different levels; declare the same levels, in the same order"
            )
        joined = replace(self, names=self.names if self.names is not None else other.names)
        if self.zone != other.zone:
            joined = replace(joined, zone=joined_zones(self.zone, other.zone))
        if self.n_levels is not None and other.n_levels is not None:
            joined = replace(joined, n_levels=np.maximum(self.n_levels, other.n_levels))
        return joined

    def _with_levels_of(self, other: Columns) -> Columns:
        """Open columns with the levels of both: this one's first, then the other's new ones."""
        assert self.levels is not None
        assert other.levels is not None
        mine = self.levels[0].tolist()
        known = set(mine)
        added = [level for level in other.levels[0].tolist() if level not in known]
        if not added:
            return self
        levels = np.empty(len(mine) + len(added), dtype=object)
        levels[:] = mine + added
        return replace(self, levels=(levels,))

    def _parts(self) -> list[bytes]:
        parts = [self.kind.encode(), str(self.n_features).encode()]
        names = None if self.names is None else [str(name) for name in self.names]
        threshold = None if self.threshold is None else float(self.threshold)
        flags = (bool(self.non_negative), bool(self.open))
        parts.append(repr((names, threshold, *flags)).encode())
        for array in (self.n_levels, self.origin):
            parts.append(b"-" if array is None else (array + 0).tobytes())  # −0 is 0
        if self.dates:
            parts.append(b"dates")
        if self.terms:
            parts.append(self.terms.encode())
        parts.append(repr(self.levels and [v.tolist() for v in self.levels]).encode())
        return parts


@dataclass(frozen=True, eq=False, kw_only=True)
class SomeLevels(Columns):
    """A table's column of levels of which only some are named.

    `levels` are those; the tally's last cell holds all others together. Two such columns do not
    join: how many levels they have together is unknown.

    Parameters are those of Columns, and:

    n_all : int
        How many levels the column has, named or not.
    """

    n_all: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        assert self.n_levels is not None
        object.__setattr__(self, "n_levels", self.n_levels + 1)  # the cell of all others

    def _parts(self) -> list[bytes]:
        return [*super()._parts(), f"some of {self.n_all}".encode()]


NOT_LEVELS = {
    "moments": ("moments of numbers", "a sum has no bound that holds for any row"),
    "grid": ("a grid of numbers", "the rows chose its precision"),
    "cross": ("cross moments of numbers", "a sum has no bound that holds for any row"),
    "sums": ("sums of numbers", "a sum has no bound that holds for any row"),
    "terms": ("text", "the rows chose its terms"),
}
"""Of the kinds of tally that are no levels, what they are, and why no fixed vector holds them."""


def _distinct(given: Iterable[Any], where: str, what: str) -> list[Any]:
    """Declared values, which are neither missing nor named twice."""
    values = [] if isinstance(given, str) else list(given)
    if not values:
        raise ValueError(f"{where} has no {what}: give a list of them, got {given!r}")
    seen = set()
    for value in values:
        if value is None or not isinstance(value, Hashable) or value != value:
            raise ValueError(
                f"{where} has the {what} {value!r}, and a {what} is a string, number, boolean or "
                "date: missing values are counted without being declared"
            )
        if value in seen:
            raise ValueError(f"{where} has the {what} {value!r} twice: name each once")
        seen.add(value)
    return values


def _ways(groups: tuple[Columns, ...]) -> dict[str, tuple[str, Columns]]:
    """How each column of a table is counted, in words, and its group; numbers and levels of one
    column, which stand side by side, are one way."""
    ways: dict[str, tuple[str, Columns]] = {}
    for group in groups:
        names = group.names or ()
        together = group.kind in ("sums", "cross")
        for name in names:
            what = f"one of a group's {group.kind}" if together else "a column by itself"
            if group.kind == "terms":
                what = "text"
            if group.dates:
                what = "dates"
            ways[name] = what, group
    return ways


def _need_one_way(mine: tuple[Columns, ...], theirs: tuple[Columns, ...]) -> None:
    """Raises IncompatibleTallies for a column that is counted in two ways that do not add."""
    here, there = _ways(mine), _ways(theirs)
    for name in [name for name in here if name in there]:
        (what, group), (other, their_group) = here[name], there[name]
        if what == other:
            continue
        if "dates" in (what, other):
            kinds = {g.kind for g in (group, their_group)}
            others, advice = "numbers", "all as numbers"
            if "levels" in kinds:
                others, advice = "strings", "declare it as Categorical() in columns="
            raise IncompatibleTallies(
                f"column {name!r} holds dates in one part and {others} in another: give all of it "
                f"as dates, or {advice}"
            )
        raise IncompatibleTallies(
            f"column {name!r} is counted as {what} in one part and as {other} in another: declare "
            "the same columns= for all parts"
        )


@dataclass(frozen=True, eq=False)
class Schema:
    """The classes and the columns of a model.

    Parameters
    ----------
    classes : array (n_classes,)
        The class labels, sorted.
    groups : tuple of Columns
        The columns.
    by_name : bool
        For tables: groups are joined by name and may be added.
    column_names : tuple of str
        For tables: the columns in their order, those without a value too, where that is known. They
        are not what is counted: schemas with other names may be equal.
    public : bool
        Whether classes and levels were declared, and not found in rows, so that they tell nothing
        of any row.
    """

    classes: NDArray[Any]
    groups: tuple[Columns, ...]
    by_name: bool = False
    column_names: tuple[str, ...] = ()
    public: bool = False

    @classmethod
    def declare(cls, columns: Mapping[str, Iterable[Any]], classes: Iterable[Any]) -> Schema:
        """The schema of a table of which everything is public knowledge.

        Parameters
        ----------
        columns : dict
            By column, its levels: strings, or values that are counted by their text, as
            ``Categorical(levels=...)`` takes them. Bins of numbers are levels by their names.
        classes : iterable
            The labels.

        Returns
        -------
        Schema
            For :func:`tallybayes.collect`, which counts all of it whether it occurs or not, and
            refuses whatever else occurs.

        Raises
        ------
        ValueError
            For a column without levels, one that is named twice, a missing value, or fewer than
            one class.
        """
        groups = []
        for name, given in columns.items():
            found = [as_text(value) for value in _distinct(given, f"column {name!r}", "level")]
            levels = np.array(_distinct(found, f"column {name!r}", "level"), dtype=object)
            groups.append(Columns(kind="levels", names=(name,), levels=(levels,), open=True))
        labels = _distinct(classes, "the target", "class")
        try:
            sorted_labels = np.array(sorted(labels))
        except TypeError:
            raise ValueError(
                f"class labels are of one type, which has an order; got {labels!r}: give all as "
                "strings or all as whole numbers"
            ) from None
        return cls(sorted_labels, tuple(groups), True, tuple(columns), public=True)

    @classmethod
    def agree(cls, schemas: Iterable[Schema]) -> Schema:
        """One schema for the counts of several parties, from theirs alone: no row is needed.

        Classes, columns and levels of all are sorted, so every party that has the same schemas
        finds the same one, in whatever order it took them.

        Parameters
        ----------
        schemas : iterable of Schema
            Such as ``tally.schema`` of each party, whose columns are levels. What they name was
            found in rows, unless it was declared: the result is public if all of them are.

        Returns
        -------
        Schema
            ``tally.aligned(schema)`` brings the counts of a party to it, and
            :func:`tallybayes.collect` counts by it.

        Raises
        ------
        IncompatibleTallies
            For no schema, one that is not of a table, a column that is not counted as levels, or
            labels of different types.
        """
        given = list(schemas)
        if not given:
            raise IncompatibleTallies("agree takes the schemas of the parties, and got none")
        joined = given[0]
        for schema in given[1:]:
            joined = joined.join(schema)
        joined.need_levels("agree")
        groups = []
        for columns in sorted(joined.groups, key=lambda group: group.names or ()):
            assert columns.levels is not None
            levels = np.array(sorted(columns.levels[0].tolist()), dtype=object)
            groups.append(replace(columns, levels=(levels,)))
        names = tuple(name for columns in groups for name in columns.names or ())
        return replace(joined, groups=tuple(groups), column_names=names)

    def need_levels(self, action: str) -> None:
        """Raise where not every column is counted as levels.

        Parameters
        ----------
        action : str
            What asks for it, for the message.

        Raises
        ------
        IncompatibleTallies
            A ValueError that names the column, and how it is counted.
        """
        if not self.by_name:
            raise IncompatibleTallies(
                f"{action} takes counts of a table, whose columns have names, such as "
                "tallybayes.collect gives; these are of an array"
            )
        for columns in self.groups:
            if columns.kind != "levels" or columns.n_all is not None:
                shown, why = NOT_LEVELS.get(columns.kind, ("some levels", "the others are lost"))
                raise IncompatibleTallies(
                    f"{action} takes columns that are counted as levels, and column "
                    f"{(columns.names or '?')[0]!r} is counted as {shown}: {why}. Declare its "
                    "levels (numbers: cut them at edges that you choose without the rows, and "
                    "declare the bins), or leave the column out"
                )

    def _repr_html_(self) -> str:
        """The groups of columns as a table."""
        lines = [
            (g.kind, g.n_features, ", ".join((g.names or ())[:MAX_SHOWN]))
            for g in self.groups[:MAX_SHOWN]
        ]
        more = len(self.groups) - MAX_SHOWN
        labels = ", ".join(plain(label) for label in self.classes[:MAX_SHOWN].tolist())
        note = f"… and {more:,} more groups; " if more > 0 else ""
        note += f"{len(self.classes):,} classes: {labels}"
        return html_table(
            ["kind", "columns", "names"],
            lines,
            note + (", …" if len(self.classes) > MAX_SHOWN else ""),
        )

    @property
    def names_of_groups(self) -> list[str]:
        """The columns that have a tally."""
        return list(dict.fromkeys(name for group in self.groups for name in group.names or ()))

    def join(self, other: Schema) -> Schema:
        """The schema that holds both; classes are joined by label.

        Parameters
        ----------
        other : Schema
            Of the same kind.

        Returns
        -------
        Schema
            Public if both are; this one itself where the other adds nothing to it.

        Raises
        ------
        IncompatibleTallies
            A ValueError: columns that are counted in two ways.
        """
        classes = self.classes
        if classes.dtype != other.classes.dtype or not np.array_equal(classes, other.classes):
            classes = joined_labels(classes, other.classes)
        if not self.by_name:
            if len(self.groups) != len(other.groups):
                raise IncompatibleTallies("the models have different groups of columns")
            joined = [a.join(b) for a, b in zip(self.groups, other.groups, strict=True)]
            return replace(self, classes=classes, groups=tuple(joined), public=False)
        _need_one_way(self.groups, other.groups)
        theirs = {group.key: group for group in other.groups}
        joined = [g.join(theirs.pop(g.key)) if g.key in theirs else g for g in self.groups]
        groups = (*joined, *theirs.values())
        names = tuple(dict.fromkeys((*self.column_names, *other.column_names)))
        public = self.public and other.public
        same = len(groups) == len(self.groups) and all(map(is_, groups, self.groups))
        if same and classes is self.classes and (names, public) == (self.column_names, self.public):
            return self
        return replace(self, classes=classes, groups=groups, column_names=names, public=public)

    def fingerprint(self) -> str:
        """A digest (hexadecimal) that is equal for equal schemas, on any machine."""
        digest = hashlib.sha256(repr(self.classes.tolist()).encode())
        for group in self.groups:
            for part in group._parts():
                digest.update(len(part).to_bytes(8, "little") + part)
        if self.public:
            digest.update(b"public")
        return digest.hexdigest()

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Schema) and self.fingerprint() == other.fingerprint()

    def __hash__(self) -> int:
        return hash(self.fingerprint())


# ---- sorted class labels: where they stand among others, and joined, without rounding ------------
# NumPy compares int64 with uint64, and either with floats, as float64, in which whole numbers
# beyond 2⁵³ coincide. Labels of such mixed types are compared as Python's numbers here, which are
# exact.
Labels = NDArray[Any]

MAX_LABEL_RANGE = 1 << 22  # whole-number labels are ranked by a table up to this range


def _comparable(a: Labels, b: Labels) -> tuple[Labels, Labels]:
    """The same labels, as Python's numbers where NumPy would round them to compare them."""
    if a.dtype == b.dtype:
        return a, b
    kinds = {a.dtype.kind, b.dtype.kind}
    if kinds <= set("iuf") and len(kinds) == 2:
        return a.astype(object), b.astype(object)
    return a, b


def places_among(labels: Labels, classes: Labels) -> NDArray[np.intp]:
    """Where each label stands, or would stand, in the sorted `classes`, (n_labels,)."""
    labels, classes = _comparable(labels, classes)
    return np.searchsorted(classes, labels)


def are_among(labels: Labels, classes: Labels) -> NDArray[np.bool_]:
    """Whether each label is one of the sorted `classes`, (n_labels,)."""
    labels, classes = _comparable(labels, classes)
    place = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    return np.broadcast_to(np.asarray(classes[place] == labels, dtype=bool), labels.shape)


def ranked_whole_numbers(y: Labels, threads: int) -> tuple[Labels, NDArray[np.int32]] | None:
    """The sorted distinct values of whole numbers or booleans, and each row's index among them;
    None where they lie too far apart."""
    codes = np.empty(len(y), dtype=np.int32)
    widest = min(MAX_LABEL_RANGE, max(4096, 4 * len(y)))
    values = _kernels.rank_labels(y, widest, codes, threads)
    return None if values is None else (values.astype(y.dtype), codes)


def numbered_strings(y: Labels) -> tuple[Labels, NDArray[np.int32]]:
    """The distinct strings of an array in order of appearance, and each row's index among them."""
    codes = np.empty(len(y), dtype=np.int32)
    items = np.ascontiguousarray(y).view(np.uint8).reshape(len(y), y.dtype.itemsize)
    return y[_kernels.rank_items(items, codes)], codes


def joined_labels(a: Labels, b: Labels) -> Labels:
    """The distinct labels of both, sorted.

    Raises
    ------
    IncompatibleTallies
        For strings and other labels, or where no type of NumPy holds all of them exactly.
    """
    if a.dtype == b.dtype and np.array_equal(a, b):
        return a
    if not len(a) or not len(b):  # of a model that holds no rows
        return a if len(a) else b
    if _are_strings(a) != _are_strings(b):
        raise IncompatibleTallies(
            f"class labels of type {a.dtype} and {b.dtype} cannot be joined; use one type of label "
            "in every part"
        )
    exact_a, exact_b = _comparable(a, b)
    if exact_a is a:
        return np.union1d(a, b)
    found = sorted({*exact_a.tolist(), *exact_b.tolist()})
    whole = "f" not in (a.dtype.kind, b.dtype.kind)
    types: list[Any] = [np.int64, np.uint64] if whole else [np.float64]
    for dtype in types:
        limits = np.iinfo(dtype) if whole else None
        if limits is not None and not limits.min <= found[0] <= found[-1] <= limits.max:
            continue
        joined = np.array(found, dtype=dtype)
        if joined.tolist() == found:
            return joined
    raise IncompatibleTallies(
        f"the class labels {a.tolist()[:3]} of type {a.dtype} and {b.tolist()[:3]} of type "
        f"{b.dtype} have no type in common that holds them exactly: use one type in every part"
    )


def _are_strings(labels: NDArray[Any]) -> bool:
    return labels.dtype.kind in "US" or (
        labels.dtype.kind == "O" and all(isinstance(label, str) for label in labels.tolist())
    )
