"""What displays draw: rows, and what an estimator says of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.distributions import ClassConditional, Joint
from tallybayes.errors import shown
from tallybayes.tables import Empty, Numbers, Table, read_table
from tallybayes.tables.columns import strings_of
from tallybayes.validation import label_array

__all__ = [
    "LevelView",
    "NumberView",
    "Rows",
    "View",
    "class_codes",
    "class_conditional_of",
    "column_named",
    "columns_named",
    "joint_of",
    "need_classifier",
    "need_fitted",
    "read_rows",
    "region_view",
    "rows_and_codes",
    "two_classes",
    "view_of",
]


# ---- rows of data, and their labels, as they are drawn -------------------------------------------
Array = NDArray[np.float64]


class Rows:
    """Rows to draw.

    Parameters
    ----------
    columns : dict
        Column of a table by the model's name for it.
    n_rows : int
    """

    def __init__(self, columns: dict[Any, Any], n_rows: int) -> None:
        self.columns = columns
        self.n_rows = n_rows

    def is_number(self, name: Any) -> bool:
        """Whether a column holds numbers."""
        return not hasattr(self.columns[name], "levels")

    def is_date(self, name: Any) -> bool:
        """Whether a column holds dates, which are days since 1970."""
        return getattr(self.columns[name], "what", "") == "date"

    def numbers(self, name: Any) -> Array:
        """A column as numbers, float64 (n_rows,); NaN is a missing value, or a string that is not a
        number."""
        column = self.columns[name]
        if isinstance(column, Empty):
            return np.full(self.n_rows, np.nan)
        if isinstance(column, Numbers):
            return np.asarray(column.values, dtype=np.float64)
        values = [_number(level) for level in column.levels]
        return _picked(values, column.codes)

    def levels(self, name: Any) -> list[str]:
        """The levels that occur in a column, in their order."""
        column = self.columns[name]
        if isinstance(column, Empty):
            return []
        strings = strings_of(column) if isinstance(column, Numbers) else column
        return [strings.levels[i] for i in np.unique(strings.codes[strings.codes >= 0]).tolist()]

    def codes(self, name: Any, levels: Sequence[Any]) -> Array:
        """The place of each value among `levels`, float64 (n_rows,); NaN is a missing value or
        another level."""
        column = self.columns[name]
        if isinstance(column, Empty):
            return np.full(self.n_rows, np.nan)
        strings = strings_of(column) if isinstance(column, Numbers) else column
        place = {str(level): float(i) for i, level in enumerate(levels)}
        return _picked([place.get(level, np.nan) for level in strings.levels], strings.codes)


def _picked(of_levels: list[float], codes: NDArray[np.int32]) -> Array:
    """What stands for each row's level; NaN for a missing value, −1."""
    return np.asarray(np.array([*of_levels, np.nan])[codes])


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


def read_rows(X: Any, features: Sequence[Any] | None, wanted: Sequence[Any] | None = None) -> Rows:
    """Some columns of X, or all.

    Parameters
    ----------
    X : table, or array-like or sparse matrix (n_rows, n_columns)
    features : sequence or None
        The model's columns; None for those of X.
    wanted : sequence, optional
        Of `features`.

    Raises
    ------
    ValueError
        If X lacks a column.
    """
    table: Table = read_table(X.toarray() if hasattr(X, "toarray") else X)
    if features is None:
        return Rows(dict(table.columns), table.n_rows)
    columns: dict[Any, Any] = {}
    for name in features if wanted is None else wanted:
        key = str(name) if table.named else str(list(features).index(name))
        if key not in table.columns:
            raise ValueError(
                f"X lacks the column {name!r}; it has {list(table.columns)}: give the rows as the "
                "model was trained with them"
            )
        columns[name] = table.columns[key]
    return Rows(columns, table.n_rows)


