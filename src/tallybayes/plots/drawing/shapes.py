"""Shapes of one column, or of two: curves, steps, stems, bars, contours, points.

Each holds arrays with an entry a class, and draws itself along x, or along y.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.plots.data.rows import Rows
from tallybayes.plots.data.views import LevelView, NumberView, View
from tallybayes.plots.drawing.libraries import library
from tallybayes.plots.drawing.style import Look

__all__ = [
    "Bars",
    "Contours",
    "Curves",
    "Shape",
    "Stems",
    "draw_estimates",
    "draw_points",
    "draw_rug",
    "shape_of",
]

Array = NDArray[np.float64]

BAR_WIDTH = 0.8  # of the bars of one level together
MAX_JITTER = 0.3  # of points of one level, on either side
FILL_OPACITY = 0.12  # opacity below a curve


@dataclass(frozen=True, eq=False)
class Curves:
    """A density of each class, or the probability of the bin that a number is in.

    Parameters
    ----------
    x : float64 array (n_points,)
    heights : float64 array (n_classes, n_points)
    what : {"p", "P"}
        A density, or a probability.
    steps : bool
        Whether it is constant between edges.
    """

    x: Array
    heights: Array
    what: str = "p"
    steps: bool = False

    def draw(self, ax: Any, looks: Sequence[Look], along: str = "x") -> list[Any]:
        """A Line2D a class."""
        lines = []
        for heights, look in zip(self.heights, looks, strict=True):
            style = {"color": look.colour, "linestyle": look.line, "linewidth": 1.6}
            if along == "x":
                lines += ax.plot(self.x, heights, **style)
                ax.fill_between(self.x, heights, color=look.colour, alpha=FILL_OPACITY, linewidth=0)
            else:
                lines += ax.plot(heights, self.x, **style)
                ax.fill_betweenx(
                    self.x, heights, color=look.colour, alpha=FILL_OPACITY, linewidth=0
                )
        _from_zero(ax, along)
        return lines


@dataclass(frozen=True, eq=False)
class Stems:
    """Probabilities of whole numbers, a point and a stem each.

    Parameters
    ----------
    x : float64 array (n_points,)
    heights : float64 array (n_classes, n_points)
    """

    x: Array
    heights: Array
    what: str = "P"

    def draw(self, ax: Any, looks: Sequence[Look], along: str = "x") -> list[Any]:
        """A Line2D a class, with markers."""
        lines = []
        for heights, look in zip(self.heights, looks, strict=True):
            stem = ax.vlines if along == "x" else ax.hlines
            stem(self.x, 0.0, heights, color=look.colour, alpha=0.3, linewidth=1)
            pair = (self.x, heights) if along == "x" else (heights, self.x)
            lines += ax.plot(
                *pair,
                color=look.colour,
                linestyle=look.line,
                linewidth=0.7,
                marker=look.marker,
                markersize=4,
            )
        _from_zero(ax, along)
        return lines


@dataclass(frozen=True, eq=False)
class Bars:
    """Probabilities of levels, side by side.

    Parameters
    ----------
    heights : float64 array (n_classes, n_levels)
    """

    heights: Array
    what: str = "P"

    def draw(self, ax: Any, looks: Sequence[Look], along: str = "x") -> list[Any]:
        """A BarContainer a class."""
        n_classes, n_levels = self.heights.shape
        thick = BAR_WIDTH / n_classes
        bar = ax.bar if along == "x" else ax.barh
        places = np.arange(n_levels) - 0.5 * BAR_WIDTH + 0.5 * thick
        return [
            bar(places + k * thick, heights, thick, color=look.colour, edgecolor="white")
            for k, (heights, look) in enumerate(zip(self.heights, looks, strict=True))
        ]


Shape = Curves | Stems | Bars


def _from_zero(ax: Any, along: str) -> None:
    (ax.set_ylim if along == "x" else ax.set_xlim)(0.0, None)


def shape_of(view: View, rows: Rows | None = None) -> Shape:
    """The family of a column as it was fitted."""
    if isinstance(view, LevelView):
        return Bars(view.probs)
    span = view.span(rows)
    grid = view.grid(span)
    if view.edges is not None:  # both ends of each bin
        inside = view.edges[(view.edges > span[0]) & (view.edges < span[1])]
        grid = np.sort(np.concatenate([span, np.nextafter(inside, -np.inf), inside]))
        return Curves(grid, view.prob(grid), "P", True)
    return Stems(grid, view.prob(grid)) if view.whole else Curves(grid, view.prob(grid))


@dataclass(frozen=True, eq=False)
class Contours:
    """Lines of equal density of two columns.

    Parameters
    ----------
    x, y : float64 arrays (n_x,), (n_y,)
    heights : float64 array (n_classes, n_y, n_x)
    shares : sequence of float
        The lines' heights, in shares of each class's largest.
    """

    x: Array
    y: Array
    heights: Array
    shares: Sequence[float]

    def levels(self, k: int) -> Array:
        """The lines' heights of one class, ascending."""
        return np.array([share * float(self.heights[k].max()) for share in sorted(self.shares)])

    def draw(self, ax: Any, looks: Sequence[Look]) -> list[Any]:
        """A QuadContourSet a class."""
        return [
            ax.contour(
                self.x,
                self.y,
                heights,
                levels=self.levels(k),
                colors=[look.colour],
                linestyles=[look.line],
                linewidths=1.2,
            )
            for k, (heights, look) in enumerate(zip(self.heights, looks, strict=True))
        ]


