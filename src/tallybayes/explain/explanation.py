"""Why a row got its classes: what each column adds to each class's score."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, xlogy

from tallybayes.errors import shown
from tallybayes.families.priors import class_evidence
from tallybayes.models.table import TableModel, TextTerms
from tallybayes.models.weighted_documents import TextModel
from tallybayes.readable import html_table, shaded
from tallybayes.score import ImproperPrior
from tallybayes.scoring import normalised
from tallybayes.tables import Table
from tallybayes.tables.columns import frame, values_of
from tallybayes.tally import GridCounts
from tallybayes.tokens import CJK
from tallybayes.tokens.counting import Documents, in_one_string

__all__ = [
    "DocumentExplanation",
    "Draws",
    "Explanation",
    "Word",
    "drawn_posteriors",
    "draws_of",
    "explain_document",
    "explained",
    "explanation_of",
    "table_evidence",
    "top_terms",
    "top_terms_of_column",
]


# ---- why a document got its classes: what each of its terms adds to each class's score -----------
Array = NDArray[np.float64]

Draw = Callable[..., Any]  # of an explanation and options: draws it

MAX_TERMS_OF_TEXT = 10
MAX_TERMS_IN_WORDS = 400  # that are looked for in the document, those that tell most


class Word(NamedTuple):
    """A word of a document: the places of its first character and after its last one, and its
    contribution to the predicted class, in nats."""

    begin: int
    end: int
    nats: float


@dataclass(frozen=True, eq=False, repr=False)
class DocumentExplanation:
    """A document's score taken apart: ``base + contributions.sum(axis=0)``.

    Parameters
    ----------
    document : str
    terms : list
        The terms of the document that the model knows. The terms that matter most between the
        predicted class and the next one come first.
    contributions : float64 array (n_terms, n_classes)
        In nats.
    base : float64 array (n_classes,)
        The intercepts, in nats.
    classes : array (n_classes,)
    probabilities : float64 array (n_classes,)
    draw : callable
        Draws an explanation; what ``plot`` calls.
    """

    document: str
    terms: list[Any]
    contributions: Array
    base: Array
    classes: NDArray[Any]
    probabilities: Array
    draw: Draw

    @property
    def label(self) -> Any:
        """The most probable class."""
        return self.classes.tolist()[self._best]

    @property
    def _best(self) -> int:
        return int((self.base + self.contributions.sum(axis=0)).argmax())

    @property
    def for_label(self) -> Array:
        """What each term adds to the score of the most probable class against the next one, in
        nats, float64 (n_terms,)."""
        return _against_next(self.base + self.contributions.sum(axis=0), self.contributions)

    def places(self, term: str) -> list[tuple[int, int]]:
        """Where a term stands in the document, by (begin, end)."""
        tokens = map(re.escape, term.split(" ")) if " " in term else [re.escape(term)]
        found = re.finditer(r"\s*".join(tokens), self.document, re.IGNORECASE)
        return [m.span() for m in found if _is_whole(self.document, term, *m.span())]

    def spans(self) -> list[tuple[int, int, float]]:
        """Where terms stand in the document, by (begin, end), and what each adds for the label, in
        nats, in the order of the document; a term that stands more than once is at each place."""
        return self.spans_of(self.for_label)

    def spans_of(self, nats: Array) -> list[tuple[int, int, float]]:
        """Where terms stand in the document, by (begin, end), each with its number of some.

        Parameters
        ----------
        nats : float64 array (n_terms,)
        """
        pairs = zip(self.terms, nats.tolist(), strict=True)
        return sorted(
            (*place, value)
            for term, value in pairs
            if isinstance(term, str)
            for place in self.places(term)
        )

    def words(self) -> list[Word]:
        """The words of the document, each with its share of the terms that run over it.

        The nats of a term are divided among its occurrences and, for a pair of words, among its
        words, so that those of all words add up to the contribution of the terms; of a document of
        many terms those that tell most.

        Returns
        -------
        list of Word
            In the order of the document.
        """
        places = [match.span() for match in re.finditer(CJK, self.document)]
        begins = [begin for begin, _ in places]
        nats = [0.0] * len(places)
        pairs = zip(self.terms, self.for_label.tolist(), strict=True)
        for term, value in islice(pairs, MAX_TERMS_IN_WORDS):
            if not isinstance(term, str) or not np.isfinite(value):
                continue
            spans = self.places(term)
            for begin, end in spans:
                first = max(0, bisect_right(begins, begin) - 1)
                last = bisect_left(begins, end)
                touched = [i for i in range(first, last) if places[i][1] > begin]
                for i in touched:
                    nats[i] += value / len(spans) / len(touched)
        return [Word(*place, value) for place, value in zip(places, nats, strict=True)]

    def plot(self, ax: Any = None, **options: Any) -> Any:
        """A waterfall: what each term adds, from the intercept to the total.

        It needs the extra ``plots``.

        Parameters
        ----------
        ax : axes, optional
            Where to draw; new axes unless given.
        **options
            ``label``, ``against`` and ``max_display`` of ``WaterfallDisplay.from_explanation``.

        Returns
        -------
        tallybayes.plots.WaterfallDisplay
            Drawn.
        """
        return self.draw(self, ax=ax, **options)

    def _repr_html_(self) -> str:
        """The document with its terms shaded, and the terms as a table."""
        label, proba = self.label, self.probabilities[self._best]
        values = self.for_label.tolist()
        lines = [(term, f"{value:+.3f}") for term, value in zip(self.terms, values, strict=True)]
        hidden = len(lines) - MAX_TERMS_OF_TEXT
        more = f"… and {hidden:,} more terms" if hidden > 0 else ""
        table = html_table(["term", "nats"], lines[:MAX_TERMS_OF_TEXT], more)
        head = html_table([label, f"{100.0 * proba:.1f} %"], [])
        return head + shaded(self.document, self.spans()) + table

    def __str__(self) -> str:
        lines = [f"{self.label}: {100.0 * self.probabilities[self._best]:.1f} %"]
        values = self.for_label.tolist()
        shown = zip(self.terms[:MAX_TERMS_OF_TEXT], values[:MAX_TERMS_OF_TEXT], strict=True)
        lines += [f"{value:+8.3f}  {term}" for term, value in shown]
        if len(self.terms) > MAX_TERMS_OF_TEXT:
            rest = values[MAX_TERMS_OF_TEXT:]
            lines.append(f"{sum(rest):+8.3f}  {len(rest)} more terms")
        return "\n".join(lines)

    __repr__ = __str__


def _is_whole(document: str, term: str, begin: int, end: int) -> bool:
    """Whether a match does not begin or end within a longer word of letters and digits."""
    before, after = document[begin - 1 : begin], document[end : end + 1]
    cut_before = term[:1].isalnum() and before.isalnum() and before.isascii()
    return not cut_before and not (term[-1:].isalnum() and after.isalnum() and after.isascii())


def _against_next(scores: Array, contributions: Array) -> Array:
    if len(scores) < 2:
        return np.zeros(len(contributions))
    order = np.argsort(-scores, kind="stable")
    return contributions[:, order[0]] - contributions[:, order[1]]


def explain_document(
    model: TextModel, rows: Documents, document: Any, draw: Draw
) -> DocumentExplanation:
    """Takes the score of a single document apart.

    Parameters
    ----------
    model : TextModel
    rows : Documents
        The document as a row of the model's terms.
    document : str, bytes or list of tokens
    draw : callable
    """
    contributions = model.scorer.contributions(rows)
    base = model.scorer.intercept
    terms = model.tally.terms[rows.terms].tolist()
    proba = np.exp(log_softmax(base + contributions.sum(axis=0)))
    shown = in_one_string(document)
    return explained(shown, terms, contributions, base, model.tally.labels, proba, draw)


def explained(
    document: str,
    terms: list[Any],
    contributions: Array,
    base: Array,
    classes: NDArray[Any],
    probabilities: Array,
    draw: Draw,
) -> DocumentExplanation:
    """An explanation with its terms in order; parameters are those of
    :class:`DocumentExplanation`."""
    with np.errstate(invalid="ignore"):  # classes that are ruled out
        effect = np.abs(_against_next(base + contributions.sum(axis=0), contributions))
    order = np.argsort(-effect, kind="stable")
    return DocumentExplanation(
        document,
        [terms[i] for i in order.tolist()],
        contributions[order],
        base,
        classes,
        probabilities,
        draw,
    )


def top_terms(model: TextModel, label: Any, n: int) -> list[tuple[Any, float]]:
    """The terms that add most to a class against all others, of one occurrence in a document of
    mean length, without the ridge.

    Parameters
    ----------
    model : TextModel
    label : label
    n : int

    Raises
    ------
    ValueError
        For a label that is not a class of the model.
    """
    place = _place(model.tally.labels, label)
    return _best(model.tally.terms.tolist(), model.of_one_occurrence(place), n)


def top_terms_of_column(
    text_terms: dict[str, TextTerms], column: str, classes: NDArray[Any], label: Any, n: int
) -> list[tuple[Any, float]]:
    """The terms of a column that add most to a class against all others, of one occurrence in a
    text of this one term.

    Parameters
    ----------
    text_terms : dict of str to TextTerms
    column : str
    classes : array (n_classes,)
    label : label
    n : int

    Raises
    ------
    ValueError
        For a column that is not read as text, or a label that is not a class of the model.
    """
    if column not in text_terms:
        there = f"the columns of text are {sorted(text_terms)}" if text_terms else "no column is"
        raise ValueError(f"{column!r} is not read as text; {there}")
    terms, contributions = text_terms[column].of_one_occurrence()
    return _best(terms, contributions[:, _place(classes, label)], n)


def _place(classes: NDArray[Any], label: Any) -> int:
    found = np.flatnonzero(classes == label)
    if not found.size:
        raise ValueError(
            f"{shown(label)} is not a class of the model: name one of {classes.tolist()}"
        )
    return int(found[0])


def _best(terms: list[Any], value: Array, n: int) -> list[tuple[Any, float]]:
    if not isinstance(n, Integral) or n < 0:
        raise ValueError(f"n is how many terms, a whole number from 0 on, got {shown(n)}")
    best = np.argsort(-value, kind="stable")[: int(n)].tolist()
    return [(terms[i], float(value[i])) for i in best]


# ---- why a row of a table got its class ----------------------------------------------------------
MAX_SHOWN_COLUMNS = 10
"""Columns that are printed; those that separate the classes most."""

MAX_SHOWN_CLASSES = 5
"""Classes that are printed; the most probable ones."""

MAX_SHOWN_TERMS = 5
"""Terms of a text that are printed; those that separate the classes most."""

MAX_CHARACTERS = 40
"""Characters of a name, value or label that are printed."""


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """Scores taken apart: ``base + contributions.sum(axis=2)`` is the joint log-probability.

    Parameters
    ----------
    base : float64 array (n_classes,)
        log P(c), in nats.
    contributions : float64 array (n_rows, n_classes, n_columns)
        log p(x_j | c), in nats; 0 for a missing value.
    classes : array (n_classes,)
    columns : list of str
    table : Table
        The rows, as the model reads them.
    probabilities : float64 array (n_rows, n_classes)
        P(c | x), as :meth:`predict_proba` gives it.
    text_terms : mapping of str to TextTerms
        The columns of text, and what their terms add.
    draw : callable
        Draws an explanation; what ``plot`` calls.

    Attributes
    ----------
    values : list of dict
        The value of each column in each row, as the model reads it; None for a missing value.
    row : dict
        The values of the first row.
    """

    base: Array
    contributions: Array
    classes: NDArray[Any]
    columns: list[str]
    table: Table
    probabilities: Array
    text_terms: Mapping[str, TextTerms]
    draw: Draw

    def document(self, column: str | None = None, row: int = 0) -> DocumentExplanation:
        """What each term of a text adds, beside the class prior and the other columns, which are
        its ``base``.

        Parameters
        ----------
        column : str, optional
            A column of text; the only one by default.
        row : int, default=0
            The number of the row.

        Returns
        -------
        DocumentExplanation
            Its contributions add up to what the column adds; a missing text has no terms.

        Raises
        ------
        ValueError
            If no column of text is called so, or none is named and there is not just one.
        IndexError
            For a row that there is not.
        """
        column = self._text_column(column)
        n_rows, place = len(self.contributions), self.columns.index(column)
        if not -n_rows <= row < n_rows:
            raise IndexError(f"the explanation has {n_rows} rows, from 0 on: there is no row {row}")
        [text] = values_of(self.table.columns[column].take(np.array([row % n_rows])))
        document = "" if text is None else str(text)
        terms, contributions = self.text_terms[column].of_document(document)
        others = np.delete(self.contributions[row], place, axis=1).sum(axis=1)
        return explained(
            document,
            terms,
            contributions,
            self.base + others,
            self.classes,
            self.probabilities[row],
            self.draw,
        )

    def _text_column(self, column: str | None) -> str:
        if column is not None and column in self.text_terms:
            return column
        if column is None and len(self.text_terms) == 1:
            return next(iter(self.text_terms))
        there = (
            f"the columns of text are {sorted(self.text_terms)}"
            if self.text_terms
            else "there is none"
        )
        raise ValueError(
            f"document(…) explains a column of text, and {there}: name one"
            if column is None
            else f"{column!r} is not read as text, and {there}: name such a column"
        )

    @property
    def values(self) -> list[dict[str, Any]]:
        """The value of each column in each row, as the model reads it; None for a missing value."""
        columns = {name: values_of(column) for name, column in self.table.columns.items()}
        rows = zip(*columns.values(), strict=True) if columns else ((),) * self.table.n_rows
        return [dict(zip(columns, row, strict=True)) for row in rows]

    @property
    def row(self) -> dict[str, Any]:
        """The values of the first row, by column; None for a missing value."""
        first = self.table.take(np.arange(min(1, self.table.n_rows)))
        return {n: values_of(c)[0] for n, c in first.columns.items()} if first.n_rows else {}

    def __str__(self) -> str:
        """A readable table of the first row, at most :data:`MAX_SHOWN_COLUMNS` columns and
        :data:`MAX_SHOWN_CLASSES` classes: the columns that separate the classes most, and the most
        probable classes, first."""
        names, lines, hidden = self._table_of_first()
        text = _laid_out(names, lines)
        return f"{text}\n{hidden}" if hidden else text

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """The table of the first row in a notebook."""
        names, lines, hidden = self._table_of_first()
        head, *rest = [(name, *line) for name, line in zip(names, lines, strict=True)]
        return html_table(head, rest, hidden)

    def _table_of_first(self) -> tuple[list[str], list[list[str]], str]:
        """What is printed of the first row: the names of the lines, the lines with a cell for each
        class, the labels first, and what is not shown."""
        n_classes = len(self.base)
        share = self.contributions[0] if len(self.contributions) else np.zeros((n_classes, 0))
        proba = self.probabilities[0] if len(self.probabilities) else np.exp(self.base)
        row = self.row
        shown = np.sort(np.argsort(-proba, kind="stable")[:MAX_SHOWN_CLASSES])
        with np.errstate(invalid="ignore"):  # ruled out by every class
            # columns are ordered by how far apart they set the classes
            apart = np.ptp(share, axis=0)
        order = np.argsort(-np.nan_to_num(apart, nan=np.inf), kind="stable")
        rest = order[MAX_SHOWN_COLUMNS:]
        lines = [("(prior)", self.base)]
        names = [_named(name, row) for name in self.columns]
        for j in order[:MAX_SHOWN_COLUMNS].tolist():
            lines.append((names[j], share[:, j]))
            if self.columns[j] in self.text_terms and len(self.contributions):
                lines += self._terms_shown(self.columns[j])
        if rest.size:
            lines.append((f"… and {rest.size} more", share[:, rest].sum(axis=1)))
        lines.append(("(sum)", self.base + share.sum(axis=1)))
        cells = [[f"{v:.4f}" for v in values[shown]] for _, values in lines]
        cells.append([f"{100.0 * p:.1f} %" for p in proba[shown]])
        labels = [_cut(str(label)) for label in self.classes[shown].tolist()]
        left = ["nats", *(name for name, _ in lines), "probability"]
        hidden, n_rows = n_classes - len(shown), len(self.contributions)
        notes = [f"{hidden} less probable classes are not shown"] if hidden else []
        if n_rows > 1:
            notes.append(
                f"this is row 0 of {n_rows}: explain another one by itself, or see all in "
                "to_frame()"
            )
        return left, [labels, *cells], "; ".join(notes)

    def _terms_shown(self, column: str) -> list[tuple[str, Array]]:
        """The terms of the first row's text that separate the classes most, and the rest."""
        document = self.document(column)
        contributions = document.contributions
        order = np.argsort(-np.ptp(contributions, axis=1), kind="stable")
        found = [
            (f"  {_cut(str(document.terms[i]))}", contributions[i]) for i in order[:MAX_SHOWN_TERMS]
        ]
        rest = order[MAX_SHOWN_TERMS:]
        if rest.size:
            found.append((f"  … and {rest.size} more terms", contributions[rest].sum(axis=0)))
        return found

    def plot(self, ax: Any = None, *, row: int = 0, **options: Any) -> Any:
        """A waterfall of one row: what each column adds, from the class prior to the total.

        It needs the extra ``plots``.

        Parameters
        ----------
        ax : axes, optional
            Where to draw; new axes unless given.
        row : int, default=0
            The number of the row.
        **options
            ``label``, ``against`` and ``max_display`` of ``WaterfallDisplay.from_explanation``.

        Returns
        -------
        tallybayes.plots.WaterfallDisplay
            Drawn.
        """
        return self.draw(self, ax=ax, row=row, **options)

    def to_frame(self) -> Any:
        """A frame with the columns row, class, column and contribution (nats); the class prior is
        the column "(prior)"."""
        n, k, d = self.contributions.shape
        labels = [*self.columns, "(prior)"]
        base = np.broadcast_to(self.base[None, :, None], (n, k, 1))
        values = np.concatenate([self.contributions, base], axis=2)
        return frame(
            {
                "row": np.repeat(np.arange(n), k * (d + 1)),
                "class": np.tile(np.repeat(self.classes, d + 1), n),
                "column": np.tile(np.array(labels, dtype=object), n * k).tolist(),
                "contribution": values.ravel(),
            }
        )


