"""The density p(x | class) of one column, or of two."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tallybayes.plots.data import (
    LevelView,
    Rows,
    View,
    class_conditional_of,
    columns_named,
    rows_and_codes,
    view_of,
)
from tallybayes.plots.shapes import (
    Bars,
    Contours,
    Curves,
    PanelDisplay,
    Panels,
    Shape,
    draw_margin,
    draw_points,
    draw_rug,
    shape_of,
)
from tallybayes.plots.style import (
    RIGHT,
    axes_grid,
    class_keys,
    legend,
    looks_of,
    name_axis,
    name_places,
    need_axes,
    right_if_wide,
)

__all__ = ["SHARES", "ClassConditionalDisplay", "JointPlot", "PairPlot"]


SHARES = (0.1, 0.3, 0.5, 0.7, 0.9)
"""Of the largest density: of two independent Gaussians, the line at a share s encloses 1 − s."""
N_POINTS = 120  # of a grid of contours, each way


class ClassConditionalDisplay:
    """The density of one column in each class, or of two columns together.

    One column is drawn as the family that was fitted: a density as a curve, counts as stems,
    numbers in bins as P(bin | class), levels as bars. The rows that are given stand below as a rug.
    Two columns of numbers are drawn as lines of equal density, with the rows as points.

    Parameters
    ----------
    classes : array-like (n_classes,)
        The counts of the classes.
    views : tuple of View
        One column, or two.
    shape : Curves, Stems, Bars or Contours
        What is drawn.
    rows : Rows, optional
        Rows to predict; as ``predict`` takes them.
    codes : index array (n_rows,), optional
        The class of each row.

    Attributes
    ----------
    ax_, figure_
        What it was drawn in.
    artists_ : list
        Of each class: a Line2D, a BarContainer or a QuadContourSet.
    rug_, points_ : list
        Of each class: a LineCollection, or a PathCollection; empty without rows.
    legend_ : Legend
    """

    ax_: Any
    figure_: Any

    def __init__(
        self,
        *,
        classes: Any,
        views: Sequence[View],
        shape: Shape | Contours,
        rows: Rows | None = None,
        codes: NDArray[np.intp] | None = None,
    ) -> None:
        self.classes: NDArray[Any] = np.asarray(classes)
        self.views: tuple[View, ...] = tuple(views)
        self.shape = shape
        self.rows = rows
        self.codes = codes

    def plot(self, ax: Any = None) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : axes, optional
            New ones by default.

        Returns
        -------
        self
            The display, with ``figure_`` and ``axes_``.
        """
        ax = need_axes(ax)
        looks = looks_of(len(self.classes))
        self.rug_: list[Any] = []
        self.points_: list[Any] = []
        self.artists_: list[Any] = self.shape.draw(ax, looks)
        if isinstance(self.shape, Contours):
            self.points_ = draw_points(ax, self.views, self.rows, self.codes, looks)
            self._leave_room(ax)
            name_places(ax, "y", self.views[1], self.rows)
        else:
            if self.rows is not None and self.codes is not None:
                self.rug_ = draw_rug(ax, self.views[0], self.rows, self.codes, looks)
            name_axis(ax, "y", _heights_name(self.shape, self.views[0]))
        name_places(ax, "x", self.views[0], self.rows)
        names = self.classes.tolist()
        place = RIGHT if isinstance(self.shape, Bars) else right_if_wide(names)
        keys = class_keys(looks) if isinstance(self.shape, Contours) else self.artists_
        self.legend_: Any = legend(ax, keys, names, title="class", **place)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _leave_room(self, ax: Any) -> None:
        """Beyond whole numbers, which lines of equal density end at."""
        for view, get, put in zip(
            self.views, (ax.get_xlim, ax.get_ylim), (ax.set_xlim, ax.set_ylim), strict=True
        ):
            if getattr(view, "whole", False):
                low, high = get()
                put(low - 0.5, high + 0.5)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        columns: Any,
        X: Any = None,
        y: Any = None,
        *,
        shares: Sequence[float] = SHARES,
        ax: Any = None,
    ) -> Self:
        """What a fitted classifier expects of a column, or of two.

        Parameters
        ----------
        estimator : fitted classifier of this package
            A fitted model.
        columns : name, or sequence of one or two
            Names, or numbers, of columns.
        X : table or array (n_rows, n_columns), optional
            Rows to draw besides, as for ``predict``; missing values are not drawn.
        y : array-like (n_rows,), optional
            Their classes; those that the estimator predicts by default.
        shares : sequence of float
            Heights of the lines around two columns, in shares of each class's largest density.
        ax : axes, optional
            Where to draw; new axes unless given.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        TypeError
            If it does not model p(x | class).
        ValueError
            For a column that is not there, more than two, or one of levels among two.
        """
        conditional = class_conditional_of(estimator)
        named = columns_named(conditional.features, columns, 2)
        views = [view_of(conditional, name) for name in named]
        rows, codes = rows_and_codes(estimator, X, y, conditional.features, named)
        shape: Shape | Contours
        if len(views) == 1:
            shape = shape_of(views[0], rows)
        else:
            shape = _contours(conditional.marginal(named), views, rows, shares)
        return cls(
            classes=conditional.classes, views=views, shape=shape, rows=rows, codes=codes
        ).plot(ax)