def _placed(view: View, rows: Rows, seed: int) -> Array:
    """Where rows are drawn along a column; points of a level are spread out a little."""
    at = view.place(rows)
    if isinstance(view, NumberView):
        return at
    return np.asarray(at + np.random.default_rng(seed).uniform(-MAX_JITTER, MAX_JITTER, len(at)))


def draw_points(
    ax: Any,
    views: Sequence[View],
    rows: Rows | None,
    codes: NDArray[np.intp] | None,
    looks: Sequence[Look],
) -> list[Any]:
    """A PathCollection a class: the rows of it that have a value in both columns. Without rows,
    none."""
    if rows is None or codes is None:
        return []
    x, y = (_placed(view, rows, seed) for seed, view in enumerate(views))
    drawn = []
    for k, look in enumerate(looks):
        here = (codes == k) & np.isfinite(x) & np.isfinite(y)
        drawn.append(
            ax.scatter(
                x[here],
                y[here],
                s=20,
                color=[look.colour],
                marker=look.marker,
                edgecolors="white",
                linewidths=0.5,
                alpha=0.9,
                zorder=3,
            )
        )
    return drawn


def draw_rug(
    ax: Any, view: View, rows: Rows, codes: NDArray[np.intp], looks: Sequence[Look]
) -> list[Any]:
    """A LineCollection a class, with a tick for each of its rows; classes stand above each
    other, below the axis."""
    at = _placed(view, rows, 0)
    drawn = []
    for k, look in enumerate(looks):
        low = -0.03 * (k + 1)
        here = at[(codes == k) & np.isfinite(at)]
        drawn.append(
            ax.vlines(
                here,
                low,
                low + 0.025,
                color=look.colour,
                linewidth=0.7,
                transform=ax.get_xaxis_transform(),
                clip_on=False,
            )
        )
    ax.tick_params(axis="x", pad=4 + 6.5 * len(looks))
    return drawn


def draw_estimates(
    ax: Any, values: Array, codes: NDArray[np.intp], looks: Sequence[Look], along: str = "x"
) -> list[Any]:
    """Kernel density estimates of the rows of each class, by seaborn, for pictures without a model:
    a Line2D for each class that has a spread."""
    seaborn, before = library("seaborn"), len(ax.lines)
    for k, look in enumerate(looks):
        own = values[(codes == k) & np.isfinite(values)]
        if len(own) < 2 or own.min() == own.max():
            continue
        seaborn.kdeplot(
            **{along: own}, ax=ax, color=look.colour, linestyle=look.line, linewidth=1.6
        )
    ax.set(xlabel="", ylabel="")
    _from_zero(ax, along)
    return list(ax.lines)[before:]
