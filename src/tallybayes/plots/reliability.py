"""How often a class occurs where a model gives it a probability, before and after calibration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_softmax

from tallybayes.errors import shown
from tallybayes.plots.data import class_codes, need_classifier
from tallybayes.plots.shapes import need_count
from tallybayes.plots.style import legend, looks_of, name_axis, need_axes
from tallybayes.readable import plain
from tallybayes.reporting.measures import Predictions, Reliability, reliability
from tallybayes.validation import label_array

__all__ = ["ReliabilityDisplay"]


Array = NDArray[np.float64]

AFTER, BEFORE, ONLY = "calibrated", "before calibration", "as predicted"
BAND_OPACITY = 0.18  # opacity


class ReliabilityDisplay:
    """Predicted probabilities of a class beside how often it occurs.

    Parameters
    ----------
    label : label
        The class.
    curves : mapping of str to Reliability
        By what they are called: in bins of about equal weight the mean prediction, the share of
        the class, and Wilson's 95 % interval of it.

    Attributes
    ----------
    ax_, figure_
        What it was drawn in.
    lines_ : list of Line2D
        A curve each.
    bands_ : list of FillBetweenPolyCollection
        Their intervals.
    diagonal_ : Line2D
        Where predictions are right on average.
    legend_ : Legend

    Examples
    --------
    >>> from tallybayes.plots import ReliabilityDisplay
    >>> y, proba = ["ham", "spam", "spam", "spam"], [0.1, 0.1, 0.9, 0.9]
    >>> display = ReliabilityDisplay.from_predictions(y, proba, label="spam")
    >>> display.curves["as predicted"].observed.tolist()
    [0.5, 1.0]
    """

    ax_: Any
    figure_: Any
    lines_: list[Any]
    bands_: list[Any]

    def __init__(self, *, label: Any, curves: Mapping[str, Reliability]) -> None:
        self.label = label
        self.curves: dict[str, Reliability] = dict(curves)

    def plot(self, ax: Any = None) -> Self:
        """Draw the curves.

        Parameters
        ----------
        ax : axes, optional
            New ones by default.

        Returns
        -------
        self
            The display, with ``figure_`` and ``ax_``.
        """
        ax = need_axes(ax, (5.2, 4.8))
        self.diagonal_: Any = ax.plot([0, 1], [0, 1], color="0.6", linestyle=":", linewidth=1)[0]
        self.lines_, self.bands_ = [], []
        looks = looks_of(len(self.curves))
        for curve, look in zip(self.curves.values(), looks, strict=True):
            p, style = curve.predicted, {"color": look.colour, "linestyle": look.line}
            band = ax.fill_between(
                p, curve.low, curve.high, color=look.colour, alpha=BAND_OPACITY, linewidth=0
            )
            self.bands_.append(band)
            self.lines_.append(
                ax.plot(p, curve.observed, marker=look.marker, markersize=5, **style)[0]
            )
        ax.set_xlim(-0.02, 1.02)
        ax.set_ylim(-0.02, 1.02)
        ax.set_aspect("equal")
        name_axis(ax, "x", f"predicted P({plain(self.label)})")
        name_axis(ax, "y", f"share of {plain(self.label)}, with 95 % interval")
        self.legend_: Any = legend(ax, self.lines_, list(self.curves), loc="upper left")
        self.ax_, self.figure_ = ax, ax.figure
        return self

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        label: Any = None,
        sample_weight: ArrayLike | None = None,
        n_bins: int = 12,
        ax: Any = None,
    ) -> Self:
        """The reliability of a model on rows that it has not learned.

        Where the model corrects the probabilities of its score, by ``calibrate=`` or a share of the
        class prior, there is a curve before and one after that.

        Parameters
        ----------
        estimator : fitted classifier of this package
            A fitted model.
        X : rows (n_rows, n_features)
            New rows: on learned ones a model looks better than it is.
        y : array-like (n_rows,)
            Their classes.
        label : label, optional
            The class; the last one by default, which of two is the positive one.
        sample_weight : array-like (n_rows,), optional
            Weights of the rows.
        n_bins : int, default=12
            How many bins of about equal weight, at most.
        ax : axes, optional
            Where to draw; new axes unless given.

        Returns
        -------
        ReliabilityDisplay
            Drawn.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        TypeError
            If it is not a classifier of this package.
        ValueError
            For labels or weights that do not fit the rows, or a label that is not a class.
        """
        need_classifier(estimator)
        after = np.asarray(estimator.predict_log_proba(X), dtype=np.float64)
        joint = np.asarray(estimator.predict_joint_log_proba(X), dtype=np.float64)
        with np.errstate(invalid="ignore"):  # a row that every class rules out
            before = log_softmax(joint, axis=1)
        classes, own = class_codes(y, len(after), estimator.classes_)
        k = _place(classes, label)
        weight = _weights(sample_weight, len(own))
        given = {ONLY: after}
        usual = ~np.isnan(before).any(axis=1)
        if not np.allclose(np.exp(after[usual]), np.exp(before[usual]), rtol=1e-6, atol=1e-12):
            before[~usual] = after[~usual]
            given = {BEFORE: before, AFTER: after}
        curves = {
            name: reliability(Predictions(log_proba, own, weight), k, need_count("n_bins", n_bins))
            for name, log_proba in given.items()
        }
        return cls(label=classes.tolist()[k], curves=curves).plot(ax)

    @classmethod
    def from_predictions(
        cls,
        y: ArrayLike,
        proba: ArrayLike,
        *,
        label: Any = None,
        sample_weight: ArrayLike | None = None,
        n_bins: int = 12,
        ax: Any = None,
    ) -> Self:
        """The reliability of given probabilities of one class.

        Parameters
        ----------
        y : array-like (n_rows,)
            The classes of the rows.
        proba : array-like (n_rows,)
            Probabilities of the class `label`.
        label : label, optional
            The class; the last one of those that occur by default.
        sample_weight : array-like (n_rows,), optional
            Weights of the rows.
        n_bins : int, default=12
            How many bins of about equal weight, at most.
        ax : axes, optional
            Where to draw; new axes unless given.

        Returns
        -------
        ReliabilityDisplay
            Drawn.

        Raises
        ------
        ValueError
            For arrays of different lengths, or numbers that are not probabilities.
        """
        p = np.asarray(proba, dtype=np.float64)
        if p.ndim != 1 or not ((p >= 0.0) & (p <= 1.0)).all():
            raise ValueError(
                "proba is a probability of one class for each row, from 0 to 1, got an array of "
                f"the shape {p.shape} from {p.min(initial=0.0)} to {p.max(initial=1.0)}"
            )
        classes, own = class_codes(label_array(y).ravel(), len(p), None)
        k = _place(classes, label)
        with np.errstate(divide="ignore"):
            log_proba = np.log(np.stack([1.0 - p, p], axis=1))
        is_label = (own == k).astype(np.intp)
        predictions = Predictions(log_proba, is_label, _weights(sample_weight, len(p)))
        curve = reliability(predictions, 1, need_count("n_bins", n_bins))
        return cls(label=classes.tolist()[k], curves={ONLY: curve}).plot(ax)


def _place(classes: NDArray[Any], label: Any) -> int:
    known = classes.tolist()
    if label is None and known:
        return len(known) - 1
    if label not in known:
        raise ValueError(f"{shown(label)} is not a class: name one of {known}")
    return int(known.index(label))


def _weights(weight: ArrayLike | None, n: int) -> Array:
    found = np.ones(n) if weight is None else np.asarray(weight, dtype=np.float64)
    if found.shape != (n,) or not (found >= 0.0).all() or not found.any():
        raise ValueError(
            f"sample_weight is a number from 0 on for each of the {n} rows, and one at least is "
            f"above 0; got an array of the shape {found.shape}"
        )
    return found