def explanation_of(model: TableModel, x: Table, draw: Draw) -> Explanation:
    """What adds to the score of each class in rows as the model reads them, with the probabilities
    that it predicts: of a row that every class rules out, those of the class prior."""
    base, contributions, names = model.contributions(x)
    with np.errstate(invalid="ignore"):
        scores = base + contributions.sum(axis=2)
    proba = model.corrected(normalised(scores, model.log_prior, log=True))
    classes, text_terms = model.schema.classes, model.text_terms
    return Explanation(base, contributions, classes, names, x, proba, text_terms, draw)


def _named(name: str, row: dict[str, Any]) -> str:
    """A column with the value that a row has there."""
    if name not in row:  # a pair of columns
        return _cut(name)
    value = row[name]
    if value is None:
        return f"{_cut(name)} (missing)"
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return f"{_cut(name)} = {_cut(text)}"


def _cut(text: str) -> str:
    """A string of one line, cut where it is long."""
    text = " ".join(text.split())
    return text if len(text) <= MAX_CHARACTERS else text[: MAX_CHARACTERS - 1] + "…"


def _laid_out(names: list[str], cells: list[list[str]]) -> str:
    """Lines with the names on the left and columns of cells on the right."""
    width = max(map(len, names))
    widths = [max(10, *map(len, column)) for column in zip(*cells, strict=True)]
    lines = []
    for name, row in zip(names, cells, strict=True):
        shown = " ".join(cell.rjust(w) for cell, w in zip(row, widths, strict=True))
        lines.append(f"{name.ljust(width)} {shown}")
    return "\n".join(lines)


