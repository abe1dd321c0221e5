"""Missing values by column and class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tallybayes.plots.data import need_fitted
from tallybayes.plots.shapes import bars_from_above, need_count
from tallybayes.plots.style import RIGHT, legend, looks_of, name_axis
from tallybayes.readable import plain
from tallybayes.reporting.subjects import subject_of

__all__ = ["MissingDisplay"]


Array = NDArray[np.float64]


class MissingDisplay:
    """The share of rows without a value, by column: of all rows a bar, of each class a marker.

    Where the markers of a column are far apart, a missing value is informative about the class.

    Parameters
    ----------
    columns : sequence of str
        Names of the columns.
    classes : array-like (n_classes,)
        The labels.
    shares : array-like (n_columns,)
        Of all rows, from 0 to 1.
    by_class : array-like (n_columns, n_classes)
        Of the rows of each class; NaN of a class without rows.

    Attributes
    ----------
    ax_, figure_
        What it was drawn in.
    shown_ : list of str
        The columns that are drawn, those that lack most first.
    bars_ : list of Rectangle
        A bar each.
    markers_ : list of PathCollection
        Of each class.
    legend_ : Legend
    """

    ax_: Any
    figure_: Any
    bars_: list[Any]

    def __init__(
        self,
        *,
        columns: Sequence[str],
        classes: ArrayLike,
        shares: ArrayLike,
        by_class: ArrayLike,
    ) -> None:
        self.columns: list[str] = list(columns)
        self.classes: NDArray[Any] = np.asarray(classes)
        self.shares: Array = np.asarray(shares, dtype=np.float64)
        self.by_class: Array = np.asarray(by_class, dtype=np.float64)
        n, k = len(self.columns), len(self.classes)
        if self.shares.shape != (n,) or self.by_class.shape != (n, k):
            raise ValueError(
                f"{n} columns and {k} classes have shares of the shapes ({n},) and ({n}, {k}), got "
                f"{self.shares.shape} and {self.by_class.shape}"
            )

    def plot(self, ax: Any = None, *, max_display: int = 25) -> Self:
        """Draw the bars and markers.

        Parameters
        ----------
        ax : axes, optional
            New ones by default.
        max_display : int, default=25
            How many columns are drawn, those that lack most.

        Returns
        -------
        self
            The display, with ``figure_`` and ``ax_``.
        """
        shown = need_count("max_display", max_display)
        order = np.argsort(-self.shares, kind="stable")[:shown].tolist()
        self.shown_: list[str] = [self.columns[j] for j in order]
        words = [""] * len(order)
        names = [f"{plain(self.columns[j])}  {_percent(self.shares[j])}" for j in order]
        ax, self.bars_ = bars_from_above(ax, names, self.shares[order], words, "0.85")
        self.markers_: list[Any] = [
            ax.scatter(
                self.by_class[order, k],
                np.arange(len(order)),
                color=look.colour,
                marker=look.marker,
                s=28,
                zorder=3,
            )
            for k, look in enumerate(looks_of(len(self.classes)))
        ]
        high = max(0.0, *self.shares.tolist(), float(np.nanmax(self.by_class, initial=0.0)))
        ax.set_xlim(0.0, min(1.08 * high, 1.02) or 1.0)
        ax.xaxis.set_major_formatter(lambda share, _: f"{100.0 * share:g} %")
        hidden = len(self.columns) - len(order)
        more = f" ({hidden} columns that lack less are not shown)" if hidden else ""
        name_axis(ax, "x", f"rows without a value{more}")
        self.legend_: Any = legend(ax, self.markers_, self.classes.tolist(), title="class", **RIGHT)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    @classmethod
    def from_estimator(cls, estimator: Any, *, max_display: int = 25, ax: Any = None) -> Self:
        """The missing values of the rows that a model has learned.

        Parameters
        ----------
        estimator : fitted NaiveBayes or WeightedNaiveBayes
            A fitted model.
        max_display : int, default=25
            How many columns are drawn.
        ax : axes, optional
            Where to draw; new axes unless given.

        Returns
        -------
        MissingDisplay
            Drawn; columns of text and left-out columns are not in it.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        TypeError
            If it is not a classifier of tables: others take no missing values.
        """
        if need_fitted(estimator)._reads != "tables":
            raise TypeError(
                f"classifiers of tables take missing values, {type(estimator).__name__} does not"
            )
        subject = subject_of(estimator)
        facts = [f for f in subject.columns(None, np.zeros(0, dtype=np.intp)) if f.bins]
        rows = subject.class_rows
        lacking = [
            f.bins[-1].counts if f.bins[-1].value is None else np.zeros(len(rows)) for f in facts
        ]
        counts = np.array(lacking, dtype=np.float64).reshape(len(facts), len(rows))
        with np.errstate(invalid="ignore", divide="ignore"):
            by_class = np.where(rows > 0.0, counts / rows, np.nan)
        return cls(
            columns=[f.name for f in facts],
            classes=subject.classes,
            shares=[f.missing for f in facts],
            by_class=by_class,
        ).plot(ax, max_display=max_display)


def _percent(share: float) -> str:
    return f"{100.0 * share:.1f} %"
