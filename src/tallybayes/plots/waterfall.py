"""One decision: what each term adds to the log-odds of a class against another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from tallybayes.explain.explanation import DocumentExplanation, Explanation
from tallybayes.plots.data import need_classifier, two_classes
from tallybayes.plots.shapes import draw_passage, need_count, passage_height
from tallybayes.plots.style import drawable_ticks, looks_of, name_axis, need_axes, put_title
from tallybayes.readable import plain
from tallybayes.reporting.content import Step, steps_of
from tallybayes.reporting.subjects import contributions_of, subject_of

__all__ = ["WaterfallDisplay"]


Array = NDArray[np.float64]

MAX_NATS = 50.0  # nats: the length of a bar that has no end
LINE_HEIGHT = 0.32  # inches
NUMBER_MARGIN = 0.14  # for numbers, on either side, as a share of what is drawn
GREY = "0.35"


class WaterfallDisplay:
    """A decision taken apart: the log-odds of a class against another, term by term.

    Parameters
    ----------
    label, against : label
        The class, and the one that it is compared with.
    base : float
        The log-odds of a row without values, in nats.
    contributions : array-like (n_terms,)
        What each term adds to the log-odds, in nats. NaN, of a term that rules out both classes,
        adds nothing; an infinite term is drawn 50 nats long.
    terms : sequence of (str, str)
        The name of each term and its value, which may be empty.
    probability : float
        P(label | row) as the model predicts it, among all classes and after calibration.
    passage : str
        A document, whose beginning is drawn below the bars.
    spans : sequence of (begin, end, nats)
        Where terms stand in the passage, and what each adds; they are shaded.

    Attributes
    ----------
    ax_, figure_
        What it was drawn in.
    steps_ : list of Step
        The terms that are drawn, the largest first, with ``name``, ``value`` and ``nats``.
    rest_ : float
        What the terms add together that are not drawn by themselves, in nats.
    total_ : float
        The log-odds, in nats: base, steps and rest.
    bars_ : list of Rectangle
        The base, the steps, the rest if there is one, and the total, from top to bottom.
    values_ : list of Text
        The number at each bar.
    words_ : list of Text
        The words of the passage, shaded by what they add; empty where there is none.

    Examples
    --------
    >>> from tallybayes.plots import WaterfallDisplay
    >>> display = WaterfallDisplay(
    ...     label="spam",
    ...     against="ham",
    ...     base=-1.0,
    ...     contributions=[2.0, -0.5],
    ...     terms=[("money", "3"), ("hello", "1")],
    ...     probability=0.6225,
    ... ).plot()  # doctest: +SKIP
    >>> display.total_  # doctest: +SKIP
    0.5
    """

    ax_: Any
    figure_: Any
    passage: str
    spans: list[tuple[int, int, float]]
    steps_: list[Step]
    rest_: float

    def __init__(
        self,
        *,
        label: Any,
        against: Any,
        base: float,
        contributions: ArrayLike,
        terms: Sequence[tuple[str, str]],
        probability: float,
        passage: str = "",
        spans: Sequence[tuple[int, int, float]] = (),
    ) -> None:
        self.contributions: Array = np.asarray(contributions, dtype=np.float64)
        if self.contributions.shape != (len(terms),):
            raise ValueError(
                f"contributions have the shape {self.contributions.shape} for {len(terms)} terms: "
                "give a number for each term"
            )
        self.label = label
        self.against = against
        self.base: float = float(base)
        self.terms: list[tuple[str, str]] = list(terms)
        self.probability: float = float(probability)
        self.passage, self.spans = passage, list(spans)

    def plot(self, ax: Any = None, *, max_display: int = 12) -> Self:
        """Draw the bars.

        Parameters
        ----------
        ax : axes, optional
            New ones by default.
        max_display : int, default=12
            How many terms have a bar by themselves, the largest ones.

        Returns
        -------
        self
            The display, with ``figure_`` and ``ax_``.

        Raises
        ------
        ValueError
            If `max_display` is not a whole number above 0.
        """
        need_count("max_display", max_display)
        self.steps_, self.rest_, n_rest = steps_of(self.contributions, self.terms, max_display)
        names = ["class prior", *(_label_of(s.name, s.value) for s in self.steps_)]
        nats = [self.base, *(s.nats for s in self.steps_)]
        if n_rest:
            names.append(f"{n_rest} other terms" if n_rest > 1 else "1 other term")
            nats.append(self.rest_)
        self.total_: float = float(np.sum(nats))
        height = 1.3 + LINE_HEIGHT * (len(nats) + 1) + passage_height(self.passage)
        ax = need_axes(ax, (7.2, height))
        self._bars(ax, np.array(nats))
        self.words_: list[Any] = []
        drawable_ticks(ax, "y", [*names, "total"])
        ax.invert_yaxis()
        label, against = plain(self.label), plain(self.against)
        name_axis(ax, "x", f"log-odds of {label} against {against}, in nats")
        put_title(ax, f"P({label}) = {_percent(self.probability)}")
        self.ax_, self.figure_ = ax, ax.figure
        if self.passage.strip():
            favour, against_ = (look.colour for look in looks_of(2))
            self.words_ = draw_passage(ax, self.passage, self.spans, (favour, against_))
        return self

    def _bars(self, ax: Any, nats: Array) -> None:
        favour, against = (look.colour for look in looks_of(2))
        drawn = np.where(np.isinf(nats), np.copysign(MAX_NATS, nats), nats)
        ends = np.cumsum(drawn)
        starts = np.append(ends - drawn, 0.0)
        lengths = np.append(drawn, ends[-1])
        colours = [favour if value >= 0.0 else against for value in nats] + [GREY]
        places = np.arange(len(lengths))
        bars = ax.barh(places, lengths, left=starts, height=0.62, color=colours)
        self.bars_: list[Any] = list(bars.patches)
        ax.vlines(ends, places[:-1] - 0.31, places[1:] + 0.31, color="0.6", linewidth=0.8, zorder=0)
        ax.axvline(0.0, color="0.25", linewidth=0.8, zorder=0)
        numbers = [_signed(value) for value in [*nats.tolist(), self.total_]]
        self.values_: list[Any] = [
            ax.annotate(
                text,
                (start + length, place),
                xytext=(4 if length >= 0.0 else -4, 0),
                textcoords="offset points",
                va="center",
                ha="left" if length >= 0.0 else "right",
                fontsize="small",
            )
            for text, start, length, place in zip(numbers, starts, lengths, places, strict=True)
        ]
        low, high = min(0.0, *ends.tolist()), max(0.0, *ends.tolist())
        room = NUMBER_MARGIN * (high - low) or 1.0
        ax.set_xlim(low - room, high + room)
        ax.tick_params(axis="y", length=0)
        for side in ("top", "right", "left"):
            ax.spines[side].set_visible(False)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        row: Any,
        *,
        label: Any = None,
        against: Any = None,
        max_display: int = 12,
        ax: Any = None,
    ) -> Self:
        """Why a row gets its class.

        Parameters
        ----------
        estimator : fitted classifier of this package
            A fitted model.
        row : dict, table of one row, array (n_features,) or str
            The row: a dict or a table of one row for classifiers of tables, numbers for those of
            arrays, a document for those of text.
        label : label, optional
            The class; the most probable one by default.
        against : label, optional
            The class that it is compared with; the most probable other one by default.
        max_display : int, default=12
            How many terms have a bar by themselves.
        ax : axes, optional
            Where to draw; new axes unless given.

        Returns
        -------
        WaterfallDisplay
            Drawn.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        TypeError
            If it is not a classifier of this package.
        ValueError
            For more or less than one row, or a label that is not a class.
        """
        need_classifier(estimator)
        chosen = {"label": label, "against": against, "max_display": max_display, "ax": ax}
        if estimator._reads == "documents":
            return cls.from_explanation(estimator.explain_one(row), **chosen)
        if hasattr(estimator, "explain"):
            rows = [dict(row)] if isinstance(row, Mapping) else row
            explained = estimator.explain(rows)
            _need_one(len(explained.contributions))
            return cls.from_explanation(explained, **chosen)
        X = _two_dimensional(row)
        proba = estimator.predict_proba(X)
        _need_one(len(proba))
        base, [of_terms], [terms] = subject_of(estimator).contributions(X)
        return cls._of(estimator.classes_, base, of_terms, terms, proba[0], **chosen)

    @classmethod
    def from_explanation(
        cls,
        explanation: Explanation | DocumentExplanation,
        *,
        row: int = 0,
        label: Any = None,
        against: Any = None,
        max_display: int = 12,
        ax: Any = None,
    ) -> Self:
        """Why a row that was explained gets its class.

        Parameters
        ----------
        explanation : Explanation or DocumentExplanation
            What ``explain`` or ``explain_one`` returns.
        row : int, default=0
            The number of the row; a document has one.
        label : label, optional
            The class; the most probable one by default.
        against : label, optional
            The class that it is compared with; the most probable other one by default.
        max_display : int, default=12
            How many terms have a bar by themselves.
        ax : axes, optional
            Where to draw; new axes unless given.

        Returns
        -------
        WaterfallDisplay
            Drawn.

        Raises
        ------
        IndexError
            For a row that there is not.
        ValueError
            For a label that is not a class.
        """
        several = isinstance(explanation, Explanation)
        n_rows = len(explanation.contributions) if several else 1
        if not -n_rows <= row < n_rows:
            raise IndexError(f"the explanation has {n_rows} rows, from 0 on: there is no row {row}")
        chosen = {"label": label, "against": against, "max_display": max_display, "ax": ax}
        if isinstance(explanation, Explanation):
            base, of_rows, names = contributions_of(explanation)
            proba, contributions, terms = explanation.probabilities[row], of_rows[row], names[row]
        else:
            chosen["document"] = explanation
            base, contributions = explanation.base, explanation.contributions
            terms = [(str(term), "") for term in explanation.terms]
            proba = explanation.probabilities
        return cls._of(explanation.classes, base, contributions, terms, proba, **chosen)

    @classmethod
    def _of(
        cls,
        classes: NDArray[Any],
        base: Array,
        contributions: Array,
        terms: list[tuple[str, str]],
        proba: Array,
        *,
        label: Any,
        against: Any,
        max_display: int,
        ax: Any,
        document: DocumentExplanation | None = None,
    ) -> Self:
        order = np.argsort(-proba, kind="stable").tolist()
        k, other = two_classes(classes, order, label, against)
        with np.errstate(invalid="ignore"):  # ruled out by both classes
            nats = contributions[:, k] - contributions[:, other]
        return cls(
            label=classes.tolist()[k],
            against=classes.tolist()[other],
            base=base[k] - base[other],
            contributions=nats,
            terms=terms,
            probability=proba[k],
            passage="" if document is None else document.document,
            spans=() if document is None else document.spans_of(np.nan_to_num(nats)),
        ).plot(ax, max_display=max_display)


def _need_one(n_rows: int) -> None:
    if n_rows != 1:
        raise ValueError(f"a waterfall is of one row, got {n_rows}: give one of them")


def _two_dimensional(row: Any) -> Any:
    """A row of numbers as an array (1, n_features); tables and matrices as they are."""
    if issparse(row) or hasattr(row, "columns"):
        return row
    return np.atleast_2d(np.asarray(row))


def _label_of(name: str, value: str) -> str:
    return f"{plain(name)} = {plain(value)}" if value else plain(name)


def _signed(value: float) -> str:
    if np.isinf(value):
        return "+∞" if value > 0.0 else "−∞"
    text = f"{value:+.2f}"
    return (f"{value:+.1g}" if value and not float(text) else text).replace("-", "−")


def _percent(share: float) -> str:
    """A probability in percent, which is 0 or 100 only where it is exactly that."""
    for digits in range(1, 12):
        text = f"{100.0 * share:.{digits}f}"
        if float(text) not in (0.0, 100.0) or share in (0.0, 1.0):
            return f"{text} %"
    return f"{100.0 * share:.3g} %"