# ---- credible intervals of class probabilities, from draws of the model's parameters -------------
class Draws(NamedTuple):
    """Makes the same draws for every batch of rows.

    Parameters
    ----------
    prior : int
        Seed of the class prior.
    parts : list of int
        Of the parameters of each part of the score.
    """

    prior: int
    parts: list[int]


def draws_of(model: TableModel, rng: Any) -> Draws:
    """Seeds for a model's parameters, from a RandomState."""
    prior, *parts = rng.randint(2**31 - 1, size=1 + len(model.score.parts)).tolist()
    return Draws(prior, parts)


def drawn_posteriors(model: TableModel, x: Table, draws: Draws, n: int) -> Array:
    """log P(c | x) under parameters drawn from their posterior, float64 (n, n_rows, n_classes).

    A draw that rules a row out in every class leaves it the class prior of that draw.

    Parameters
    ----------
    model : TableModel
    x : Table
    draws : Draws
    n : int
        Draws.
    """
    drawn = model.prior.drawn(model.tally.classes, np.random.default_rng(draws.prior), n)
    prior = drawn[:, None, :]
    scores = prior + np.zeros((n, x.n_rows, prior.shape[2]))
    for part, seed in zip(model.score.parts, draws.parts, strict=True):
        scores += part.drawn(x, np.random.default_rng(seed), n)
    top = scores.max(axis=2, keepdims=True)
    out = np.isneginf(top)
    if out.any():
        scores = np.where(out, prior, scores)
        top = scores.max(axis=2, keepdims=True)
    scores -= top
    return np.asarray(scores - np.log(np.exp(scores).sum(axis=2, keepdims=True)))


