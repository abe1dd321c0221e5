"""Pictures of many panels: columns with or without a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tallybayes.plots.data.asking import class_conditional_of, columns_named, rows_and_codes
from tallybayes.plots.data.rows import Rows, class_codes, read_rows
from tallybayes.plots.data.views import LevelView, NumberView, View, view_of
from tallybayes.plots.drawing.shapes import Bars, Shape, draw_estimates, shape_of
from tallybayes.plots.drawing.style import Look

__all__ = ["Panels", "draw_margin", "panels_of_estimator", "panels_of_rows"]


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
