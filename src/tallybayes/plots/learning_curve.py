"""How good a model gets with more rows."""

from __future__ import annotations

from typing import Any, Self

from numpy.typing import ArrayLike

from tallybayes.plots.data import class_codes, need_fitted
from tallybayes.plots.style import axes_grid, looks_of, name_axis
from tallybayes.reporting.measures import LearningCurve, learning_curve
from tallybayes.reporting.subjects import subject_of
from tallybayes.validation import as_rows, labels_given, read_groups

__all__ = ["LearningCurveDisplay"]


SIZE = (8.4, 3.6)  # inches


class LearningCurveDisplay:
    """The log-loss and the accuracy of a model, by how many rows it has learned.

    Each part of the rows is predicted before it is learned, so that every row is new where it
    counts. A tally learns part by part: the whole curve is one pass. A model that learns weights
    from all rows is fitted again on each prefix.

    Parameters
    ----------
    curve : LearningCurve
        With ``rows``, ``log_loss`` (nats a row) and ``accuracy``.

    Attributes
    ----------
    axes_ : object array (1, 2)
        Of the log-loss, and of the accuracy.
    figure_
        What it was drawn in.
    lines_ : list of Line2D
        The log-loss, and the accuracy.
    """

    def __init__(self, *, curve: LearningCurve) -> None:
        self.curve = curve

    def plot(self, ax: Any = None) -> Self:
        """Draw the curves.

        Parameters
        ----------
        ax : axes, optional
            Axes of ``plt.subplots`` whose place they take; a new figure by default.

        Returns
        -------
        self
            The display, with ``figure_`` and ``axes_``.
        """
        self.axes_: Any = axes_grid(ax, [1.0, 1.0], [1.0], SIZE)
        self.figure_: Any = self.axes_[0, 0].figure
        given = (
            ("log-loss, in nats a row", self.curve.log_loss),
            ("accuracy", self.curve.accuracy),
        )
        self.lines_: list[Any] = []
        for place, (name, values), look in zip(self.axes_[0], given, looks_of(2), strict=True):
            style = {"color": look.colour, "marker": look.marker, "markersize": 4}
            self.lines_.append(place.plot(self.curve.rows, values, **style)[0])
            place.set_xscale("log")
            place.grid(axis="y", color="0.92")
            place.spines[["top", "right"]].set_visible(False)
            name_axis(place, "x", "rows learned")
            name_axis(place, "y", name)
        return self

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        groups: ArrayLike | None = None,
        seed: int = 0,
        ax: Any = None,
    ) -> Self:
        """The learning curve of a model with the same parameters, which learns the rows anew.

        Parameters
        ----------
        estimator : fitted classifier of this package
            A fitted model, which stays as it is.
        X : rows (n_rows, n_features)
            At least 40.
        y : array-like (n_rows,)
            Their classes.
        groups : array-like (n_rows,), optional
            Rows of a group are learned together, so that none is predicted by others of its group.
        seed : int, default=0
            Of the order of the rows.
        ax : axes, optional
            Axes of ``plt.subplots`` whose place they take.

        Returns
        -------
        LearningCurveDisplay
            Drawn.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        ValueError
            For fewer than 40 rows, or labels that do not fit them.
        """
        subject = subject_of(need_fitted(estimator))
        X, labels = as_rows(X), labels_given(y).ravel()
        n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
        class_codes(labels, n_rows, None)
        refit = not subject.learns_in_parts
        together = None if groups is None else read_groups(groups, n_rows)
        model = subject.unlearned()
        curve = learning_curve(model, X, labels, seed, groups=together, refit=refit)
        if curve is None:
            raise ValueError(
                f"a learning curve needs at least 40 rows, or 4 for each class, got {n_rows}"
            )
        return cls(curve=curve).plot(ax)
