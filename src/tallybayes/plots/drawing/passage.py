"""A passage whose words are shaded by what they add."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tallybayes.plots.drawing.fonts import drawable
from tallybayes.plots.drawing.libraries import library
from tallybayes.readable import plain, shaded_pieces

__all__ = ["draw_passage", "passage_height"]

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
