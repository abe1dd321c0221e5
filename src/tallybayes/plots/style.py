"""The style of all pictures: axes, colours and markers of classes, names on axes, the legend."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

from tallybayes.plots.data import LevelView, Rows, View
from tallybayes.tables.columns import text_of_days

__all__ = [
    "RIGHT",
    "Look",
    "axes_grid",
    "class_keys",
    "drawable",
    "drawable_ticks",
    "legend",
    "library",
    "looks_of",
    "name_axis",
    "name_places",
    "name_ticks",
    "need_axes",
    "put_title",
    "right_if_wide",
]


# ---- the one file that imports matplotlib and seaborn, on first use ------------------------------
def library(name: str) -> Any:
    """A module of matplotlib or seaborn.

    Raises
    ------
    ImportError
        If it is not installed, with what to install.
    """
    try:
        import matplotlib  # noqa: F401  named, so that the check of layers sees who imports them
        import seaborn  # noqa: F401

        return import_module(name)
    except ImportError as error:
        raise ImportError(
            f"pictures need matplotlib and seaborn ({error}): pip install 'tallybayes[plots]'"
        ) from error


# ---- fonts that have the characters --------------------------------------------------------------
# Strings in whatever fonts are installed: names of classes and columns may be in any script.
#
# Where the font of the picture lacks a character, an installed font that has it is added. Where
# none has it, the character is written as its escape, ``\u4e2d``: names stay different, and
# nothing is warned of.
PREFERRED = (
    "Noto Sans CJK SC",
    "Noto Sans SC",
    "Source Han Sans SC",
    "Source Han Sans CN",
    "PingFang SC",
    "Hiragino Sans GB",
    "Microsoft YaHei",
    "WenQuanYi Micro Hei",
    "WenQuanYi Zen Hei",
    "SimHei",
    "Heiti SC",
    "Noto Sans CJK JP",
    "Droid Sans Fallback",
    "Arial Unicode MS",
    "Unifont",
)
"""Tried first, the rest in alphabetical order."""
NOT_TEXT = ("Last Resort", "cm")  # boxes, and mathematics under other code points


@cache
def _characters(path: str) -> frozenset[int]:
    """The code points that a font file has."""
    try:
        return frozenset(library("matplotlib.ft2font").FT2Font(path).get_charmap())
    except RuntimeError:  # a font that matplotlib cannot read
        return frozenset()


def _lacking(characters: set[str], path: str) -> set[str]:
    """The characters that a font file does not have."""
    here = _characters(path)
    return {c for c in characters if ord(c) not in here}


def _path(family: str) -> str:
    manager = library("matplotlib.font_manager")
    return str(manager.findfont(manager.FontProperties(family=[family])))


def _other_families() -> dict[str, str]:
    """A font file of each family, in the order in which they are tried."""
    every = library("matplotlib.font_manager").fontManager.ttflist
    upright = {f.name: str(f.fname) for f in every if f.style == "normal" and f.weight == 400}
    first = [name for name in PREFERRED if name in upright]
    rest = [name for name in sorted(upright) if not name.startswith(NOT_TEXT)]
    return {name: upright[name] for name in [*first, *rest]}


def drawable(values: Iterable[Any], *, parse_math: bool = True) -> tuple[list[str], list[str]]:
    """Strings that can be drawn, and the font families that draw them.

    Parameters
    ----------
    values : iterable
        What is to be written: the ``str`` of each.
    parse_math : bool
        Whether they are drawn where a dollar sign begins a formula, so that theirs are escaped.
    """
    families = list(library("matplotlib").rcParams["font.family"])
    strings = [str(value) for value in values]
    if parse_math:  # a name is not a formula
        strings = [one.replace("$", r"\$") for one in strings]
    lacking = {c for c in "".join(strings) if c.isprintable() and ord(c) > 126}
    for family in families if lacking else []:
        lacking = _lacking(lacking, _path(family))
    for name, path in (_other_families() if lacking else {}).items():
        left = _lacking(lacking, path)
        if left < lacking:
            families, lacking = [*families, name], left
    escapes = {ord(c): c.encode("ascii", "backslashreplace").decode() for c in lacking}
    return [one.translate(escapes) for one in strings], families


# ---- colours, markers, axes, legends and titles --------------------------------------------------
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


def class_keys(looks: Sequence[Look]) -> list[Any]:
    """What stands for each class in a legend of points and lines."""
    line = library("matplotlib.lines").Line2D
    return [
        line([], [], color=look.colour, linestyle=look.line, marker=look.marker) for look in looks
    ]


def right_if_wide(names: Sequence[Any]) -> dict[str, Any]:
    """Where a legend goes: right of the axes where it would cover much of what is in them."""
    wide = len(names) > MAX_LEGEND_CLASSES or any(
        len(name) >= MAX_CHARACTERS for name in shortened(names)
    )
    return RIGHT if wide else {}
