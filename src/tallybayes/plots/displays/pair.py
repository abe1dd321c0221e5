"""Every pair of some columns, with each column by itself on the diagonal."""

from __future__ import annotations

from typing import Any, Self

from tallybayes.plots.displays.panel_display import PanelDisplay
from tallybayes.plots.drawing.grids import draw_margin
from tallybayes.plots.drawing.shapes import draw_points
from tallybayes.plots.drawing.style import RIGHT, axes_grid, legend, looks_of, name_places

__all__ = ["PairPlot"]

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
            where, self._keys(looks), panels.classes.tolist(), title="class", **place
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