def _contours(
    conditional: Any, views: Sequence[View], rows: Rows | None, shares: Sequence[float]
) -> Contours:
    for view in views:
        if isinstance(view, LevelView):
            raise ValueError(
                f"column {view.name!r} has levels, and lines of equal density are of two columns "
                "of numbers: draw it by itself"
            )
    if not all(0.0 < share < 1.0 for share in shares):
        raise ValueError(f"shares of the largest density are between 0 and 1, got {shares!r}")
    x, y = (view.grid(view.span(rows), N_POINTS) for view in views)
    across, up = np.meshgrid(x, y)
    values = {views[0].name: across.ravel(), views[1].name: up.ravel()}
    heights = conditional.prob(conditional.events(values)).T.reshape(-1, len(y), len(x))
    return Contours(x, y, heights, shares)


def _heights_name(shape: Shape, view: View) -> str:
    if isinstance(shape, Bars):
        return f"P({view.name} | class)"
    if isinstance(shape, Curves) and shape.steps:
        return f"P(bin of {view.name} | class)"
    return f"{shape.what}({view.name} | class)"


# ---- two columns together, and each by itself along the margins ----------------------------------
SIZE = (6.4, 6.0)  # inches
LARGE, SMALL = 5.0, 1.0  # of the picture, and of a margin


