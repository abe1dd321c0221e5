"""The weights of a weighted model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tallybayes.estimators.tables.weighted import WeightedNaiveBayes
from tallybayes.plots.data.asking import need_fitted
from tallybayes.plots.drawing.bars import bars_from_above, need_count
from tallybayes.plots.drawing.style import looks_of, name_axis
from tallybayes.readable import plain

__all__ = ["WeightsDisplay"]


class WeightsDisplay:
    """How much each column and pair of a weighted model counts.

    Parameters
    ----------
    terms : sequence of str
        Columns, and pairs of them.
    weights : array-like (n_terms,)
        1 as in plain naive Bayes, 0 for a term that adds nothing.

    Attributes
    ----------
    ax_, figure_
        What it was drawn in.
    shown_ : list of str
        The terms that are drawn, the largest weights first.
    bars_ : list of Rectangle
        A bar each.
    """

    ax_: Any
    figure_: Any
    bars_: list[Any]

    def __init__(self, *, terms: Sequence[str], weights: ArrayLike) -> None:
        self.terms: list[str] = list(terms)
        self.weights: NDArray[np.float64] = np.asarray(weights, dtype=np.float64)
        if self.weights.shape != (len(self.terms),):
            raise ValueError(
                f"weights have the shape {self.weights.shape} for {len(self.terms)} terms: give a "
                "number for each"
            )

    def plot(self, ax: Any = None, *, max_display: int = 25) -> Self:
        """Draw the bars.

        Parameters
        ----------
        ax : axes, optional
            New ones by default.
        max_display : int, default=25
            How many terms are drawn, those with the largest weights.

        Returns
        -------
        self
            The display, with ``figure_`` and ``ax_``.
        """
        shown = need_count("max_display", max_display)
        order = np.argsort(-self.weights, kind="stable")[:shown].tolist()
        self.shown_: list[str] = [self.terms[t] for t in order]
        names = [" × ".join(plain(p) for p in term.split(" × ")) for term in self.shown_]
        weights = self.weights[order]
        ax, self.bars_ = bars_from_above(
            ax, names, weights, [f"{w:.2f}" for w in weights], looks_of(1)[0].colour
        )
        ax.axvline(1.0, color="0.6", linestyle=":", linewidth=1, zorder=0)
        hidden = len(self.terms) - len(order)
        more = f" ({hidden} smaller ones are not shown)" if hidden else ""
        name_axis(ax, "x", f"weight; 1 is naive Bayes{more}")
        self.ax_, self.figure_ = ax, ax.figure
        return self

    @classmethod
    def from_estimator(cls, estimator: Any, *, max_display: int = 25, ax: Any = None) -> Self:
        """The weights of a fitted model.

        Parameters
        ----------
        estimator : fitted WeightedNaiveBayes
            A fitted model.
        max_display : int, default=25
            How many terms are drawn.
        ax : axes, optional
            Where to draw; new axes unless given.

        Returns
        -------
        WeightsDisplay
            Drawn.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        TypeError
            If it has no weights.
        """
        if not isinstance(need_fitted(estimator), WeightedNaiveBayes):
            raise TypeError(f"WeightedNaiveBayes has weights, {type(estimator).__name__} has none")
        held = estimator.weights_
        terms, weights = list(held["term"]), np.asarray(held["weight"], dtype=np.float64)
        return cls(terms=[str(term) for term in terms], weights=weights).plot(
            ax, max_display=max_display
        )
