"""The style of all pictures: axes, colours and markers of classes, names on axes, the legend."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tallybayes.plots.data.rows import Rows
from tallybayes.plots.data.views import LevelView, View
from tallybayes.plots.drawing.fonts import drawable
from tallybayes.plots.drawing.libraries import library
from tallybayes.tables.columns import text_of_days

__all__ = [
    "RIGHT",
    "Look",
    "axes_grid",
    "drawable_ticks",
    "legend",
    "looks_of",
    "name_axis",
    "name_places",
    "name_ticks",
    "need_axes",
    "put_title",
    "right_if_wide",
    "shortened",
]

MARKERS = ("o", "^", "s", "D", "v", "P", "X", "*", "<", ">")
LINES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))
MAX_DISTINCT_COLOURS = 10
"""Colours of seaborn's "colorblind" palette; more classes take steps of cividis."""
CHARACTERS_PER_INCH = 12  # of tick labels, that an inch holds
LABELS_PER_INCH = 7  # tick labels that an inch holds when they are turned
MAX_CHARACTERS = 24  # characters of a tick label, or in a legend
MAX_LEGEND_CLASSES = 5  # classes whose legend leaves room in the axes
RIGHT: dict[str, Any] = {
    "loc": "upper left",
    "bbox_to_anchor": (1.02, 1.0),
    "borderaxespad": 0.0,
}
"""The place of a legend right of axes."""
PANEL_SPACING = 0.06  # between the axes of a grid, as a share of one


class Look(NamedTuple):
    """How a class is drawn.

    Parameters
    ----------
    colour : tuple of float
    marker : str
    line : str or tuple
    """

    colour: tuple[float, float, float]
    marker: str
    line: Any


def looks_of(n_classes: int) -> list[Look]:
    """A look for each class."""
    palette = "colorblind" if n_classes <= MAX_DISTINCT_COLOURS else "cividis"
    colours = library("seaborn").color_palette(palette, n_classes)
    return [
        Look(tuple(colour), MARKERS[k % len(MARKERS)], LINES[k % len(LINES)])
        for k, colour in enumerate(colours)
    ]


def need_axes(ax: Any, size: tuple[float, float] | None = None) -> Any:
    """The axes to draw in; new ones if there are none."""
    if ax is not None:
        return ax
    _, ax = library("matplotlib.pyplot").subplots(figsize=size, layout="constrained")
    return ax


def axes_grid(
    ax: Any, widths: Sequence[float], heights: Sequence[float], size: tuple[float, float]
) -> Any:
    """Axes in rows and columns, an object array (n_rows, n_columns).

    Parameters
    ----------
    ax : axes, or None
        Axes whose place they take; None for a new figure.
    widths, heights : sequences of float
        Relative ones.
    size : (float, float)
        Of the new figure, in inches.
    """
    shape = {
        "width_ratios": widths,
        "height_ratios": heights,
        "wspace": PANEL_SPACING,
        "hspace": PANEL_SPACING,
    }
    if ax is None:
        figure = library("matplotlib.pyplot").figure(figsize=size, layout="constrained")
        grid = figure.add_gridspec(len(heights), len(widths), **shape)
    else:
        figure, place = ax.figure, ax.get_subplotspec()
        if place is None:
            raise ValueError(
                "several axes take the place of ax, which must be one of plt.subplots(): these "
                "axes have no place in a grid"
            )
        ax.set_axis_off()
        grid = place.subgridspec(len(heights), len(widths), **shape)
    return grid.subplots(squeeze=False)


def name_axis(ax: Any, along: str, name: Any) -> None:
    """Writes a name along the axis "x" or "y"."""
    (label,), families = drawable([name])
    put = ax.set_xlabel if along == "x" else ax.set_ylabel
    put(label, fontfamily=families)


def name_places(ax: Any, along: str, view: View, rows: Rows | None) -> None:
    """Writes a column's name, and its levels or dates, along an axis."""
    name_axis(ax, along, view.name)
    if isinstance(view, LevelView):
        name_ticks(ax, along, view.levels)
    elif rows is not None and rows.is_date(view.name):
        _show_dates(ax, along)


def _show_dates(ax: Any, along: str) -> None:
    """Reads an axis as days since 1970."""
    ticker = library("matplotlib.ticker")
    axis = ax.xaxis if along == "x" else ax.yaxis
    axis.set_major_locator(ticker.MaxNLocator(4, integer=True))
    axis.set_major_formatter(ticker.FuncFormatter(lambda days, _: text_of_days(days)))
    if along == "x":
        ax.tick_params(axis="x", labelrotation=20)


def shortened(names: Sequence[Any]) -> list[str]:
    """Names as strings of no more than so many characters, the end of which distinguishes them."""
    strings = [str(name) for name in names]
    short = [_cut(text, MAX_CHARACTERS, 0) for text in strings]
    if len(set(short)) < len(set(strings)):
        short = [_cut(text, MAX_CHARACTERS // 2, MAX_CHARACTERS // 2) for text in strings]
    return short


def _cut(text: str, first: int, last: int) -> str:
    if len(text) <= first + last:
        return text
    return f"{text[:first]}…{text[len(text) - last :]}"


def name_ticks(ax: Any, along: str, names: Sequence[Any]) -> None:
    """Ticks at 0, 1, … with names."""
    labels, families = drawable(shortened(names))
    if along == "y":
        ax.set_yticks(range(len(labels)), labels, fontfamily=families)
        return
    inches = ax.get_position().width * ax.figure.get_figwidth()
    every = max(1, round(len(labels) / (LABELS_PER_INCH * inches)))
    turned: dict[str, Any] = {}
    if sum(len(one) + 2 for one in labels) > CHARACTERS_PER_INCH * inches:
        steep = len(labels) > 2 * inches
        turned = {"rotation": 90} if steep else {"rotation": 30, "ha": "right"}
        turned["rotation_mode"] = "default" if steep else "anchor"
    ax.set_xticks(range(0, len(labels), every), labels[::every], fontfamily=families, **turned)


def drawable_ticks(ax: Any, along: str, names: Sequence[str], max_names: int | None = None) -> None:
    """Ticks at 0, 1, … with whole names; of more than `max_names`, every second, third, …"""
    step = 1 if max_names is None else max(1, -(-len(names) // max_names))
    labels, families = drawable(names[::step])
    put = ax.set_xticks if along == "x" else ax.set_yticks
    put(range(0, len(names), step), labels, fontfamily=families)


def put_title(ax: Any, title: Any) -> None:
    """Writes a title."""
    (text,), families = drawable([title])
    ax.set_title(text, fontfamily=families)


def legend(where: Any, handles: Sequence[Any], names: Sequence[Any], **more: Any) -> Any:
    """A legend of axes or of a figure, with names that are not too long."""
    labels, families = drawable(shortened(names))
    font = library("matplotlib.font_manager").FontProperties(
        family=families, size=library("matplotlib").rcParams["legend.fontsize"]
    )
    return where.legend(list(handles), labels, prop=font, **more)


def right_if_wide(names: Sequence[Any]) -> dict[str, Any]:
    """Where a legend goes: right of the axes where it would cover much of what is in them."""
    wide = len(names) > MAX_LEGEND_CLASSES or any(
        len(name) >= MAX_CHARACTERS for name in shortened(names)
    )
    return RIGHT if wide else {}
