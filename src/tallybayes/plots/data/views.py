"""One column of a model as it is drawn: where its values lie, and p(x | c) there."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.distributions import ClassConditional
from tallybayes.plots.data.rows import Rows

__all__ = ["LevelView", "NumberView", "View", "region_view", "view_of"]

Array = NDArray[np.float64]

N_DRAWS = 1000  # draws of each class that locate its values
TAILS = (0.0, 0.05, 0.95, 1.0)
EXTENSION = 0.45  # of the middle 90 %, on either side: a Gaussian to three standard deviations
MARGIN = 0.08  # of the range, on either side
N_POINTS = 400


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

    def __init__(
        self,
        name: Any,
        conditional: ClassConditional | None,
        edges: Array | None = None,
        whole: bool = False,
        positive: bool = False,
    ) -> None:
        self.name = name
        self.conditional = conditional
        self.edges = edges
        self.whole = whole
        self.positive = positive

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
        prob: Array = alone.prob(alone.events({self.name: self.values(grid)})).T
        return prob


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
        values: NDArray[Any] = self.given[grid.astype(np.intp)]
        return values


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