def class_codes(y: Any, n_rows: int, classes: NDArray[Any] | None) -> tuple[Any, NDArray[np.intp]]:
    """The classes, and the index of each row's.

    Parameters
    ----------
    y : array-like (n_rows,)
    n_rows : int
    classes : array (n_classes,) or None
        The model's; None for those that occur.

    Raises
    ------
    ValueError
        If y has another length than X, or a label that is not a class.
    """
    labels = label_array(y)
    if labels.shape != (n_rows,):
        raise ValueError(f"y has the shape {labels.shape} for {n_rows} rows: give a label a row")
    if classes is None:
        found, codes = np.unique(labels, return_inverse=True)
        return found, codes.astype(np.intp)
    at = {label: k for k, label in enumerate(classes.tolist())}
    codes = np.array([at.get(label, -1) for label in labels.tolist()], dtype=np.intp)
    if (codes < 0).any():
        i = int(np.argmin(codes))
        raise ValueError(
            f"row {i} has the label {labels.tolist()[i]!r}, which is not a class of the model; its "
            f"classes are {classes.tolist()}"
        )
    return classes, codes


# ---- questions of a Display to an estimator: its distributions and its columns -------------------
def need_fitted(estimator: Any) -> Any:
    """The estimator, if it is one that can be drawn.

    Raises
    ------
    TypeError
        If it is not a classifier of this package.
    NotFittedError
        If it is not fitted.
    """
    if getattr(estimator, "_reads", None) not in ("arrays", "tables"):
        raise TypeError(
            "a Display draws a fitted classifier of tallybayes, such as GaussianNB or NaiveBayes, "
            f"got {type(estimator).__name__}"
        )
    estimator._fitted()
    return estimator


def need_classifier(estimator: Any) -> Any:
    """The estimator, if it is a fitted classifier of this package, one of documents or a lazy one
    among them; errors are those of :func:`need_fitted`."""
    reads = getattr(estimator, "_reads", None)
    if reads == "documents":
        estimator._fitted()
    elif reads != "sources":  # which a lazy one reads, and is never fitted
        need_fitted(estimator)
    return estimator


def two_classes(
    classes: NDArray[Any], order: Sequence[int], label: Any = None, against: Any = None
) -> tuple[int, int]:
    """The places of a class and of the one that it is compared with.

    Parameters
    ----------
    classes : array (n_classes,)
    order : sequence of int
        The classes that are taken where none is named, the first ones first.
    label, against : label, optional

    Raises
    ------
    ValueError
        For a label that is not a class, twice the same, or a model of a single class.
    """
    if len(classes) < 2:
        raise ValueError(
            f"the model has one class, {classes.tolist()}: a comparison needs two; train it on "
            "rows of two classes"
        )
    at = {name: k for k, name in enumerate(classes.tolist())}
    for wanted in (label, against):
        if wanted is not None and wanted not in at:
            raise ValueError(
                f"{shown(wanted)} is not a class of the model: name one of {classes.tolist()}"
            )
    if label is not None and label == against:
        raise ValueError(f"label and against are both {label!r}: name two classes")
    other = None if against is None else at[against]
    first = at[label] if label is not None else next(k for k in order if k != other)
    return first, next(k for k in order if k != first) if other is None else other


def joint_of(estimator: Any) -> Joint:
    """p(x, y) of a fitted estimator.

    Raises
    ------
    TypeError
        If it does not model p(x | y).
    """
    if not hasattr(need_fitted(estimator), "joint_"):
        raise TypeError(
            f"{type(estimator).__name__} does not model p(x | class): there is no density to "
            "draw. Draw its decision regions, with every other column held"
        )
    return estimator.joint_  # type: ignore[no-any-return]


def class_conditional_of(estimator: Any) -> ClassConditional:
    """p(x | y) of a fitted estimator; see :func:`joint_of`."""
    return joint_of(estimator).conditional


def column_named(features: Sequence[Any], wanted: Any) -> Any:
    """One of the columns, by its name or, where that is not a name, by its number.

    Raises
    ------
    ValueError
        If there is none.
    """
    known = {str(name): name for name in features}
    if str(wanted) in known:
        return known[str(wanted)]
    if isinstance(wanted, int) and not isinstance(wanted, bool) and 0 <= wanted < len(features):
        return features[wanted]
    listed = ", ".join(map(repr, list(features)[:20])) + (", …" if len(features) > 20 else "")
    raise ValueError(f"there is no column {wanted!r} to draw; those that count are {listed}")


