"""A whole model as rulers: points for each value of each term, and the probability of their sum."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_softmax

from tallybayes.plots.data import need_fitted, two_classes
from tallybayes.plots.shapes import need_count
from tallybayes.plots.style import axes_grid, drawable, drawable_ticks, library, looks_of, put_title
from tallybayes.readable import plain
from tallybayes.reporting.columns import ColumnFacts, number_text
from tallybayes.reporting.form import Form
from tallybayes.reporting.subjects import ArraySubject, Subject, subject_of
from tallybayes.tables.columns import text_of_days

__all__ = ["NomogramDisplay", "term_values"]


# ---- the values of each term ---------------------------------------------------------------------
Array = NDArray[np.float64]
MISSING = "missing"


@dataclass(frozen=True, eq=False)
class TermValues:
    """The values of a term, and the contribution of each.

    Parameters
    ----------
    name : str
        A column, or a pair of columns.
    values : list of str
    nats : float64 array (n_values,)
        What each value adds to the log-odds, in nats.
    """

    name: str
    values: list[str]
    nats: Array


def term_values(subject: Subject, X: Any, k: int, other: int) -> list[TermValues]:
    """The terms of a model whose log-odds of class k against another are a sum over columns and
    pairs.

    Parameters
    ----------
    subject : Subject
    X : rows, or None
        The rows whose values are shown, of a classifier of arrays, which holds no values.
    k, other : int
        The classes.

    Raises
    ------
    ValueError
        Without rows where they are needed, or for a model with a term that is not a sum of points.
    """
    own = np.zeros(0, dtype=np.intp)
    if isinstance(subject, ArraySubject):
        if X is None:
            raise ValueError(
                f"{type(subject.model).__name__} holds no values of its columns: give X, the rows "
                "whose values the nomogram shows"
            )
        own = np.zeros(len(subject.model.predict(X)), dtype=np.intp)
    form = _form_of(subject)
    found = []
    for facts in subject.columns(X, own):
        if not form.has_term(facts.name) or not facts.bins:
            continue
        values, scores = _of_column(form, facts)
        found.append(TermValues(facts.name, values, _difference(scores, k, other)))
    for cells, table in form.pairs:
        values = [" × ".join(words) for words in product(*form.model.words_of_pair(cells.columns))]
        found.append(TermValues(" × ".join(cells.columns), values, _difference(table.T, k, other)))
    return found


def _form_of(subject: Subject) -> Form:
    form = subject.form
    if form is None:
        raise ValueError(
            f"a nomogram has a line for each column, and this "
            f"{type(subject.model).__name__} has none: WaterfallDisplay shows single decisions"
        )
    names = [*form.without_form, *(name for group in form.groups for name in group.columns)]
    if names:
        raise ValueError(
            f"a nomogram has a line for each column, but {names[:5]} are columns of text or of a "
            "group of correlated numbers, which have none: WaterfallDisplay shows single decisions"
        )
    return form


def _of_column(form: Form, facts: ColumnFacts) -> tuple[list[str], Array]:
    """The values of a column and what each adds, (n_values, n_classes); levels that are shown
    together are left out."""
    numbers = [b.value for b in facts.bins if b.low is not None]
    levels = [b.value for b in facts.bins if b.low is None and b.value is not None]
    levels = levels[:-1] if facts.hidden_levels else levels
    missing = facts.bins[-1].value is None
    numerals = [text_of_days(x) if facts.dates else number_text(x) for x in numbers]
    scores = form.scores_of(facts.name, np.array(numbers, dtype=np.float64), levels, missing)
    return [*numerals, *levels, *([MISSING] if missing else [])], scores


def _difference(scores: Array, k: int, other: int) -> Array:
    """Log-odds of class k; 0 for a value that rules out both classes."""
    with np.errstate(invalid="ignore"):
        found = scores[:, k] - scores[:, other]
    return np.where(np.isnan(found), 0.0, found)


def probabilities_of(subject: Subject, k: int) -> tuple[Callable[[Array], Array], bool]:
    """From log-odds of class k against another to its probability among the two; and whether that
    is the one that the model predicts, calibrated as it may be.

    Of more than two classes an isotonic calibration, and a share of the class prior, depend on
    all of the scores: the probability is then the one before them.
    """
    model, correction = subject.model._fitted(), _form_of(subject).formula.correction
    if len(subject.classes) == 2:

        def of_two(total: Array) -> Array:
            scores = np.zeros((len(total), 2))
            scores[:, k] = total
            log_proba = log_softmax(scores, axis=1)
            if hasattr(model, "corrected"):
                return np.asarray(model.corrected(log_proba)[:, k])
            return np.asarray(np.exp(log_proba)[:, k])

        return of_two, True
    beta = 1.0 if correction.knots else correction.beta
    whole = not correction.moves_labels
    return lambda total: np.asarray(expit(beta * total)), whole


# ---- the picture ---------------------------------------------------------------------------------
MAX_POINTS = 100.0  # points: of the value that adds most
RULED_OUT_POSITION = 1.15
"""Where a value that rules a class out stands, as a multiple of the largest points."""

WIDTH, TERM, RULERS = 8.2, 0.6, 1.5  # inches: the picture, a term, the rulers of the sum
SMALL = 7.5  # font size of values
CHARACTER_WIDTH = 0.075  # inches of a character of that size
NAME_CHARACTER_WIDTH = 0.09  # inches of a character of a name on the left
MIN_AXES_WIDTH = 2.0  # inches of the axes
PROBABILITIES = (0.5, 0.1, 0.9, 0.01, 0.99, 0.001, 0.999, 0.2, 0.8, 0.3, 0.7, 0.05, 0.95, 0.4, 0.6)
"""Those that have a tick where there is room, the first ones first."""
MIN_PROBABILITY = 0.0005  # the ruler ends where a class has less
N_TOTALS = 4001  # totals at which the probability is evaluated


class NomogramDisplay:
    """Points for each value of each term, and from their sum to a probability.

    Points are log-odds of a class against another, so scaled that the value that adds most has
    100. Right of 0 a value adds to the class, left of 0 to the other. Možina et al., PKDD
    (2004), 337-348.

    Parameters
    ----------
    label, against : label
        The class, and the other one.
    base : float
        The log-odds of a row without values, in nats.
    terms : sequence of TermValues
        With ``name``, ``values`` and ``nats``.
    probability : callable
        From log-odds (n,), in nats, to P(label) (n,).
    two : bool
        Whether these are all classes; else the probability is among the two.
    calibrated : bool
        Whether the probability is the one that the model predicts.

    Attributes
    ----------
    ax_ : axes
        Of the terms.
    totals_ax_ : axes
        Of the sum and its probability.
    figure_
        What it was drawn in.
    points_a_nat_ : float
        The scale.
    shown_ : list of TermValues
        The terms that are drawn, those with the most points first.
    dots_ : list of PathCollection
        The values of each term, at their points.
    total_, probability_ : Line2D
        The rulers of the sum: points, and the places of the probabilities
        ``probability_ticks_``.
    """

    ax_: Any
    totals_ax_: Any
    probability_ticks_: Array

    def __init__(
        self,
        *,
        label: Any,
        against: Any,
        base: float,
        terms: Sequence[TermValues],
        probability: Callable[[Array], Array],
        two: bool = True,
        calibrated: bool = True,
    ) -> None:
        self.label = label
        self.against = against
        self.base: float = float(base)
        self.terms: list[TermValues] = list(terms)
        self.probability = probability
        self.two = two
        self.calibrated = calibrated

    def plot(self, ax: Any = None, *, max_display: int = 15) -> Self:
        """Draw the rulers.

        Parameters
        ----------
        ax : axes, optional
            Axes of ``plt.subplots`` whose place it takes; a new figure by default.
        max_display : int, default=15
            How many terms are drawn, those with the most points.

        Returns
        -------
        self
            The display, with ``figure_`` and ``ax_``.

        Raises
        ------
        ValueError
            If `max_display` is not a whole number above 0, or `ax` has no place in a grid.
        """
        need_count("max_display", max_display)
        finite = [np.abs(t.nats[np.isfinite(t.nats)]).max(initial=0.0) for t in self.terms]
        reach = max(finite, default=0.0)
        self.points_a_nat_: float = MAX_POINTS / reach if reach > 0.0 else 1.0
        extent = [np.abs(t.nats).max(initial=0.0) for t in self.terms]
        order = np.argsort(-np.array(extent), kind="stable")[:max_display]
        self.shown_: list[TermValues] = [self.terms[t] for t in order.tolist() if extent[t] > 0.0]
        height = TERM * (1 + len(self.shown_))
        grid = axes_grid(ax, [1.0], [height, RULERS], (WIDTH, height + RULERS + 0.5))
        self.ax_, self.totals_ax_ = grid[:, 0]
        self.figure_: Any = self.ax_.figure
        names = [_name(term) for term in self.shown_]
        below = ["total points", self._said_of_probability()]
        inches = _inches(self.ax_, [*names, *below])
        self._draw_terms(self.ax_, ["points", *names], inches)
        self._draw_totals(self.totals_ax_, below, inches)
        put_title(self.ax_, f"{plain(self.label)} against {plain(self.against)}")
        return self

    def points_of(self, term: TermValues) -> Array:
        """The points at which the values of a term are drawn.

        Parameters
        ----------
        term : TermValues
            A term of the model.

        Returns
        -------
        float64 array (n_values,)
            A value that rules out a class stands beyond all others.
        """
        with np.errstate(invalid="ignore"):
            points = term.nats * self.points_a_nat_
        beyond = np.copysign(RULED_OUT_POSITION * MAX_POINTS, points)
        return np.where(np.isinf(points), beyond, points)

    def _said_of_probability(self) -> str:
        among = "" if self.two else "\namong the two"
        return f"P({plain(self.label)}){among}" + (
            "" if self.calibrated else "\nbefore calibration"
        )

    def _draw_terms(self, ax: Any, names: list[str], inches: float) -> None:
        favour, against = (look.colour for look in looks_of(2))
        each = [self.points_of(term) for term in self.shown_]
        every = np.concatenate([np.zeros(1), *each])
        low, high = float(every.min()), float(every.max())
        room = 0.06 * (high - low) or 1.0
        ax.set_xlim(low - room, high + room)
        ax.axvline(0.0, color="0.75", linewidth=0.8, zorder=0)
        ticks = library("matplotlib.ticker").MaxNLocator(9).tick_values(low, high)
        ticks = ticks[(ticks >= low - 1e-9) & (ticks <= high + 1e-9)]
        self.ruler_: Any = _ruler(ax, 0.0, ticks, [_number(tick) for tick in ticks])
        self.dots_: list[Any] = []
        for i, (term, points) in enumerate(zip(self.shown_, each, strict=True), start=1):
            ax.hlines(i, points.min(), points.max(), color="0.55", linewidth=1.0, zorder=1)
            colours = [favour if x >= 0.0 else against for x in points]
            self.dots_.append(
                ax.scatter(points, np.full(len(points), i), s=16, c=colours, zorder=2)
            )
            _label(ax, i, points, _words(term), (2.0 * room + high - low) / inches)
        _finish(ax, names)
        hidden = len(self.terms) - len(self.shown_)
        if hidden:
            note = f"{hidden} more terms, with fewer points" if hidden > 1 else "1 more term"
            ax.annotate(note, (1.0, 0.0), xycoords="axes fraction", ha="right", fontsize=SMALL)

    def _draw_totals(self, ax: Any, names: list[str], inches: float) -> None:
        ends = np.array([[p.min(), p.max()] for p in map(self.points_of, self.terms)] or [[-1, 1]])
        low, high = ends.sum(axis=0).tolist()
        if high <= low:
            low, high = low - 1.0, high + 1.0
        totals = np.linspace(low, high, N_TOTALS)
        p = self.probability(self.base + totals / self.points_a_nat_)
        inside = totals[(p > MIN_PROBABILITY) & (p < 1.0 - MIN_PROBABILITY)]
        if len(inside) > 1:  # what lies beyond is certain
            low, high = float(inside[0]), float(inside[-1])
        room = 0.06 * (high - low)
        ax.set_xlim(low - room, high + room)
        ticks = library("matplotlib.ticker").MaxNLocator(9).tick_values(low, high)
        ticks = ticks[(ticks >= low) & (ticks <= high)]
        self.total_: Any = _ruler(ax, 0.0, ticks, [_number(tick) for tick in ticks])
        wanted = np.array([q for q in PROBABILITIES if p.min() <= q <= p.max()])
        places = np.interp(wanted, p, totals)
        words = [f"{q:g}" for q in wanted]
        placed = _sides(places, words, range(len(words)), (high - low + 2.0 * room) / inches, 1)
        kept = sorted((i for i, _ in placed), key=lambda i: float(wanted[i]))
        self.probability_ticks_, places = wanted[kept], places[kept]
        labels = [f"{q:g}" for q in self.probability_ticks_]
        self.probability_: Any = _ruler(ax, 1.0, places, labels)
        _finish(ax, names)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        *,
        label: Any = None,
        against: Any = None,
        max_display: int = 15,
        ax: Any = None,
    ) -> Self:
        """The nomogram of a classifier of tables or arrays.

        Parameters
        ----------
        estimator : fitted classifier of this package
            A fitted model whose score is a sum over columns, and pairs of them.
        X : array-like (n_rows, n_features), optional
            The rows whose values are shown, of a classifier of arrays, which holds none.
        label : label, optional
            The class; by default the second of two, else the most frequent one.
        against : label, optional
            The other class; by default the most frequent other one.
        max_display : int, default=15
            How many terms are drawn.
        ax : axes, optional
            Axes of ``plt.subplots`` whose place it takes.

        Returns
        -------
        NomogramDisplay
            Drawn.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        TypeError
            If it is not such a classifier.
        ValueError
            For columns of text or correlated numbers, a label that is not a class, or a classifier
            of arrays without X.
        """
        subject = subject_of(need_fitted(estimator))
        classes = subject.classes
        two = len(classes) == 2
        order = [1, 0] if two else np.argsort(-subject.class_rows, kind="stable").tolist()
        k, other = two_classes(classes, order, label, against)
        terms = term_values(subject, X, k, other)
        form = subject.form
        assert form is not None
        probability, calibrated = probabilities_of(subject, k)
        return cls(
            label=classes.tolist()[k],
            against=classes.tolist()[other],
            base=form.base[k] - form.base[other],
            terms=terms,
            probability=probability,
            two=two,
            calibrated=calibrated,
        ).plot(ax, max_display=max_display)


def _number(value: float) -> str:
    return f"{value:g}".replace("-", "−")


def _name(term: TermValues) -> str:
    return " × ".join(plain(part) for part in term.name.split(" × "))


def _words(term: TermValues) -> list[str]:
    """The values as they are written; of a value that rules out a class with its infinity."""
    ends = ["" if np.isfinite(x) else f" ({'+' if x > 0 else '−'}∞)" for x in term.nats]
    return [plain(value) + end for value, end in zip(term.values, ends, strict=True)]


def _ruler(ax: Any, y: float, at: Array, words: Sequence[str]) -> Any:
    """A line with ticks and what is written above them."""
    for x, text in zip(at, words, strict=True):
        ax.annotate(
            text, (x, y), xytext=(0, 6), textcoords="offset points", ha="center", fontsize=SMALL + 1
        )
    return ax.plot(at, np.full(len(at), y), color="0.2", marker="|", markersize=8, linewidth=1)[0]


def _inches(ax: Any, names: Sequence[str]) -> float:
    """The width of axes beside names, about; the layout is made when the picture is drawn."""
    share = library("matplotlib").rcParams["figure.subplot.right"]
    share -= library("matplotlib").rcParams["figure.subplot.left"]
    whole = ax.get_position().width / share * ax.figure.get_figwidth()
    longest = max(_letters(line) for name in names for line in name.split("\n"))
    return max(MIN_AXES_WIDTH, float(whole) - 0.3 - NAME_CHARACTER_WIDTH * longest)


def _letters(text: str) -> int:
    """How wide a text is, where a Chinese character has the width of two."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def _width(text: str) -> float:
    """Inches of a small text, about."""
    return CHARACTER_WIDTH * (_letters(text) + 1)


