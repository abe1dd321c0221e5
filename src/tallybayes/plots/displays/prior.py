"""The class prior as bars."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tallybayes.estimators.labels import label_array
from tallybayes.families import ClassPrior
from tallybayes.plots.data.asking import need_fitted
from tallybayes.plots.drawing.style import RIGHT, legend, looks_of, name_axis, name_ticks, need_axes
from tallybayes.tally import ClassCounts

__all__ = ["PriorDisplay"]

MAX_HORIZONTAL_LABELS = 8  # bars over which numbers stand side by side


class PriorDisplay:
    """The probability of each class before anything is known of a row.

    Parameters
    ----------
    classes : array-like (n_classes,)
        The counts of the classes.
    probabilities : array-like (n_classes,)
        Probabilities to draw.

    Attributes
    ----------
    ax_, figure_
        What it was drawn in.
    bars_ : BarContainer
        A bar a class.

    Examples
    --------
    >>> from tallybayes.plots import PriorDisplay
    >>> PriorDisplay.from_predictions(["ham", "spam"]).probabilities.tolist()
    [0.5, 0.5]
    """

    ax_: Any
    figure_: Any

    def __init__(self, *, classes: ArrayLike, probabilities: ArrayLike) -> None:
        self.classes: NDArray[Any] = np.asarray(classes)
        self.probabilities: NDArray[np.float64] = np.asarray(probabilities, dtype=np.float64)

    def plot(self, ax: Any = None, **bar_kw: Any) -> Self:
        """Draw the bars.

        Parameters
        ----------
        ax : axes, optional
            New ones by default.
        **bar_kw
            For ``ax.bar``.

        Returns
        -------
        self
            The display, with ``figure_`` and ``axes_``.
        """
        ax = need_axes(ax)
        looks = looks_of(len(self.classes))
        places = np.arange(len(self.classes))
        self.bars_: Any = ax.bar(
            places, self.probabilities, **{"color": [look.colour for look in looks], **bar_kw}
        )
        many = len(self.classes) > MAX_HORIZONTAL_LABELS
        numbers = [f"{p:.3f}" for p in self.probabilities]
        ax.bar_label(self.bars_, numbers, padding=2, rotation=90 if many else 0)
        ax.margins(y=0.2 if many else 0.12)
        name_ticks(ax, "x", self.classes.tolist())
        name_axis(ax, "x", "class")
        name_axis(ax, "y", "P(class)")
        legend(ax, self.bars_.patches, self.classes.tolist(), title="class", **RIGHT)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **bar_kw: Any) -> Self:
        """The class prior of a fitted classifier, smoothed or given as it may be.

        Parameters
        ----------
        estimator : fitted classifier of this package
            A fitted model.
        ax : axes, optional
            Where to draw; new axes unless given.
        **bar_kw
            For ``ax.bar``.
        """
        prior = np.exp(need_fitted(estimator)._fitted().log_prior)
        return cls(classes=estimator.classes_, probabilities=prior).plot(ax, **bar_kw)

    @classmethod
    def from_predictions(cls, y: ArrayLike, *, ax: Any = None, **bar_kw: Any) -> Self:
        """How often each label occurs, known or predicted: the prior estimated from labels.

        Parameters
        ----------
        y : array-like (n_rows,)
            Class labels.
        ax : axes, optional
            Where to draw; new axes unless given.
        **bar_kw
            For ``ax.bar``.
        """
        classes, counts = np.unique(label_array(y), return_counts=True)
        prior = np.exp(ClassPrior().log(ClassCounts(counts.astype(np.float64))))
        return cls(classes=classes, probabilities=prior).plot(ax, **bar_kw)