def columns_named(features: Sequence[Any], wanted: Any, max_columns: int) -> list[Any]:
    """Different columns, by name or number; without `wanted` all of them, if these are not too
    many.

    Raises
    ------
    ValueError
        For a column that is not there, one named twice, or none, or more than `max_columns`.
    """
    if wanted is None:
        found = list(features)
    else:
        each = [wanted] if isinstance(wanted, str) or not hasattr(wanted, "__iter__") else wanted
        found = [column_named(features, name) for name in each]
    if not found or len(set(found)) < len(found):
        raise ValueError(f"name columns, each once, got {wanted!r}")
    if len(found) > max_columns:
        raise ValueError(
            f"{len(found)} columns are too many for one picture: name {max_columns} at most with "
            "columns="
        )
    return found


def _columns_trained(estimator: Any, features: Sequence[Any]) -> list[Any]:
    """The columns of X as the estimator was trained with them; not all need count."""
    names = getattr(estimator, "feature_names_in_", None)
    if names is not None:
        return list(names)
    n = estimator.n_features_in_
    return list(features) if len(features) == n else [str(j) for j in range(n)]


def rows_and_codes(
    estimator: Any, X: Any, y: Any, features: Sequence[Any], named: Sequence[Any]
) -> tuple[Rows | None, NDArray[np.intp] | None]:
    """Rows to draw and the index of each one's class; None without rows.

    Parameters
    ----------
    estimator : fitted classifier
    X : table or array (n_rows, n_columns), or None
    y : array-like (n_rows,) or None
        Their classes; those that the estimator predicts by default.
    features : sequence
        The columns that count.
    named : sequence
        Those that are drawn.

    Raises
    ------
    ValueError
        If X and y do not fit together, or to the estimator.
    """
    if X is None:
        if y is not None:
            raise ValueError("y is of the rows of X: give X, too")
        return None, None
    rows = read_rows(X, _columns_trained(estimator, features), named)
    labels = estimator.predict(X) if y is None else y
    _, codes = class_codes(labels, rows.n_rows, estimator.classes_)
    return rows, codes


# ---- one column of a model as it is drawn: where its values lie, and p(x | c) there --------------
N_DRAWS = 1000  # draws of each class that locate its values
TAILS = (0.0, 0.05, 0.95, 1.0)
EXTENSION = 0.45  # of the middle 90 %, on either side: a Gaussian to three standard deviations
MARGIN = 0.08  # of the range, on either side
N_POINTS = 400


@dataclass(eq=False, repr=False)
class NumberView:
    """A column of numbers.

    Parameters
    ----------
    name : object
    conditional : ClassConditional or None
        The distribution of all columns; None without one: the rows then give the range.
    edges : float64 array (n_bins − 1,), optional
        Of a number in bins.
    whole : bool
        Whether only whole numbers have a probability.
    positive : bool
        Whether the column has no numbers below 0.
    """

    name: Any
    conditional: ClassConditional | None
    edges: Array | None = None
    whole: bool = False
    positive: bool = False

    def place(self, rows: Rows) -> Array:
        """Where rows stand, float64 (n_rows,); NaN is a missing value."""
        return rows.numbers(self.name)

    def span(self, rows: Rows | None = None) -> tuple[float, float]:
        """From where to where the column is drawn: what its classes mostly are, and what rows
        have."""
        ends: list[float] = []
        if self.conditional is not None:
            drawn = self._drawn(self.conditional).astype(np.float64)
            first, low, high, last = np.nanquantile(drawn, TAILS, axis=0)
            more = EXTENSION * (high - low)
            ends += np.maximum(first, low - more).tolist() + np.minimum(last, high + more).tolist()
        if rows is not None:
            values = rows.numbers(self.name)
            ends += values[np.isfinite(values)].tolist()
        if not ends:
            raise ValueError(
                f"the values of column {self.name!r} are unknown: give rows with X that have "
                "values in it"
            )
        low, high = min(ends), max(ends)
        margin = MARGIN * (high - low) or 0.5
        if self.whole:
            return max(0.0, np.floor(low)), np.ceil(high)
        return (
            0.5 * low if self.positive and 0.0 <= low <= margin else low - margin
        ), high + margin

    def _drawn(self, conditional: Any) -> NDArray[Any]:
        """Draws of the column, (n, n_classes)."""
        column = conditional.column(self.name)
        drawn: NDArray[Any] = column.sample(N_DRAWS, random_state=0)
        return drawn if drawn.ndim == 2 else drawn[..., column.features.index(self.name)]

    def grid(self, span: tuple[float, float], points: int = N_POINTS) -> Array:
        """Values to ask about, ascending."""
        if self.whole:
            step = max(1.0, np.ceil((span[1] - span[0]) / points))
            return np.arange(span[0], span[1] + 1.0, step)
        return np.linspace(*span, points)

    def values(self, grid: Array) -> NDArray[Any]:
        """Values of the column, of places."""
        return grid

    def prob(self, grid: Array) -> Array:
        """p(x | c), (n_classes, n_points)."""
        assert self.conditional is not None
        alone = self.conditional.marginal([self.name])
        return alone.prob(alone.events({self.name: self.values(grid)})).T