class JointPlot(PanelDisplay):
    """Rows as points in two columns; along the margins each column by itself: the family that a
    model has fitted, or an estimate from the rows.

    Parameters
    ----------
    panels : Panels
        Of two columns.

    Attributes
    ----------
    ax_ : axes
        Of the points.
    ax_x_, ax_y_ : axes
        Of the margins, above and on the right.
    figure_
    points_ : list of PathCollection
        Of each class.
    margin_x_, margin_y_ : list
        Artists of the margins.
    legend_ : Legend
    """

    ax_: Any
    ax_x_: Any
    ax_y_: Any

    _max_columns = 2

    def __init__(self, *, panels: Panels) -> None:
        if len(panels.views) != 2:
            raise ValueError(
                f"a joint plot is of two columns, got {[v.name for v in panels.views]}: name two "
                "with columns="
            )
        super().__init__(panels=panels)

    def plot(self, ax: Any = None) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : axes, optional
            Axes whose place it takes; a new figure by default.

        Returns
        -------
        self
            The display, with ``figure_`` and ``axes_``.
        """
        panels = self.panels
        looks = looks_of(len(panels.classes))
        axes = axes_grid(ax, [LARGE, SMALL], [SMALL, LARGE], SIZE)
        (self.ax_x_, corner), (self.ax_, self.ax_y_) = axes
        corner.set_axis_off()
        pair = (panels.views[0], panels.views[1])
        self.points_: list[Any] = draw_points(self.ax_, pair, panels.rows, panels.codes, looks)
        self.margin_x_: list[Any] = draw_margin(self.ax_x_, panels, 0, looks)
        self.margin_y_: list[Any] = draw_margin(self.ax_y_, panels, 1, looks, "y")
        name_places(self.ax_, "x", pair[0], panels.rows)
        name_places(self.ax_, "y", pair[1], panels.rows)
        for margin in (self.ax_x_, self.ax_y_):
            margin.tick_params(labelbottom=False, labelleft=False, length=0)
            for side in ("top", "right"):
                margin.spines[side].set_visible(False)
        ends = [*self.ax_.get_xlim(), *self.ax_x_.get_xlim()]
        self.ax_.set_xlim(min(ends), max(ends))
        self.ax_x_.set_xlim(self.ax_.get_xlim())
        ends = [*self.ax_.get_ylim(), *self.ax_y_.get_ylim()]
        self.ax_.set_ylim(min(ends), max(ends))
        self.ax_y_.set_ylim(self.ax_.get_ylim())
        names = panels.classes.tolist()
        place = right_if_wide(names)
        where = self.ax_y_ if place else self.ax_
        self.legend_: Any = legend(where, class_keys(looks), names, title="class", **place)
        self.figure_: Any = self.ax_.figure
        return self


# ---- every pair of some columns, with each column by itself on the diagonal ----------------------
MAX_COLUMNS = 10  # columns
PANEL_SIZE = 2.2  # of a panel


class PairPlot(PanelDisplay):
    """Rows as points in every pair of columns; on the diagonal each column by itself: the family
    that a model has fitted, or an estimate from the rows.

    Parameters
    ----------
    panels : Panels
        What is drawn in each panel.

    Attributes
    ----------
    ax_ : axes
        The last panel of the first column.
    axes_ : object array (n_columns, n_columns)
        Rows of panels from the top.
    figure_
    points_ : dict
        By (row, column): a PathCollection of each class.
    margins_ : list
        By column, the artists of its diagonal panel.
    legend_ : Legend
    """

    ax_: Any
    figure_: Any

    _max_columns = MAX_COLUMNS

    def plot(self, ax: Any = None) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : axes, optional
            Axes whose place the panels take; a new figure by default.

        Returns
        -------
        self
            The display, with ``figure_`` and ``axes_``.
        """
        panels, n = self.panels, len(self.panels.views)
        looks = looks_of(len(panels.classes))
        side = PANEL_SIZE * n
        self.axes_: Any = axes_grid(ax, [1.0] * n, [1.0] * n, (side + 1.0, side))
        self.points_: dict[tuple[int, int], list[Any]] = {}
        self.margins_: list[list[Any]] = []
        for j, column in enumerate(panels.views):
            for i, row in enumerate(panels.views):
                if i != j:
                    at, pair = self.axes_[i, j], (column, row)
                    points = draw_points(at, pair, panels.rows, panels.codes, looks)
                    self.points_[i, j] = points
            self.margins_.append(draw_margin(self.axes_[j, j], panels, j, looks))
        self._label()
        corner = self.axes_[0, -1]
        where: Any = corner.figure
        place: dict[str, Any] = {"loc": "outside right upper"}
        if ax is not None:  # the figure has other axes
            where = corner
            place = RIGHT
        self.legend_: Any = legend(
            where, class_keys(looks), panels.classes.tolist(), title="class", **place
        )
        self.ax_, self.figure_ = self.axes_[-1, 0], corner.figure
        return self

    def _label(self) -> None:
        """The same places along a column of panels, and along a row; names outside only."""
        n = len(self.panels.views)
        for j in range(n):
            column = self.axes_[:, j]
            limits = [at.get_xlim() for at in column]
            low, high = min(a for a, _ in limits), max(b for _, b in limits)
            for at in column:
                at.set_xlim(low, high)
            for i in range(n):
                if i != j:
                    self.axes_[j, i].set_ylim(low, high)
        for i in range(n):
            for j in range(n):
                at = self.axes_[i, j]
                if i == n - 1:
                    name_places(at, "x", self.panels.views[j], self.panels.rows)
                else:
                    at.set_xlabel("")
                    at.tick_params(labelbottom=False)
                if j == 0:
                    name_places(at, "y", self.panels.views[i], self.panels.rows)
                if j > 0 or i == 0:
                    at.tick_params(labelleft=False)
        first = self.axes_[0, 0]  # its heights are not values of the column
        first.set_yticks([])
        for k in range(1, n):
            self.axes_[k, k].set_yticks([])
