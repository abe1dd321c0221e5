"""Base of the displays of several columns at once: rows as points, and their sources."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from tallybayes.plots.drawing.grids import Panels, panels_of_estimator, panels_of_rows
from tallybayes.plots.drawing.libraries import library
from tallybayes.plots.drawing.style import Look

__all__ = ["PanelDisplay"]


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

    @staticmethod
    def _keys(looks: Sequence[Look]) -> list[Any]:
        """What stands for each class in the legend."""
        line = library("matplotlib.lines").Line2D
        return [
            line([], [], color=look.colour, linestyle=look.line, marker=look.marker)
            for look in looks
        ]

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