class LevelView:
    """A column of levels, which stand at 0, 1, ….

    Parameters
    ----------
    name : object
    levels : list
        As they are called.
    probs : float64 array (n_classes, n_levels)
        P(level | c).
    given : sequence
        The levels as the model reads them.
    threshold : float, optional
        Numbers are read as [x > threshold].
    """

    def __init__(
        self, name: Any, levels: Any, probs: Array, given: Any, threshold: float | None = None
    ) -> None:
        self.name = name
        self.levels: list[Any] = list(levels)
        self.probs = probs
        self.given: NDArray[Any] = np.empty(len(self.levels), dtype=object)
        self.given[:] = list(given)
        self.threshold = threshold

    def place(self, rows: Rows) -> Array:
        """Where rows stand, float64 (n_rows,); NaN is a missing value or a level that is not
        known."""
        if self.threshold is not None:
            values = rows.numbers(self.name)
            return np.where(np.isnan(values), np.nan, values > self.threshold)
        if all(isinstance(level, int | float) for level in self.given.tolist()):
            values = rows.numbers(self.name)
            same = values[:, None] == self.given.astype(np.float64)
            return np.where(same.any(axis=1), same.argmax(axis=1), np.nan)
        return rows.codes(self.name, self.levels)

    def span(self, rows: Rows | None = None) -> tuple[float, float]:
        """From where to where the column is drawn."""
        return -0.5, len(self.levels) - 0.5

    def grid(self, span: tuple[float, float], points: int = N_POINTS) -> Array:
        """Places of the levels."""
        return np.arange(float(len(self.levels)))

    def values(self, grid: Array) -> NDArray[Any]:
        """Levels at places."""
        return self.given[grid.astype(np.intp)]


View = NumberView | LevelView


def view_of(conditional: ClassConditional, name: Any) -> View:
    """One column of a model.

    Parameters
    ----------
    conditional : ClassConditional
        Of all columns.
    name : object
        One of its features.
    """
    column = conditional.column(name)
    if column.shares_total:
        return _share(column, name)
    levels = column.as_levels()
    if levels is not None:
        return LevelView(name, *levels)
    return NumberView(name, conditional, column.edges, column.whole, column.positive)


def region_view(conditional: ClassConditional | None, name: Any, rows: Rows | None) -> View:
    """One column as values that a row may have, where :func:`view_of` has shares of a total or the
    model has no densities.

    Parameters
    ----------
    conditional : ClassConditional or None
        The distribution of all columns, if the model has one.
    name : object
    rows : Rows, optional
        They give the range of such a column, and its levels.
    """
    if conditional is not None and not conditional.column(name).shares_total:
        return view_of(conditional, name)
    if rows is not None and not rows.is_number(name):
        levels = rows.levels(name)
        return LevelView(name, levels, np.empty((0, len(levels))), levels)
    values = np.zeros(1) if rows is None else rows.numbers(name)
    positive = not bool((values < 0.0).any())
    return NumberView(name, None, positive=positive)


def _share(counts: Any, name: Any) -> LevelView:
    """A column of counts that share a total: which share of them it has."""
    j = counts.features.index(name)
    return LevelView(name, [name], counts.probs[:, [j]], [1])
