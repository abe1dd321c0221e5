"""Two columns together, and each by itself along the margins."""

from __future__ import annotations

from typing import Any, Self

from tallybayes.plots.displays.panel_display import PanelDisplay
from tallybayes.plots.drawing.grids import Panels, draw_margin
from tallybayes.plots.drawing.shapes import draw_points
from tallybayes.plots.drawing.style import axes_grid, legend, looks_of, name_places, right_if_wide

__all__ = ["JointPlot"]

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
        self.legend_: Any = legend(where, self._keys(looks), names, title="class", **place)
        self.figure_: Any = self.ax_.figure
        return self