def _sides(
    at: Array, words: Sequence[str], order: Iterable[int], inch: float, n_sides: int
) -> list[tuple[int, int]]:
    """Which words are written and on which of some sides, each where nothing else is; those that
    come first in `order` first. An inch is so many points."""
    taken: list[list[tuple[float, float]]] = [[] for _ in range(n_sides)]
    found = []
    for i in order:
        half = 0.5 * inch * _width(words[i])
        low, high = at[i] - half, at[i] + half
        for side, others in enumerate(taken):
            if all(high <= a or low >= b for a, b in others):
                others.append((low, high))
                found.append((i, side))
                break
    return found


def _label(ax: Any, y: float, at: Array, words: list[str], inch: float) -> None:
    """Writes values above and below their dots, as many as there is room for."""
    labels, families = drawable(words)
    order = np.argsort(at, kind="stable").tolist()
    ends = dict.fromkeys([*order[:1], *order[-1:], *order])
    for i, side in _sides(at, words, ends, inch, 2):
        ax.annotate(
            labels[i],
            (at[i], y),
            xytext=(0, 5 if side == 0 else -5),
            textcoords="offset points",
            ha="center",
            va="bottom" if side == 0 else "top",
            fontsize=SMALL,
            fontfamily=families,
        )


def _finish(ax: Any, names: list[str]) -> None:
    """Names of the lines on the left, from top to bottom; no frame."""
    drawable_ticks(ax, "y", names)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.set_xticks([])
    ax.tick_params(axis="y", length=0)
    for spine in ax.spines.values():
        spine.set_visible(False)
