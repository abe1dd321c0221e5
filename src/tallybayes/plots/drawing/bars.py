"""Horizontal bars with a number each, from top to bottom."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.plots.drawing.style import drawable_ticks, need_axes

__all__ = ["bars_from_above", "need_count"]

LINE_HEIGHT = 0.28  # inches
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
        ax = need_axes(None, (WIDTH, 1.0 + LINE_HEIGHT * max(2, len(names))))
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
