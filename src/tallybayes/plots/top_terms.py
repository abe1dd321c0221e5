"""The most informative terms of documents for each class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from tallybayes.plots.data import need_classifier
from tallybayes.plots.shapes import bars_from_above, need_count
from tallybayes.plots.style import axes_grid, looks_of, name_axis, put_title
from tallybayes.readable import plain

__all__ = ["TopTermsDisplay"]


CLASSES_PER_ROW = 4  # classes side by side
MAX_CLASSES = 12  # classes of one picture
SIZE = (3.2, 0.26)  # inches: the width of a class, the height of a term


class TopTermsDisplay:
    """The contributions of the most informative terms of each class.

    Parameters
    ----------
    terms : mapping of label to list of (term, float)
        For each class its terms and what one occurrence of each adds to the class against all
        others, in nats.

    Attributes
    ----------
    axes_ : object array (n_rows, n_across)
        Axes for each class, those beyond the last class are off.
    figure_
        What it was drawn in.
    bars_ : dict of label to list of Rectangle
        A bar for each term.
    """

    terms: dict[Any, list[tuple[Any, float]]]

    def __init__(self, *, terms: Mapping[Any, Sequence[tuple[Any, float]]]) -> None:
        if not 0 < len(terms) <= MAX_CLASSES:
            raise ValueError(
                f"a picture has from 1 to {MAX_CLASSES} classes, got {len(terms)}: name them with "
                "labels="
            )
        self.terms = {label: list(found) for label, found in terms.items()}

    def plot(self, ax: Any = None) -> Self:
        """Draw the bars.

        Parameters
        ----------
        ax : axes, optional
            Axes of ``plt.subplots`` whose place they take; a new figure by default.

        Returns
        -------
        self
            The display, with ``figure_`` and ``axes_``.
        """
        n = len(self.terms)
        across = min(n, CLASSES_PER_ROW)
        down = -(-n // across)
        longest = max(2, *(len(found) for found in self.terms.values()), 2)
        size = (SIZE[0] * across, down * (1.0 + SIZE[1] * longest))
        self.axes_: Any = axes_grid(ax, [1.0] * across, [1.0] * down, size)
        self.figure_: Any = self.axes_[0, 0].figure
        self.bars_: dict[Any, list[Any]] = {}
        every = [value for found in self.terms.values() for _, value in found]
        high = max(1e-9, *every, 1e-9)
        places = self.axes_.ravel()
        for (label, found), look, place in zip(
            self.terms.items(), looks_of(n), places, strict=False
        ):
            values = np.array([value for _, value in found], dtype=np.float64)
            words = [f"{value:.2f}" for value in values.tolist()]
            names = [plain(term) for term, _ in found]
            _, self.bars_[label] = bars_from_above(place, names, values, words, look.colour)
            place.set_xlim(1.25 * min(0.0, *every, 0.0), 1.25 * high)
            put_title(place, plain(label))
            name_axis(place, "x", "nats")
        for place in places[n:]:
            place.set_axis_off()
        return self

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        column: str | None = None,
        *,
        labels: Sequence[Any] | None = None,
        n: int = 10,
        ax: Any = None,
    ) -> Self:
        """The most informative terms of a classifier of documents, or of a column of text.

        Parameters
        ----------
        estimator : fitted TextNB, NaiveBayes or WeightedNaiveBayes
            A fitted model.
        column : str, optional
            The column of text, of a classifier of tables.
        labels : sequence, optional
            The classes; all by default.
        n : int, default=10
            How many terms of each class.
        ax : axes, optional
            Axes of ``plt.subplots`` whose place they take.

        Returns
        -------
        TopTermsDisplay
            Drawn; terms that add nothing to a class, or lower its score, are not drawn.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        TypeError
            If it reads no text, or `column` is missing or not needed.
        ValueError
            For a column that is not text, a label that is not a class, or too many classes.
        """
        of_documents = need_classifier(estimator)._reads == "documents"
        if not hasattr(estimator, "top_terms"):
            raise TypeError(
                f"{type(estimator).__name__} reads no text: TextNB does, and columns of text of "
                "NaiveBayes and WeightedNaiveBayes"
            )
        if of_documents != (column is None):
            rule = "has no columns" if of_documents else "has columns: name one of text"
            raise TypeError(f"{type(estimator).__name__} {rule}, got column={column!r}")
        need_count("n", n)
        wanted = estimator.classes_.tolist() if labels is None else list(labels)
        if len(wanted) > MAX_CLASSES:
            raise ValueError(
                f"a picture has from 1 to {MAX_CLASSES} classes, got {len(wanted)}: name them with "
                "labels="
            )
        before = () if column is None else (column,)
        found = {label: estimator.top_terms(*before, label, n) for label in wanted}
        return cls(terms={k: [t for t in some if t[1] > 0.0] for k, some in found.items()}).plot(ax)
