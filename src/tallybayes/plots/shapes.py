"""Shapes of one column, or of two: curves, steps, stems, bars, contours, points.

Each holds arrays with an entry a class, and draws itself along x, or along y.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tallybayes.plots.data import (
    LevelView,
    NumberView,
    Rows,
    View,
    class_codes,
    class_conditional_of,
    columns_named,
    read_rows,
    rows_and_codes,
    view_of,
)
from tallybayes.plots.style import Look, drawable, drawable_ticks, library, need_axes
from tallybayes.readable import plain, shaded_pieces

__all__ = [
    "Bars",
    "Contours",
    "Curves",
    "PanelDisplay",
    "Panels",
    "Shape",
    "Stems",
    "bars_from_above",
    "draw_margin",
    "draw_passage",
    "draw_points",
    "draw_rug",
    "need_count",
    "passage_height",
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


# ---- horizontal bars with a number each, from top to bottom --------------------------------------
BAR_HEIGHT = 0.28  # inches
WIDTH = 6.4
NUMBER_MARGIN = 0.16  # for numbers, as a share of what is drawn


def need_count(name: str, value: Any) -> int:
    """A whole number above 0; ValueError for anything else."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{name} is a whole number above 0, got {value!r}")
    return value


def bars_from_above(
    ax: Any,
    names: Sequence[str],
    values: NDArray[np.float64],
    words: Sequence[str],
    colours: Any,
) -> tuple[Any, list[Any]]:
    """The axes, and a bar for each value with its number at its end; new axes if there are none."""
    if ax is None:
        ax = need_axes(None, (WIDTH, 1.0 + BAR_HEIGHT * max(2, len(names))))
    bars = ax.barh(np.arange(len(names)), values, height=0.7, color=colours)
    ax.bar_label(bars, words, padding=3, fontsize="small")
    drawable_ticks(ax, "y", names)
    low, high = min(0.0, *values.tolist(), 0.0), max(0.0, *values.tolist(), 0.0)
    room = NUMBER_MARGIN * (high - low) or 1.0
    ax.set_xlim(low - (room if low < 0.0 else 0.0), high + (room if high > 0.0 else 0.0))
    ax.set_ylim(max(len(names), 1) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    return ax, list(bars.patches)


# ---- pictures of many panels: columns with or without a model ------------------------------------
class Panels(NamedTuple):
    """The data of panels.

    Parameters
    ----------
    classes : array (n_classes,)
    views : list of View
    shapes : list of Shape or None
        The fitted family of each column; None: an estimate from the rows.
    rows : Rows
    codes : index array (n_rows,)
    """

    classes: NDArray[Any]
    views: list[View]
    shapes: list[Shape | None]
    rows: Rows
    codes: NDArray[np.intp]


def panels_of_estimator(estimator: Any, X: Any, y: Any, columns: Any, max_columns: int) -> Panels:
    """Rows, and the families that an estimator has fitted."""
    conditional = class_conditional_of(estimator)
    named = columns_named(conditional.features, columns, max_columns)
    rows, codes = rows_and_codes(estimator, X, y, conditional.features, named)
    if rows is None or codes is None:
        raise ValueError("points are drawn of rows: give X")
    views = [view_of(conditional, name) for name in named]
    shapes: list[Shape | None] = [shape_of(view, rows) for view in views]
    return Panels(conditional.classes, views, shapes, rows, codes)


def panels_of_rows(X: Any, y: ArrayLike, columns: Any, max_columns: int) -> Panels:
    """Rows and labels alone."""
    rows = read_rows(X, None)
    named = columns_named(list(rows.columns), columns, max_columns)
    classes, codes = class_codes(y, rows.n_rows, None)
    views: list[View] = []
    shapes: list[Shape | None] = []
    for name in named:
        if rows.is_number(name):
            views.append(NumberView(name, None))
            shapes.append(None)
        else:
            levels = rows.levels(name)
            place = rows.codes(name, levels)
            shares = np.zeros((len(classes), len(levels)))
            there = np.isfinite(place)
            np.add.at(shares, (codes[there], place[there].astype(np.intp)), 1.0)
            shares /= np.maximum(shares.sum(axis=1, keepdims=True), 1.0)
            views.append(LevelView(name, levels, shares, levels))
            shapes.append(Bars(shares))
    return Panels(classes, views, shapes, rows, codes)


def draw_margin(
    ax: Any, panels: Panels, j: int, looks: Sequence[Look], along: str = "x"
) -> list[Any]:
    """One column by itself: the family that was fitted, or an estimate from the rows."""
    shape = panels.shapes[j]
    if shape is not None:
        return shape.draw(ax, looks, along)
    values = panels.rows.numbers(panels.views[j].name)
    return draw_estimates(ax, values, panels.codes, looks, along)


# ---- A passage whose words are shaded by what they add -------------------------------------------
MAX_CHARACTERS, MAX_WORD_CHARACTERS = 700, 40  # of the passage, and of a word, that are shown
MAX_LINES, LINE_CHARACTERS = 12, 70
LINE_HEIGHT, TOP_MARGIN = 0.21, 0.75
"""Inches: the height of a line, and from the axes to the first one."""

WITHOUT_BLANKS = "\u2e80"  # from here on characters are words by themselves


def passage_height(passage: str) -> float:
    """About how much room a passage takes below axes, in inches."""
    shown = passage[:MAX_CHARACTERS].strip()
    wide = sum(1 + (c >= WITHOUT_BLANKS) for c in shown)
    lines = min(MAX_LINES, shown.count("\n") + wide // LINE_CHARACTERS + 1)
    return 0.3 + LINE_HEIGHT * lines if shown else 0.0


def draw_passage(
    ax: Any, passage: str, spans: Sequence[tuple[int, int, float]], colours: tuple[Any, Any]
) -> list[Any]:
    """Draws the beginning of a passage below axes, as wide as they are. Words are shaded in the
    first colour where they add and in the second where they remove, the stronger the more.

    Parameters
    ----------
    ax : axes
    passage : str
    spans : sequence of (begin, end, value)
    colours : two colours

    Returns
    -------
    list of Text
        The words in their order; a word without shade has no box.
    """
    words = _words(passage[:MAX_CHARACTERS], spans)
    most = max((abs(value) for _, value in words), default=0.0)
    drawn, families = drawable((word for word, _ in words), parse_math=False)
    figure, box = ax.figure, ax.get_window_extent()
    inch, renderer = figure.dpi, figure.canvas.get_renderer()
    translation = library("matplotlib.transforms").ScaledTranslation
    x, line, found = 0.0, 0, []
    for word, (_, value) in zip(drawn, words, strict=True):
        if word == "\n":
            x, line = 0.0, line + (x > 0.0)
            continue
        if word == " ":
            x += 0.05 * inch if x else 0.0
            continue
        text = ax.text(
            0.0, 0.0, word, fontsize="small", fontfamily=families, parse_math=False, va="top"
        )
        width = text.get_window_extent(renderer).width
        if x and x + width > box.width:
            x, line = 0.0, line + 1
        if line >= MAX_LINES:
            text.remove()
            break
        moved = translation(x / inch, -(TOP_MARGIN + LINE_HEIGHT * line), figure.dpi_scale_trans)
        text.set_transform(ax.transAxes + moved)  # inches from the corner, whatever the size
        if value and most:
            shade = {"alpha": 0.15 + 0.5 * abs(value) / most, "pad": 1.0, "linewidth": 0.0}
            text.set_bbox({"facecolor": colours[value < 0.0], **shade})
        found.append(text)
        x += width
    return found


def _words(passage: str, spans: Sequence[tuple[int, int, float]]) -> list[tuple[str, float]]:
    """Words, blanks and ends of lines, each with its value."""
    found: list[tuple[str, float]] = []
    for piece, value in shaded_pieces(passage, spans):
        word = ""
        for c in f"{piece}\0":
            if c != "\0" and not c.isspace() and c < WITHOUT_BLANKS:
                word += c
                continue
            if word:
                found.append((plain(word, MAX_WORD_CHARACTERS), value))
            if c.isspace():
                found.append(("\n" if c == "\n" else " ", 0.0))
            elif c != "\0":
                found.append((plain(c), value))
            word = ""
    return found


# ---- base of the displays of several columns at once: rows as points, and their sources ----------
class PanelDisplay(ABC):
    """Base of the displays of several columns. Not for direct use.

    Parameters
    ----------
    panels : Panels
        What is drawn in each panel.
    """

    _max_columns: ClassVar[int]

    def __init__(self, *, panels: Panels) -> None:
        self.panels = panels

    @abstractmethod
    def plot(self, ax: Any = None) -> Self:
        """Draw the display."""

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any = None, *, columns: Any = None, ax: Any = None
    ) -> Self:
        """Rows, and the families that a fitted classifier has of their columns.

        Parameters
        ----------
        estimator : fitted classifier of this package
            A fitted model.
        X : table or array (n_rows, n_columns)
            Rows to predict.
        y : array-like (n_rows,), optional
            Their classes; those that the estimator predicts by default.
        columns : sequence, optional
            Names, or numbers, of the columns: two for a joint plot, at most 10 for a pair plot. By
            default all, if they are not more.
        ax : axes, optional
            Where to draw; new axes unless given.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        TypeError
            If it does not model p(x | class).
        ValueError
            For columns that are not there, too many, or too few.
        """
        return cls(panels=panels_of_estimator(estimator, X, y, columns, cls._max_columns)).plot(ax)

    @classmethod
    def from_predictions(cls, X: Any, y: ArrayLike, *, columns: Any = None, ax: Any = None) -> Self:
        """Rows by their labels, known or predicted, with estimates of each column's density.

        Parameters
        ----------
        X : table or array (n_rows, n_columns)
            Rows to predict.
        y : array-like (n_rows,)
            Class labels.
        columns : sequence, optional
            As for :meth:`from_estimator`.
        ax : axes, optional
            Where to draw; new axes unless given.

        Raises
        ------
        ValueError
            For columns that are not there, too many, or too few.
        """
        return cls(panels=panels_of_rows(X, np.asarray(y), columns, cls._max_columns)).plot(ax)