# ---- the evidence of a table ---------------------------------------------------------------------
# The evidence of a table: log P(labels) + Σ_j log p(column j | labels), parameters integrated out.
#
# Every term has a closed form: the Dirichlet-multinomial (class counts, levels, bins, groups of
# counts), Gamma-Poisson and normal-inverse-gamma. By the chain rule it is the sum of the
# logarithms with which each row, in turn, is predicted by the rows before it. MacKay (2003),
# chapter 28.
def table_evidence(model: TableModel) -> float:
    """log P of everything that was counted, in nats.

    Raises
    ------
    AttributeError
        If a column, or the class prior, has no proper prior.
    """
    if not len(model.schema.classes):  # everything was forgotten: nothing is to be explained
        return 0.0
    total = _of_classes(model)
    for part in model.parts:
        try:
            for evidence in part.log_evidence(_grid(part.columns, model)):
                total += evidence
        except ImproperPrior as error:
            columns = part.columns
            who = f"the group {columns!r}" if len(columns) > 1 else f"column {columns[0]!r}"
            raise _improper(f"{who} {error.what}", error.instead) from None
    return total


def _improper(what: str, instead: str) -> AttributeError:
    return AttributeError(
        f"log_evidence_ needs a proper prior of every column, but {what}: {instead}"
    )


def _of_classes(model: TableModel) -> float:
    count = model.tally.classes.count
    if model.prior.given is not None:
        return float(xlogy(count, model.prior.given).sum())
    alpha = model.prior.strength(model.tally.classes)
    if alpha == 0.0:
        raise _improper("the class prior is not smoothed", "give class_alpha above 0")
    return class_evidence(count, alpha)


def _grid(columns: tuple[str, ...], model: TableModel) -> GridCounts | None:
    """The values of a column of numbers."""
    _, grid = model.tally_read.by_key.get((columns, "grid"), (None, None))
    assert grid is None or isinstance(grid, GridCounts)
    return grid
